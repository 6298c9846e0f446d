# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Privacy curves in closed form: zCDP, and normal noise."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = ["GaussianCurve", "ZcdpCurve", "gaussian_profile", "smallest_epsilon"]

Array = NDArray[np.float64]

_ROOT_HALF = math.sqrt(0.5)
_UP = 1 + 1e-12


@dataclass(frozen=True)
class ZcdpCurve:
    """The (ε, δ) pairs of a ρ-zCDP release (Canonne, Kamath and Steinke 2020).

    Guarantee
    ---------
    Each order α > 1 gives a valid conversion. A search picks a good order; a poor
    search loosens the answer and cannot invalidate it.
    """

    rho: float

    @classmethod
    def of_parts(cls, rhos: Iterable[float]) -> "ZcdpCurve":
        """Compose: the ρ of adaptive stages add."""
        return cls(math.fsum(rhos) * _UP)

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε over the orders for this δ."""
        if delta <= 0 or self.rho == 0:
            return 0.0 if self.rho == 0 else math.inf

        def at(excess: float) -> float:
            gain = (_log_factor(excess) - math.log(delta)) / excess
            return (1 + excess) * self.rho + gain

        return max(0.0, _least(at) * _UP)

    def delta(self, epsilon: float) -> float:
        """Return the smallest δ over the orders for this ε."""
        if self.rho == 0:
            return 0.0

        def at(excess: float) -> float:
            return excess * ((1 + excess) * self.rho - epsilon) + _log_factor(excess)

        return min(1.0, math.exp(min(0.0, _least(at))) * _UP)


def _log_factor(excess: float) -> float:
    """Return (α − 1) log(1 − 1/α) − log α for α = 1 + excess."""
    return -excess * math.log1p(1 / excess) - math.log1p(excess)


def _least(function: Callable[[float], float]) -> float:
    """Minimise over log(α − 1) by golden sections; any value is a valid bound."""
    low, high, golden = -20.0, 30.0, (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if function(math.exp(left)) < function(math.exp(right)):
            high = right
        else:
            low = left
    return function(math.exp((low + high) / 2))


def gaussian_profile(mu: float, epsilons: Array) -> Array:
    """Return δ at each ε ≥ 0 of a release whose mean moves by μ standard deviations.

    It is Φ(−a) − e^ε Φ(−b) with a, b = ε/μ ∓ μ/2 (Balle and Wang 2018), computed as
    φ(a) (R(a) − R(b)) with Mills' ratio R, which keeps the digits of small values.

    Guarantee
    ---------
    At least the exact δ, and above it by no more than 10⁻³⁰⁰ and 2⁻³⁹ (1 + μ + 1/μ)
    of it.
    """
    a, b = epsilons / mu - mu / 2, epsilons / mu + mu / 2
    near = np.maximum(a, -8.0)  # where a < −8, δ is above 1 − 10⁻¹⁵, and 1 will do
    ratios = special.erfcx(near * _ROOT_HALF) - special.erfcx(b * _ROOT_HALF)
    error = 2.0**-40 * (1 + mu + 1 / mu)
    found = np.exp(-(near**2) / 2) * ratios / 2 * (1 + error) + 1e-300
    return np.where(a < -8.0, 1.0, np.minimum(found, 1.0))


@dataclass(frozen=True)
class GaussianCurve:
    """The (ε, δ) pairs of releases with normal noise that are together μ-GDP."""

    mu: float

    @classmethod
    def of_parts(cls, mus: Iterable[float]) -> "GaussianCurve":
        """Compose: adaptive Gaussian releases add in the squares of their μ."""
        return cls(math.hypot(*mus) * _UP)

    @classmethod
    def within(cls, epsilon: float, delta: float) -> "GaussianCurve":
        """Return the curve of the largest μ that fits a budget, up to 10⁻¹²."""
        low, high = 1e-12, 1e4
        while high > low * _UP:
            middle = math.sqrt(low * high)
            if cls(middle).delta(epsilon) <= delta:
                low = middle
            else:
                high = middle
        return cls(low)

    def delta(self, epsilon: float) -> float:
        """Return δ for this ε."""
        return float(gaussian_profile(self.mu, np.array(epsilon)))

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε for this δ, rounded up."""
        return smallest_epsilon(self.delta, delta, 50 * self.mu + self.mu**2)


def smallest_epsilon(
    delta_at: Callable[[float], float], delta: float, furthest: float
) -> float:
    """Return the smallest ε up to ``furthest`` with δ(ε) ≤ δ, rounded up by 10⁻¹⁰."""
    if delta_at(0.0) <= delta:
        return 0.0
    low, high = 0.0, furthest
    if delta <= 0 or delta_at(high) > delta:
        return math.inf
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return high
