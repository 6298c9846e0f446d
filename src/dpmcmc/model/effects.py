# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Effects of units, such as persons, integrated out by quadrature."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

__all__ = ["integrate_effect"]

_NEWTON, _LONGEST = 12, 2.0
"""Steps to the mode of an effect, and the longest of them, in standard units."""


def integrate_effect(
    log_likelihood: Callable[[jax.Array], jax.Array], nodes: int = 15
) -> jax.Array:
    """Integrate a standard normal effect out: log ∫ exp(f(z)) φ(z) dz.

    By Gauss and Hermite's rule about the mode, which Newton's steps find, and with the
    curvature there. It is exact for a quadratic f. For a log-concave f that is sharper
    than the prior, or as flat, few nodes suffice.

    Parameters
    ----------
    log_likelihood
        f: the log-likelihood of one unit given a standard normal effect z. For an
        effect of sd s, let f multiply z by s.
    nodes
        How many nodes the rule has.
    """
    gradient = jax.grad(lambda z: log_likelihood(z) - z**2 / 2)

    def look(at: jax.Array) -> tuple[jax.Array, jax.Array]:
        slope, bend = jax.jvp(gradient, (at,), (jnp.ones_like(at),))
        # f is log-concave, so that the curvature is that of the prior at least
        return slope, jnp.maximum(-bend, 1.0)

    def step(_: Any, at: jax.Array) -> jax.Array:
        slope, curvature = look(at)
        move = jnp.nan_to_num(slope / curvature)
        return at + jnp.clip(move, -_LONGEST, _LONGEST)

    # The integral is the same about any centre: where it lies has no derivative.
    mode = jax.lax.stop_gradient(jax.lax.fori_loop(0, _NEWTON, step, jnp.zeros(())))
    scale = jax.lax.rsqrt(jax.lax.stop_gradient(look(mode)[1]))
    places, weights = (
        jnp.asarray(part, mode.dtype)
        for part in np.polynomial.hermite_e.hermegauss(nodes)
    )
    effects = mode + scale * places
    values = jax.vmap(log_likelihood)(effects) - effects**2 / 2 + places**2 / 2
    normal = jnp.log(scale) - np.log(2 * np.pi) / 2
    return logsumexp(values + jnp.log(weights)) + normal
