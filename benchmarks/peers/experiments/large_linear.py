# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Linear regression with many records: how far is the mean.

Five coefficients, x ~ N(0, I), noise of sd 1, N = 10⁵, δ = 1/N, ε = 1: sizes and budget
as in Alparslan, Yıldırım and Birbil (2023). The published figures are quoted; how their
records were made was not checked.
"""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

import dpmcmc
from benchmarks.peers import dp_sgld, dpvi, na_dpvi, one_posterior_sample
from benchmarks.peers.experiments.base import (
    Experiment,
    Problem,
    Run,
    interval,
    one_call,
    peer,
)
from benchmarks.peers.target import Budget, Density, Target
from dpmcmc import models

_SIZE, _COUNT, _PRIOR = 5, 100_000, 10.0


def model(x: Any, y: Any) -> None:
    """The model, as a user of NumPyro writes it."""
    b = numpyro.sample("b", dist.Normal(0, _PRIOR).expand([_SIZE]).to_event(1))
    sd = numpyro.sample("sd", dist.LogNormal(0, 2.0))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Normal(x @ b, sd), obs=y)


def _log_likelihood(theta: jax.Array, record: Any) -> jax.Array:
    residual = record["y"] - record["x"] @ theta[:-1]
    return -theta[-1] - residual**2 * jnp.exp(-2 * theta[-1]) / 2


def _log_prior(theta: jax.Array) -> jax.Array:
    return -jnp.sum(theta[:-1] ** 2) / (2 * _PRIOR**2) - theta[-1] ** 2 / 8


DENSITY = Density(_log_likelihood, _log_prior, np.append(np.zeros(_SIZE), 0.5))


def make(seed: int, _: Path | None) -> Problem:
    """Coefficients, and records."""
    generator = np.random.default_rng(seed)
    b = generator.normal(size=_SIZE)
    x = generator.normal(size=(_COUNT, _SIZE)).astype(np.float32)
    y = (x @ b + generator.normal(size=_COUNT)).astype(np.float32)
    return Problem(Target(DENSITY, {"x": x, "y": y}), b)


def measure(problem: Problem, draws: np.ndarray, _: Any) -> Run:
    """The squared error of the mean, and how wide draws are."""
    errors = draws.mean(0)[:_SIZE] - problem.truth
    sd = draws.std(0)[:_SIZE] * _COUNT**0.5
    return {"squared": float(np.mean(errors**2)), "width": float(np.mean(sd))}


def _without_privacy(problem: Problem, _: Budget, __: int) -> tuple[np.ndarray, str]:
    records = problem.target.records
    found = np.linalg.lstsq(records["x"], records["y"], rcond=None)[0]
    return np.tile(found, (2, 1)), ""


def _flat(draws: Any) -> np.ndarray:
    return np.column_stack([draws["b"], np.log(draws["sd"])])


LARGE_LINEAR = Experiment(
    number=6,
    name="large-linear",
    title="Linear regression, d = 5, N = 100,000, ε = 1, δ = 1/N",
    score="squared error of the mean",
    epsilons=(1.0,),
    delta=1e-5,
    make=make,
    methods={
        "dpmcmc, one call": one_call(model, _flat),
        "dpmcmc, ready model, SufficientStatistics": one_call(
            models.linear_regression(
                _SIZE, norm=5.0, bounds=(-10.0, 10.0), intercept=False
            ),
            lambda draws: np.column_stack([draws["coefficients"], np.log(draws["sd"])]),
            method=dpmcmc.SufficientStatistics(),
        ),
        "NA-DPVI": peer(na_dpvi.draws, dpvi.Settings(clip=10.0, steps=2000, rate=0.02)),
        "DPVI": peer(dpvi.draws, dpvi.Settings(clip=10.0, steps=2000, rate=0.02)),
        "DP-SGLD": peer(dp_sgld.draws, dp_sgld.Settings(1000, 10.0, 0.05)),
        "one posterior sample": peer(
            one_posterior_sample.draws,
            one_posterior_sample.Settings(0.0, 10.0, walk=0.004),
        ),
        "without privacy": _without_privacy,
    },
    measure=measure,
    summary=lambda runs: interval(runs, "squared"),
    published={
        "the best published": {1.0: "0.067"},
        "without privacy": {1.0: "1.5e-5"},
    },
    goal={1.0: 1e-3},
    extras={"width": "sd over that without privacy"},
    repeats=20,
)
