# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Each family against SciPy's distribution of the same response.

The log-likelihood of a table of records as they come, at parameters as they are shown,
is compared with SciPy's at two draws of the prior: they differ by the same constant.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, softmax

import dpmcmc
from dpmcmc.models.formulas import Predictor, regression_of

_X = np.linspace(-1.5, 1.5, 40)


@dataclass(frozen=True)
class Case:
    """A family, records of it, and its density as SciPy has it.

    ``density(y, eta, draw, columns)`` is by record; ``mean`` is its mean.
    """

    response: str
    columns: dict[str, np.ndarray]
    density: Callable[..., Any]
    mean: Callable[..., Any]
    bounds: dict[str, Any] = field(default_factory=dict)
    levels: dict[str, Any] = field(default_factory=dict)
    right: str = "x"


_COUNTS = np.arange(40) % 7
_CODES = np.arange(40) % 3
_TIMES = 0.5 + np.arange(40) / 4.0
_ENDED = (np.arange(40) % 4 > 0).astype(float)
_LEVELS = {"y": ["low", "mid", "high"]}


def _ordered(eta: Any, draw: Any) -> np.ndarray:
    at_most = expit(draw["cutpoints"] - eta[:, None])
    padded = np.pad(at_most, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1)))
    return np.diff(padded, axis=1)


def _levels(eta: Any, draw: Any) -> np.ndarray:
    return softmax(np.hstack([np.zeros((len(eta), 1)), eta]), axis=1)


def _weibull(y: Any, eta: Any, draw: Any, columns: Any) -> Any:
    there = stats.weibull_min(draw["shape"], scale=np.exp(eta))
    return np.where(columns["ended"] > 0, there.logpdf(y), there.logsf(y))


CASES = {
    "gaussian": Case(
        "y",
        {"y": _TIMES},
        lambda y, eta, draw, _: stats.norm.logpdf(y, eta, draw["sd"]),
        lambda eta, draw, _: eta,
        {"y": (-400, 400)},
    ),
    "student-t": Case(
        "y",
        {"y": _TIMES},
        lambda y, eta, draw, _: stats.t.logpdf(y, draw["nu"], eta, draw["sd"]),
        lambda eta, draw, _: eta,
        {"y": (-400, 400)},
    ),
    "bernoulli": Case(
        "y",
        {"y": _CODES > 0},
        lambda y, eta, draw, _: stats.bernoulli.logpmf(y, expit(eta)),
        lambda eta, draw, _: expit(eta),
    ),
    "binomial": Case(
        "p(y, n)",
        {"y": _COUNTS, "n": _COUNTS + 3},
        lambda y, eta, draw, columns: stats.binom.logpmf(y, columns["n"], expit(eta)),
        lambda eta, draw, columns: columns["n"] * expit(eta),
        {"n": (1, 10)},
    ),
    "poisson": Case(
        "y",
        {"y": _COUNTS, "years": 1.0 + _COUNTS},
        lambda y, eta, draw, _: stats.poisson.logpmf(y, np.exp(eta)),
        lambda eta, draw, _: np.exp(eta),
        {"y": (0, 2000), "years": (1, 9)},
        right="x + offset(log(years))",
    ),
    "negative-binomial": Case(
        "y",
        {"y": _COUNTS},
        lambda y, eta, draw, _: stats.nbinom.logpmf(
            y, draw["concentration"], 1 / (1 + np.exp(eta) / draw["concentration"])
        ),
        lambda eta, draw, _: np.exp(eta),
        {"y": (0, 2000)},
    ),
    "ordinal": Case(
        "y",
        {"y": np.array(_LEVELS["y"])[_CODES]},
        lambda y, eta, draw, _: np.log(_ordered(eta, draw)[np.arange(40), _CODES]),
        lambda eta, draw, _: _ordered(eta, draw),
        levels=_LEVELS,
    ),
    "categorical": Case(
        "y",
        {"y": _CODES * 5},
        lambda y, eta, draw, _: np.log(_levels(eta, draw)[np.arange(40), _CODES]),
        lambda eta, draw, _: _levels(eta, draw),
        levels={"y": [0, 5, 10]},
    ),
    "gamma": Case(
        "y",
        {"y": _TIMES},
        lambda y, eta, draw, _: stats.gamma.logpdf(
            y, draw["shape"], scale=np.exp(eta) / draw["shape"]
        ),
        lambda eta, draw, _: np.exp(eta),
        {"y": (0.001, 1e5)},
    ),
    "weibull": Case(
        "censored(y, ended)",
        {"y": _TIMES, "ended": _ENDED},
        _weibull,
        lambda eta, draw, _: stats.weibull_min.mean(draw["shape"], scale=np.exp(eta)),
        {"y": (0.001, 1e5)},
    ),
}


SLOW = {"student-t", "binomial", "poisson", "negative-binomial", "gamma"}
"""Families whose draws take seconds to compile."""


