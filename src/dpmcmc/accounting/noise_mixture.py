# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The distribution of N(0, v) + V_cor in the Gaussian tests, and the default V_cor.

N(0, C) + V_cor should be close to a standard logistic distribution. Among all
symmetric V_cor for C = 2, the default one has the least largest difference of the two
distribution functions: five atoms, whose error touches its bound at alternating signs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpmcmc import errors

__all__ = [
    "POSITIONS",
    "VARIANCE",
    "VARIANCE_ROUNDING",
    "WEIGHTS",
    "NoiseMixture",
    "checked_mixture",
    "gaussian_bit_distance",
]

Array = NDArray[np.float64]

VARIANCE = 2.0
"""The C of the default correction, the one of the paper."""

POSITIONS = (-9.2211369, -2.9513429, 0.0, 2.9513429, 9.2211369)
"""Where the default V_cor has its atoms."""

_NEAR, _FAR = 0.1317955 / 2, 0.0022353 / 2
WEIGHTS = (_FAR, _NEAR, 1 - 2 * (_NEAR + _FAR), _NEAR, _FAR)
"""How much weight each atom has."""

VARIANCE_ROUNDING = 2.0**-46
"""Room for the rounding of the batch variance and of C minus it, for C below 4."""

_BALANCE = 2.0**-50

# |He_n(t)| is at most the polynomial with the same coefficients, all made positive.
_HERMITE = {
    2: (0.0, 1.0),
    3: (1.0, 0.0, 1.0),
    4: (0.0, 3.0, 0.0, 1.0),
    5: (3.0, 0.0, 6.0, 0.0, 1.0),
    6: (0.0, 15.0, 0.0, 10.0, 0.0, 1.0),
}


@dataclass(frozen=True)
class NoiseMixture:
    """V_cor: normal components, or atoms where a standard deviation is 0."""

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


def gaussian_bit_distance(components: int) -> float:
    """Return the total variation between a bit of a Gaussian test and its ideal.

    A normal distribution function in float64 is wrong by a few units, a mixture of them
    by no more than its worst component and one unit for each addition; comparing with
    a uniform of 53 bits adds one more.
    """
    return 2.0**-48 + components * 2.0**-53


def checked_mixture(
    positions: Sequence[float], weights: Sequence[float], deviations: Sequence[float]
) -> NoiseMixture:
    """Return V_cor after checking that it is a symmetric distribution."""
    spread = tuple(deviations) or (0.0,) * len(positions)
    if not len(positions) == len(weights) == len(spread) > 0:
        raise errors.InputError(
            f"the correction has {len(positions)} positions, {len(weights)} weights "
            f"and {len(spread)} standard deviations; all three must be equal and above "
            "0. Give one weight for each position, and one sd each or none."
        )
    numbers = (*positions, *weights, *spread)
    if not all(map(math.isfinite, numbers)) or min(*weights, *spread) < 0:
        raise errors.InputError(
            "the correction has a negative or infinite number; weights and standard "
            "deviations must be at least 0, everything finite. Fit it again."
        )
    parts = sorted(zip(positions, spread, weights, strict=True))
    mirrored = sorted((-p, d, w) for p, d, w in parts)
    if parts != mirrored or abs(math.fsum(weights) - 1) > _BALANCE:
        raise errors.InputError(
            f"the correction's weights sum to {math.fsum(weights)!r}; they must sum to "
            "1, and the components must be exactly symmetric about 0. Give mirror "
            "pairs of equal weight."
        )
    return NoiseMixture(tuple(positions), spread, tuple(weights))
