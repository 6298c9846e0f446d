# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Normal noise on a number: its exact privacy curve."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from scipy import special

__all__ = ["GaussianCurve"]


@dataclass(frozen=True)
class GaussianCurve:
    """The (ε, δ) pairs of one release with normal noise (Balle and Wang 2018).

    Attributes
    ----------
    mu
        Largest change of the released number, in deviations of the noise.
    """

    mu: float

    @classmethod
    def of_parts(cls, mus: Iterable[float]) -> "GaussianCurve":
        """Compose: adaptive Gaussian releases add in the squares of their μ."""
        return cls(math.hypot(*mus) * (1 + 1e-12))

    def delta(self, epsilon: float) -> float:
        """Return δ for this ε.

        Guarantee
        ---------
        Exact up to rounding, which is added.
        """
        raw = special.ndtr(self.mu / 2 - epsilon / self.mu) - math.exp(
            epsilon + special.log_ndtr(-self.mu / 2 - epsilon / self.mu)
        )
        return min(1.0, float(max(raw, 0.0)) + 2.0**-50)

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε for this δ, by bisection from above."""
        low, high = 0.0, self.mu
        while self.delta(high) > delta:
            low, high = high, 2 * high
            if high > 1e6 * self.mu:
                return math.inf
        while high - low > 1e-12 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return 0.0 if self.delta(0.0) <= delta else high
