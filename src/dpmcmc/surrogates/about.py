# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Moves about a surrogate posterior, and draws that know of a shift by noise."""

import math
from typing import Any

import numpy as np

from dpmcmc.proposals import Independence, Mixture, Proposal, RandomWalk, best_scale

__all__ = ["proposal_about", "scattered"]

_WIDER = 0.3
"""What is added to the variance of far moves, in units of the surrogate's, for a
posterior with wider tails; less beyond so many coordinates, all of which must fit."""

_FEW = 10

_FAR = 0.8
"""Share of far moves among all."""


def proposal_about(mean: Any, covariance: np.ndarray) -> Proposal:
    """Mostly draws from about a normal law of θ, else a random walk."""
    size = len(covariance)
    wider = 1 + _WIDER * min(1.0, math.sqrt(_FEW / size))
    far = Independence(mean, wider * covariance)
    near = RandomWalk(best_scale(size) ** 2 * covariance)
    return Mixture([(_FAR, far), (1 - _FAR, near)])


def scattered(
    draws: np.ndarray, covariance: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """Move each draw by a normal number of the given covariance.

    Coordinates are along the last axis, and the randomness is public.
    """
    values, vectors = np.linalg.eigh(covariance)
    factor = vectors * np.sqrt(np.maximum(values, 0))
    return draws + generator.standard_normal(draws.shape) @ factor.T
