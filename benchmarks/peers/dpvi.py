# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Private variational inference (Jälkö, Dikmen and Honkela 2017).

A normal distribution with independent coordinates, θ = m + s(ρ) η with the softplus s,
is fitted by stochastic gradients. The gradient of a record with respect to (m, ρ) is
norm-clipped, summed over a batch, and released with normal noise.

With aligned gradients (Jälkö, Prediger, Honkela and Kaski 2022) the gradient of θ alone
is released. That of ρ is η s'(ρ) times it, which costs nothing: nothing has to be
balanced between m and ρ, and the noise on both agrees.

Published price: the moments accountant for Poisson batches, for a record that is added
or removed. Under substitution the sensitivity is twice as large.
"""

from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.peers.target import (
    Budget,
    Columns,
    Density,
    Target,
    batch_of,
    clipped_sum,
)
from dpmcmc.accounting import least_noise

__all__ = ["Fit", "Settings", "draws", "fit"]


@dataclass(frozen=True)
class Settings:
    """What an analyst has to choose, without looking at the records.

    Attributes
    ----------
    clip
        The bound on a record's gradient of (m, scale · ρ).
    steps, rate
        The number of steps, and the fraction of the records in a batch.
    scale
        Multiplies gradients of ρ before they are clipped.
    start
        The initial ρ.
    speed
        The step: as far in units of the noise as `steps` random steps go, times this.
    slower
        Divides the step of each coordinate of m and ρ, if given.
    samples
        How many η a gradient is averaged over. It is 1 if gradients are aligned.
    noise
        Multiplies the noise that the budget asks for. At ½ it is that of the published
        price, for a record that is added or removed; then the budget is not kept.
    """

    clip: float
    steps: int = 10_000
    rate: float = 0.1
    scale: float = 100.0
    start: float = -6.0
    speed: float = 2.0**0.5
    slower: tuple[float, ...] = ()
    samples: int = 10
    noise: float = 1.0
    is_aligned: bool = False


class Fit(NamedTuple):
    """The trace of a fit, which is all that is released.

    Attributes
    ----------
    places, gradients
        (m, ρ) before each step, and the noisy gradient of the loss there, summed over a
        batch.
    noise
        The standard deviation of the noise on each coordinate of a gradient.
    """

    places: np.ndarray
    gradients: np.ndarray
    noise: np.ndarray


def fit(target: Target, budget: Budget, given: Settings, seed: int) -> Fit:
    """Fit, and keep the whole trace."""
    batch = max(1, round(given.rate * target.size))
    multiplier = given.noise * _multiplier(given.steps, batch, target.size, budget)
    width = given.clip * multiplier
    key = jax.random.key(seed)
    places, gradients = _run(key, target.records, width, target.density, given, batch)
    scales = np.repeat([1.0, given.scale], target.density.size)
    return Fit(np.asarray(places), np.asarray(gradients), width / scales)


@cache
def _multiplier(steps: int, batch: int, count: int, budget: Budget) -> float:
    return least_noise(steps, batch, count, *budget)


@partial(jax.jit, static_argnames=("density", "given", "batch"))
def _run(
    key: jax.Array,
    records: Columns,
    width: float,
    density: Density,
    given: Settings,
    batch: int,
) -> tuple[jax.Array, jax.Array]:
    size, count = density.size, len(next(iter(records.values())))
    scales = jnp.repeat(jnp.array([1.0, given.scale]), size)
    pace = given.speed / (jnp.sqrt(given.steps * 2 * size) * width)
    # A coordinate whose gradients are scaled up before they are clipped has less noise.
    paces = pace * (jnp.ones(2 * size) if given.is_aligned else scales)
    if given.slower:
        paces = paces / jnp.tile(jnp.array(given.slower), 2)
    samples = 1 if given.is_aligned else given.samples

    def thetas(place: jax.Array, eta: jax.Array) -> jax.Array:
        return place[:size] + jax.nn.softplus(place[size:]) * eta

    def rows_of(place: jax.Array, drawn: Columns, eta: jax.Array) -> jax.Array:
        """Gradients of (m, ρ), a row a record, in units of `scales`; means over η."""
        of_mean = of_spread = jnp.zeros(())
        for one, noise in zip(thetas(place, eta), eta, strict=True):
            found = -density.gradients(one, drawn)
            of_mean, of_spread = of_mean + found, of_spread + noise * found
        turned = of_spread * jax.nn.sigmoid(place[size:])
        return jnp.concatenate([of_mean, turned], axis=1) * scales / samples

    def public(place: jax.Array, eta: jax.Array) -> jax.Array:
        """The prior and the entropy, of which no record is part."""
        prior = jnp.mean(jax.vmap(density.log_prior)(thetas(place, eta)))
        return -prior - jnp.sum(jnp.log(jax.nn.softplus(place[size:])))

    def one(place: jax.Array, key: jax.Array) -> tuple[jax.Array, Any]:
        keys = jax.random.split(key, 3)
        eta = jax.random.normal(keys[0], (samples, size))
        drawn = batch_of(keys[1], records, batch)
        if given.is_aligned:
            rows = -density.gradients(thetas(place, eta)[0], drawn)
            noise = width * jax.random.normal(keys[2], (size,))
            noisy = clipped_sum(rows, given.clip) + noise
            turned = eta[0] * jax.nn.sigmoid(place[size:])
            gradient = jnp.concatenate([noisy, turned * noisy])
        else:
            rows = rows_of(place, drawn, eta)
            noise = width * jax.random.normal(keys[2], (2 * size,))
            gradient = (clipped_sum(rows, given.clip) + noise) / scales
        gradient += batch / count * jax.grad(public)(place, eta)
        return place - paces * gradient, (place, gradient)

    start = jnp.concatenate([density.start, jnp.full(size, given.start)])
    return jax.lax.scan(one, start, jax.random.split(key, given.steps))[1]


def draws(
    target: Target, budget: Budget, given: Settings, seed: int, number: int = 2000
) -> np.ndarray:
    """Draws of the fitted distribution: the mean of the last half of the trace."""
    size = target.density.size
    place = np.mean(fit(target, budget, given, seed).places[given.steps // 2 :], axis=0)
    noise = np.random.default_rng(seed).normal(size=(number, size))
    return place[:size] + np.logaddexp(0, place[size:]) * noise
