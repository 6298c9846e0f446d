# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Models with simulated records, for the tables of accuracy."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc import Model, models


class Problem(NamedTuple):
    """A model that starts away from the truth, its records, and public covariates."""

    model: Model
    records: Any
    covariates: Callable[[jax.Array], Any] | None = None


def _skewed(size: int) -> Callable[[jax.Array], Any]:
    """Covariates as a user may declare them: exponential, about zero."""
    return lambda key: {"x": jax.random.exponential(key, (size,)) - 1, "y": 0.0}


def _bernoulli(generator: np.random.Generator, logit: np.ndarray) -> np.ndarray:
    return (generator.logistic(size=len(logit)) < logit).astype(np.float32)


def logistic(count: int, seed: int) -> Problem:
    """An intercept and four exponential covariates, skewed and unbounded."""
    generator = np.random.default_rng(seed)
    x = (generator.exponential(size=(count, 4)) - 1).astype(np.float32)
    y = _bernoulli(generator, x @ np.array([0.5, -0.5, 0.3, 0.8]) - 0.5)
    return Problem(
        models.logistic_regression(4, norm=30.0), {"x": x, "y": y}, _skewed(4)
    )


def few_events(count: int, seed: int) -> Problem:
    """Logistic regression in which about one record in fifty is an event."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, (count, 1)).astype(np.float32)
    y = _bernoulli(generator, 0.8 * x[:, 0] - 4.0)

    def covariates(key: jax.Array) -> Any:
        return {"x": jax.random.uniform(key, (1,), minval=-1, maxval=1), "y": 0.0}

    model = models.logistic_regression(1, norm=1.0)
    start = {"coefficients": np.zeros(1), "intercept": np.float64(-3.5)}
    return Problem(replace(model, initial=start), {"x": x, "y": y}, covariates)


def mixture(count: int, seed: int) -> Problem:
    """The paper's mixture."""
    generator = np.random.default_rng(seed)
    noise = generator.standard_normal(count, dtype=np.float32)
    x = (generator.integers(0, 2, count) + 2**0.5 * noise).astype(np.float32)
    model = models.two_component_mixture((-100.0, 100.0))
    return Problem(replace(model, initial={"mean": -0.5, "gap": 2.0}), {"x": x})


def mixture_of_three(count: int, seed: int) -> Problem:
    """Three normals with all of their eight parameters unknown."""
    generator = np.random.default_rng(seed)
    part = generator.choice(3, count, p=[0.3, 0.4, 0.3])
    centre, sd = np.array([-4.0, 0.0, 4.0])[part], np.array([0.8, 1.0, 0.8])[part]
    x = (centre + sd * generator.standard_normal(count)).astype(np.float32)
    return Problem(models.mixture((-8.0, 8.0), components=3), {"x": x})


def linear(count: int, seed: int) -> Problem:
    """Linear regression with unknown noise, on exponential covariates."""
    generator = np.random.default_rng(seed)
    x = (generator.exponential(size=(count, 3)) - 1).astype(np.float32)
    noise = generator.standard_normal(count)
    y = (x @ np.array([0.5, -0.5, 0.25]) + noise).astype(np.float32)
    model = models.linear_regression(3, norm=30.0, bounds=(-20.0, 20.0))
    return Problem(model, {"x": x, "y": y}, _skewed(3))


def _normal(size: int) -> Callable[[jax.Array], Any]:
    return lambda key: {"x": jax.random.normal(key, (size,)), "y": 0.0}


def poisson(count: int, seed: int) -> Problem:
    """Poisson regression with counts of about two."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((count, 4)).astype(np.float32)
    rate = np.exp(x @ np.array([0.3, -0.3, 0.2, 0.1]) + 0.5)
    y = generator.poisson(rate).astype(np.float32)
    model = models.poisson_regression(4, norm=10.0, most=100.0)
    return Problem(model, {"x": x, "y": y}, _normal(4))


def negative_binomial(count: int, seed: int) -> Problem:
    """Negative-binomial regression whose concentration is unknown."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((count, 3)).astype(np.float32)
    rate = np.exp(x @ np.array([0.3, -0.3, 0.2]) + 0.7)
    y = generator.poisson(rate * generator.gamma(2.0, 0.5, count)).astype(np.float32)
    model = models.negative_binomial_regression(3, norm=10.0, most=200.0)
    return Problem(model, {"x": x, "y": y}, _normal(3))


