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

import numpy as np

from dpmcmc.correction.distribution import Correction
from dpmcmc.correction.limits import require_variance
from dpmcmc.correction.symmetric import symmetric_mixture
from dpmcmc.errors import require_count, require_positive

__all__ = ["METHOD", "gaussian_mixture"]

METHOD = "gaussian_mixture"

_ADVICE = "Leave it out for the paper's setting."
_FIRST_SPREAD = 0.1
"""Standard deviation of the centres and log-widths that Adam starts from."""


def gaussian_mixture(
    variance: float,
    *,
    seed: int,
    components: int = 50,
    reach: float = 10.0,
    points: int = 1000,
    rate: float = 0.01,
    iterations: int = 20_000,
) -> Correction:
    """Fit V_cor by a mirrored mixture of normals, as the paper does.

    Parameters
    ----------
    variance
        The variance C of the normal part, between 0 and π²/3.
    seed
        Where the optimiser starts. A fit uses no records, so a seed gives nothing away.
    components
        How many components K before mirroring.
    reach, points
        The densities are compared at this many points of [−reach, reach].
    rate, iterations
        Of Adam.

    Returns
    -------
    Correction
        2K normals with widths above 0, so it has a density.
    """
    target = require_variance(variance)
    count = require_count("components", components, _ADVICE)
    grid = np.linspace(
        -require_positive("reach", reach, _ADVICE),
        reach,
        require_count("points", points, _ADVICE, least=2),
    )
    require_positive("rate", rate, _ADVICE)
    require_count("iterations", iterations, _ADVICE)
    generator = np.random.default_rng(require_count("seed", seed, _ADVICE, least=0))
    start = {
        "centres": _FIRST_SPREAD * generator.standard_normal(count),
        "log_widths": _FIRST_SPREAD * generator.standard_normal(count),
        "logits": generator.random(count),
    }
    fitted = _minimise(start, target, grid[grid >= 0], rate, iterations)
    weights = np.exp(fitted["logits"] - fitted["logits"].max())
    return symmetric_mixture(
        target,
        np.abs(fitted["centres"]),
        np.exp(fitted["log_widths"]),
        weights / weights.sum(),
        METHOD,
    )


def _minimise(
    start: dict[str, np.ndarray],
    variance: float,
    grid: np.ndarray,
    rate: float,
    iterations: int,
) -> dict[str, np.ndarray]:
    """Run Adam in double precision, compiled as one loop."""
    import jax  # noqa: PLC0415 - only this fit needs it
    import jax.numpy as jnp  # noqa: PLC0415
    import optax  # noqa: PLC0415

    logistic = np.exp(-grid - 2 * np.logaddexp(0.0, -grid))

    def loss(parameters: Any) -> Any:
        scales = jnp.sqrt(variance + jnp.exp(2 * parameters["log_widths"]))
        weights = jax.nn.softmax(parameters["logits"])
        heights = weights / (2 * math.sqrt(2 * math.pi) * scales)
        right, left = (
            jnp.exp(
                -(((grid[:, None] - sign * parameters["centres"]) / scales) ** 2) / 2
            )
            for sign in (1, -1)
        )
        return jnp.linalg.norm((right + left) @ heights - logistic)

    adam = optax.adam(rate)

    def step(_: int, carry: Any) -> Any:
        parameters, state = carry
        change, state = adam.update(jax.grad(loss)(parameters), state)
        return optax.apply_updates(parameters, change), state

    with jax.enable_x64(True):
        first = {name: jnp.asarray(values) for name, values in start.items()}
        carry = (first, adam.init(first))
        run = jax.jit(lambda carry: jax.lax.fori_loop(0, iterations, step, carry))
        fitted, _ = run(carry)
        return {name: np.asarray(values) for name, values in fitted.items()}
