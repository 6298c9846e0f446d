# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Two posteriors of difficult shape: a needle in ten dimensions, and a curved ridge.

As in Räisä et al. (2021), by their code: the mean of a ten-dimensional normal with a
known covariance whose eigenvalues are Gamma(½) draws, prior N(0, 100²); and the ridge
x₁ ~ N(θ₁, 2000), x₂ ~ N(θ₂ + 20 θ₁², 2500), N = 10⁵, δ = 0.1/N. Their chains start at
the true parameters plus one mean posterior sd of noise, which is read off the records;
here peers start there too, and dpmcmc at zero. Settings are theirs.
"""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.peers import dp_hmc, dp_sgld, dp_sgnht, penalty
from benchmarks.peers.experiments.base import (
    Experiment,
    Problem,
    Run,
    interval,
    one_call,
    peer,
)
from benchmarks.peers.scores import discrepancy
from benchmarks.peers.target import Density, Target

_COUNT = 100_000
_SIZE = 10


def _needle_covariance() -> np.ndarray:
    generator = np.random.default_rng(5)
    values = generator.gamma(0.5, size=_SIZE)
    turned, _ = np.linalg.qr(generator.uniform(size=(_SIZE, _SIZE)))
    return (turned * values) @ turned.T


COVARIANCE = _needle_covariance()
_FACTOR = np.linalg.cholesky(COVARIANCE)
_INVERSE = np.linalg.inv(_FACTOR)
_MEAN = np.array([0.0, 3.0, *np.zeros(_SIZE - 2)])


def needle(x: Any) -> None:
    """The model, as a user of NumPyro writes it."""
    mean = numpyro.sample("mean", dist.Normal(0, 100).expand([_SIZE]).to_event(1))
    with numpyro.plate("records", x.shape[0]):
        law = dist.MultivariateNormal(mean, scale_tril=jnp.asarray(_FACTOR))
        numpyro.sample("x", law, obs=x)


NEEDLE = Density(
    lambda theta, r: -jnp.sum((jnp.asarray(_INVERSE) @ (r["x"] - theta)) ** 2) / 2,
    lambda theta: -jnp.sum(theta**2) / (2 * 100.0**2),
    _MEAN,
)

_BEND, _FIRST, _SECOND, _PRIOR = 20.0, 0.0005, 0.0004, 0.001
"""The ridge: its curvature, and precisions of x₁, x₂ and of the prior."""


def ridge(x: Any) -> None:
    """The model, as a user of NumPyro writes it."""
    first = numpyro.sample("first", dist.Normal(0, _PRIOR**-0.5))
    bend = _BEND * first**2
    second = numpyro.sample("second", dist.Normal(-bend, _PRIOR**-0.5))
    with numpyro.plate("records", x.shape[0]):
        mean = jnp.stack([first, second + bend])
        sd = jnp.array([_FIRST**-0.5, _SECOND**-0.5])
        numpyro.sample("x", dist.Normal(mean, sd).to_event(1), obs=x)


def _ridge_log_likelihood(theta: jax.Array, record: Any) -> jax.Array:
    one = record["x"][0] - theta[0]
    two = record["x"][1] - theta[1] - _BEND * theta[0] ** 2
    return -(_FIRST * one**2 + _SECOND * two**2) / 2


def _ridge_log_prior(theta: jax.Array) -> jax.Array:
    two = theta[1] + _BEND * theta[0] ** 2
    return -_PRIOR * (theta[0] ** 2 + two**2) / 2


RIDGE = Density(_ridge_log_likelihood, _ridge_log_prior, np.array([0.0, 3.0]))


def make_needle(seed: int, _: Path | None) -> Problem:
    """Records, and draws of the posterior without privacy."""
    generator = np.random.default_rng(seed)
    x = (_MEAN + generator.normal(size=(_COUNT, _SIZE)) @ _FACTOR.T).astype(np.float32)
    noise = generator.normal(size=(1000, _SIZE)) @ _FACTOR.T / _COUNT**0.5
    return Problem(Target(NEEDLE, {"x": x}), x.mean(0, dtype=np.float64) + noise)


def make_ridge(seed: int, _: Path | None) -> Problem:
    """Records, and draws of the posterior without privacy."""
    generator = np.random.default_rng(seed)
    precisions = np.array([_FIRST, _SECOND])
    x = np.array([0.0, 3.0]) + generator.normal(size=(_COUNT, 2)) / precisions**0.5
    held = _COUNT * precisions / (_COUNT * precisions + _PRIOR)
    sd = (_COUNT * precisions + _PRIOR) ** -0.5
    straight = held * x.mean(0) + sd * generator.normal(size=(1000, 2))
    straight[:, 1] -= _BEND * straight[:, 0] ** 2
    return Problem(Target(RIDGE, {"x": x.astype(np.float32)}), straight)


def measure(problem: Problem, draws: np.ndarray, generator: Any) -> Run:
    """Maximum mean discrepancy to draws without privacy; error and sd of draws."""
    errors = (draws.mean(0) - problem.truth.mean(0)) / problem.truth.std(0)
    return {
        "discrepancy": discrepancy(draws, problem.truth, generator),
        "off": float(np.sqrt(np.mean(errors**2))),
        "width": float(np.sqrt(np.mean((draws.std(0) / problem.truth.std(0)) ** 2))),
    }


def _shape(name: str, title: str, **given: Any) -> Experiment:
    return Experiment(
        number=7,
        name=name,
        title=f"{title}, N = 100,000, δ = 1e-6",
        score="maximum mean discrepancy",
        epsilons=(2.0, 4.0, 8.0),
        delta=1e-6,
        measure=measure,
        summary=lambda runs: interval(runs, "discrepancy"),
        extras={"off": "error of the mean, in sd", "width": "sd over that without"},
        **given,
    )


SHAPES = (
    _shape(
        "needle",
        "Mean of a ten-dimensional normal",
        make=make_needle,
        methods={
            "dpmcmc, one call": one_call(needle, lambda draws: draws["mean"]),
            "DP-HMC": peer(
                dp_hmc.draws, dp_hmc.Settings(0.1, 0.25, 6.0, 10.0, 0.00015, 12)
            ),
            "penalty": peer(penalty.draws, penalty.Settings(0.05, 10.0, 0.0007)),
            "DP-SGLD": peer(dp_sgld.draws, dp_sgld.Settings(1000, 15.0, 0.008)),
            "DP-SGNHT": peer(dp_sgnht.draws, dp_sgnht.Settings(1000, 12.0, 0.2, 30.0)),
        },
        published={"the four peers": {2.0: "0.16 to 0.51"}},
        goal={2.0: 0.06},
    ),
    _shape(
        "ridge",
        "A curved ridge",
        make=make_ridge,
        methods={
            "dpmcmc, one call": one_call(
                ridge, lambda draws: np.column_stack([draws["first"], draws["second"]])
            ),
            "DP-HMC": peer(
                dp_hmc.draws, dp_hmc.Settings(0.1, 0.55, 0.1, 0.05, 0.006, 25)
            ),
            "penalty": peer(penalty.draws, penalty.Settings(0.17, 0.15, 0.06)),
            "DP-SGLD": peer(dp_sgld.draws, dp_sgld.Settings(1000, 0.2, 1.0)),
            "DP-SGNHT": peer(dp_sgnht.draws, dp_sgnht.Settings(1000, 0.2, 100.0, 50.0)),
        },
        published={"the four peers": {2.0: "0.21 to 0.47"}},
        goal={2.0: 0.15},
    ),
)
