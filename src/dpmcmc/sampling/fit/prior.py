# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The prior beside a released quadratic: where both together are highest.

Records inform some directions of θ; the prior speaks in all of them. Both are public
here, so that the climb costs nothing.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.model.tracing import as_float, is_double
from dpmcmc.sampling.problem import Problem

__all__ = ["LogPrior"]

_MOST_MOVES, _MOST_HALVINGS = 100, 40
_CLOSE = 1e-9
_FLATTEST = 1e-9


class LogPrior:
    """Value and derivatives of a log prior, by coordinates of θ.

    Where a derivative is not finite, the prior is taken as flat.
    """

    def __init__(self, problem: Problem) -> None:
        self._dtype = problem.dtype
        self._look = _compiled(problem)

    def at(self, point: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Log prior, gradient and Hessian at a point."""
        with jax.enable_x64(is_double(self._dtype)):
            found = self._look(jnp.asarray(point, self._dtype))
        value, gradient, hessian = (np.asarray(part, np.float64) for part in found)
        if not (np.all(np.isfinite(gradient)) and np.all(np.isfinite(hessian))):
            gradient, hessian = np.zeros_like(gradient), np.zeros_like(hessian)
        return float(value), gradient, hessian

    def climb(
        self,
        centre: np.ndarray,
        frame: np.ndarray,
        gradient: np.ndarray,
        precision: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The mode of gradient · v − ½ vᵀ precision v + log prior, and its precision.

        Parameters
        ----------
        centre, frame
            θ = centre + frame · v, with a column for each v: first those that records
            inform, then the others.
        gradient, precision
            The quadratic part, in the first coordinates of v.

        Returns
        -------
        tuple
            v at the mode, and the precision of all v there, which is positive definite.
        """
        size, informed = frame.shape[1], len(gradient)
        slope, curvature = np.zeros(size), np.zeros((size, size))
        slope[:informed] = gradient
        curvature[:informed, :informed] = precision

        def look(v: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
            value, first, second = self.at(centre + frame @ v)
            height = slope @ v - v @ curvature @ v / 2 + value
            return (
                height,
                slope - curvature @ v + frame.T @ first,
                curvature - frame.T @ second @ frame,
            )

        v = np.zeros(size)
        height, first, second = look(v)
        for _ in range(_MOST_MOVES):
            move = np.linalg.solve(_positive(second), first)
            gain = first @ move
            for _ in range(_MOST_HALVINGS):
                reached = look(v + move)
                if np.isfinite(reached[0]) and reached[0] > height:
                    break
                move = move / 2
            else:
                break
            v, (height, first, second) = v + move, reached
            if gain < _CLOSE:
                break
        return v, _positive(second)


def _compiled(problem: Problem) -> Callable[[jax.Array], Any]:
    with jax.enable_x64(is_double(problem.dtype)):
        _, unravel = ravel_pytree(problem.initial)

    def log_prior(flat: jax.Array) -> jax.Array:
        return as_float(problem.model.log_prior(unravel(flat)), problem.dtype)

    # One program for all three: to compile takes longer than to run.
    return jax.jit(
        lambda flat: (
            log_prior(flat),
            jax.grad(log_prior)(flat),
            jax.hessian(log_prior)(flat),
        )
    )


def _positive(matrix: np.ndarray) -> np.ndarray:
    """The matrix with every eigenvalue made positive, and none too small."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    sizes = np.abs(values)
    least = max(_FLATTEST * float(sizes.max()), np.finfo(float).tiny)
    return (vectors * np.maximum(sizes, least)) @ vectors.T
