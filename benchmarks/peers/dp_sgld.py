# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Private stochastic gradient Langevin dynamics (Wang et al. 2015; Li et al. 2019).

θ ← θ + (η/2N) (∇ log prior + (N/b) Σ clipped gradients of a batch) + N(0, η/N). The
noise of the dynamics is the noise of the privacy. A step costs what it costs: a budget
buys a number of steps, and chains share them.

The code of Räisä et al. (2021) has twice this drift at the same noise (`drift` = 1):
its stationary distribution is the square of the posterior, with half its variance.

Published price (Räisä et al. 2021, code): σ = b / (2 c √(η N)) goes into an accountant
for substitution, in which a record moves the sum by 2 already. So the sensitivity 2c is
charged twice, and a budget buys fewer steps than it pays for: `published_steps`.
"""

from dataclasses import dataclass
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.peers.target import (
    Budget,
    Columns,
    Density,
    Refused,
    Target,
    batch_of,
    clipped_sum,
)
from dpmcmc.accounting import GaussianBatchSum, most_steps

__all__ = ["Settings", "affordable", "draws", "published_steps"]

_MOST = 100_000
"""No chain is longer than this; what is left of a budget is not spent."""


@dataclass(frozen=True)
class Settings:
    """What an analyst has to choose.

    Attributes
    ----------
    batch, clip, step
        b, the bound on a record's gradient, and η.
    drift
        ½ for the posterior, as η falls; 1 as in the code of Räisä et al.
    """

    batch: int
    clip: float
    step: float
    drift: float = 0.5
    chains: int = 4


def event(given: Settings, count: int, charged_twice: bool = False) -> GaussianBatchSum:
    """One step: noise of √(η/N), on a sum that is multiplied by drift · η / b."""
    noise = np.sqrt(given.step / count) * given.batch
    multiplier = noise / (given.drift * given.step * given.clip)
    return GaussianBatchSum(
        multiplier / 2 if charged_twice else multiplier, given.batch, count
    )


@cache
def affordable(given: Settings, count: int, budget: Budget) -> int:
    """How many steps each chain may make."""
    return most_steps(event(given, count), *budget) // given.chains


def published_steps(given: Settings, count: int, budget: Budget) -> int:
    """How many it makes with the sensitivity counted twice."""
    return most_steps(event(given, count, charged_twice=True), *budget) // given.chains


def draws(
    target: Target, budget: Budget, given: Settings, seed: int, keep: int = 1000
) -> np.ndarray:
    """Chains from the model's initial point, thinned, without their first half."""
    steps = min(affordable(given, target.size, budget), _MOST)
    if steps < 2:
        raise Refused("the budget buys no step")
    key = jax.random.key(seed)
    made = np.asarray(_run(key, target.records, target.density, given, steps))
    made = made[steps // 2 :]
    thinned = made[:: max(1, len(made) * given.chains // keep)]
    return thinned.reshape(-1, target.density.size)


@partial(jax.jit, static_argnames=("density", "given", "steps"))
def _run(
    key: jax.Array, records: Columns, density: Density, given: Settings, steps: int
) -> jax.Array:
    count = len(next(iter(records.values())))
    pace = given.step / count

    def one(theta: jax.Array, key: jax.Array) -> jax.Array:
        first, second = jax.random.split(key)
        rows = density.gradients(theta, batch_of(first, records, given.batch))
        total = clipped_sum(rows, given.clip) * (count / given.batch)
        drift = given.drift * pace * (jax.grad(density.log_prior)(theta) + total)
        return theta + drift + jnp.sqrt(pace) * jax.random.normal(second, theta.shape)

    def step(thetas: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        thetas = jax.vmap(one)(thetas, jax.random.split(key, given.chains))
        return thetas, thetas

    start = jnp.tile(density.start, (given.chains, 1))
    return jax.lax.scan(step, start, jax.random.split(key, steps))[1]
