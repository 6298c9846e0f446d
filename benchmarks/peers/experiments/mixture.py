# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A tempered mixture with two modes, 500 steps, at equal total cost.

As in Zhang and Zhang (2023): θ₁ ~ N(0, 10), θ₂ ~ N(0, 1), records of
½ N(θ₁, 2) + ½ N(θ₁ + θ₂, 2) at θ = (0, 1), N = 5·10⁴. The likelihood is tempered to
count for 100 records, as in the paper that this package builds on. The score is the
symmetric Kullback–Leibler divergence on a grid of 12 × 12 cells.
"""

from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import dpmcmc
from benchmarks.peers import dp_fast_mh, penalty, tempered_chain
from benchmarks.peers.bardenet import BernsteinTest
from benchmarks.peers.experiments.base import (
    Experiment,
    Method,
    Problem,
    Run,
    interval,
    one_call,
    peer,
)
from benchmarks.peers.korattikara import SequentialTest
from benchmarks.peers.scores import symmetric_divergence
from benchmarks.peers.seita import BarkerBatchTest
from benchmarks.peers.target import Budget, Density, Target
from benchmarks.peers.walks import Answer, Test, Walk, walk
from dpmcmc import models

_COUNT, _TEMPERED, _STEPS, _WALK = 50_000, 100.0, 500, 0.7
_POWER = _TEMPERED / _COUNT
_BOUND = 3.0 * _POWER
"""The bound on a tempered ratio; few records have more in a move of 0.7."""

_EDGES = (np.linspace(-2.5, 3.5, 13), np.linspace(-4.5, 4.5, 13))


def _log_likelihood(theta: jax.Array, record: Any) -> jax.Array:
    one = (record["x"] - theta[0]) ** 2
    two = (record["x"] - theta[0] - theta[1]) ** 2
    return _POWER * jnp.logaddexp(-one / 4, -two / 4)


def _log_prior(theta: Any) -> Any:
    return -(theta[0] ** 2) / 20 - theta[1] ** 2 / 2


def _plain(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    one, two = (x - theta[0]) ** 2, (x - theta[0] - theta[1]) ** 2
    return _POWER * np.logaddexp(-one / 4, -two / 4)


DENSITY = Density(_log_likelihood, _log_prior, np.array([0.5, 0.0]))
WALK = Walk(_plain, _log_prior, np.array([0.5, 0.0]), _WALK)


@cache
def _weights(seed: int) -> np.ndarray:
    """Weights of the cells, from a grid that is five times as fine."""
    x = _records(seed)
    counts, edges = np.histogram(x, np.arange(x.min(), x.max() + 0.1, 0.05))
    centres = (edges[1:] + edges[:-1]) / 2
    fine = [
        np.linspace(e[0], e[-1], 5 * (len(e) - 1) + 1)[:-1] + (e[1] - e[0]) / 10
        for e in _EDGES
    ]

    def height(one: float, two: float) -> float:
        at = np.array([one, two])
        return float(counts @ _plain(at, centres) + _log_prior(at))

    logs = np.array([[height(one, two) for two in fine[1]] for one in fine[0]])
    weights = np.exp(logs - logs.max())
    rows, columns = (len(e) - 1 for e in _EDGES)
    return weights.reshape(rows, 5, columns, 5).sum((1, 3)) / weights.sum()


@cache
def _records(seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    centres = generator.integers(0, 2, _COUNT)
    return (centres + 2**0.5 * generator.normal(size=_COUNT)).astype(np.float32)


def make(seed: int, _: Path | None) -> Problem:
    """Records; few data sets, so that the grid is summed once for each."""
    which = seed % 5
    return Problem(Target(DENSITY, {"x": _records(which)}), _weights(which))


def measure(problem: Problem, draws: np.ndarray, _: Any) -> Run:
    """The divergence."""
    return {"divergence": symmetric_divergence(draws, problem.truth, _EDGES)}


def _walked(test: Test) -> Method:
    def run(problem: Problem, _: Budget, seed: int) -> tuple[np.ndarray, str]:
        made, read = walk(WALK, problem.target.records["x"], test, _STEPS, seed)
        return made, f"read {read / _STEPS / _COUNT:.1%} of the records a step"

    return run


def _fast(problem: Problem, budget: Budget, seed: int) -> tuple[np.ndarray, str]:
    lam = 500.0
    noise = dp_fast_mh.noise_of(_BOUND, lam, _COUNT, _STEPS, budget)
    test = dp_fast_mh.NoisyPoissonTest(_BOUND, lam, noise)
    return walk(WALK, problem.target.records["x"], test, _STEPS, seed)[0], ""


def _tempered(problem: Problem, budget: Budget, _: int) -> tuple[np.ndarray, str]:
    found = tempered_chain.draws(
        _MODEL,
        problem.target.records,
        budget,
        batch=1000,
        tempering=_TEMPERED,
        walk=_WALK,
        steps=_STEPS,
    )
    return _flat(found), ""


def _barker(problem: Problem, budget: Budget, _: int) -> tuple[np.ndarray, str]:
    found = dpmcmc.sample(
        _MODEL,
        problem.target.records,
        epsilon=budget.epsilon,
        delta=budget.delta,
        method=dpmcmc.Barker(tempering=_TEMPERED, proposal=dpmcmc.RandomWalk(_WALK)),
        steps=_STEPS,
        chains=1,
        warmup=0,
        progress=False,
    )
    return _flat({name: np.ravel(v) for name, v in found.draws.items()}), ""


def _flat(draws: Any) -> np.ndarray:
    return np.column_stack([draws["mean"], draws["gap"]])


_MODEL = models.two_component_mixture((-100.0, 100.0))


def _all_records(
    ratios: Any, prior: float, count: int, generator: np.random.Generator
) -> Answer:
    total = ratios(np.arange(count)).sum() + prior
    return Answer(bool(np.log(generator.random()) < total), count)


MIXTURE = Experiment(
    number=8,
    name="mixture",
    title="A tempered mixture with two modes, N = 50,000, 500 steps, δ = 1e-6",
    score="symmetric divergence",
    epsilons=(0.1, 1.0),
    delta=1e-6,
    make=make,
    methods={
        "dpmcmc, tempering": one_call(
            _MODEL, _flat, method=dpmcmc.ControlVariates(tempering=_TEMPERED)
        ),
        "dpmcmc, Barker, tempering": _barker,
        "tempered subsampled chain": _tempered,
        "DP-Fast-MH": _fast,
        "penalty": peer(
            penalty.draws, penalty.Settings(0.5, 3.0 * _POWER, _WALK, chains=1)
        ),
        "Seita, not private": _walked(BarkerBatchTest()),
        "Korattikara, not private": _walked(SequentialTest()),
        "Bardenet, not private": _walked(BernsteinTest(2 * _BOUND)),
        "Metropolis–Hastings, not private": _walked(_all_records),
    },
    measure=measure,
    summary=lambda runs: interval(runs, "divergence"),
    published={},
    goal={},
    repeats=10,
)
