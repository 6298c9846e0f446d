# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether records are concave in one predictor is found from the model alone."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import log_ndtr

from dpmcmc import Model
from dpmcmc.sampling.fit.concavity import is_concave
from dpmcmc.sampling.problem import make_problem

RECORDS = {"x": np.zeros((50, 3)), "y": np.zeros(50)}
Family = Callable[[Any, Any], Any]


def cloglog(eta: Any, y: Any) -> Any:
    return jnp.where(y > 0.5, jnp.log(-jnp.expm1(-jnp.exp(eta))), -jnp.exp(eta))


def probit(eta: Any, y: Any) -> Any:
    return y * log_ndtr(eta) + (1 - y) * log_ndtr(-eta)


def huber(eta: Any, y: Any) -> Any:
    away = jnp.abs(y - eta)
    return -jnp.where(away < 1, away**2 / 2, away - 0.5)


def inflated(eta: Any, y: Any) -> Any:
    none = jnp.log(0.3 + 0.7 * jnp.exp(-jnp.exp(eta)))
    return jnp.where(y == 0, none, y * eta - jnp.exp(eta))


def student(scale: float) -> Family:
    return lambda eta, y: -2.5 * jnp.log1p(((y - eta) / scale) ** 2 / 4)


CONCAVE: dict[str, Family] = {
    "logistic": lambda eta, y: y * eta - jax.nn.softplus(eta),
    "probit": probit,
    "cloglog": cloglog,
    "Poisson": lambda eta, y: y * eta - jnp.exp(eta),
    "normal": lambda eta, y: -0.5 * ((y - eta) / 1e-3) ** 2,
    "gamma": lambda eta, y: -2 * (eta + y * jnp.exp(-eta)),
    "negative binomial": lambda eta, y: y * eta - (y + 3) * jnp.log(3 + jnp.exp(eta)),
    "Huber": huber,
}
OTHERS: dict[str, Family] = {
    "t": student(1.0),
    "t, large": student(1e6),
    "t, small": student(1e-3),
    "inflated Poisson": inflated,
    "von Mises": lambda eta, y: jnp.cos(y - eta),
}


def found(likelihood: Family, precision: str = "float32") -> bool:
    model = Model(likelihood, lambda theta: -jnp.sum(theta**2), np.zeros(3))
    return is_concave(
        make_problem(model, RECORDS, start=None, precision=precision, devices=None)
    )


def regression(family: Family) -> Family:
    return lambda theta, record: family(record["x"] @ theta, record["y"])


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", CONCAVE)
def test_generalised_linear_models_are_concave(name: str, precision: str) -> None:
    assert found(regression(CONCAVE[name]), precision)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_convex_somewhere_is_not(name: str) -> None:
    assert not found(regression(OTHERS[name]))


def test_several_predictors_have_no_root() -> None:
    """A linear regression whose sd is unknown, and a model without covariates."""

    def with_sd(theta: Any, record: Any) -> Any:
        away = (record["y"] - record["x"][:2] @ theta[:2]) * jnp.exp(-theta[2])
        return -theta[2] - 0.5 * away**2

    assert not found(with_sd)
    assert not found(lambda theta, record: -jnp.sum((record["x"] - theta) ** 2))
    assert not found(lambda theta, record: record["y"] * jnp.sum(theta))
