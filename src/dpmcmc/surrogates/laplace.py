# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The normal law that a released quadratic and the prior make; all is already private.

Coordinates are the whitened v, with θ = centre + factor · v.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["laplace", "negative_definite"]

_MOST_MOVES = 20
_CLOSE = 1e-10


def negative_definite(hessian: np.ndarray, noise: float) -> np.ndarray:
    """Return the nearest matrix whose eigenvalues are all below minus the noise.

    A direction that bends up, or less than by chance, is known to bend by no more
    than the noise; so it is given that much.
    """
    values, vectors = np.linalg.eigh(hessian)
    return (vectors * np.minimum(values, -noise)) @ vectors.T


def laplace(
    gradient: np.ndarray,
    hessian: np.ndarray,
    log_prior: Callable[[jax.Array], jax.Array],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the top of gradient · v + ½ vᵀ hessian v + log prior, and the precision.

    Where the prior bends up it is left out of the precision. ``hessian`` is negative
    definite, and ``log_prior`` a function of v.
    """
    slope, bend = jax.grad(log_prior), jax.hessian(log_prior)

    def derivatives(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = jnp.asarray(v, jnp.float64)
        found = np.asarray(slope(at), np.float64), np.asarray(bend(at), np.float64)
        if not all(np.all(np.isfinite(part)) for part in found):
            return np.zeros_like(v), np.zeros_like(hessian)
        values, vectors = np.linalg.eigh(found[1])
        return found[0], (vectors * np.minimum(values, 0)) @ vectors.T

    top, precision = np.zeros(len(gradient)), -hessian
    for _ in range(_MOST_MOVES):
        pull, curve = derivatives(top)
        precision = -hessian - curve
        move = np.linalg.solve(precision, gradient + hessian @ top + pull)
        top = top + move
        if move @ precision @ move < _CLOSE:
            break
    return top, precision
