# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Offsets: added to the predictor, within public bounds."""

import jax
import numpy as np
import pytest

from dpmcmc import InputError, models

MAKERS = {
    "linear": lambda **how: models.linear_regression(
        2, norm=2.0, bounds=(-9, 9), sd=1.0, within=2.0, **how
    ),
    "logistic": lambda **how: models.logistic_regression(2, norm=2.0, **how),
    "poisson": lambda **how: models.poisson_regression(
        2, norm=2.0, most=9, within=1.0, **how
    ),
    "negative binomial": lambda **how: models.negative_binomial_regression(
        2, norm=2.0, most=9, concentration=2.0, **how
    ),
}
X, BOUNDS = np.array([0.5, -0.25]), (-1.0, 1.5)


@pytest.mark.parametrize("name", MAKERS)
def test_an_offset_counts_as_a_shift_of_the_intercept(name: str) -> None:
    model, plain = MAKERS[name](offset=BOUNDS), MAKERS[name]()
    theta = {"coefficients": np.array([0.3, -0.4]), "intercept": 0.2}
    with jax.enable_x64(True):
        for offset, counted in ((0.5, 0.5), (7.0, 1.5), (-np.inf, -1.0)):
            record = {"x": X, "y": 1.0, "offset": offset}
            shifted = {**theta, "intercept": 0.2 + counted}
            assert float(model.record_log_likelihood(theta, record)) == pytest.approx(
                float(plain.record_log_likelihood(shifted, {"x": X, "y": 1.0}))
            )
        lost = {"x": X, "y": 1.0, "offset": np.nan}
        assert np.isnan(model.record_log_likelihood(theta, lost))


@pytest.mark.parametrize("name", ["linear", "poisson", "logistic"])
def test_a_lipschitz_bound_knows_of_the_offset(name: str) -> None:
    """The steepest of 200 records and points, at the ends of all bounds."""
    model = MAKERS[name](offset=BOUNDS)
    rng = np.random.default_rng(1)
    steepest = 0.0
    with jax.enable_x64(True):
        slope = jax.jit(jax.grad(model.record_log_likelihood))
        for _ in range(200):
            sign = rng.choice([-1.0, 1.0], 3)
            theta = {"coefficients": sign[:2], "intercept": sign[2]}
            record = {
                "x": rng.choice([-1.0, 1.0], 2) * 2**0.5,
                "y": rng.choice([-9.0, 0.0, 1.0, 9.0]),
                "offset": rng.choice(BOUNDS),
            }
            found = np.r_[*map(np.ravel, jax.tree.leaves(slope(theta, record)))]
            steepest = max(steepest, float(np.linalg.norm(found)))
    assert model.lipschitz is not None
    assert 0.2 * model.lipschitz < steepest <= model.lipschitz * (1 + 1e-9)


def test_exact_statistics_do_not_know_an_offset() -> None:
    assert MAKERS["linear"]().statistics is not None
    assert MAKERS["linear"](offset=BOUNDS).statistics is None


def test_what_an_offset_must_be() -> None:
    with pytest.raises(InputError, match="offset"):
        MAKERS["poisson"](offset=(1.0, 0.0))
    model = MAKERS["poisson"](offset=BOUNDS)
    with pytest.raises(InputError, match="no column 'offset'"):
        model.record_log_likelihood(model.initial, {"x": X, "y": 1.0})
