# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Which bound on gradients serves control variates best, by simulated records.

A wide bound costs noise, a tight one shortens gradients. On simulated records what was
shortened can be added up, so that both errors are known, and no chain has to be run.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.model import Model
from dpmcmc.surrogates import Plan

__all__ = ["best_bound"]

_MOST_RESPONSES = 64
_AS_GOOD = 1.4
"""How much more error is taken for a wider bound."""

_AS_GOOD_AS_NONE = 0.3
"""Error, in posterior deviations, that is taken for a wider bound in any case."""

_GRADIENT_PART = 0.9
"""About the part of a record's vector that its gradient makes; a Hessian the rest."""


def best_bound(
    model: Model,
    table: Any,
    theta: Any,
    covariance: np.ndarray,
    plan: Plan,
    bounds: Sequence[float],
) -> float:
    """The widest bound of nearly the smallest error, in units of √d.

    Records that do not follow the model have longer gradients than simulated ones.
    What a bound cuts off them moves the posterior, and no interval knows of it; the
    noise of a wider bound is known, and intervals are widened by it.

    Parameters
    ----------
    model
        The model of prepared records.
    table
        Records that were simulated at ``theta``; they may be fewer than planned for.
    theta, covariance
        Where control variates would be made, and about the posterior's covariance.
    plan
        What they cost, with the noise; its own bounds are not looked at.
    bounds
        What to choose from.
    """
    flat, unravel = ravel_pytree(jax.tree.map(jnp.asarray, theta))
    factor = jnp.asarray(np.linalg.cholesky(plan.records * covariance), flat.dtype)
    responses = _responses(model) if plan.settings.centred else [{}]

    def one(record: Any) -> tuple[jax.Array, jax.Array]:
        """The log-likelihood and gradient of a record with each of its responses."""

        def along(v: jax.Array, changed: Any) -> jax.Array:
            at = unravel(flat + factor @ v)
            return jnp.asarray(model.log_likelihood(at, changed), flat.dtype)

        found = [
            jax.value_and_grad(along)(
                jnp.zeros_like(flat), {**record, **each} if each else record
            )
            for each in [{}, *(each for each in responses if each)]
        ]
        logs, gradients = zip(*found, strict=True)
        return jnp.stack(logs), jnp.stack(gradients)

    logs, gradients = map(np.asarray, jax.jit(jax.vmap(one))(table))
    errors = [_error(bound, logs, gradients, plan) for bound in bounds]
    enough = max(_AS_GOOD * np.nanmin(errors), _AS_GOOD_AS_NONE)
    return max(b for b, error in zip(bounds, errors, strict=True) if error <= enough)


def _error(bound: float, logs: np.ndarray, gradients: np.ndarray, plan: Plan) -> float:
    """What a bound costs, in posterior deviations, as `Trial.error` counts it.

    The first of the responses is the record's own; the others, if there are any, are
    all that it might have had.
    """
    size = plan.dimension
    longest = bound * math.sqrt(size)
    # where no record tells of a coordinate, nothing is lost and no noise added
    spread_over = gradients.shape[-1] / size
    lengths = np.linalg.norm(gradients, axis=-1)
    lost = np.maximum(1 - longest / np.maximum(lengths, 1e-300), 0)
    beyond = lost[..., None] * gradients
    noise = plan.noise_multiplier * longest / _GRADIENT_PART / math.sqrt(plan.records)
    if logs.shape[1] == 1:
        shift = beyond[:, 0].mean(axis=0) * math.sqrt(plan.records)
        return math.sqrt(spread_over * float(np.mean(shift**2)) + noise**2)
    chances = np.exp(logs[:, 1:] - logs[:, 1:].max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    made_up = np.sum(chances[..., None] * beyond[:, 1:], axis=1)
    scatter = spread_over * float(np.mean((made_up - beyond[:, 0]) ** 2))
    told = np.sum(chances * lost[:, 1:] * lengths[:, 1:] ** 2, axis=1).mean() / size
    return math.sqrt(scatter + noise**2) - math.log(max(1 - told, 1e-6)) / 2


def _responses(model: Model) -> list[dict[str, float]]:
    """All responses that a record might have had, if the model lists few enough."""
    listed = model.responses
    if listed is None or any(values is None for values in listed.values()):
        return [{}]
    values = [tuple(given) for given in listed.values() if given is not None]
    if math.prod(map(len, values)) > _MOST_RESPONSES:
        return [{}]
    return [dict(zip(listed, each, strict=True)) for each in itertools.product(*values)]
