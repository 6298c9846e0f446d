# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Posteriors of ready models against closed forms, by the chain that is not private."""

import dataclasses

import arviz as az
import numpy as np
import pytest
from refusals import assert_refused, run_openly
from scipy import stats

import dpmcmc
from dpmcmc import models
from dpmcmc.model.preparation import Clamp, Copy, OneHot, Preparation, Scale, Stack

az.Numba.disable_numba()  # with it, mcse fails under newer NumPy

FALSE_ALARM = 1e-5
"""The chance that one test in this file fails although the draws are right."""


def assert_moments(
    posterior: dpmcmc.Posterior, name: str, mean: float, sd: float
) -> None:
    """Mean and sd are within Monte-Carlo error of the truth, which is small."""
    z = stats.norm.isf(FALSE_ALARM / 4)
    data, draws = posterior.to_arviz(), posterior.draws[name].astype(float)
    for method, found, true in [
        ("mean", draws.mean(), mean),
        ("sd", draws.std(), sd),
    ]:
        error = float(az.mcse(data, var_names=name, method=method)[name])
        assert error < 0.05 * sd
        assert abs(found - true) < z * error


def test_a_normal_mean_is_conjugate() -> None:
    """Records beyond the bounds count as the bounds."""
    raw = np.random.default_rng(1).normal(2.0, 3.0, size=50)
    clamped = np.clip(raw, -2, 4)
    precision = 1 / 1.5**2 + 50 / 2.0**2
    mean = (0.5 / 1.5**2 + clamped.sum() / 2.0**2) / precision
    posterior = dpmcmc.sample_not_private(
        models.normal((-2, 4), sd=2.0, mean_centre=0.5, mean_scale=1.5),
        {"x": raw},
        steps=8000,
        method=dpmcmc.Barker(proposal=dpmcmc.RandomWalk(2.4 * precision**-0.5)),
        seed=1,
        chains=4,
        progress=False,
    )
    assert_moments(posterior, "mean", mean, precision**-0.5)


def test_a_probability_is_beta() -> None:
    posterior = dpmcmc.sample_not_private(
        models.bernoulli(successes=2.0, failures=3.0),
        {"x": np.arange(40) < 9},
        steps=8000,
        method=dpmcmc.Barker(proposal=dpmcmc.RandomWalk(0.9)),
        seed=2,
        chains=4,
        progress=False,
    )
    law = stats.beta(2 + 9, 3 + 31)
    assert_moments(posterior, "probability", law.mean(), law.std())


def test_a_private_regression_from_the_columns_of_a_table() -> None:
    generator = np.random.default_rng(3)
    table = {
        "age": generator.uniform(0, 150, size=400),
        "region": generator.integers(0, 3, size=400),
        "ill": generator.integers(0, 2, size=400),
    }
    before = Preparation(
        {
            "age": [Clamp(0, 120), Scale(0, 120, to=(-1, 1))],
            "region": OneHot(3, drop_first=True),
            "x": Stack(["age", "region"]),
            "y": Copy("ill"),
        }
    )
    model = models.logistic_regression(3, norm=1.5, before=before)
    posterior = dpmcmc.sample(
        model,
        table,
        delta=1e-6,
        method=dpmcmc.Barker(clip=0.05, proposal=dpmcmc.RandomWalk(0.05)),
        steps=20,
        progress=False,
    )
    assert posterior.draws["coefficients"].shape == (1, 15, 3)
    assert model.preparation is not None
    assert model.preparation.describe()[-2:] == (
        "x shrunk to a length of at most 1.5",
        "y clamped to [0, 1]",
    )


def test_draws_are_shown_on_their_own_scale() -> None:
    shown = {
        "normal": (models.normal((0, 1)), {"mean", "sd"}),
        "linear": (
            models.linear_regression(1, norm=1.0, bounds=(0, 1), intercept=False),
            {"coefficients", "sd"},
        ),
        "negative binomial": (
            models.negative_binomial_regression(1, norm=1.0, most=3),
            {"coefficients", "intercept", "concentration"},
        ),
        "mixture": (models.mixture((0, 1), components=2), {"means", "sds", "weights"}),
    }
    for model, names in shown.values():
        assert model.transform is not None
        assert set(model.transform(model.initial)) == names
    start = models.mixture((0, 12), components=3).initial
    found = models.mixture((0, 12), components=3).transform(start)  # type: ignore[misc]
    np.testing.assert_allclose(found["means"], [2, 6, 10], rtol=1e-6)
    np.testing.assert_allclose(found["weights"], [1 / 3] * 3, rtol=1e-6)


def test_another_place_to_start() -> None:
    moved = dataclasses.replace(models.bernoulli(), initial={"logit": 1.0})
    assert moved.initial == {"logit": 1.0}


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: models.normal((1, 0)), ["bounds is (1, 0)", "low below high"]),
        (lambda: models.normal(3), ["bounds is 3", "pair"]),
        (lambda: models.normal((0, np.inf)), ["bounds", "finite"]),
        (lambda: models.normal((0, 1), sd=0), ["sd is 0", "above 0"]),
        (lambda: models.normal((0, 1), sd_range=(0, 1)), ["sd_range", "above 0"]),
        (lambda: models.normal((0, 1), mean_scale=-1), ["mean_scale is -1"]),
        (
            lambda: models.normal((0, 1), mean_range=(2, 3), mean_centre=1.0),
            ["centre is 1", "range from 2 to 3"],
        ),
        (lambda: models.normal((0, 1), before="x"), ["before is a str"]),
        (lambda: models.bernoulli(successes=0), ["successes is 0"]),
        (lambda: models.logistic_regression(0, norm=1.0), ["dimension is 0"]),
        (lambda: models.logistic_regression(2, norm=np.nan), ["norm is nan"]),
        (
            lambda: models.logistic_regression(2, norm=1.0, coefficient_scale=0),
            ["coefficient_scale is 0"],
        ),
        (
            lambda: models.linear_regression(2, norm=1.0, bounds=(8, 9), within=2.0),
            ["centre is 8.5", "range from -2 to 2"],
        ),
        (
            lambda: models.poisson_regression(2, norm=1.0, most=0),
            ["most is 0", "greatest count"],
        ),
        (
            lambda: models.negative_binomial_regression(
                2, norm=1.0, most=3, concentration=-1
            ),
            ["concentration is -1"],
        ),
        (
            lambda: models.negative_binomial_regression(
                2, norm=1.0, most=3, concentration_range=(2, 1)
            ),
            ["concentration_range is (2, 1)"],
        ),
        (lambda: models.two_component_mixture((0, 1), sd=-1), ["sd is -1"]),
        (
            lambda: models.two_component_mixture((0, 1), gap_range=(1, 2)),
            ["centre is 0", "range from 1 to 2"],
        ),
        (lambda: models.mixture((0, 1), components=1), ["components is 1", "normal"]),
        (
            lambda: models.mixture((0, 1), components=2, concentration=0),
            ["concentration is 0"],
        ),
    ],
)
def test_what_cannot_be_stated_is_refused(make: object, parts: list[str]) -> None:
    assert_refused(make, *parts)  # type: ignore[arg-type]


def test_covariates_of_another_length_are_refused() -> None:
    model = models.logistic_regression(2, norm=1.0)
    records = {"x": np.zeros((10, 3)), "y": np.zeros(10)}
    assert_refused(
        lambda: run_openly(model=model, records=records),
        "x has 3 entries",
        "dimension is 2",
    )
