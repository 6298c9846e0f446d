# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What is known of the mean gradient at a place, from one round to the next.

A step leaves the gradient that its curvature says, and adds to what is not known of it:
noise of the curvature times the step, and third derivatives. A round's own gradient is
combined with that, as in a Kalman filter, so that rounds about one place add up.
"""

from dataclasses import dataclass

import numpy as np

from dpmcmc.sampling.fit.curvature import Curvature

__all__ = ["Known"]

_THIRD_ORDER = 1.0
"""What a step leaves out, beside half its square: third derivatives of about 1."""


@dataclass(frozen=True, eq=False)
class Known:
    """Mean and covariance of the mean gradient at a place, in its coordinates."""

    mean: np.ndarray
    covariance: np.ndarray

    @property
    def sd(self) -> float:
        """The root of the sum of all variances."""
        return float(np.sqrt(np.trace(self.covariance)))

    def after(
        self, step: np.ndarray, curvature: Curvature, bends: np.ndarray
    ) -> "Known":
        """What is known after a step, by a curvature whose entries have noise.

        ``bends`` says in which directions third derivatives may be, as in `Place`.
        """
        third = (_THIRD_ORDER * step @ curvature.mean @ step) ** 2
        added = curvature.times(step) + third * bends
        return Known(self.mean - curvature.mean @ step, self.covariance + added)

    def turned(self, turn: np.ndarray) -> "Known":
        """In other coordinates, of which ``turn`` makes these."""
        return Known(turn.T @ self.mean, turn.T @ self.covariance @ turn)

    def combined(self, earlier: "Known") -> "Known":
        """With what was known before, as far as it is not contradicted.

        Where both differ by more than they should, what was known before is less
        certain than it said.
        """
        difference = self.mean - earlier.mean
        both = self.covariance + earlier.covariance
        surprise = difference @ np.linalg.solve(both, difference) / len(difference)
        before = earlier.covariance * max(surprise, 1.0) ** 2
        weight = np.linalg.solve(self.covariance + before, before).T
        return Known(earlier.mean + weight @ difference, weight @ self.covariance)