def hierarchical(count: int, seed: int) -> Problem:
    """Logistic regression with a level for each of 8 groups, drawn from one law."""
    generator = np.random.default_rng(seed)
    group = generator.integers(0, 8, count).astype(np.int32)
    x = generator.standard_normal(count).astype(np.float32)
    levels = -0.5 + 0.6 * np.random.default_rng(99).standard_normal(8)
    y = _bernoulli(generator, levels[group] + 0.7 * x)

    def logit(theta: Any, record: Any) -> jax.Array:
        return theta["levels"][record["group"]] + theta["slope"] * record["x"]

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        place = logit(theta, record)
        return record["y"] * place - jax.nn.softplus(place)

    def log_prior(theta: Any) -> jax.Array:
        each = (theta["levels"] - theta["centre"]) * jnp.exp(-theta["log_spread"])
        return (
            -jnp.sum(each**2) / 2
            - 8 * theta["log_spread"]
            - theta["centre"] ** 2 / 8
            - (theta["log_spread"] + 0.5) ** 2 / 2
            - theta["slope"] ** 2 / 8
        )

    def simulate(theta: Any, key: jax.Array, record: Any) -> Any:
        chance = jax.nn.sigmoid(logit(theta, record))
        return {**record, "y": jax.random.bernoulli(key, chance) * 1.0}

    def covariates(key: jax.Array) -> Any:
        one, two = jax.random.split(key)
        drawn = jax.random.randint(one, (), 0, 8)
        return {"group": drawn, "x": jax.random.normal(two), "y": 0.0}

    start = {
        "levels": np.zeros(8),
        "slope": 0.0,
        "centre": 0.0,
        "log_spread": -0.5,
    }
    model = Model(
        log_likelihood,
        log_prior,
        start,
        simulate=simulate,
        responses={"y": (0.0, 1.0)},
    )
    return Problem(model, {"group": group, "x": x, "y": y}, covariates)


def survival(count: int, seed: int) -> Problem:
    """Weibull times to an event, cut off at a public time of each record."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((count, 2)).astype(np.float32)
    limit = generator.uniform(0.5, 3.0, count).astype(np.float32)
    hazard = np.exp(x @ np.array([0.4, -0.3]) - 0.3)
    time = (generator.exponential(size=count) / hazard) ** (1 / 1.4)
    event = (time < limit).astype(np.float32)
    records = {
        "x": x,
        "limit": limit,
        "time": np.minimum(time, limit).astype(np.float32),
        "event": event,
    }

    def log_hazard(theta: Any, record: Any) -> jax.Array:
        slope = jnp.dot(record["x"], theta["slopes"])
        return theta["intercept"] + slope

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        """Hazard k t^(k−1) e^η while watched; nothing more once cut off."""
        log_time = jnp.log(jnp.maximum(record["time"], 1e-6))
        shape, eta = jnp.exp(theta["log_shape"]), log_hazard(theta, record)
        now = theta["log_shape"] + (shape - 1) * log_time + eta
        return record["event"] * now - jnp.exp(eta + shape * log_time)

    def simulate(theta: Any, key: jax.Array, record: Any) -> Any:
        waited = jax.random.exponential(key) * jnp.exp(-log_hazard(theta, record))
        time = waited ** jnp.exp(-theta["log_shape"])
        return {
            **record,
            "time": jnp.minimum(time, record["limit"]),
            "event": (time < record["limit"]) * 1.0,
        }

    def covariates(key: jax.Array) -> Any:
        one, two = jax.random.split(key)
        return {
            "x": jax.random.normal(one, (2,)),
            "limit": jax.random.uniform(two, minval=0.5, maxval=3.0),
            "time": 0.0,
            "event": 0.0,
        }

    def log_prior(theta: Any) -> jax.Array:
        slopes = jnp.sum(theta["slopes"] ** 2)
        return -(slopes + theta["intercept"] ** 2 + theta["log_shape"] ** 2) / 2

    start = {"slopes": np.zeros(2), "intercept": 0.0, "log_shape": 0.0}
    model = Model(
        log_likelihood,
        log_prior,
        start,
        simulate=simulate,
        responses={"time": None, "event": None},
    )
    return Problem(model, records, covariates)


def normal_mean(count: int, seed: int) -> Problem:
    """Ten means with a known covariance of condition number 400."""
    generator = np.random.default_rng(seed)
    turn = np.linalg.qr(generator.standard_normal((10, 10)))[0]
    root = (turn * np.geomspace(1, 20, 10)) @ turn.T
    inverse = np.linalg.inv(root)
    mean = generator.standard_normal(10)
    noise = generator.standard_normal((count, 10)) @ root
    records = {"x": (mean + noise).astype(np.float32)}

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        away = jnp.asarray(inverse, theta.dtype) @ (record["x"] - theta)
        return -jnp.sum(away**2) / 2

    def simulate(theta: Any, key: jax.Array, record: Any) -> Any:
        drawn = jnp.asarray(root, theta.dtype) @ jax.random.normal(key, (10,))
        return {**record, "x": theta + drawn}

    model = Model(
        log_likelihood, lambda t: -jnp.sum(t**2) / 200, np.zeros(10), simulate=simulate
    )
    return Problem(model, records)


def student(count: int, seed: int) -> Problem:
    """Linear regression on records whose noise is t₅: the model is wrong."""
    generator = np.random.default_rng(seed)
    x = (generator.exponential(size=(count, 3)) - 1).astype(np.float32)
    noise = generator.standard_t(5, size=count)
    y = (x @ np.array([0.5, -0.5, 0.25]) + noise).astype(np.float32)
    model = models.linear_regression(3, norm=30.0, bounds=(-20.0, 20.0))
    return Problem(model, {"x": x, "y": y}, _skewed(3))
