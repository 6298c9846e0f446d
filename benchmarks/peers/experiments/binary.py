# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Three binary columns: how wide are intervals of two coefficients.

As in Räisä et al. (2023, NAPSU-MQ), by their code: two fair coins, and a third column
that depends on them by a logistic regression with coefficients (1, 0) and no intercept;
n = 2,000, δ = n⁻². Their figures are read off a plot.
"""

import itertools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.peers import dpvi, na_dpvi, noisy_statistics
from benchmarks.peers.experiments.base import (
    Experiment,
    Problem,
    Run,
    interval,
    one_call,
    peer,
)
from benchmarks.peers.experiments.regressions import exact, flat, logistic, model_of
from benchmarks.peers.target import Target

_COUNT, _PRIOR = 2000, 10.0
_TRUTH = np.array([1.0, 0.0])
_ROWS = np.array(list(itertools.product((0.0, 1.0), repeat=2)))


def make(seed: int, _: Path | None) -> Problem:
    """Coins, and what depends on them."""
    generator = np.random.default_rng(seed)
    x = generator.integers(0, 2, (_COUNT, 2)).astype(np.float32)
    y = (generator.random(_COUNT) < 1 / (1 + np.exp(-x @ _TRUTH))).astype(np.int32)
    target = Target(logistic(2, _PRIOR), {"x": x, "y": y})
    return Problem(target, _TRUTH, {"sd": exact(x, y, _PRIOR).sd})


def measure(problem: Problem, draws: np.ndarray, _: Any) -> Run:
    """Widths of 95% intervals, and whether they hold the truth."""
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    inside = (low <= problem.truth) & (problem.truth <= high)
    widths = high - low
    return {
        "both": float(widths.mean()),
        "first": float(widths[0]),
        "second": float(widths[1]),
        "covered": float(inside.mean()),
        "width": float(np.mean(draws.std(0) / problem.about["sd"])),
    }


def _declared(problem: Problem) -> dict[str, np.ndarray]:
    """Coins as what they are: booleans, of which there are two."""
    records = problem.target.records
    return {"x": records["x"].astype(bool), "y": records["y"]}


def _statistic(record: Any) -> jax.Array:
    place = (4 * record["y"] + 2 * record["x"][0] + record["x"][1]).astype(int)
    return jax.nn.one_hot(place, 8) - 1 / 8


def _moments(theta: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Of the cells, with fair coins."""
    p = jax.nn.sigmoid(jnp.asarray(_ROWS) @ theta)
    cells = jnp.concatenate([1 - p, p]) / 4
    return cells - 1 / 8, jnp.diag(cells) - jnp.outer(cells, cells)


_FIT = dpvi.Settings(clip=1.5)

BINARY = Experiment(
    number=4,
    name="binary",
    title="Three binary columns, N = 2,000, δ = 2.5e-7",
    score="width of 95% intervals, mean of the two",
    epsilons=(0.1, 0.25, 0.5, 1.0),
    delta=2.5e-7,
    make=make,
    methods={
        "dpmcmc, one call": one_call(model_of(2, _PRIOR), flat, records=_declared),
        "dpmcmc, one call, coins as numbers": one_call(model_of(2, _PRIOR), flat),
        "NA-DPVI": peer(na_dpvi.draws, _FIT),
        "DPVI": peer(dpvi.draws, _FIT),
        "Bernstein–Sheldon": peer(
            noisy_statistics.draws,
            noisy_statistics.Settings(_statistic, _moments, (7 / 8) ** 0.5),
        ),
    },
    measure=measure,
    summary=lambda runs: interval(runs, "both"),
    published={
        "NAPSU-MQ": {
            0.1: "1.75, 1.42",
            0.25: "0.80, 0.58",
            0.5: "0.47, 0.39",
            1.0: "0.41, 0.30",
        }
    },
    goal={0.1: 1.43, 0.25: 0.62, 0.5: 0.39, 1.0: 0.32},
    extras={"covered": "covered", "width": "sd over that without privacy"},
    repeats=50,
    slow={
        "dpmcmc, one call, coins as numbers": 20,
        "NA-DPVI": 20,
        "DPVI": 20,
        "Bernstein–Sheldon": 20,
    },
)
