# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Simulators of ready models draw from the law that the log-likelihood states.

Every p-value is compared with FALSE_ALARM; all keys are fixed.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from model_cases import EACH, Make, draw_points, draw_raw, prepare
from scipy import special, stats

from dpmcmc import Model, models

FALSE_ALARM = 1e-5
"""The chance that one test in this file fails although the draws are right."""

COUNT = 20_000

WIDE = (-1000.0, 1000.0)


def simulate(model: Model, theta: Any, record: Any, count: int = COUNT) -> Any:
    """Many records of the model at one point, from one prepared record."""
    assert model.simulate is not None
    keys = jax.random.split(jax.random.key(8), count)
    theta, record = jax.tree.map(jnp.asarray, (theta, record))
    draw = jax.jit(jax.vmap(model.simulate, in_axes=(None, 0, None)))
    return jax.tree.map(np.asarray, draw(theta, keys, record))


def assert_law(draws: np.ndarray, law: Any, wrong: Any) -> None:
    """By Kolmogorov and Smirnov; a law that is slightly off is seen to be."""
    assert stats.kstest(draws, law.cdf).pvalue > FALSE_ALARM
    assert stats.kstest(draws, wrong.cdf).pvalue < FALSE_ALARM


def assert_counts(draws: np.ndarray, law: Any, wrong: Any) -> None:
    """By a chi-square test on cells of at least 50 expected draws."""

    def p_value(law: Any) -> float:
        edges = np.unique(law.ppf(np.linspace(0.02, 0.98, 25)))
        inner = np.diff(law.cdf(edges))
        chances = np.concatenate([[law.cdf(edges[0])], inner, [law.sf(edges[-1])]])
        cells = np.searchsorted(edges, draws)
        found = np.bincount(cells, minlength=len(edges) + 1)
        chi = stats.chisquare(found, chances * draws.size)
        return float(chi.pvalue)

    assert p_value(law) > FALSE_ALARM
    assert p_value(wrong) < FALSE_ALARM


X = np.array([0.5, -0.2], np.float32)
THETA = {"coefficients": np.array([1.0, -2.0]), "intercept": 1.2}
ETA = 1.2 + 0.5 + 0.4


def test_normal() -> None:
    theta = {"mean": 1.0, "log_sd": 0.5}
    draws = simulate(models.normal(WIDE), theta, {"x": 0.0})["x"]
    assert_law(draws, stats.norm(1, np.exp(0.5)), stats.norm(1, 1.1 * np.exp(0.5)))


def test_linear_regression() -> None:
    model = models.linear_regression(2, norm=1.0, bounds=WIDE)
    drawn = simulate(model, {**THETA, "log_sd": -0.5}, {"x": X, "y": 3.0})
    sd = np.exp(-0.5)
    assert_law(drawn["y"], stats.norm(ETA, sd), stats.norm(ETA + 0.05 * sd, sd))


def test_bernoulli() -> None:
    draws = simulate(models.bernoulli(), {"logit": -1.0}, {"x": 1.0})["x"]
    assert set(np.unique(draws)) == {0.0, 1.0}
    successes = int(draws.sum())
    assert stats.binomtest(successes, COUNT, special.expit(-1.0)).pvalue > FALSE_ALARM
    assert stats.binomtest(successes, COUNT, special.expit(-0.9)).pvalue < FALSE_ALARM


def test_logistic_regression() -> None:
    model = models.logistic_regression(2, norm=1.0)
    draws = simulate(model, THETA, {"x": X, "y": 0.0})["y"]
    assert set(np.unique(draws)) == {0.0, 1.0}
    successes = int(draws.sum())
    assert stats.binomtest(successes, COUNT, special.expit(ETA)).pvalue > FALSE_ALARM
    wrong = special.expit(ETA - 0.15)
    assert stats.binomtest(successes, COUNT, wrong).pvalue < FALSE_ALARM


def test_poisson_regression() -> None:
    model = models.poisson_regression(2, norm=1.0, most=1000)
    draws = simulate(model, THETA, {"x": X, "y": 0.0})["y"]
    rate = np.exp(ETA)
    assert_counts(draws, stats.poisson(rate), stats.poisson(1.03 * rate))


def test_negative_binomial_regression() -> None:
    model = models.negative_binomial_regression(2, norm=1.0, most=1000)
    theta = {**THETA, "log_concentration": np.log(1.5)}
    draws = simulate(model, theta, {"x": X, "y": 0.0})["y"]
    law, wrong = (stats.nbinom(phi, phi / (phi + np.exp(ETA))) for phi in (1.5, 1.65))
    assert_counts(draws, law, wrong)


