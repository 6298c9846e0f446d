# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A release with Laplace noise in d dimensions: the event, and what it costs.

Its density falls as e^(−|z|/b) with the Euclidean length of z (the K-norm mechanism of
Hardt and Talwar 2010, for a ball). One such release is private without a δ. Of few
dimensions it needs much less noise than normal noise of the same (ε, δ), also beside
other releases. Proofs are in ``docs/proofs/laplace.md``.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpmcmc.accounting.accountants import BLOCKS, GAUSSIAN, ZCDP
from dpmcmc.accounting.curves import gaussian_profile
from dpmcmc.accounting.losses import LossPart
from dpmcmc.accounting.registry import Event, NotApplicableError
from dpmcmc.errors import require_count, require_positive

__all__ = ["LaplaceRelease", "laplace_profile"]

Array = NDArray[np.float64]

_ROUNDING = 2.0**-1022
"""How far drawn noise is from ideal noise in total variation, for each dimension
(docs/proofs/exact_laplace)."""

_CELLS = 64
"""Lattice points for each standard deviation of the loss, of usual shifts."""

_FOR_MU = 512
"""Cells between 0 and the shift for which μ is compared."""

_NODES = 24
"""Nodes of Gauss and Legendre in each cell, beside half the dimension over cells."""

_MOST_SHIFT = 300.0
_UP = 1 + 1e-9


@dataclass(frozen=True)
class LaplaceRelease(Event):
    """A vector with Laplace noise, of which one substitution moves the mean.

    Parameters
    ----------
    dimension
        How many coordinates d the vector has. The noise has density ∝ e^(−|z|/b).
    shift
        The largest move in units of b. Alone, the release is private with this ε.
    """

    dimension: int
    shift: float

    def __post_init__(self) -> None:
        """Refuse a release without noise, or one that moves nothing."""
        require_count("dimension", self.dimension, "Give the length of the vector.")
        require_positive("shift", self.shift, "Give the move of the mean over b.")

    def slack(self, epsilon: float) -> float:
        """What the rounding of noise may add to the δ of this ε.

        Guarantee
        ---------
        At least (1 + e^ε) times the total variation between noise as it is drawn and
        noise with exactly that density.
        """
        return self.dimension * _ROUNDING * (1 + math.exp(min(epsilon, 700.0)))


class _Cells(NamedTuple):
    """The loss s·cos θ at nodes of each cell, and the mass there by either mean."""

    cosine: Array
    first: Array
    second: Array


def _bessel_ratio(dimension: int, kappa: float) -> float:
    """K_{d/2}(κ) / K_{d/2−1}(κ), by a recurrence of positive terms.

    Of many dimensions, each of the two functions may be beyond float64.
    """
    order = (dimension % 2) / -2
    ratio = 1.0
    if dimension % 2 == 0:
        ratio = float(special.kve(1, kappa) / special.kve(0, kappa))
    while order < dimension / 2 - 1:
        order += 1
        ratio = 2 * order / kappa + 1 / ratio
    return ratio


def _cells(dimension: int, shift: float, epsilons: Array) -> _Cells:
    """Integrate over cells of the loss, from ε = 0 up to the shift, for d ≥ 2.

    In spheroidal coordinates with both means as foci the loss is s·cos θ, and θ has
    by the first mean the density e^(κ cos θ) sin^(d−2) θ (A − cos² θ), κ = s/2. By the
    second it is e^(−s cos θ) times that.
    """
    kappa = shift / 2
    more = (dimension - 1) / kappa * _bessel_ratio(dimension, kappa)  # A − 1
    angles = np.arccos(np.minimum(epsilons / shift, 1.0))
    widths = (angles[:-1] - angles[1:])[:, None] / 2
    nodes, weights = np.polynomial.legendre.leggauss(
        _NODES + dimension // (2 * len(widths))
    )
    at = angles[1:, None] + widths * (nodes + 1)
    cosine = np.cos(at)
    logs = kappa * (cosine - 1) + (dimension - 2) * np.log(np.sin(at))
    first = np.exp(logs) * (more + np.sin(at) ** 2) * weights * widths
    second = first * np.exp(-shift * cosine)
    # By symmetry the second mean gives to losses above 0 what the first gives below.
    whole = np.sum(first) + np.sum(second)
    return _Cells(cosine, first / whole, second / whole)


