# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""UCI Adult: calibration with all columns, and widths with a few.

All columns, as in Alrawajfeh et al. (2025), by their code: workclass, education,
marital status, occupation, race and sex one-hot, five numbers, and an intercept: 57
coefficients with N(0, 1) priors; 30,162 records of the training split without missing
values; predictions on 15,060 of the test split. They standardise numbers by the mean
and sd of the records, which are not public; here round numbers do it.

A few, as in Räisä et al. (2023, NAPSU-MQ), by their code: income on age (the middle of
one of five intervals), race and gender, of 46,043 records.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd

import dpmcmc
from benchmarks.peers import dpvi, na_dpvi
from benchmarks.peers.experiments.base import (
    Experiment,
    Problem,
    Run,
    interval,
    one_call,
    peer,
)
from benchmarks.peers.experiments.regressions import exact, flat, logistic, model_of
from benchmarks.peers.scores import calibration_error
from benchmarks.peers.target import Budget, Target

FILE = "adult.parquet"
_LISTED = ("workclass", "education", "marital_status", "occupation", "race", "sex")
_NUMBERS = {
    "age": (40, 15),
    "fnlwgt": (190_000, 100_000),
    "capital_gain": (0, 7500),
    "capital_loss": (0, 400),
    "hours_per_week": (40, 12),
}
_EDGES = np.linspace(17, 90, 6)
_RACES = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other")
_PRIOR = 10.0


@cache
def _table(folder: Path) -> Any:
    return pd.read_parquet(folder / FILE)


@cache
def all_columns(folder: Path) -> tuple[Any, ...]:
    """Records, those of the test split, and the posterior without privacy."""
    table = _table(folder).dropna()
    parts = [
        (table[name].to_numpy(float)[:, None] - centre) / scale
        for name, (centre, scale) in _NUMBERS.items()
    ]
    for name in _LISTED:
        levels = sorted(table[name].astype(str).unique())
        codes = table[name].astype(str).to_numpy()[:, None]
        parts.append((codes == np.array(levels)).astype(float))
    x = np.column_stack([*parts, np.ones(len(table))]).astype(np.float32)
    y = (table["income"].astype(str) == ">50K").to_numpy().astype(np.int32)
    is_train = (table["split"].astype(str) == "train").to_numpy()
    held = x[~is_train], y[~is_train]
    found = exact(x[is_train], y[is_train], 1.0)
    return {"x": x[is_train], "y": y[is_train]}, held, found


def make_all(_: int, folder: Path | None) -> Problem:
    """The table; every run has the same records."""
    assert folder is not None
    records, held, found = all_columns(folder)
    target = Target(logistic(records["x"].shape[1], 1.0), records)
    return Problem(target, found.mean, {"held": held, "sd": found.sd, "exact": found})


def measure_all(problem: Problem, draws: np.ndarray, generator: Any) -> Run:
    """Calibration on the test split, and how far coefficients are."""
    x, y = problem.about["held"]
    some = draws[generator.permutation(len(draws))[:500]]
    predicted = np.mean(1 / (1 + np.exp(-np.clip(x @ some.T, -50, 50))), axis=1)
    errors = (draws.mean(0) - problem.truth) / problem.about["sd"]
    return {
        "calibration": 1e3 * calibration_error(y, predicted),
        "accuracy": float(np.mean((predicted > 0.5) == y)),
        "off": float(np.sqrt(np.mean(errors**2))),
        "width": float(
            np.sqrt(np.mean((draws.std(0) / problem.about["sd"]) ** 2)),
        ),
    }


def without_privacy(problem: Problem, _: Budget, seed: int) -> tuple[np.ndarray, str]:
    """Draws of the normal approximation of the posterior."""
    found = problem.about["exact"]
    generator = np.random.default_rng(seed)
    return generator.multivariate_normal(found.mean, found.covariance, 1000), ""


@cache
def _few_columns(folder: Path) -> tuple[Any, ...]:
    table = _table(folder).dropna(subset=["workclass"])
    place = np.clip(np.digitize(table["age"], _EDGES[1:-1], right=True), 0, 4)
    race = table["race"].astype(str).to_numpy()
    races = np.array([0, *range(1, 5)])[
        np.argmax(race[:, None] == np.array(("White", *_RACES)), axis=1)
    ]
    male = (table["sex"].astype(str) == "Male").to_numpy().astype(int)
    cell = (place * 5 + races) * 2 + male
    y = (table["income"].astype(str) == ">50K").to_numpy().astype(np.int32)
    x = ROWS[cell].astype(np.float32)
    return {"x": x, "y": y}, cell.astype(np.int32), exact(x, y, _PRIOR)