class Mixture(stats.rv_continuous):
    """A mixture of normals, by its distribution function."""

    def __init__(self, weights: Any, means: Any, sds: Any) -> None:
        super().__init__()
        self.parts = list(zip(weights, means, sds, strict=True))

    def _cdf(self, x: Any) -> Any:
        return sum(w * stats.norm.cdf(x, mean, sd) for w, mean, sd in self.parts)


def test_two_component_mixture() -> None:
    model = models.two_component_mixture(WIDE)
    draws = simulate(model, {"mean": -1.0, "gap": 4.0}, {"x": 0.0})["x"]
    sds = [2**0.5] * 2
    right, wrong = (Mixture([w, 1 - w], [-1, 3], sds) for w in (0.5, 0.53))
    assert_law(draws, right, wrong)


def test_mixture() -> None:
    model = models.mixture(WIDE, components=3)
    theta = {
        "first": -2.0,
        "log_gaps": np.log([3.0, 4.0]),
        "log_sds": np.log([0.5, 1.0, 2.0]),
        "logits": np.log([2.0, 3.0]),
    }
    draws = simulate(model, theta, {"x": 0.0})["x"]
    weights = np.array([1, 2, 3]) / 6
    right = Mixture(weights, [-2, 1, 5], [0.5, 1, 2])
    wrong = Mixture(weights, [-2, 1, 5], [0.5, 1, 2.4])
    assert_law(draws, right, wrong)


def test_a_rate_far_above_the_clamp_is_clamped() -> None:
    model = models.poisson_regression(2, norm=1.0, most=7)
    theta = {**THETA, "intercept": 90.0}  # exp overflows in float32
    assert set(simulate(model, theta, {"x": X, "y": 0.0}, 50)["y"]) == {7.0}


QUICK = ("bernoulli", "linear", "poisson", "two components")
"""One model of each kind of record; the slow tests try the others."""


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, id=name, marks=[] if name in QUICK else [pytest.mark.slow])
        for name, make in EACH.items()
    ],
)
def test_simulated_records_are_prepared_ones_with_the_covariates_given(
    make: Make,
) -> None:
    """At draws of the prior. Preparing them again changes nothing."""
    model = make()
    assert model.simulate is not None
    points = draw_points(model, 11, 300)
    assert set(points) == set(model.initial)
    for name, leaf in points.items():
        assert leaf.shape[1:] == np.shape(model.initial[name])
    assert np.all(np.isfinite(jax.jit(jax.vmap(model.log_prior))(points)))

    records = {
        **prepare(model, draw_raw(model, np.random.default_rng(9), 300)),
        "other": jnp.arange(300),
    }
    keys = jax.random.split(jax.random.key(10), 300)
    found = jax.jit(jax.vmap(model.simulate))(points, keys, records)
    again = prepare(model, found)
    for name, column in found.items():
        assert column.dtype == records[name].dtype
        np.testing.assert_allclose(again[name], column, rtol=1e-6)
    np.testing.assert_array_equal(found["other"], records["other"])
    if "y" in records:
        np.testing.assert_array_equal(found["x"], records["x"])
        assert not np.array_equal(found["y"], records["y"])


def test_draws_of_the_prior_have_its_law() -> None:
    draws = draw_points(
        models.normal((0, 8), mean_range=(0, 5), mean_scale=2), 1, COUNT
    )
    law = stats.truncnorm(-1.25, 1.25, 2.5, 2)
    assert_law(np.asarray(draws["mean"]), law, stats.truncnorm(-1.25, 1.25, 2.5, 3))
    assert_law(
        np.asarray(draws["log_sd"]),
        stats.norm(np.log(2), 1),
        stats.norm(np.log(2.2), 1),
    )
    logits = draw_points(models.bernoulli(successes=2, failures=3), 2, COUNT)["logit"]
    chances = special.expit(np.asarray(logits, float))
    assert_law(chances, stats.beta(2, 3), stats.beta(2.2, 3))
    ratios = draw_points(models.mixture((0, 1), components=3), 3, COUNT)["logits"]
    padded = np.pad(np.asarray(ratios, float), [(0, 0), (1, 0)])
    for share in special.softmax(padded, axis=1).T:
        assert_law(share, stats.beta(2, 4), stats.beta(2, 4.4))
