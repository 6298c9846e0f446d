# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What tight clipping leaves: a little if the model is right, and shrunk towards that.

A gradient is clipped tightly so that its expectation is zero at the true θ. What that
leaves, the excess, has then expectation zero as well; its noise is larger, as its bound
is wide. If the model is wrong the excess is not small, and is believed.
"""

from typing import NamedTuple

import numpy as np

__all__ = ["Excess", "Sizes", "shrunken"]

_SCALES = np.exp(np.linspace(np.log(0.05), np.log(100), 40))
"""Sizes that the excess may have, in sd of its noise."""

_HALF_NOISE = 0.5
"""Sizes τ have the prior 1/(1 + (τ / half an sd)²): small ones, and a long tail."""

_ITERATIONS = 4


class Excess(NamedTuple):
    """Both parts of a mean gradient, per record.

    Attributes
    ----------
    near
        The mean of tightly clipped gradients.
    far
        The mean of what they leave.
    variance
        Of the noise of the latter.
    lost
        The fraction of the information on θ that tight clipping leaves to it.
    """

    near: np.ndarray
    far: np.ndarray
    variance: np.ndarray
    lost: float


class Sizes(NamedTuple):
    """How large the excess may be: squares by coordinate, and how probable each is."""

    squares: np.ndarray
    weights: np.ndarray

    def error(self, variance: np.ndarray) -> float:
        """The squared error of an excess that was shrunk, if its noise is this."""
        left = self.squares * variance / (self.squares + variance)
        return float(self.weights @ left.sum(axis=1))


def shrunken(
    excess: Excess,
    curvature: np.ndarray,
    prior: tuple[np.ndarray, np.ndarray],
    metric: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, Sizes]:
    """The mean gradient, the excess shrunk; the variance of the latter; its sizes.

    Away from the mode the excess holds its part of the information, lost · curvature ·
    step, which is no sign of a wrong model: only the rest is shrunk, by a scale mixture
    of normals over how large it may be.
    """
    near, far, variance, lost = excess
    relative = metric / np.sqrt(np.mean(metric**2))
    sd = np.sqrt(np.mean(variance / relative**2))
    sizes = (_SCALES[:, None] * sd * relative) ** 2
    log_weights = np.log(_SCALES) - np.log1p((_SCALES / _HALF_NOISE) ** 2)
    kept = sizes / (sizes + variance)
    believed, spread, weights = far, variance, np.exp(log_weights)
    for _ in range(_ITERATIONS):
        step = np.linalg.solve(curvature + prior[1], near + believed + prior[0])
        due = lost * curvature @ step
        rest = far - due
        fits = np.log(sizes + variance) + rest**2 / (sizes + variance)
        logs = log_weights - fits.sum(axis=1) / 2
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        mean = weights @ (kept * rest)
        spread = weights @ (kept * variance + (kept * rest - mean) ** 2)
        believed = mean + due
    return near + believed, spread, Sizes(sizes, weights)
