# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One posterior sample (Dimitrakakis et al. 2014; Wang, Fienberg and Smola 2015).

If log-likelihoods of a record lie in [−B, 0] for all θ, a draw from the posterior with
the likelihood to the power ρ is an exponential mechanism: a substitution changes the
log-density by a function whose range is at most 2ρB, so that a draw is 2ρB-DP, and one
of k draws is one of k bounded-range releases. Here log-likelihoods are clipped to a
range of width B below their greatest value.

Published price: ε = 4B for one draw with |log-likelihood| ≤ B (Wang et al.): a range of
2B. It is the same; but draws of a Markov chain are not draws of the posterior, and the
guarantee rests on convergence, which no one can check privately.
"""

from dataclasses import dataclass
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.peers.target import Budget, Columns, Density, Target
from dpmcmc.accounting.curves import ZcdpCurve

__all__ = ["Settings", "draws", "power"]


@dataclass(frozen=True)
class Settings:
    """What an analyst has to choose.

    Attributes
    ----------
    highest, width
        Log-likelihoods are clipped to [highest − width, highest].
    walk, steps
        The sd and the number of the steps of the chain that stands for a draw.
    draws
        How many draws are released; they share the budget.
    """

    highest: float
    width: float
    walk: float
    steps: int = 4000
    draws: int = 1


@cache
def power(width: float, number: int, budget: Budget) -> float:
    """The greatest power ρ ≤ 1 of the likelihood at which draws fit the budget.

    One draw is η-bounded-range with η = 2ρ·width: at most η-DP, and (η²/8)-zCDP.
    """
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        eta = 2 * middle * width
        composed = ZcdpCurve(number * eta**2 / 8).epsilon(budget.delta)
        fits = min(number * eta, composed) <= budget.epsilon
        low, high = (middle, high) if fits else (low, middle)
    return low


def draws(target: Target, budget: Budget, given: Settings, seed: int) -> np.ndarray:
    """The draws, each of a chain of its own."""
    rho = power(given.width, given.draws, budget)
    return np.asarray(
        _run(jax.random.key(seed), target.records, rho, target.density, given)
    )


@partial(jax.jit, static_argnames=("density", "given"))
def _run(
    key: jax.Array, records: Columns, rho: float, density: Density, given: Settings
) -> jax.Array:
    count = len(next(iter(records.values())))
    # Steps of the width of the flattened posterior.
    walk = given.walk / jnp.sqrt(jnp.maximum(rho, 1 / count))

    def height(theta: jax.Array) -> jax.Array:
        each = density.each(theta, records)
        kept = jnp.clip(each, given.highest - given.width, given.highest)
        return rho * jnp.sum(kept) + density.log_prior(theta)

    def step(state: tuple[jax.Array, jax.Array], key: jax.Array):
        theta, here = state
        first, second = jax.random.split(key)
        proposed = theta + walk * jax.random.normal(first, theta.shape)
        there = height(proposed)
        accepted = jnp.log(jax.random.uniform(second)) < there - here
        new = jnp.where(accepted, proposed, theta), jnp.where(accepted, there, here)
        return new, None

    def one(key: jax.Array) -> jax.Array:
        begun = density.start, height(density.start)
        return jax.lax.scan(step, begun, jax.random.split(key, given.steps))[0][0]

    return jax.lax.map(one, jax.random.split(key, given.draws))
