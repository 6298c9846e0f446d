# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The normal law that a released quadratic and the prior make; all is already private.

Coordinates are the whitened v, with θ = centre + factor · v.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.surrogates.mode import mode

__all__ = ["laplace"]

_MOST_MOVES = 20
_CLOSE = 1e-10


def laplace(
    gradient: np.ndarray,
    hessian: np.ndarray,
    log_prior: Callable[[jax.Array], jax.Array],
    size: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the top of gradient · v + ½ vᵀ hessian v + log prior, and the precision.

    Records tell of the first ``size`` coordinates: there ``hessian`` is negative
    definite, and a few moves by Newton's method do; where the prior bends up it is left
    out of the precision. The other coordinates are the prior's alone, and it may bend
    up or down far away: then, and where Newton's method found no top, the climb is a
    careful one. The precision is positive definite, whatever the prior is.

    Parameters
    ----------
    gradient, hessian
        The quadratic part; zero beyond the first ``size`` coordinates.
    log_prior
        A function of v. Where its derivatives are not finite it is left out.
    size
        How many coordinates records tell of.
    """
    if size == len(gradient):
        found = _newton(gradient, hessian, log_prior)
        if found is not None:
            return found

    def log_density(v: jax.Array) -> jax.Array:
        slope = jnp.asarray(gradient) + jnp.asarray(hessian) @ v / 2
        return slope @ v + log_prior(v)

    origin = jnp.zeros(len(gradient), jnp.float64)
    here = jax.value_and_grad(log_density)(origin), jax.hessian(log_density)(origin)
    if all(np.all(np.isfinite(part)) for part in jax.tree.leaves(here)):
        return mode(log_density, np.zeros(len(gradient)))
    return _told_alone(gradient, hessian, size)


def _newton(
    gradient: np.ndarray,
    hessian: np.ndarray,
    log_prior: Callable[[jax.Array], jax.Array],
) -> tuple[np.ndarray, np.ndarray] | None:
    """Climb in whole moves; None if that leads nowhere."""
    slope, bend = jax.grad(log_prior), jax.hessian(log_prior)

    def derivatives(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = jnp.asarray(v, jnp.float64)
        found = np.asarray(slope(at), np.float64), np.asarray(bend(at), np.float64)
        if not all(np.all(np.isfinite(part)) for part in found):
            return np.zeros_like(v), np.zeros_like(hessian)
        values, vectors = np.linalg.eigh(found[1])
        return found[0], (vectors * np.minimum(values, 0)) @ vectors.T

    top = np.zeros(len(gradient))
    for _ in range(_MOST_MOVES):
        pull, curve = derivatives(top)
        precision = -hessian - curve
        if not _is_definite(precision):
            return None
        move = np.linalg.solve(precision, gradient + hessian @ top + pull)
        top = top + move
        if move @ precision @ move < _CLOSE:
            return top, precision
    return None


def _told_alone(
    gradient: np.ndarray, hessian: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Top and precision without the prior; the rest is shaped as it was whitened."""
    top, precision = np.zeros(len(gradient)), -hessian
    told = slice(None, size)
    top[told] = np.linalg.solve(precision[told, told], gradient[told])
    rest = np.arange(size, len(gradient))
    precision[rest, rest] = np.trace(precision[told, told]) / size
    return top, precision


def _is_definite(matrix: np.ndarray) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
