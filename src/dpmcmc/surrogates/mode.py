# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The top of a public log-density, and how it bends there."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["mode"]

_MOST_MOVES = 200
_MOST_HALVINGS = 40
_CLOSE = 1e-8
_FLATTEST = 1e-9
"""Least curvature in a direction, as a part of the greatest."""


def mode(
    log_density: Callable[[jax.Array], jax.Array], start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Climb by Newton's method to the top of a log-density of coordinates.

    Where it bends up a move goes as far as it would were it bent down as much. A move
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
        The top; and the precision there, which is positive definite.
    """
    slope_of, bend_of = jax.grad(log_density), jax.hessian(log_density)

    # one program for all three: to compile takes longer than to run
    @jax.jit
    def look(point: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        return log_density(point), slope_of(point), bend_of(point)

    with jax.enable_x64(True):
        top = np.asarray(start, np.float64)
        height, slope, bend = map(np.asarray, look(jnp.asarray(top)))
        for _ in range(_MOST_MOVES):
            precision = _positive(-bend)
            move = np.linalg.solve(precision, slope)
            gain = slope @ move
            for _ in range(_MOST_HALVINGS):
                reached = [np.asarray(part) for part in look(jnp.asarray(top + move))]
                finite = all(np.all(np.isfinite(part)) for part in reached)
                if finite and reached[0] > height:
                    break
                move = move / 2
            else:
                break
            top, (height, slope, bend) = top + move, reached
            if gain < _CLOSE:
                break
    return top, _positive(-bend)


def _positive(matrix: np.ndarray) -> np.ndarray:
    """The matrix with every eigenvalue made positive, and none too small."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    sizes = np.abs(values)
    least = max(_FLATTEST * float(sizes.max()), np.finfo(float).tiny)
    return (vectors * np.maximum(sizes, least)) @ vectors.T
