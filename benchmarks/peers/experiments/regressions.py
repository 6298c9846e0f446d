# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Logistic regressions: the model, its posterior without privacy, tables of cells."""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

import dpmcmc
from benchmarks.peers.target import Density

__all__ = ["Exact", "cells_model", "exact", "flat", "logistic", "model_of"]


@cache
def model_of(size: int, scale: float) -> Any:
    """The regression as a user of NumPyro writes it, with N(0, scale²) priors."""

    def model(x: Any, y: Any) -> None:
        prior = dist.Normal(0, scale).expand([size]).to_event(1)
        b = numpyro.sample("b", prior)
        with numpyro.plate("records", x.shape[0]):
            numpyro.sample("y", dist.Bernoulli(logits=x @ b), obs=y)

    return model


def flat(draws: Mapping[str, np.ndarray]) -> np.ndarray:
    """Rows of coefficients."""
    return draws["b"]


@cache
def logistic(size: int, scale: float) -> Density:
    """The same for the peers."""

    def log_likelihood(theta: jax.Array, record: Any) -> jax.Array:
        eta = record["x"] @ theta
        return record["y"] * eta - jax.nn.softplus(eta)

    def log_prior(theta: jax.Array) -> jax.Array:
        return -jnp.sum(theta**2) / (2 * scale**2)

    return Density(log_likelihood, log_prior, np.zeros(size))


class Exact(NamedTuple):
    """Mode and covariance of the posterior without privacy."""

    mean: np.ndarray
    covariance: np.ndarray

    @property
    def sd(self) -> np.ndarray:
        """Of each coefficient."""
        return np.sqrt(np.diag(self.covariance))


def exact(x: np.ndarray, y: np.ndarray, scale: float) -> Exact:
    """Newton's method, in float64."""
    x, b = x.astype(np.float64), np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ b))
        information = (x * (p * (1 - p))[:, None]).T @ x + np.eye(len(b)) / scale**2
        step = np.linalg.solve(information, x.T @ (y - p) - b / scale**2)
        b += step * min(1, 2 / max(np.abs(step).max(), 1e-9))
        if np.abs(step).max() < 1e-10:
            break
    return Exact(b, np.linalg.inv(information))


def cells_model(rows: np.ndarray, scale: float) -> dpmcmc.Model:
    """A regression whose covariates have few values: cells of a table are sufficient.

    A record is ``{"cell": place of x among the rows, "y": 0 or 1}``. Statistics are
    counts of (cell, y). No distribution of the noisy counts is stated: draws are moved
    by what the noise may have moved, which holds for a model that is wrong as well.
    """
    cells, size = rows.shape
    columns = np.asarray(rows, np.float32)

    def etas(theta: Any) -> jax.Array:
        return jnp.asarray(columns) @ theta["b"]

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        eta = etas(theta)[record["cell"]]
        return record["y"] * eta - jax.nn.softplus(eta)

    def of_record(record: Any) -> jax.Array:
        place = record["cell"] + cells * record["y"]
        return jax.nn.one_hot(place, 2 * cells) - 1 / (2 * cells)

    def coefficients(theta: Any) -> jax.Array:
        eta = etas(theta)
        return jnp.concatenate([-jax.nn.softplus(eta), -jax.nn.softplus(-eta)])

    def nearest(total: np.ndarray, records: int, _: float) -> np.ndarray:
        counts = np.maximum(total + records / (2 * cells), 0)
        return counts * (records / counts.sum()) - records / (2 * cells)

    return dpmcmc.Model(
        log_likelihood,
        lambda theta: -jnp.sum(theta["b"] ** 2) / (2 * scale**2),
        {"b": np.zeros(size)},
        statistics=dpmcmc.Statistics(
            of_record,
            coefficients,
            (1 - 1 / (2 * cells)) ** 0.5,
            constant=lambda theta: jnp.mean(coefficients(theta)),
            is_exact=True,
            nearest=nearest,
            words="cells of the table",
        ),
    )
