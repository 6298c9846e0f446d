# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Log-likelihoods and priors of ready models against SciPy's."""

import math
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import special, stats

from dpmcmc import Model, models

NUMBER = st.floats(-5, 5)
VECTOR = st.lists(NUMBER, min_size=2, max_size=2)
COUNT = st.integers(0, 30)
LINE = {"coefficients": VECTOR, "intercept": NUMBER}


def agree(
    model: Model,
    theta: dict[str, st.SearchStrategy],
    record: dict[str, st.SearchStrategy],
    log_likelihood: Callable[[Any, Any], Any],
    log_prior: Callable[[Any], Any],
) -> None:
    """The log-likelihood is SciPy's; the log prior is, up to a constant."""
    with jax.enable_x64(True):
        evaluate, evaluate_prior = (
            jax.jit(model.log_likelihood),
            jax.jit(model.log_prior),
        )

        def arrays(tree: Any) -> Any:
            return {name: jnp.asarray(leaf, float) for name, leaf in tree.items()}

        @settings(max_examples=40)
        @given(st.fixed_dictionaries(theta), st.fixed_dictionaries(record))
        def check(theta: Any, record: Any) -> None:
            found = evaluate(arrays(theta), arrays(record))
            theta = {name: np.asarray(leaf) for name, leaf in theta.items()}
            right = log_likelihood(theta, {n: np.asarray(x) for n, x in record.items()})
            np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9)
            start = {name: np.asarray(leaf) for name, leaf in model.initial.items()}
            moved = evaluate_prior(arrays(theta)) - evaluate_prior(arrays(start))
            expected = log_prior(theta) - log_prior(start)
            np.testing.assert_allclose(moved, expected, rtol=1e-9, atol=1e-9)

        check()


def eta(theta: Any, record: Any) -> Any:
    return theta["intercept"] + record["x"] @ theta["coefficients"]


def line_prior(
    slope: float, constant: float, centre: float = 0.0
) -> Callable[[Any], Any]:
    return lambda theta: (
        stats.norm.logpdf(theta["coefficients"], 0, slope).sum()
        + stats.norm.logpdf(theta["intercept"], centre, constant)
    )


def log_normal_prior(value: Any, centre: float, scale: float) -> Any:
    """The density of log s where s is log-normal: with the Jacobian s."""
    law = stats.lognorm(scale, scale=centre)
    return np.sum(law.logpdf(np.exp(value)) + value)


def test_normal() -> None:
    agree(
        models.normal((0, 8), mean_scale=3.0, sd_scale=0.7),
        {"mean": NUMBER, "log_sd": NUMBER},
        {"x": NUMBER},
        lambda t, r: stats.norm.logpdf(r["x"], t["mean"], np.exp(t["log_sd"])),
        lambda t: (
            stats.norm.logpdf(t["mean"], 4, 3) + log_normal_prior(t["log_sd"], 2, 0.7)
        ),
    )


def test_normal_of_known_sd() -> None:
    agree(
        models.normal((0, 8), sd=0.5, mean_centre=1.0),
        {"mean": NUMBER},
        {"x": NUMBER},
        lambda t, r: stats.norm.logpdf(r["x"], t["mean"], 0.5),
        lambda t: stats.norm.logpdf(t["mean"], 1, 4),
    )


def test_bernoulli() -> None:
    def log_prior(theta: Any) -> Any:
        p = special.expit(theta["logit"])
        return stats.beta.logpdf(p, 2.5, 0.5) + np.log(p) + np.log1p(-p)

    agree(
        models.bernoulli(successes=2.5, failures=0.5),
        {"logit": NUMBER},
        {"x": st.integers(0, 1)},
        lambda t, r: stats.bernoulli.logpmf(r["x"], special.expit(t["logit"])),
        log_prior,
    )


def test_linear_regression() -> None:
    line = line_prior(20.0, 5.0, centre=5.0)
    agree(
        models.linear_regression(2, norm=0.5, bounds=(0, 10)),
        {**LINE, "log_sd": NUMBER},
        {"x": VECTOR, "y": NUMBER},
        lambda t, r: stats.norm.logpdf(r["y"], eta(t, r), np.exp(t["log_sd"])),
        lambda t: line(t) + log_normal_prior(t["log_sd"], 2.5, 1.0),
    )


def test_logistic_regression() -> None:
    agree(
        models.logistic_regression(2, norm=1.0, coefficient_scale=0.5),
        LINE,
        {"x": VECTOR, "y": st.integers(0, 1)},
        lambda t, r: special.log_expit((2 * r["y"] - 1) * eta(t, r)),
        line_prior(0.5, 2.5),
    )


def test_regression_without_an_intercept() -> None:
    agree(
        models.logistic_regression(2, norm=1.0, intercept=False),
        {"coefficients": VECTOR},
        {"x": VECTOR, "y": st.integers(0, 1)},
        lambda t, r: special.log_expit((2 * r["y"] - 1) * (r["x"] @ t["coefficients"])),
        lambda t: stats.norm.logpdf(t["coefficients"], 0, 2.5).sum(),
    )


