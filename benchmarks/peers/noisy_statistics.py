# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Sufficient statistics with noise, and posteriors that know of it.

Bernstein and Sheldon 2018 (exponential families) and 2019 (linear regression). The sum
s of bounded sufficient statistics is released with noise, z = s + noise. Given θ, s is
normal by the central limit theorem, with N times the model's mean and covariance of one
record's statistics. They sample s and θ in turn, with Laplace noise; normal noise lets
s be integrated out: z ~ N(N m(θ), N V(θ) + σ² I), of which NUTS draws θ.

Published price: Laplace noise of scale Δ₁/ε for pure ε, with the L1 sensitivity of the
whole vector. Normal noise at (ε, δ) needs the L2 sensitivity; with many statistics that
is less noise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import MCMC, NUTS

from benchmarks.peers.target import Budget, Target
from dpmcmc.accounting.curves import GaussianCurve
from dpmcmc.model.statistics import normal_log_density

__all__ = ["Settings", "draws", "laplace_scale", "noise_of"]


@dataclass(frozen=True, eq=False)
class Settings:
    """What an analyst has to state.

    Attributes
    ----------
    statistic
        The vector of one record; it is norm-clipped to the bound.
    moments
        Mean and covariance of it, as the model has them at θ.
    bound
        The greatest length of a statistic; a substitution moves the sum by twice it.
    covariates
        Mean and covariance of the first numbers of the vector, if θ does not move
        these. Then ``moments`` returns mean and covariance of the others, and their
        covariance with the first, a row for each of the others.
    """

    statistic: Callable[[Any], jax.Array]
    moments: Callable[[jax.Array], tuple[jax.Array, ...]]
    bound: float
    covariates: tuple[np.ndarray, np.ndarray] | None = None


def noise_of(bound: float, budget: Budget) -> float:
    """The sd of the noise that a budget asks for."""
    return 2 * bound / GaussianCurve.within(*budget).mu


def laplace_scale(l1_bound: float, budget: Budget) -> float:
    """The scale of Laplace noise at pure ε: the published price."""
    return 2 * l1_bound / budget.epsilon


def log_density(
    noisy: np.ndarray, count: int, sd: float, given: Settings
) -> Callable[[jax.Array], jax.Array]:
    """Of the noisy sum, given θ, up to a constant.

    What θ does not move is conditioned on, once: with 66 of 78 numbers of covariates
    alone, a gradient factors a matrix of 12 rows in place of 78.
    """
    released = jnp.asarray(noisy)
    if given.covariates is None:

        def whole(theta: jax.Array) -> jax.Array:
            mean, covariance = given.moments(theta)
            covariance = count * covariance + sd**2 * jnp.eye(len(released))
            return normal_log_density(released - count * mean, covariance)

        return whole

    fixed, spread = given.covariates
    first, others = np.split(np.asarray(noisy, np.float64), [len(fixed)])
    inverse = np.linalg.inv(count * spread + sd**2 * np.eye(len(first)))
    scaled, inverse = (
        jnp.asarray(inverse @ (first - count * fixed)),
        jnp.asarray(inverse),
    )
    rest = jnp.asarray(others)

    def conditional(theta: jax.Array) -> jax.Array:
        mean, covariance, cross = given.moments(theta)
        explained = count**2 * cross @ inverse @ cross.T
        covariance = count * covariance + sd**2 * jnp.eye(len(rest)) - explained
        return normal_log_density(rest - count * (mean + cross @ scaled), covariance)

    return conditional


def draws(
    target: Target, budget: Budget, given: Settings, seed: int, number: int = 2000
) -> np.ndarray:
    """Draws of the posterior given the noisy sum."""
    with jax.enable_x64(True):
        count, sd = target.size, noise_of(given.bound, budget)
        rows = np.asarray(jax.vmap(given.statistic)(target.records), np.float64)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        kept = np.minimum(1, given.bound / np.maximum(lengths, 1e-30))
        total = np.sum(rows * kept, axis=0)
        generator = np.random.default_rng(seed)
        noisy = total + sd * generator.normal(size=total.shape)
        likelihood = log_density(noisy, count, sd, given)

        def potential(theta: jax.Array) -> jax.Array:
            return -likelihood(theta) - target.density.log_prior(theta)

        chains = MCMC(
            NUTS(potential_fn=potential),
            num_warmup=500,
            num_samples=number,
            progress_bar=False,
        )
        start = jnp.asarray(target.density.initial, jnp.float64)
        chains.run(jax.random.key(seed), init_params=start)
        return np.asarray(chains.get_samples())
