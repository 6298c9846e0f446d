# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The penalty algorithm (Ceperley and Dewing 1999; Yıldırım and Ermiş 2019).

A random walk. The sum of log-likelihood ratios, each clipped to ±c ‖θ′ − θ‖, is
released with normal noise of variance s², and a move is accepted with probability
min(1, exp(noisy ratio − s²/2)). The penalty s²/2 makes the chain exact for the clipped
ratios: E min(1, e^{r + s Z − s²/2}) satisfies detailed balance.

The sd is s = 2 c τ √N ‖θ′ − θ‖, so that a step is one Gaussian release with μ = 1/(τ√N)
whatever the move. Published price (Räisä et al. 2021): the same, composed exactly; in
Yıldırım and Ermiş, advanced composition.
"""

import math
from dataclasses import dataclass
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.peers.target import Budget, Columns, Density, Refused, Target
from dpmcmc.accounting import GaussianRelease, most_steps

__all__ = ["Settings", "State", "affordable", "draws", "is_accepted"]

State = tuple[jax.Array, jax.Array]
"""θ, and the log-likelihood of each record there."""


@dataclass(frozen=True)
class Settings:
    """What an analyst has to choose.

    Attributes
    ----------
    tau
        The noise, in sensitivities over √N.
    clip
        The bound on a log-likelihood ratio over the length of the move.
    walk
        The standard deviation of a move.
    """

    tau: float
    clip: float
    walk: float
    chains: int = 4


@cache
def affordable(given: Settings, count: int, budget: Budget) -> int:
    """How many steps each chain may make."""
    event = GaussianRelease(1 / (given.tau * math.sqrt(count)))
    return most_steps(event, *budget) // given.chains


def is_accepted(key: jax.Array, ratio: jax.Array, sd: jax.Array) -> jax.Array:
    """The penalised test of a log ratio of densities that has noise on it."""
    first, second = jax.random.split(key)
    noisy = ratio + sd * jax.random.normal(first) - sd**2 / 2
    return jnp.log(jax.random.uniform(second)) < noisy


def draws(target: Target, budget: Budget, given: Settings, seed: int) -> np.ndarray:
    """Chains from the model's initial point, without their first half."""
    steps = affordable(given, target.size, budget)
    if steps < 2:
        raise Refused("the budget buys no step")
    key = jax.random.key(seed)
    made = np.asarray(_run(key, target.records, target.density, given, steps))
    return made[:, steps // 2 :].reshape(-1, target.density.size)


@partial(jax.jit, static_argnames=("density", "given", "steps"))
def _run(
    key: jax.Array, records: Columns, density: Density, given: Settings, steps: int
) -> jax.Array:
    count, size = len(next(iter(records.values()))), density.size

    def one(state: State, key: jax.Array) -> State:
        theta, values = state
        first, second = jax.random.split(key)
        proposed = theta + given.walk * jax.random.normal(first, (size,))
        bound = given.clip * jnp.linalg.norm(proposed - theta)
        new = density.each(proposed, records)
        ratio = jnp.sum(jnp.clip(new - values, -bound, bound))
        ratio += density.log_prior(proposed) - density.log_prior(theta)
        accepted = is_accepted(second, ratio, 2 * bound * given.tau * math.sqrt(count))
        return jnp.where(accepted, proposed, theta), jnp.where(accepted, new, values)

    def step(state: State, key: jax.Array) -> tuple[State, jax.Array]:
        state = one(state, key)
        return state, state[0]

    def chain(key: jax.Array) -> jax.Array:
        begun = density.start, density.each(density.start, records)
        return jax.lax.scan(step, begun, jax.random.split(key, steps))[1]

    return jax.lax.map(chain, jax.random.split(key, given.chains))