def laplace_profile(dimension: int, shift: float, epsilons: Array) -> Array:
    """Return δ at points ε from 0 to the shift, in order, both of them included.

    Guarantee
    ---------
    At least the exact δ of each, and above it by no more than 10⁻⁸ of it and 10⁻³⁰⁰.
    """
    if dimension == 1:
        found = -np.expm1((epsilons - shift) / 2)
        return np.asarray(np.maximum(found, 0.0) * _UP + 1e-300)
    cosine, first, second = _cells(dimension, shift, epsilons)
    # δ at a point is what its own cell gains, and δ at the next one, and what all
    # beyond gain by the smaller ε: a sum of positive terms, which loses no digits.
    own = np.sum(first * -np.expm1(epsilons[:-1, None] - shift * cosine), axis=1)
    beyond = np.append(np.cumsum(np.sum(second, axis=1)[:0:-1])[::-1], 0.0)
    rises = np.exp(epsilons[:-1]) * np.expm1(np.diff(epsilons))
    deltas = np.cumsum((own + rises * beyond)[::-1])[::-1]
    return np.append(deltas, 0.0) * _UP + 1e-300


def _require_priced(shift: float) -> None:
    """Refuse a shift for which e^shift is near what float64 holds."""
    if shift > _MOST_SHIFT:
        raise NotApplicableError(
            f"the shift is {shift:.3g}, beyond {_MOST_SHIFT:g}. Add more noise."
        )


@lru_cache(maxsize=256)
def _rho(dimension: int, shift: float) -> float:
    """The mean of the loss, rounded up: the least ρ for which the release is ρ-zCDP."""
    if dimension == 1:
        return (shift + math.expm1(-shift)) * _UP
    cells = _cells(dimension, shift, np.linspace(0.0, shift, _FOR_MU + 1))
    gains = cells.first * -np.expm1(-shift * cells.cosine)
    return shift * float(np.sum(cells.cosine * gains)) * _UP


@lru_cache(maxsize=256)
def _mu(dimension: int, shift: float) -> float:
    """A μ for which the release is μ-GDP, a little above the least for shifts to 50.

    δ at the start of each cell is at most that of normal noise at its end.
    """
    points = np.linspace(0.0, shift, _FOR_MU + 1)
    deltas = laplace_profile(dimension, shift, points)[:-1]
    # Any release that is private with ε is μ-GDP with μ = 2Φ⁻¹(σ(ε)), less than this.
    low, high = 0.0, 2 * shift + 2 * math.sqrt(shift)
    while high - low > 1e-6 * high:
        mu = (low + high) / 2
        # What `gaussian_profile` returns may be so much above δ.
        exact = gaussian_profile(mu, points[1:]) * (1 - 2.0**-38 * (1 + mu + 1 / mu))
        low, high = (low, mu) if np.all(exact >= deltas) else (mu, high)
    return high


@ZCDP.rule(LaplaceRelease)
def _zcdp(event: LaplaceRelease, count: int) -> float:
    _require_priced(event.shift)
    return count * _rho(event.dimension, event.shift)


@GAUSSIAN.rule(LaplaceRelease)
def _gdp(event: LaplaceRelease, count: int) -> float:
    _require_priced(event.shift)
    return math.sqrt(count) * _mu(event.dimension, event.shift) * _UP


@BLOCKS.rule(LaplaceRelease)
def _parts(event: LaplaceRelease, count: int) -> list[LossPart]:
    _require_priced(event.shift)
    dimension, shift = event.dimension, event.shift

    def deltas(step: float) -> Array:
        count = math.ceil(shift / step) + 1
        points = step * (1 - 2.0**-50) * np.arange(count, dtype=np.float64)
        # Beyond the shift δ is 0, as at the first lattice point that is not below it.
        inside = points[points < shift]
        return laplace_profile(dimension, shift, np.append(inside, shift))

    step = shift / math.ceil(_CELLS * math.sqrt(dimension + 2))
    return [LossPart(deltas, step, shift, count)]
