# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Privacy curves in closed form: Rényi divergences, zCDP, and normal noise."""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = [
    "LARGEST_ORDER",
    "Divergence",
    "GaussianCurve",
    "RenyiCurve",
    "ZcdpCurve",
    "gaussian_profile",
    "improved",
    "mironov",
    "smallest_epsilon",
    "subsampled",
    "summed",
]

Array = NDArray[np.float64]
Conversion = Callable[[int], float]
"""What is added at order α: log δ = (α − 1)(D − ε) + conversion(α)."""

LARGEST_ORDER = 2**16
"""Orders beyond this convert to nothing smaller in any chain that costs anything."""

_DENSE, _GROWTH = 64, 1.1
_ROOT_HALF = math.sqrt(0.5)
_UP = 1 + 1e-12
_SUM_UP = 1 + 1e-9
"""Covers the rounding of sums over orders: log-factorials err by 1e-11."""


@dataclass(frozen=True)
class Divergence:
    """An upper bound on the Rényi divergence of integer orders from 2 to ``largest``.

    Attributes
    ----------
    at
        The bound as a function of the order.
    largest
        The largest order for which it is proved.
    """

    at: Callable[[int], float]
    largest: int = LARGEST_ORDER

    def repeated(self, count: int) -> "Divergence":
        """Return the divergence of adaptive repetitions, which adds."""
        return Divergence(lambda order: count * self.at(order), self.largest)


def mironov(_: int) -> float:
    """Return the term of Mironov 2017, Proposition 3: the paper's conversion."""
    return 0.0


def improved(order: int) -> float:
    """Return the term of Canonne, Kamath and Steinke 2020, Proposition 12."""
    return _log_factor(order - 1)


def _log_factor(excess: float) -> float:
    """Return (α − 1) log(1 − 1/α) − log α for α = 1 + excess."""
    return -excess * math.log1p(1 / excess) - math.log1p(excess)


@dataclass(frozen=True)
class RenyiCurve:
    """The (ε, δ) pairs of a bound on Rényi divergences.

    Guarantee
    ---------
    Each order gives a valid pair. The search over orders visits small orders one by
    one, then larger ones in growing steps, then all between the best and its
    neighbours; an order that it misses loosens the answer and cannot invalidate it.
    """

    divergence: Divergence
    conversion: Conversion

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε over the orders for this δ."""
        if delta <= 0:
            return math.inf

        def at(order: int) -> float:
            gain = (self.conversion(order) - math.log(delta)) / (order - 1)
            return max(0.0, (self.divergence.at(order) + gain) * _UP)

        return self.best(at)[1]

    def delta(self, epsilon: float) -> float:
        """Return the smallest δ over the orders for this ε."""

        def at(order: int) -> float:
            excess = self.divergence.at(order) - epsilon
            return (order - 1) * excess + self.conversion(order)

        return min(1.0, math.exp(min(0.0, self.best(at)[1])) * _UP)

    def best(self, objective: Callable[[int], float]) -> tuple[int, float]:
        """Return the order with the smallest objective, and that objective."""
        coarse = _orders(self.divergence.largest)
        values = [objective(order) for order in coarse]
        place = values.index(min(values))
        low = coarse[max(place - 1, 0)]
        high = coarse[min(place + 1, len(coarse) - 1)]
        stride = max(1, (high - low) // _DENSE)
        fine = {coarse[place]: values[place]}
        fine |= {order: objective(order) for order in range(low, high + 1, stride)}
        return min(fine.items(), key=lambda pair: pair[1])


@functools.lru_cache(maxsize=64)
def _orders(largest: int) -> tuple[int, ...]:
    orders = list(range(2, min(_DENSE, largest) + 1))
    while orders[-1] < largest:
        orders.append(min(largest, math.ceil(orders[-1] * _GROWTH)))
    return tuple(orders)


def summed(conversion: Conversion) -> Callable[[Sequence[Divergence]], RenyiCurve]:
    """Return how pieces combine: divergences of all stages add, order by order.

    Guarantee
    ---------
    Adaptive composition adds Rényi divergences of one order (Mironov 2017,
    Proposition 1).
    """

    def combine(pieces: Sequence[Divergence]) -> RenyiCurve:
        @functools.cache
        def total(order: int) -> float:
            return math.fsum(piece.at(order) for piece in pieces)

        largest = min(piece.largest for piece in pieces)
        return RenyiCurve(Divergence(total, largest), conversion)

    return combine


def subsampled(base: Divergence, batch: int, records: int) -> Divergence:
    """Amplify by drawing the batch without replacement (Wang et al. 2019).

    Guarantee
    ---------
    For every integer order at which ``base`` and all smaller integer orders hold,
    the divergence of the release on all records is at most the returned bound, under
    substitution of one record.
    """
    log_q = math.log(batch / records)

    @functools.cache
    def logs(size: int) -> tuple[float, Array]:
        second = base.at(2)
        log_expm1 = second + math.log(-math.expm1(-second))
        pair = 2 * log_q + min(math.log(4) + log_expm1, math.log(2) + second)
        powers = np.array([(i - 1) * base.at(i) for i in range(3, size + 1)])
        return pair, math.log(2) + np.arange(3, size + 1) * log_q + powers

    @functools.cache
    def at(order: int) -> float:
        pair, rest = logs(min(base.largest, 2 ** max(6, order.bit_length())))
        j = np.arange(3, order + 1)
        ways = special.gammaln(order + 1) - special.gammaln(j + 1)
        terms = rest[: order - 2] + ways - special.gammaln(order - j + 1)
        pairs = pair + math.log(order * (order - 1) / 2)
        log_sum = special.logsumexp(np.append(terms, pairs))
        return _SUM_UP * float(np.logaddexp(0.0, log_sum)) / (order - 1)

    return Divergence(at, base.largest)


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
    At least the exact δ, and above it by no more than 2⁻³⁹ (1 + 1/μ) of it.
    """
    a, b = epsilons / mu - mu / 2, epsilons / mu + mu / 2
    near = np.maximum(a, -8.0)  # where a < −8, δ is above 1 − 10⁻¹⁵, and 1 will do
    ratios = special.erfcx(near * _ROOT_HALF) - special.erfcx(b * _ROOT_HALF)
    found = np.exp(-(near**2) / 2) * ratios / 2 * (1 + 2.0**-40 * (1 + 1 / mu))
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
