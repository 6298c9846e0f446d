# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Residuals about a point, of a regression or of any model."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.influence import Residual
from dpmcmc.influence.derivatives import Frame, derivatives
from dpmcmc.model.model import Model


def residual_at(theta, bounds, *, factor=None, metric=None, sums=None, tempering=1.0):
    """A residual about a point: bounds on gradient and Hessian, and released sums."""
    centre, unravel = ravel_pytree(jax.tree.map(jnp.asarray, theta))
    size = len(centre)
    factor = np.eye(size) if factor is None else factor
    gradient, hessian = sums or (np.zeros(size), np.zeros((size, size)))
    return Residual(
        Frame(np.asarray(centre), factor),
        np.linalg.inv(factor),
        np.ones(size) if metric is None else metric,
        *bounds,
        gradient,
        hessian,
        unravel,
        tempering,
    )


def exact_sums(influence, model, records):
    """Sums of the clipped gradients and Hessians of the records, without noise."""

    def one(record):
        found = derivatives(model, record, influence.frame, influence.unravel)
        weights = influence._weights(model, record)
        return weights[0] * found[0], weights[1] * found[1]

    return tuple(np.asarray(part).sum(0) for part in jax.jit(jax.vmap(one))(records))


def logistic_model(size=3):
    def log_likelihood(theta, record):
        place = jnp.dot(record["x"], theta["b"])
        return record["y"] * place - jax.nn.softplus(place)

    return Model(
        log_likelihood,
        lambda theta: -jnp.sum(theta["b"] ** 2) / 8,
        {"b": np.zeros(size)},
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
