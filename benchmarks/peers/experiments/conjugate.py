# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Models of one or two parameters: exponential, Bernoulli, three categories.

As in Alrawajfeh et al. (2025), by their code: rate ~ Gamma(8, 2), probability ~
Beta(10, 10), probabilities ~ Dirichlet(5, 5, 5), 5,000 records, ε = 0.1. θ is the log
rate, the logit, and the two logarithms of ratios to the last probability.
"""

from collections.abc import Callable
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
    Method,
    Problem,
    coverage_of,
    coverage_summary,
    one_call,
    peer,
)
from benchmarks.peers.target import Density, Target
from dpmcmc import models
from dpmcmc.model.preparation import Clamp

_COUNT = 5000
_MOST = 5.0
"""The public bound on an exponential record: rates below 1 are improbable."""


def exponential(x: Any) -> None:
    """The model, as a user of NumPyro writes it."""
    rate = numpyro.sample("rate", dist.Gamma(8.0, 2.0))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("x", dist.Exponential(rate), obs=x)


def bernoulli(x: Any) -> None:
    """The model, as a user of NumPyro writes it."""
    p = numpyro.sample("p", dist.Beta(10.0, 10.0))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("x", dist.Bernoulli(p), obs=x)


def categorical(x: Any) -> None:
    """The model, as a user of NumPyro writes it."""
    p = numpyro.sample("p", dist.Dirichlet(5 * jnp.ones(3)))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("x", dist.Categorical(p), obs=x)


def _logs(p: np.ndarray) -> np.ndarray:
    return np.log(p[..., :2]) - np.log(p[..., 2:])


def _log_weights(theta: jax.Array) -> jax.Array:
    return jax.nn.log_softmax(jnp.append(theta, 0.0))


EXPONENTIAL = Density(
    lambda theta, r: theta[0] - jnp.exp(theta[0]) * r["x"],
    lambda theta: 8 * theta[0] - 2 * jnp.exp(theta[0]),
    np.zeros(1),
)
BERNOULLI = Density(
    lambda theta, r: r["x"] * theta[0] - jax.nn.softplus(theta[0]),
    lambda theta: 10 * theta[0] - 20 * jax.nn.softplus(theta[0]),
    np.zeros(1),
)
CATEGORICAL = Density(
    lambda theta, r: _log_weights(theta)[r["x"]],
    lambda theta: 5 * jnp.sum(_log_weights(theta)),
    np.zeros(2),
)


def _exponential(seed: int, _: Path | None) -> Problem:
    generator = np.random.default_rng(seed)
    rate = generator.gamma(8.0, 1 / 2)
    x = generator.exponential(1 / rate, _COUNT).astype(np.float32)
    sd = np.array([_COUNT**-0.5])
    return Problem(Target(EXPONENTIAL, {"x": x}), np.log([rate]), {"sd": sd})


def _bernoulli(seed: int, _: Path | None) -> Problem:
    generator = np.random.default_rng(seed)
    p = generator.beta(10.0, 10.0)
    x = (generator.random(_COUNT) < p).astype(np.int32)
    sd = np.array([(_COUNT * p * (1 - p)) ** -0.5])
    return Problem(Target(BERNOULLI, {"x": x}), np.log([p / (1 - p)]), {"sd": sd})


def _categorical(seed: int, _: Path | None) -> Problem:
    generator = np.random.default_rng(seed)
    p = generator.dirichlet([5.0, 5.0, 5.0])
    x = generator.choice(3, _COUNT, p=p).astype(np.int32)
    sd = np.sqrt((1 / p[:2] + 1 / p[2]) / _COUNT)
    return Problem(Target(CATEGORICAL, {"x": x}), _logs(p), {"sd": sd})


def _ready_exponential() -> dpmcmc.Model:
    """The model with its statistic stated, x clamped to [0, 5]."""
    half = _MOST / 2

    def log_density(theta: Any, noisy: Any) -> jax.Array:
        """Of the noisy sum: normal, with the model's moments."""
        mean = jnp.exp(-theta["log_rate"])
        variance = noisy.records * mean**2 + noisy.deviation**2
        difference = noisy.total[0] - noisy.records * (mean - half)
        return -(difference**2) / (2 * variance) - jnp.log(variance) / 2

    return dpmcmc.Model(
        lambda theta, record: (
            theta["log_rate"] - jnp.exp(theta["log_rate"]) * record["x"]
        ),
        lambda theta: 8 * theta["log_rate"] - 2 * jnp.exp(theta["log_rate"]),
        {"log_rate": 1.0},
        preparation=dpmcmc.Preparation({"x": Clamp(0, _MOST)}),
        statistics=dpmcmc.Statistics(
            lambda record: jnp.reshape(record["x"] - half, (1,)),
            lambda theta: jnp.reshape(-jnp.exp(theta["log_rate"]), (1,)),
            half,
            constant=lambda theta: (
                theta["log_rate"] - half * jnp.exp(theta["log_rate"])
            ),
            is_exact=True,
            log_density=log_density,
            words="x",
        ),
    )