SMALL = {"coefficients": st.lists(st.floats(-1, 1), min_size=2, max_size=2)}
SMALL_LINE = {**SMALL, "intercept": NUMBER}


def test_poisson_regression() -> None:
    agree(
        models.poisson_regression(2, norm=1.0, most=30, intercept_scale=3.0),
        SMALL_LINE,
        {"x": VECTOR, "y": COUNT},
        lambda t, r: stats.poisson.logpmf(r["y"], np.exp(eta(t, r))),
        line_prior(1.0, 3.0),
    )


def nbinom(y: Any, mean: Any, phi: Any) -> Any:
    return stats.nbinom.logpmf(y, phi, phi / (phi + mean))


def test_negative_binomial_regression() -> None:
    line = line_prior(1.0, 2.5)
    agree(
        models.negative_binomial_regression(2, norm=1.0, most=30),
        {**SMALL_LINE, "log_concentration": st.floats(-3, 3)},
        {"x": VECTOR, "y": COUNT},
        lambda t, r: nbinom(r["y"], np.exp(eta(t, r)), np.exp(t["log_concentration"])),
        lambda t: line(t) + log_normal_prior(t["log_concentration"], 1.0, 1.0),
    )


def test_negative_binomial_regression_of_known_concentration() -> None:
    agree(
        models.negative_binomial_regression(2, norm=1.0, most=30, concentration=2.5),
        SMALL_LINE,
        {"x": VECTOR, "y": COUNT},
        lambda t, r: nbinom(r["y"], np.exp(eta(t, r)), 2.5),
        line_prior(1.0, 2.5),
    )


def test_two_component_mixture() -> None:
    """The numbers of the paper: variances 10 and 1 of the prior, 2 of a component."""

    def log_likelihood(theta: Any, record: Any) -> Any:
        one = stats.norm.logpdf(record["x"], theta["mean"], math.sqrt(2))
        other = theta["mean"] + theta["gap"]
        two = stats.norm.logpdf(record["x"], other, math.sqrt(2))
        return np.logaddexp(one, two) - math.log(2)

    agree(
        models.two_component_mixture((-10, 10)),
        {"mean": NUMBER, "gap": NUMBER},
        {"x": NUMBER},
        log_likelihood,
        lambda t: (
            stats.norm.logpdf(t["mean"], 0, math.sqrt(10))
            + stats.norm.logpdf(t["gap"], 0, 1)
        ),
    )


def test_mixture() -> None:
    def weights(theta: Any) -> Any:
        return special.softmax(np.append(0.0, theta["logits"]))

    def log_likelihood(theta: Any, record: Any) -> Any:
        means = np.cumsum(np.append(theta["first"], np.exp(theta["log_gaps"])))
        laws = stats.norm.logpdf(record["x"], means, np.exp(theta["log_sds"]))
        return special.logsumexp(laws, b=weights(theta))

    def log_prior(theta: Any) -> Any:
        shares = weights(theta)
        dirichlet = stats.dirichlet.logpdf(shares, np.full(3, 2.0))
        return (
            stats.norm.logpdf(theta["first"], -4, 4)
            + log_normal_prior(theta["log_gaps"], 4.0, 1.0)
            + log_normal_prior(theta["log_sds"], 1.0, 0.5)
            + dirichlet
            + np.log(shares).sum()
        )

    agree(
        models.mixture((-6, 6), components=3),
        {
            "first": NUMBER,
            "log_gaps": st.lists(st.floats(-2, 2), min_size=2, max_size=2),
            "log_sds": st.lists(st.floats(-1, 2), min_size=3, max_size=3),
            "logits": VECTOR,
        },
        {"x": NUMBER},
        log_likelihood,
        log_prior,
    )


@pytest.mark.parametrize(
    ("model", "outside"),
    [
        (models.normal((0, 1), mean_range=(0, 1)), {"mean": 1.01}),
        (models.normal((0, 1), sd_range=(0.1, 1)), {"log_sd": math.log(0.09)}),
        (
            models.poisson_regression(2, norm=1.0, most=5, within=2.0),
            {"coefficients": [0.0, -2.1]},
        ),
        (
            models.negative_binomial_regression(
                2, norm=1.0, most=5, concentration_range=(1, 2)
            ),
            {"log_concentration": 0.7},
        ),
        (models.two_component_mixture((0, 1), gap_range=(-1, 3)), {"gap": 3.1}),
    ],
)
def test_a_range_cuts_the_prior_off(model: Model, outside: dict) -> None:
    assert np.isfinite(model.log_prior(jax.tree.map(jnp.asarray, model.initial)))
    moved = {**model.initial, **{name: jnp.asarray(x) for name, x in outside.items()}}
    assert model.log_prior(moved) == -math.inf
