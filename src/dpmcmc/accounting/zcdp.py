# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Zero-concentrated differential privacy: costs that add, and their conversion."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

__all__ = ["ZcdpCurve"]

_GOLDEN = (math.sqrt(5) - 1) / 2
_SEARCHES = 100


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
        return cls(math.fsum(rhos))

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε over the orders for this δ."""
        if self.rho == 0:
            return 0.0
        if delta <= 0:
            return math.inf

        def at(log_excess: float) -> float:
            excess = math.exp(log_excess)
            return (1 + excess) * self.rho + (
                -math.log(delta) + _log_factor(excess)
            ) / excess

        return max(0.0, _least(at) * (1 + 1e-12))

    def delta(self, epsilon: float) -> float:
        """Return the smallest δ over the orders for this ε."""
        if self.rho == 0:
            return 0.0

        def at(log_excess: float) -> float:
            excess = math.exp(log_excess)
            rdp = (1 + excess) * self.rho
            return excess * (rdp - epsilon) + _log_factor(excess)

        return min(1.0, math.exp(min(0.0, _least(at))) * (1 + 1e-12))


def _log_factor(excess: float) -> float:
    """Return (α − 1) log(1 − 1/α) − log α for α = 1 + excess."""
    return excess * -math.log1p(1 / excess) - math.log1p(excess)


def _least(function: Callable[[float], float]) -> float:
    """Minimise over log(α − 1) by golden sections; any value is a valid bound."""
    low, high = -20.0, 30.0
    for _ in range(_SEARCHES):
        width = _GOLDEN * (high - low)
        left, right = high - width, low + width
        if function(left) < function(right):
            high = right
        else:
            low = left
    return function((low + high) / 2)
