# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The law of N(0, v) + V_cor: its distribution function, and bounds on derivatives."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = ["Mixture"]

Array = NDArray[np.float64]

# |He_n(t)| is at most the polynomial with the same coefficients, all made positive.
_HERMITE = {
    2: (0.0, 1.0),
    3: (1.0, 0.0, 1.0),
    4: (0.0, 3.0, 0.0, 1.0),
    5: (3.0, 0.0, 6.0, 0.0, 1.0),
    6: (0.0, 15.0, 0.0, 10.0, 0.0, 1.0),
}


@dataclass(frozen=True)
class Mixture:
    """The law of V_cor: normal components, or atoms where a deviation is 0."""

    positions: tuple[float, ...]
    deviations: tuple[float, ...]
    weights: tuple[float, ...]

    def cdf(self, at: Array, variance: float) -> Array:
        """Return the distribution function of N(0, variance) + V_cor."""
        total = np.zeros(len(at))
        for position, deviation, weight in self._components():
            scale = math.sqrt(variance + deviation**2)
            total += weight * special.ndtr((at - position) / scale)
        return total

    def derivative_bounds(
        self, low: Array, high: Array, least: float, most: float
    ) -> dict[int, Array]:
        """Bound derivatives 2 … 6 of the cdf over intervals of m and of variance."""
        bounds = {order: np.zeros(len(low)) for order in _HERMITE}
        for position, deviation, weight in self._components():
            small = math.sqrt(least + deviation**2)
            large = math.sqrt(most + deviation**2)
            furthest = np.maximum(np.abs(low - position), np.abs(high - position))
            nearest = np.maximum(np.maximum(low - position, position - high), 0.0)
            density = np.exp(-((nearest / large) ** 2) / 2) / math.sqrt(2 * math.pi)
            for order, coefficients in _HERMITE.items():
                size = np.polynomial.polynomial.polyval(furthest / small, coefficients)
                bounds[order] += weight * small**-order * size * density
        return bounds

    def _components(self) -> list[tuple[float, float, float]]:
        return list(zip(self.positions, self.deviations, self.weights, strict=True))
