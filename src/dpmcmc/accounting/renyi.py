# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Rényi divergences of integer orders: they add over stages, then become (ε, δ)."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = [
    "IMPROVED",
    "LARGEST_ORDER",
    "MIRONOV",
    "Conversion",
    "Divergence",
    "RenyiCurve",
    "summed",
]

_DENSE = 64
_GROWTH = 1.1
LARGEST_ORDER = 2**16
"""Orders beyond this convert to nothing smaller in any chain that costs anything."""


@dataclass(frozen=True)
class Divergence:
    """An upper bound on the Rényi divergence for integer orders from 2.

    Attributes
    ----------
    at
        The bound as a function of the order.
    largest
        The largest order for which the bound is proved.
    """

    at: Callable[[int], float]
    largest: int = LARGEST_ORDER

    def repeated(self, count: int) -> "Divergence":
        """Return the divergence of adaptive repetitions, which adds."""
        return Divergence(lambda order: count * self.at(order), self.largest)


@dataclass(frozen=True)
class Conversion:
    """From a divergence of order α to (ε, δ).

    The release is (ε, δ)-private with log δ = (α − 1)(D − ε) + factor(α).
    """

    name: str
    factor: Callable[[int], float]


MIRONOV = Conversion("Mironov 2017, Proposition 3", lambda _: 0.0)
"""The paper's conversion."""

IMPROVED = Conversion(
    "Canonne, Kamath and Steinke 2020, Proposition 12",
    lambda order: (order - 1) * math.log1p(-1 / order) - math.log(order),
)
"""The same with a factor below one on δ."""


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
        return self.best(lambda order: self._epsilon_at(order, delta))[1]

    def delta(self, epsilon: float) -> float:
        """Return the smallest δ over the orders for this ε."""
        log_delta = self.best(lambda order: self._log_delta_at(order, epsilon))[1]
        return min(1.0, math.exp(min(0.0, log_delta)) * (1 + 1e-12))

    def order(self, delta: float) -> int:
        """Return the order that gives the smallest ε for this δ."""
        return self.best(lambda order: self._epsilon_at(order, delta))[0]

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

    def _epsilon_at(self, order: int, delta: float) -> float:
        gain = (self.conversion.factor(order) - math.log(delta)) / (order - 1)
        return max(0.0, (self.divergence.at(order) + gain) * (1 + 1e-12))

    def _log_delta_at(self, order: int, epsilon: float) -> float:
        excess = self.divergence.at(order) - epsilon
        return (order - 1) * excess + self.conversion.factor(order)


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