def _rows() -> np.ndarray:
    """A row of covariates for each cell: age in units of 20 years from 40."""
    middles = (_EDGES[:-1] + _EDGES[1:]) / 2
    rows = []
    for age in (middles - 40) / 20:
        for race in range(5):
            dummies = np.eye(5)[race][1:]
            rows += [[1.0, age, *dummies, male] for male in (0.0, 1.0)]
    return np.array(rows)


ROWS = _rows()


def make_few(_: int, folder: Path | None) -> Problem:
    """The table; every run has the same records."""
    assert folder is not None
    records, cell, found = _few_columns(folder)
    target = Target(logistic(ROWS.shape[1], _PRIOR), records)
    return Problem(target, found.mean, {"cell": cell, "sd": found.sd, "exact": found})


def measure_few(problem: Problem, draws: np.ndarray, _: Any) -> Run:
    """Widths of 95% intervals over those without privacy, and coverage of the mode."""
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    ratios = (high - low) / (2 * 1.96 * problem.about["sd"])
    inside = (low <= problem.truth) & (problem.truth <= high)
    return {
        "ratio": float(np.mean(ratios)),
        "middle": float(np.median(ratios)),
        "covered": float(inside.mean()),
    }


def income_model(age: Any, race: Any, male: Any, income: Any) -> None:
    """The regression on columns that have a few values each."""
    prior = dist.Normal(0, _PRIOR).expand([ROWS.shape[1]]).to_event(1)
    b = numpyro.sample("b", prior)
    with numpyro.plate("records", age.shape[0]):
        x = jnp.asarray(ROWS)[(age * 5 + race) * 2 + male]
        numpyro.sample("income", dist.Bernoulli(logits=x @ b), obs=income)


def _declared(problem: Problem) -> dpmcmc.Records:
    """Columns with what is known of them: how many intervals and races there are."""
    cell, y = problem.about["cell"], problem.target.records["y"]
    columns = {"age": cell // 10, "race": cell // 2 % 5, "male": cell % 2, "income": y}
    most = {"age": 4, "race": 4, "male": 1, "income": 1}
    known = {
        name: {"type": "integer", "bounds": [0, top]} for name, top in most.items()
    }
    return dpmcmc.Records(columns, schema=dpmcmc.Schema(known))


_FIT = dpvi.Settings(clip=11.0, scale=550.0, speed=(2 * 57) ** 0.5)
_SMALL = dpvi.Settings(clip=2.0, steps=2000, rate=0.05)

ALL_COLUMNS = Experiment(
    number=2,
    name="adult",
    title="UCI Adult, all columns, N = 30,162, d = 57, δ = 1e-5",
    score="error of the calibration curve × 10³",
    epsilons=(0.1, 0.3, 1.0),
    delta=1e-5,
    make=make_all,
    methods={
        "dpmcmc, one call": one_call(model_of(57, 1.0), flat),
        "NA-DPVI": peer(na_dpvi.draws, _FIT),
        "NA-DPVI, published price": peer(na_dpvi.draws, replace(_FIT, noise=0.5)),
        "DPVI, aligned": peer(dpvi.draws, replace(_FIT, is_aligned=True)),
        "DPVI": peer(dpvi.draws, _FIT),
        "without privacy": without_privacy,
    },
    measure=measure_all,
    summary=lambda runs: interval(runs, "calibration"),
    published={
        "NA-DPVI": {0.1: "61", 0.3: "26", 1.0: "24"},
        "DPVI, aligned": {0.1: "101", 0.3: "65", 1.0: "38"},
        "DPVI": {0.1: "120", 0.3: "67", 1.0: "54"},
    },
    goal={0.1: 40, 0.3: 20, 1.0: 18},
    extras={"accuracy": "accuracy", "width": "sd over that without privacy"},
    needs=FILE,
)

FEW_COLUMNS = Experiment(
    number=5,
    name="income",
    title="UCI Adult, income on age, race and gender, N = 46,043, δ = N⁻²",
    score="width of 95% intervals over that without privacy",
    epsilons=(0.1, 0.3, 0.5, 1.0),
    delta=46_043.0**-2,
    make=make_few,
    methods={
        "dpmcmc, one call": one_call(income_model, flat, records=_declared),
        "dpmcmc, one call, columns as numbers": one_call(
            model_of(ROWS.shape[1], _PRIOR), flat
        ),
        "NA-DPVI": peer(na_dpvi.draws, _SMALL),
        "DPVI": peer(dpvi.draws, _SMALL),
    },
    measure=measure_few,
    summary=lambda runs: interval(runs, "ratio"),
    published={"NAPSU-MQ": {0.1: "17.5", 0.3: "4", 0.5: "2.6", 1.0: "1.6"}},
    goal={0.1: 8, 0.3: 2.5, 0.5: 1.8, 1.0: 1.3},
    extras={"middle": "median of the seven", "covered": "covered"},
    needs=FILE,
)
