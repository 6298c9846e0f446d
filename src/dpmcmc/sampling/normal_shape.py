# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Normal approximations of public densities: mode, precision, and moves about them."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.proposals import Independence, Mixture, Proposal, RandomWalk, best_scale

__all__ = ["mode", "moved", "proposal_about"]

_WIDER = 0.3
"""What is added to the variance of independent proposals, relative to that of the
approximation, for a posterior with wider tails; less beyond ``_FEW`` coordinates, all
of which must fit."""

_FEW = 10

_FAR = 2.5
"""And the variance of half of them, for a density with long tails."""

_INDEPENDENT = 0.8
"""Fraction of independent proposals; the others are random walks."""

_MOST_MOVES = 200
_MOST_HALVINGS = 40
_CLOSE = 1e-8
_FLATTEST = 1e-9
"""Least curvature in a direction, as a part of the greatest."""


def mode(
    log_density: Callable[[jax.Array], jax.Array], start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Climb by Newton's method to the mode of a log-density of coordinates.

    Where it curves up, a move goes as far as if it curved down as much. A move
    that leads down, or to where the log-density is not finite, is halved.

    Parameters
    ----------
    log_density
        A function of float64 coordinates, with two derivatives; all finite at the
        start.
    start
        Where to begin.

    Returns
    -------
    tuple
        The mode, and the precision there, which is positive definite.
    """
    gradient_of, hessian_of = jax.grad(log_density), jax.hessian(log_density)

    # one program for all three: to compile takes longer than to run
    @jax.jit
    def look(point: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        return log_density(point), gradient_of(point), hessian_of(point)

    with jax.enable_x64(True):
        top = np.asarray(start, np.float64)
        height, gradient, hessian = map(np.asarray, look(jnp.asarray(top)))
        for _ in range(_MOST_MOVES):
            precision = _positive(-hessian)
            move = np.linalg.solve(precision, gradient)
            gain = gradient @ move
            for _ in range(_MOST_HALVINGS):
                reached = [np.asarray(part) for part in look(jnp.asarray(top + move))]
                finite = all(np.all(np.isfinite(part)) for part in reached)
                if finite and reached[0] > height:
                    break
                move = move / 2
            else:
                break
            top, (height, gradient, hessian) = top + move, reached
            if gain < _CLOSE:
                break
    return top, _positive(-hessian)


def _positive(matrix: np.ndarray) -> np.ndarray:
    """The matrix with every eigenvalue made positive, and none too small."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    sizes = np.abs(values)
    least = max(_FLATTEST * float(sizes.max()), np.finfo(float).tiny)
    return (vectors * np.maximum(sizes, least)) @ vectors.T


def proposal_about(
    mean: Any, covariance: np.ndarray, *, has_tails: bool = False
) -> Proposal:
    """Mostly independent draws from about a normal distribution, else a random walk.

    A density with longer tails holds chains of such draws in them: half of the draws
    are then from a wider normal distribution.
    """
    size = len(covariance)
    widths = [1 + _WIDER * min(1.0, math.sqrt(_FEW / size))]
    if has_tails:
        widths.append(_FAR)
    weight = _INDEPENDENT / len(widths)
    parts = [(weight, Independence(mean, wider * covariance)) for wider in widths]
    walk = RandomWalk(best_scale(size) ** 2 * covariance)
    return Mixture([*parts, (1 - _INDEPENDENT, walk)])


def moved(
    draws: np.ndarray, covariance: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """Move each draw by a normal vector of the given covariance.

    Coordinates are along the last axis, and the randomness is public.
    """
    values, vectors = np.linalg.eigh(covariance)
    factor = vectors * np.sqrt(np.maximum(values, 0))
    return draws + generator.standard_normal(draws.shape) @ factor.T
