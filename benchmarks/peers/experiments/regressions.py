# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Logistic regressions: the model, and its posterior without privacy."""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.peers.target import Density

__all__ = ["Exact", "exact", "flat", "logistic", "model_of"]


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
