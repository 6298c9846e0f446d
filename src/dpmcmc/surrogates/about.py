# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Moves about a surrogate posterior, and draws that know of a shift by noise."""

from typing import Any

import numpy as np

from dpmcmc.proposals import Independence, Mixture, Proposal, RandomWalk, best_scale

__all__ = ["proposal_about", "scattered"]

_WIDER = 1.3
"""Variance of far moves over the surrogate's, for a posterior with wider tails."""

_FAR = 0.8
"""Share of far moves among all."""


def proposal_about(mean: Any, covariance: np.ndarray) -> Proposal:
    """Mostly draws from about a normal law of θ, else a random walk."""
    far = Independence(mean, _WIDER * covariance)
    near = RandomWalk(best_scale(len(covariance)) ** 2 * covariance)
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