def _exponential_moments(theta: jax.Array) -> tuple[jax.Array, jax.Array]:
    mean = jnp.exp(-theta)
    return mean - _MOST / 2, jnp.diag(mean**2)


def _bernoulli_moments(theta: jax.Array) -> tuple[jax.Array, jax.Array]:
    p = jax.nn.sigmoid(theta)
    return p - 0.5, jnp.diag(p * (1 - p))


def _categorical_moments(theta: jax.Array) -> tuple[jax.Array, jax.Array]:
    p = jnp.exp(_log_weights(theta))
    return p - 1 / 3, jnp.diag(p) - jnp.outer(p, p)


def _experiment(
    name: str,
    title: str,
    make: Callable[[int, Path | None], Problem],
    methods: dict[str, Method],
    fit: dpvi.Settings,
    statistics: noisy_statistics.Settings,
    published: tuple[str, str],
) -> Experiment:
    return Experiment(
        number=3,
        name=name,
        title=f"{title}, N = 5,000, δ = 1e-5",
        score="coverage error × 10³",
        epsilons=(0.1,),
        delta=1e-5,
        make=make,
        methods={
            **methods,
            "NA-DPVI": peer(na_dpvi.draws, fit),
            "DPVI": peer(dpvi.draws, fit),
            "Bernstein–Sheldon": peer(noisy_statistics.draws, statistics),
        },
        measure=coverage_of,
        summary=coverage_summary,
        published={
            "NA-DPVI": {0.1: published[0]},
            "Bernstein–Sheldon": {0.1: published[1]},
        },
        goal={0.1: 15},
        extras={"width": "sd over that without privacy"},
        repeats=500,
        slow={
            "dpmcmc, one call": 200,
            "NA-DPVI": 100,
            "DPVI": 50,
            "Bernstein–Sheldon": 100,
        },
    )


ONE_PARAMETER = (
    _experiment(
        "exponential",
        "Exponential",
        _exponential,
        {
            "dpmcmc, one call": one_call(
                exponential, lambda draws: np.log(draws["rate"])[:, None]
            ),
            "dpmcmc, one call, statistic stated": one_call(
                _ready_exponential(), lambda draws: draws["log_rate"][:, None]
            ),
        },
        dpvi.Settings(clip=2.0, start=-4.0),
        noisy_statistics.Settings(
            lambda r: jnp.reshape(jnp.minimum(r["x"], _MOST) - _MOST / 2, (1,)),
            _exponential_moments,
            _MOST / 2,
        ),
        ("23", "34"),
    ),
    _experiment(
        "bernoulli",
        "Bernoulli",
        _bernoulli,
        {
            "dpmcmc, one call": one_call(
                bernoulli, lambda d: np.log(d["p"] / (1 - d["p"]))[:, None]
            ),
            "dpmcmc, one call, ready model": one_call(
                models.bernoulli(successes=10.0, failures=10.0),
                lambda d: np.log(d["probability"] / (1 - d["probability"]))[:, None],
            ),
        },
        dpvi.Settings(clip=2.0, start=-4.0, scale=120.0),
        noisy_statistics.Settings(
            lambda r: jnp.reshape(r["x"] - 0.5, (1,)), _bernoulli_moments, 0.5
        ),
        ("16", "18"),
    ),
    _experiment(
        "categorical",
        "Three categories",
        _categorical,
        {
            "dpmcmc, one call": one_call(categorical, lambda draws: _logs(draws["p"])),
            "dpmcmc, one call, ready model": one_call(
                models.categorical(3, concentration=5.0),
                lambda draws: _logs(draws["probabilities"]),
            ),
        },
        dpvi.Settings(clip=2.0**0.5),
        noisy_statistics.Settings(
            lambda r: jax.nn.one_hot(r["x"], 3) - 1 / 3,
            _categorical_moments,
            (2 / 3) ** 0.5,
        ),
        ("20", "17"),
    ),
)
