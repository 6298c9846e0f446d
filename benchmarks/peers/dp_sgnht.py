# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Private stochastic gradient Nosé–Hoover thermostat (Ding et al. 2014).

Momentum p with friction ξ, which adapts so that the mean of p² is 1:
p ← p − ξ η p / N + (η/N) (∇ log prior + (N/b) Σ clipped) + N(0, 2 A η / N),
θ ← θ + (η/N) p, ξ ← ξ + (η/N) (p²/d − 1). The noise on p is the noise of the privacy.

Made private by Li et al. (2019). Published price: as in `dp_sgld`, the sensitivity is
charged twice.
"""

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

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


@dataclass(frozen=True)
class Settings:
    """What an analyst has to choose: b, the bound on gradients, η and A."""

    batch: int
    clip: float
    step: float
    friction: float
    chains: int = 4


def event(given: Settings, count: int, charged_twice: bool = False) -> GaussianBatchSum:
    """One step: noise of √(2Aη/N), on a sum that is multiplied by η / b."""
    noise = np.sqrt(2 * given.friction * given.step / count) * given.batch
    multiplier = noise / (given.step * given.clip)
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
    pace, friction = given.step / count, given.friction

    def one(state: Any, key: jax.Array) -> Any:
        theta, momentum, xi = state
        first, second = jax.random.split(key)
        rows = density.gradients(theta, batch_of(first, records, given.batch))
        total = clipped_sum(rows, given.clip) * (count / given.batch)
        force = jax.grad(density.log_prior)(theta) + total
        noise = jnp.sqrt(2 * friction * pace) * jax.random.normal(second, theta.shape)
        moved = momentum - xi * pace * momentum + pace * force + noise
        xi = xi + pace * (jnp.mean(momentum**2) - 1)
        return theta + pace * momentum, moved, xi

    def step(states: Any, key: jax.Array) -> tuple[Any, jax.Array]:
        states = jax.vmap(one)(states, jax.random.split(key, given.chains))
        return states, states[0]

    first, rest = jax.random.split(key)
    start = jnp.tile(density.start, (given.chains, 1))
    momenta = jax.random.normal(first, start.shape)
    begun = start, momenta, jnp.full(given.chains, float(friction))
    return jax.lax.scan(step, begun, jax.random.split(rest, steps))[1]
