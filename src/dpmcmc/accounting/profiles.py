# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Privacy profiles of one bit: δ as a function of ε, amplified by drawing a batch.

A profile is the largest P(S) − e^ε Q(S) over ordered neighbours. It is convex in e^ε,
and its values for negative ε follow from those for positive ε. Proofs are in
``docs/proofs/subsampling.md``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = [
    "Profile",
    "amplified",
    "likely_copies",
    "lower_hull",
    "with_replacement",
    "without_replacement",
]

Array = NDArray[np.float64]

_IGNORED_COPIES = 1e-15


@dataclass(frozen=True)
class Profile:
    """Upper bounds on a profile at finitely many ε.

    Attributes
    ----------
    epsilons
        ε from 0 upwards.
    deltas
        An upper bound on δ at each; the last one holds for every larger ε.
    """

    epsilons: Array
    deltas: Array

    def corners(self) -> tuple[Array, Array]:
        """Return a convex polygon that holds every pair of accept probabilities.

        Returns
        -------
        lower, gap
            p′ and p − p′ at its corners, from p = 1 to p′ = 0.

        Guarantee
        ---------
        Every pair (p, p′) with p ≥ p′ of a bit with this profile is in the polygon:
        p − e^ε p′ is below the lower convex hull of the bounds, in e^ε, of their
        mirror images for ε < 0, and of P(S) = 1 at e^ε = 0.
        """
        minus = -self.epsilons[:0:-1]
        mirrored = -np.expm1(minus) + np.exp(minus) * self.deltas[:0:-1]
        excess = np.concatenate([[-1.0], np.expm1(minus), np.expm1(self.epsilons)])
        heights = np.concatenate([[1.0], mirrored, self.deltas])
        kept = lower_hull(excess, heights)
        excess, heights = excess[kept], heights[kept]
        lower = -np.diff(heights) / np.diff(excess)
        # Beyond the last ε only p ≤ δ + e^ε p′ remains, with p′ = 0 at the corner.
        lower = np.append(lower, 0.0)
        return lower, heights + excess * lower


def lower_hull(x: Array, y: Array) -> list[int]:
    """The places of the points that make the lower convex hull, from left to right."""
    kept: list[int] = []
    for i in range(len(x)):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[i] - x[b]) < (y[i] - y[b]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    return kept


def without_replacement(base: Profile, batch: int, records: int) -> Profile:
    """Amplify a profile by drawing b of N records without replacement.

    Guarantee
    ---------
    ``base`` bounds the profile under substitution of one record inside the batch, in
    both orders. The result bounds the profile on all records, if the batch is drawn
    afresh for every bit and is never released.
    """
    drawn = batch / records
    deltas = drawn * base.deltas * (1 + 1e-12)
    return Profile(amplified(base.epsilons, drawn), deltas)


def amplified(epsilons: Array, drawn: float) -> Array:
    """Return log(1 + q (e^ε − 1)), the ε after drawing a record with probability q."""
    return np.asarray(np.log1p(drawn * np.expm1(epsilons)))


def with_replacement(
    base: Callable[[int], Array], epsilons: Array, batch: int, records: int
) -> Profile:
    """Amplify by drawing b times from N records with replacement.

    Parameters
    ----------
    base
        For a number of copies k, bounds on the profile at each ε when k entries of
        the batch are substituted.
    epsilons
        The ε of the bounds, from 0 upwards.
    batch, records
        The number of draws b and the number of records N.

    Guarantee
    ---------
    As ``without_replacement``. Numbers of copies too rare to matter are charged with
    their whole probability.
    """
    drawn = -math.expm1(batch * math.log1p(-1 / records))
    most = likely_copies(batch, records)
    deltas = np.full(len(epsilons), special.bdtrc(most, batch, 1 / records))
    for copies in range(1, most + 1):
        more = special.bdtrc(copies - 1, batch, 1 / records)
        deltas += (more - special.bdtrc(copies, batch, 1 / records)) * base(copies)
    deltas = np.minimum(deltas * (1 + 1e-9), drawn)
    return Profile(amplified(epsilons, drawn), deltas)


def likely_copies(batch: int, records: int) -> int:
    """Return how many copies of one record a batch has, but for rare ones."""
    copies = 1
    while special.bdtrc(copies, batch, 1 / records) > _IGNORED_COPIES:
        copies += 1
    return copies
