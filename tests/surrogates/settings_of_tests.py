# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Models and plans that the tests of control variates share."""

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.model.model import Model
from dpmcmc.surrogates import ControlVariates


def logistic_model(size=3, listed=False):
    def log_likelihood(theta, record):
        place = jnp.dot(record["x"], theta["b"])
        return record["y"] * place - jax.nn.softplus(place)

    return Model(
        log_likelihood,
        lambda theta: -jnp.sum(theta["b"] ** 2) / 8,
        {"b": np.zeros(size)},
        responses={"y": (0.0, 1.0)} if listed else None,
    )


def logistic_records(count, size=3, seed=0):
    generator = np.random.default_rng(seed)
    x = generator.exponential(size=(count, size)) - 0.5
    chance = 1 / (1 + np.exp(-x @ np.linspace(-0.5, 0.5, size)))
    return {"x": x, "y": (generator.random(count) < chance).astype(float)}


def steep_log_likelihood(theta, record):
    """Derivatives of any size, that may overflow."""
    place = jnp.dot(record["x"], theta["b"])
    return -jnp.exp(place) + record["y"] * place**3


def plan_for(records, size, **settings):
    control = ControlVariates(**{"epsilon": 1.0, **settings})
    return control.plan(records, size, 1e-6)
