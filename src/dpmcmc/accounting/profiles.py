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

from dpmcmc.accounting.bounded_range import bounded_range_profile

__all__ = [
    "Profile",
    "Tangents",
    "amplified_range",
    "bounded_range_points",
    "likely_copies",
    "lower_hull",
    "with_replacement",
    "without_replacement",
]

Array = NDArray[np.float64]

_IGNORED_COPIES = 1e-15
_NEAR_OVERFLOW = 600.0


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

    def tangents(self) -> "Tangents":
        """Extend to negative ε and take the lower convex hull in e^ε.

        Guarantee
        ---------
        The true profile is convex and below every point, so it is below the hull.
        Between neighbours it is then at most the chord.
        """
        minus = -self.epsilons[:0:-1]
        mirrored = -np.expm1(minus) + np.exp(minus) * self.deltas[:0:-1]
        excess = np.expm1(np.concatenate([minus, self.epsilons]))
        heights = np.concatenate([mirrored, self.deltas])
        # The trivial test S = everything: P(S) = 1 at e^ε = 0.
        excess = np.concatenate([[-1.0], excess])
        heights = np.concatenate([[1.0], heights])
        kept = lower_hull(excess, heights)
        return Tangents(excess[kept], heights[kept])


@dataclass(frozen=True)
class Tangents:
    """A convex polygon that holds every pair (p, p′) of accept probabilities.

    Attributes
    ----------
    excess
        e^ε − 1 in rising order, from −1.
    heights
        p − e^ε p′ is at most this.
    """

    excess: Array
    heights: Array

    def vertices(self) -> tuple[Array, Array]:
        """Return p′ and p − p′ at the corners of the polygon."""
        lower = -np.diff(self.heights) / np.diff(self.excess)
        # Beyond the last ε only p ≤ δ + e^ε p′ remains, with p′ = 0 at the corner.
        lower = np.append(lower, 0.0)
        return lower, self.heights + self.excess * lower


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


def amplified_range(eta: float, batch: int, records: int) -> float:
    """Return the log-odds range after drawing a batch without replacement.

    Guarantee
    ---------
    If the bit, given the batch, has log-odds range η under substitution of one record
    of the batch, then without knowledge of the batch it has the returned range.
    """
    share = batch / records
    if eta > _NEAR_OVERFLOW:
        # The same without overflow, and without cancellation for a range so wide.
        amplified = eta + math.log(share + (1 - share) * math.exp(-eta))
    else:
        amplified = math.log1p(share * math.expm1(eta))
    return amplified * (1 + 1e-14)


def bounded_range_points(eta: float, epsilons: Array) -> Array:
    """Return the profile of an η-bounded-range bit at each ε."""
    return np.array([bounded_range_profile(eta, epsilon) for epsilon in epsilons])


def without_replacement(base: Profile, batch: int, records: int) -> Profile:
    """Amplify a profile by drawing b of N records without replacement.

    Guarantee
    ---------
    ``base`` bounds the profile under substitution of one record inside the batch, in
    both orders. The result bounds the profile on all records, if the batch is drawn
    afresh for every bit and is never released.
    """
    share = batch / records
    deltas = share * base.deltas * (1 + 1e-12)
    return Profile(np.log1p(share * np.expm1(base.epsilons)), deltas)


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
        chance = special.bdtrc(copies - 1, batch, 1 / records)
        deltas += (chance - special.bdtrc(copies, batch, 1 / records)) * base(copies)
    deltas = np.minimum(deltas * (1 + 1e-9), drawn)
    return Profile(np.log1p(drawn * np.expm1(epsilons)), deltas)


def likely_copies(batch: int, records: int) -> int:
    """Return how many copies of one record a batch has, but for a tiny chance."""
    copies = 1
    while special.bdtrc(copies, batch, 1 / records) > _IGNORED_COPIES:
        copies += 1
    return copies
