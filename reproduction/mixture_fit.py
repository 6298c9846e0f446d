# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's correction: a mirrored mixture of normals, fitted by Adam.

K components with centres μ_k, widths s_k and weights p_k are mirrored at 0. Smoothed by
N(0, C) the mixture stays one, with variances C + s_k², so its distance to the logistic
density has a closed form; the paper minimises the L2 norm of the difference on a grid
(Heikkilä et al. 2019, supplement: K = 50, 1000 points on [−10, 10], Adam with rate 0.01
for 20 000 iterations). The grid is symmetric and so are both densities, so its positive
half gives the same minimiser for half the work.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from dpmcmc.correction import Correction

__all__ = ["gaussian_mixture"]

_COMPONENTS, _RATE = 50, 0.01
_GRID = np.linspace(-10.0, 10.0, 1000)[500:]
_LOGISTIC = np.exp(-_GRID - 2 * np.logaddexp(0.0, -_GRID))
"""The logistic density on the grid."""

_FIRST_SPREAD = 0.1
"""Standard deviation of the centres and log-widths that Adam starts from."""


def gaussian_mixture(
    variance: float, *, seed: int, iterations: int = 20_000
) -> Correction:
    """Fit V_cor by a mirrored mixture of normals, as the paper does.

    Parameters
    ----------
    variance
        The variance C of the normal part, between 0 and π²/3.
    seed
        Where the optimiser starts.
    iterations
        Of Adam.

    Returns
    -------
    Correction
        100 normals with widths above 0.
    """
    generator = np.random.default_rng(seed)
    start = {
        "centres": _FIRST_SPREAD * generator.standard_normal(_COMPONENTS),
        "log_widths": _FIRST_SPREAD * generator.standard_normal(_COMPONENTS),
        "logits": generator.random(_COMPONENTS),
    }
    with jax.enable_x64(True):
        fitted = jax.device_get(_minimise(start, variance, iterations))
    return Correction.symmetric(
        variance,
        np.abs(fitted["centres"]),
        np.exp(fitted["log_widths"]),
        np.exp(fitted["logits"] - fitted["logits"].max()),
    )


@jax.jit
def _minimise(start: Any, variance: jax.Array, iterations: jax.Array) -> Any:
    """Run Adam, compiled as one loop for all C and lengths."""
    adam = optax.adam(_RATE)

    def step(_: jax.Array, carry: Any) -> Any:
        parameters, state = carry
        change, state = adam.update(jax.grad(_loss)(parameters, variance), state)
        return optax.apply_updates(parameters, change), state

    first = (start, adam.init(start))
    return jax.lax.fori_loop(0, iterations, step, first)[0]


def _loss(parameters: Any, variance: jax.Array) -> jax.Array:
    """L2 distance of the smoothed density to the logistic one, on half the grid."""
    scales = jnp.sqrt(variance + jnp.exp(2 * parameters["log_widths"]))
    weights = jax.nn.softmax(parameters["logits"])
    heights = weights / (2 * math.sqrt(2 * math.pi) * scales)
    right, left = (
        jnp.exp(-(((_GRID[:, None] - sign * parameters["centres"]) / scales) ** 2) / 2)
        for sign in (1, -1)
    )
    return jnp.linalg.norm((right + left) @ heights - _LOGISTIC)