@pytest.fixture(params=CASES)
def made(request: pytest.FixtureRequest) -> Any:
    return _made(request.param)


@pytest.fixture(
    params=[
        pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in CASES
    ]
)
def drawing(request: pytest.FixtureRequest) -> Any:
    return _made(request.param)


@cache
def _made(name: str) -> Any:
    """A model with its table, draws of its prior, and η of them by NumPy."""
    case = CASES[name]
    model = dpmcmc.formula(
        f"{case.response} ~ {case.right}",
        family=name,
        bounds={"x": (-2, 2), **case.bounds},
        levels=case.levels,
        prior_scale=0.3,
    )
    regression = regression_of(model.declared)
    table = {"x": _X, **case.columns}
    with jax.enable_x64(True):
        thetas = jax.vmap(model.draw_prior)(jax.random.split(jax.random.key(5), 3))
        for leaf in {"log_shape", "log_nu", "log_concentration"} & set(thetas):
            thetas[leaf] = np.log([4.0, 1.5, 9.0])
        if "intercept" in thetas:
            middles = {"gaussian": 0.0, "student-t": 0.0}
            thetas["intercept"] *= middles.get(name, 0.5)
        shown = jax.device_get(jax.vmap(regression.shown)(thetas))
    eta = shown.get("Intercept", np.zeros(3))
    outputs = shown["coefficients"].shape[2:]
    eta = eta.reshape(3, 1, *outputs) + np.einsum(
        "sp...,n->sn...", shown["coefficients"], _X
    )
    if "offset" in case.right:
        eta = eta + np.log(case.columns["years"])
    return case, model, table, thetas, shown, eta


def test_the_density_is_that_of_scipy(made: Any) -> None:
    case, model, table, thetas, shown, eta = made
    predictor = Predictor(model.declared, shown)
    rows = predictor.rows(table, with_response=True)
    found = predictor.log_densities(rows)
    for place in range(3):
        draw = {name: values[place] for name, values in shown.items()}
        truth = case.density(table["y"], eta[place], draw, table)
        np.testing.assert_allclose(found[place], truth, rtol=1e-6, atol=1e-6)
    with jax.enable_x64(True):
        records = {name: np.asarray(one) for name, one in rows.columns.items()}
        per_theta = jax.vmap(model.log_likelihood, (None, 0))
        sums = jax.vmap(per_theta, (0, None))(thetas, records).sum(axis=1)
    apart = np.asarray(sums) - found.sum(axis=1)
    np.testing.assert_allclose(apart, apart[0], rtol=1e-6, atol=1e-6)


def test_means_are_those_of_scipy(made: Any) -> None:
    case, model, table, _, shown, eta = made
    predictor = Predictor(model.declared, shown)
    found = predictor.expected(predictor.rows(table))
    draw = {name: values[0] for name, values in shown.items()}
    np.testing.assert_allclose(found[0], case.mean(eta[0], draw, table), rtol=1e-6)


def test_means_are_those_of_what_is_drawn(drawing: Any) -> None:
    """Means of 4,000 drawn responses, in an interval of 5 standard errors."""
    _, model, table, _, shown, _ = drawing
    one = {name: values[:1].repeat(4000, 0) for name, values in shown.items()}
    predictor = Predictor(model.declared, one)
    table = {name: np.asarray(column)[7:8] for name, column in table.items()}
    rows = predictor.rows(table)
    drawn = predictor.responses(rows, 0)["y"][:, 0]
    truth = Predictor(
        model.declared, {name: values[:1] for name, values in shown.items()}
    ).expected(rows)[0, 0]
    response = predictor.regression.response
    if response.codes:
        fractions = np.array([np.mean(drawn == code) for code in response.codes])
        np.testing.assert_allclose(fractions, truth, atol=5 * 0.5 / 4000**0.5)
        return
    assert np.allclose(np.clip(drawn, *response.bounds), drawn)
    assert abs(drawn.mean() - truth) < 5 * drawn.std() / 4000**0.5


def test_a_model_simulates_records_that_it_reads(drawing: Any) -> None:
    """What is drawn from the prior has a density, and so has what it simulates."""
    _, model, table, thetas, *_ = drawing
    rows = Predictor(model.declared, {}).rows(table, with_response=True)

    @jax.jit
    def both(theta: Any, record: Any) -> Any:
        drawn = model.simulate(theta, jax.random.key(1), record)
        return drawn, model.log_prior(theta), model.log_likelihood(theta, drawn)

    with jax.enable_x64(True):
        theta = jax.tree.map(lambda leaf: leaf[0], thetas)
        record = {name: column[3] for name, column in rows.columns.items()}
        drawn, prior, likelihood = both(theta, record)
    assert np.isfinite(prior)
    assert np.isfinite(likelihood)
    assert {name: np.shape(one) for name, one in drawn.items()} == {
        name: np.shape(one) for name, one in record.items()
    }
