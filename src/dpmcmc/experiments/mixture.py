# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's mixture (section 4): two normals whose centres share a parameter.

θ₁ ~ N(0, 10) is the first centre and θ₂ ~ N(0, 1) the gap to the second; a record is
drawn from 0.5 N(θ₁, 2) + 0.5 N(θ₁ + θ₂, 2).
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.model.model import Model
from dpmcmc.models import two_component_mixture
from dpmcmc.proposals import Noise

__all__ = [
    "TRUTH",
    "RidgeWalk",
    "exchange",
    "mixture_model",
    "posterior_covariance",
    "simulate_mixture",
]

TRUTH = {"mean": 0.0, "gap": 1.0}
"""The parameters of the paper's simulated records."""

_RECORD_SD = 2**0.5

_READY = two_component_mixture((-100.0, 100.0), sd=_RECORD_SD)
"""The ready model; here a record is a bare number, and is not clamped."""


def mixture_model(initial: dict[str, float]) -> Model:
    """State the paper's model, started at ``initial``."""
    return Model(
        _log_likelihood, _READY.log_prior, initial, draw_prior=_READY.draw_prior
    )


def simulate_mixture(
    theta: dict[str, float], records: int, generator: np.random.Generator
) -> np.ndarray:
    """Simulate records from the model, in float32."""
    centres = theta["mean"] + theta["gap"] * generator.integers(0, 2, records)
    noise = generator.standard_normal(records, dtype=np.float32)
    return (centres + _RECORD_SD * noise).astype(np.float32)


def posterior_covariance(
    theta: dict[str, float], records: int, generator: np.random.Generator
) -> np.ndarray:
    """Covariance that the posterior of many records would have about ``theta``.

    It is the inverse of the Fisher information, estimated on simulated records, so
    that it costs no privacy; a proposal shaped like it moves well.
    """
    sample = jnp.asarray(simulate_mixture(theta, 100_000, generator))
    names = sorted(theta)
    at = jnp.asarray([theta[name] for name in names])

    def score(vector: jax.Array, record: jax.Array) -> jax.Array:
        return jax.grad(
            lambda v: _log_likelihood(dict(zip(names, v, strict=True)), record)
        )(vector)

    scores = jax.vmap(score, in_axes=(None, 0))(at, sample)
    information = np.asarray(scores.T @ scores, np.float64) / len(sample)
    return np.linalg.inv(information) / records


def exchange(theta: Any, _: Noise) -> Any:
    """Propose to exchange the two centres.

    Twice is as good as never, and volumes stay: the move is symmetric. No record
    notices it, so that every ratio is zero and no clip is touched.
    """
    return {"mean": theta["mean"] + theta["gap"], "gap": -theta["gap"]}


@dataclass(frozen=True)
class RidgeWalk:
    """Moves the middle of the two centres, and the gap about it, uniformly.

    Parameters
    ----------
    middle, gap
        The farthest that each may go.
    """

    middle: float
    gap: float

    def __call__(self, theta: Any, noise: Noise) -> Any:
        """Propose a point. From it, the move back is as likely."""
        middle, gap = (2 * noise.uniforms(2) - 1) * jnp.array([self.middle, self.gap])
        return {"mean": theta["mean"] + middle - gap / 2, "gap": theta["gap"] + gap}


def _log_likelihood(theta: Any, record: jax.Array) -> jax.Array:
    result: jax.Array = _READY.log_likelihood(theta, {"x": record})
    return result
