# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Private Hamiltonian Monte Carlo (Räisä, Koskela and Honkela 2021).

L leapfrog steps with noisy sums of clipped gradients, then the penalised test of
`penalty`. Noise on gradients leaves the proposal reversible: it does not depend on
the momentum. Of a step, L + 1 gradients with μ = 1/(τ_g √N) and a ratio with
μ = 1/(τ √N) are released.

Published price: the same. But chains start at the true parameters, and bounds on
gradients and ratios were chosen on the records that were sampled.
"""

import math
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.peers.penalty import State, is_accepted
from benchmarks.peers.target import (
    Budget,
    Columns,
    Density,
    Refused,
    Target,
    clipped_sum,
)
from dpmcmc.accounting import GaussianRelease, most_steps

__all__ = ["Settings", "affordable", "draws"]


@dataclass(frozen=True)
class Settings:
    """What an analyst has to choose.

    Attributes
    ----------
    tau, tau_gradient
        The noise on ratios and on gradients, in sensitivities over √N.
    clip, clip_gradient
        Bounds on a log-likelihood ratio over the length of the move, and on a gradient.
    step, leaps
        The largest step of the leapfrog, which varies from 0 to it, and how many.
    """

    tau: float
    tau_gradient: float
    clip: float
    clip_gradient: float
    step: float
    leaps: int
    chains: int = 4


@cache
def affordable(given: Settings, count: int, budget: Budget) -> int:
    """How many steps each chain may make."""
    # Releases with normal noise compose to one: their μ² add.
    squared = 1 / given.tau**2 + (given.leaps + 1) / given.tau_gradient**2
    event = GaussianRelease(math.sqrt(squared / count))
    return most_steps(event, *budget) // given.chains


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
    width = 2 * given.clip_gradient * given.tau_gradient * math.sqrt(count)

    def force(theta: jax.Array, key: jax.Array) -> jax.Array:
        total = clipped_sum(density.gradients(theta, records), given.clip_gradient)
        noise = width * jax.random.normal(key, (size,))
        return total + noise + jax.grad(density.log_prior)(theta)

    def one(state: State, key: jax.Array) -> State:
        theta, values = state
        keys = jax.random.split(key, given.leaps + 4)
        start = jax.random.normal(keys[0], (size,))
        pace = given.step * jax.random.uniform(keys[1])

        def leap(state: Any, key: jax.Array) -> tuple[Any, None]:
            place, momentum, push = state
            momentum = momentum + pace / 2 * push
            place = place + pace * momentum
            push = force(place, key)
            return (place, momentum + pace / 2 * push, push), None

        begun = theta, start, force(theta, keys[2])
        (proposed, momentum, _), _ = jax.lax.scan(leap, begun, keys[4:])
        bound = given.clip * jnp.linalg.norm(proposed - theta)
        new = density.each(proposed, records)
        ratio = jnp.sum(jnp.clip(new - values, -bound, bound))
        ratio += density.log_prior(proposed) - density.log_prior(theta)
        ratio += (jnp.sum(start**2) - jnp.sum(momentum**2)) / 2
        sd = 2 * bound * given.tau * math.sqrt(count)
        accepted = is_accepted(keys[3], ratio, sd)
        return jnp.where(accepted, proposed, theta), jnp.where(accepted, new, values)

    def step(state: State, key: jax.Array) -> tuple[State, jax.Array]:
        state = one(state, key)
        return state, state[0]

    def chain(key: jax.Array) -> jax.Array:
        begun = density.start, density.each(density.start, records)
        return jax.lax.scan(step, begun, jax.random.split(key, steps))[1]

    return jax.lax.map(chain, jax.random.split(key, given.chains))
