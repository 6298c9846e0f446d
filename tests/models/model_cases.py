# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Ready models that the tests share, and raw records and points for each."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc import Model, models

DIMENSION = 3

Make = Callable[[], Model]

BOUNDED: dict[str, Make] = {
    "bernoulli": models.bernoulli,
    "normal, known sd": lambda: models.normal((-4, 6), sd=2.0, mean_range=(-3, 7)),
    "normal": lambda: models.normal((-4, 6), mean_range=(-4, 6), sd_range=(0.5, 30)),
    "normal, wide": lambda: models.normal((-1, 1), mean_range=(-1, 1), sd_range=(4, 9)),
    "linear, known sd": lambda: models.linear_regression(
        DIMENSION, norm=2.0, bounds=(-5, 8), sd=1.5, within=3.0
    ),
    "linear": lambda: models.linear_regression(
        DIMENSION, norm=2.0, bounds=(-5, 8), within=3.0, sd_range=(0.5, 20)
    ),
    "linear, no intercept": lambda: models.linear_regression(
        DIMENSION, norm=0.5, bounds=(0, 1), intercept=False, sd=2.0, within=1.0
    ),
    "logistic": lambda: models.logistic_regression(DIMENSION, norm=2.0),
    "logistic, no intercept": lambda: models.logistic_regression(
        DIMENSION, norm=0.7, intercept=False
    ),
    "poisson": lambda: models.poisson_regression(
        DIMENSION, norm=1.0, most=20, within=0.5
    ),
    "poisson, wide": lambda: models.poisson_regression(
        DIMENSION, norm=1.0, most=3, within=2.0
    ),
    "negative binomial, known": lambda: models.negative_binomial_regression(
        DIMENSION, norm=1.0, most=20, concentration=2.0
    ),
    "negative binomial, concentrated": lambda: models.negative_binomial_regression(
        DIMENSION, norm=1.0, most=5, concentration=30.0
    ),
    "negative binomial": lambda: models.negative_binomial_regression(
        DIMENSION, norm=1.0, most=20, within=0.8, concentration_range=(0.3, 9.0)
    ),
    "negative binomial, wide": lambda: models.negative_binomial_regression(
        DIMENSION, norm=1.0, most=2, within=2.0, concentration_range=(0.1, 500.0)
    ),
    "two components": lambda: models.two_component_mixture(
        (-10, 10), mean_range=(-10, 10), gap_range=(-4, 4)
    ),
}
"""Models with a Lipschitz bound."""

UNBOUNDED: dict[str, Make] = {
    "normal": lambda: models.normal((-4, 6)),
    "normal, known sd": lambda: models.normal((-4, 6), sd=2.0),
    "normal, one range": lambda: models.normal((-4, 6), mean_range=(0, 1)),
    "linear": lambda: models.linear_regression(DIMENSION, norm=2.0, bounds=(-5, 8)),
    "linear, one range": lambda: models.linear_regression(
        DIMENSION, norm=2.0, bounds=(-5, 8), within=5.0
    ),
    "poisson": lambda: models.poisson_regression(DIMENSION, norm=1.0, most=20),
    "negative binomial": lambda: models.negative_binomial_regression(
        DIMENSION, norm=1.0, most=20
    ),
    "two components": lambda: models.two_component_mixture((-10, 10)),
    "mixture": lambda: models.mixture((-10, 10), components=3),
}
"""Models without one."""


EACH: dict[str, Make] = {
    name: BOUNDED.get(name, UNBOUNDED.get(name))  # type: ignore[misc]
    for name in (
        "bernoulli",
        "normal",
        "linear",
        "logistic",
        "poisson",
        "negative binomial",
        "two components",
        "mixture",
    )
}
"""One model of each function."""

MORE = {
    "normal, wide",
    "linear, known sd",
    "logistic, no intercept",
    "poisson, wide",
    "negative binomial, concentrated",
    "negative binomial, wide",
}
"""Models whose compilation is left to the slow tests."""


def draw_raw(model: Model, generator: np.random.Generator, records: int) -> Any:
    """Raw records of the model, whatever their values: some beyond every bound."""
    assert model.preparation is not None
    columns = model.preparation.columns
    size = 10.0 ** generator.uniform(-2, 2, size=records)
    drawn = {}
    for name in columns:  # type: ignore[union-attr]
        shape = (records, DIMENSION) if len(columns) > 1 and name == "x" else (records,)
        values = generator.standard_normal(shape)
        drawn[name] = values * size.reshape(-1, *[1] * (len(shape) - 1))
    return drawn


def prepare(model: Model, records: Any) -> Any:
    """Records as the log-likelihood reads them."""
    assert model.preparation is not None
    return jax.jit(jax.vmap(model.preparation))(jax.tree.map(jnp.asarray, records))


def draw_points(model: Model, seed: int, count: int) -> Any:
    """Draws of θ from the prior, with a leading axis."""
    assert model.draw_prior is not None
    draw = jax.jit(jax.vmap(model.draw_prior))
    return draw(jax.random.split(jax.random.key(seed), count))
