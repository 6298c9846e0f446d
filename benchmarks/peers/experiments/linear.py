# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Linear regression with ten coefficients: are intervals right.

As in Alrawajfeh et al. (2025), by their code: σ² ~ InverseGamma(20, ½), eleven
coefficients N(0, 4σ²), the last an intercept, x ~ N(0, I), 5,000 records. Their prior
covariance is 40σ²/(11 − 1). θ is (coefficients, log σ²); they have the inverse softplus
of σ², which is nearly that.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

import dpmcmc
from benchmarks.peers import dpvi, na_dpvi, noisy_statistics
from benchmarks.peers.experiments.base import (
    Experiment,
    Problem,
    coverage_of,
    coverage_summary,
    one_call,
    peer,
)
from benchmarks.peers.target import Density, Target
from dpmcmc import models

_SIZE, _COUNT = 11, 5000
_PRIOR = 2.0
"""The sd of a coefficient, in units of σ."""


def model(x: Any, y: Any) -> None:
    """The model, as a user of NumPyro writes it."""
    variance = numpyro.sample("variance", dist.InverseGamma(20.0, 0.5))
    scale = _PRIOR * jnp.sqrt(variance)
    w = numpyro.sample("w", dist.Normal(0, scale).expand([_SIZE]).to_event(1))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Normal(x @ w, jnp.sqrt(variance)), obs=y)


def _log_prior(theta: jax.Array) -> jax.Array:
    log_variance = theta[-1]
    variance = jnp.exp(log_variance)
    # InverseGamma(20, ½), with the Jacobian of the logarithm
    hyper = -20.0 * log_variance - 0.5 / variance
    slopes = -jnp.sum(theta[:-1] ** 2) / (2 * _PRIOR**2 * variance)
    return hyper + slopes - _SIZE * log_variance / 2


def _log_likelihood(theta: jax.Array, record: Any) -> jax.Array:
    residual = record["y"] - record["x"] @ theta[:-1]
    return -theta[-1] / 2 - residual**2 * jnp.exp(-theta[-1]) / 2


DENSITY = Density(_log_likelihood, _log_prior, np.append(np.ones(_SIZE), -4.0))


def make(seed: int, _: Path | None) -> Problem:
    """Parameters of the prior, and records."""
    generator = np.random.default_rng(seed)
    variance = 0.5 / generator.gamma(20.0)
    w = _PRIOR * np.sqrt(variance) * generator.normal(size=_SIZE)
    x = np.column_stack([generator.normal(size=(_COUNT, _SIZE - 1)), np.ones(_COUNT)])
    y = x @ w + np.sqrt(variance) * generator.normal(size=_COUNT)
    records = {"x": x.astype(np.float32), "y": y.astype(np.float32)}
    covariance = np.linalg.inv(x.T @ x + np.eye(_SIZE) / _PRIOR**2)
    sd = np.append(np.sqrt(variance * np.diag(covariance)), np.sqrt(2 / _COUNT))
    return Problem(Target(DENSITY, records), np.append(w, np.log(variance)), {"sd": sd})


def _flat(draws: Any) -> np.ndarray:
    return np.column_stack([draws["w"], np.log(draws["variance"])])


def _flat_ready(draws: Any) -> np.ndarray:
    return np.column_stack(
        [draws["coefficients"], draws["intercept"], 2 * np.log(draws["sd"])]
    )


def _ready() -> dpmcmc.Model:
    """The ready model, with this prior; bounds are generous and public."""

    def log_prior(theta: Any) -> jax.Array:
        slopes = jnp.append(theta["coefficients"], theta["intercept"])
        log_variance = 2 * theta["log_sd"]
        return _log_prior(jnp.append(slopes, log_variance))

    return replace(
        models.linear_regression(_SIZE - 1, norm=5.0, bounds=(-5.0, 5.0)),
        log_prior=log_prior,
    )


def _without_intercept(problem: Problem) -> dict[str, np.ndarray]:
    records = problem.target.records
    return {"x": records["x"][:, :-1], "y": records["y"]}


_COVARIATES = np.triu_indices(_SIZE)
_OTHERS = np.arange(_SIZE + 1), np.full(_SIZE + 1, _SIZE)
"""Pairs of (x, y): those of x, each once; and those of y with x and with itself."""


