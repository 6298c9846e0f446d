# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Rényi divergences of integer orders: they add over stages, then become (ε, δ)."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = [
    "LARGEST_ORDER",
    "Divergence",
    "RenyiCurve",
    "improved",
    "mironov",
    "subsampled",
    "summed",
]

Conversion = Callable[[int], float]
"""What is added at order α: log δ = (α − 1)(D − ε) + conversion(α)."""

LARGEST_ORDER = 2**16
"""Orders beyond this convert to nothing smaller in any chain that costs anything."""

_DENSE, _GROWTH = 64, 1.1
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
    return (order - 1) * math.log1p(-1 / order) - math.log(order)


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
    def logs(size: int) -> tuple[float, NDArray[np.float64]]:
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
