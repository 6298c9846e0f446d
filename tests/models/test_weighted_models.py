# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Weighted records: the posterior stays where it is, and no gradient is long."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpmcmc import InputError, models


def data(count: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    rare = (generator.random(count) < 0.02) * generator.exponential(8.0, count)
    x = np.stack([generator.standard_normal(count), rare], axis=1)
    logit = x @ np.array([0.5, 0.4]) - 0.3
    return x, (generator.logistic(size=count) < logit) * 1.0


def test_a_weight_moves_no_mode_but_widens() -> None:
    """The mode of 40,000 records: within five deviations of the truth."""
    x, y = data(40_000)
    model = models.weighted(
        models.logistic_regression(2, norm=500.0), models.Leverage((1.0, 1.0), most=2.0)
    )
    truth = np.array([0.5, 0.4, -0.3])
    with jax.enable_x64(True):

        def log_posterior(at: jax.Array) -> jax.Array:
            theta = {"coefficients": at[:2], "intercept": at[2]}
            records = {"x": jnp.asarray(x), "y": jnp.asarray(y)}
            each = jax.vmap(model.log_likelihood, (None, 0))(theta, records)
            return jnp.sum(each) + model.log_prior(theta)

        at = jnp.asarray(truth)
        bend = jax.jit(jax.hessian(log_posterior))
        for _ in range(6):
            at = at - jnp.linalg.solve(bend(at), jax.grad(log_posterior)(at))
        sd = np.sqrt(np.diag(np.linalg.inv(-np.asarray(bend(at)))))
    assert np.all(np.abs(np.asarray(at) - truth) < 5 * sd)


def test_a_weight_is_of_covariates_alone() -> None:
    seen: list[Any] = []

    def weight(record: Any) -> float:
        seen.append(record["y"])
        return 2.0

    plain = models.logistic_regression(1, norm=9.0)
    model = models.weighted(plain, weight)
    record = {"x": jnp.array([2.0]), "y": jnp.array(1.0)}
    theta = {"coefficients": jnp.array([0.3]), "intercept": jnp.array(0.1)}
    # a weight is at most one
    assert model.log_likelihood(theta, record) == plain.log_likelihood(theta, record)
    assert float(seen[0]) == 0.0
    assert model.responses is None


@pytest.mark.parametrize(
    ("x", "weight"), [((0.0, 0.0), 1.0), ((3.0, 0.0), 1.0), ((0.0, 60.0), 0.0707107)]
)
def test_leverage_falls_with_length(x: tuple[float, float], weight: float) -> None:
    found = models.Leverage((1.0, 1.0), most=3.0)({"x": jnp.array(x)})
    assert float(found) == pytest.approx(weight, rel=1e-5)


def test_bad_weights_are_refused() -> None:
    with pytest.raises(InputError, match="weight is a float"):
        models.weighted(models.logistic_regression(1, norm=1.0), 0.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="most is 0"):
        models.Leverage(1.0, most=0)