def _statistic(record: Any) -> jax.Array:
    """Products of (x, y) with itself, each pair once; y as far as 5, x as long as 5."""
    joint = jnp.append(record["x"], record["y"])
    joint *= jnp.minimum(1, 7.0 / jnp.linalg.norm(joint))
    products = jnp.outer(joint, joint)
    return jnp.concatenate([products[_COVARIATES], products[_OTHERS]])


def _covariance(mean: Any, spread: Any, some: Any, others: Any) -> Any:
    """Of products of normal variables, by Isserlis' theorem; a row for each of some.

    Cov(ab, cd) = Σac Σbd + Σad Σbc, and means times covariances.
    """
    (one, two), (rows, columns) = [at[:, None] for at in some], others
    return (
        spread[one, rows] * spread[two, columns]
        + spread[one, columns] * spread[two, rows]
        + mean[one] * mean[rows] * spread[two, columns]
        + mean[one] * mean[columns] * spread[two, rows]
        + mean[two] * mean[rows] * spread[one, columns]
        + mean[two] * mean[columns] * spread[one, rows]
    )


def _moments_of_covariates() -> tuple[np.ndarray, np.ndarray]:
    """Of products of x ~ N(0, I), whose last number is 1."""
    mean, spread = np.eye(_SIZE)[-1], np.diag(np.append(np.ones(_SIZE - 1), 0.0))
    second = spread + np.outer(mean, mean)
    covariance = _covariance(mean, spread, _COVARIATES, _COVARIATES)
    return second[_COVARIATES], covariance


def _moments(theta: jax.Array) -> tuple[jax.Array, ...]:
    """Of products with y, and their covariance with those of x."""
    w, variance = theta[:-1], jnp.exp(theta[-1])
    mean = jnp.zeros(_SIZE + 1).at[_SIZE - 1].set(1.0).at[_SIZE].set(w[-1])
    cross = w.at[-1].set(0.0)
    spread = jnp.eye(_SIZE).at[-1, -1].set(0.0)
    spread = jnp.block(
        [
            [spread, cross[:, None]],
            [cross[None, :], (cross @ cross + variance)[None, None]],
        ]
    )
    second = spread + jnp.outer(mean, mean)
    return (
        second[_OTHERS],
        _covariance(mean, spread, _OTHERS, _OTHERS),
        _covariance(mean, spread, _OTHERS, _COVARIATES),
    )


_STATISTICS = noisy_statistics.Settings(
    _statistic, _moments, bound=49.0, covariates=_moments_of_covariates()
)
_FIT = dpvi.Settings(
    clip=260.0, scale=1500.0, speed=4 * 2.0**0.5, slower=(1.0,) * _SIZE + (28.0,)
)


LINEAR = Experiment(
    number=1,
    name="linear",
    title="Linear regression, 10 coefficients, N = 5,000, δ = 1e-5",
    score="coverage error × 10³",
    epsilons=(0.1, 0.3, 1.0),
    delta=1e-5,
    make=make,
    methods={
        "dpmcmc, one call": one_call(model, _flat),
        "dpmcmc, ready model, SufficientStatistics": one_call(
            _ready(),
            _flat_ready,
            records=_without_intercept,
            method=dpmcmc.SufficientStatistics(),
        ),
        "NA-DPVI": peer(na_dpvi.draws, _FIT),
        "NA-DPVI, published price": peer(na_dpvi.draws, replace(_FIT, noise=0.5)),
        "DPVI": peer(dpvi.draws, _FIT),
        "DPVI, aligned": peer(dpvi.draws, replace(_FIT, is_aligned=True)),
        "Bernstein–Sheldon": peer(noisy_statistics.draws, _STATISTICS),
    },
    measure=coverage_of,
    summary=coverage_summary,
    published={
        "NA-DPVI": {0.1: "36", 0.3: "35", 1.0: "27"},
        "Bernstein–Sheldon": {0.1: "301", 0.3: "299", 1.0: "323"},
        "DPVI": {0.1: "512", 0.3: "307", 1.0: "360"},
    },
    goal={0.1: 20, 0.3: 18, 1.0: 15},
    extras={"width": "sd over that without privacy"},
    repeats=200,
    slow={
        "dpmcmc, one call": 100,
        "NA-DPVI": 100,
        "NA-DPVI, published price": 40,
        "DPVI": 50,
        "DPVI, aligned": 50,
        "Bernstein–Sheldon": 40,
    },
)
