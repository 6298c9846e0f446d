# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated records: a table like the sensitive one, made without looking at it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError, require_count
from dpmcmc.model.model import Model
from dpmcmc.model.tracing import show_shapes

__all__ = ["Covariates", "simulate_records", "without_preparation"]

Covariates = Any
"""Where covariates come from: a public sample of records, or a function of a key."""

_AT_ONCE = 2**16


def simulate_records(
    model: Model, theta: Any, count: int, covariates: Covariates, seed: int
) -> Any:
    """Draw records of the model at ``theta``, as its log-likelihood reads them.

    Parameters
    ----------
    model
        A model with a simulator.
    theta
        The parameters that the records are drawn with.
    count
        How many records.
    covariates
        What the simulator copies from: a pytree of arrays with a leading axis, a
        public sample of records that is drawn from with replacement; or a function
        that makes one record from a JAX random key. None for a model whose simulator
        copies nothing.
    seed
        Makes the records repeatable.

    Raises
    ------
    InputError
        If the model has no simulator, or it cannot work with these covariates.
    """
    count = require_count("records", count, "Give the number of records to simulate.")
    if model.simulate is None:
        raise InputError(
            "the model has no simulator, so that nothing can be rehearsed. Give "
            "Model(simulate=…), or take a ready model or a NumPyro model."
        )
    make = _maker(model.simulate, theta, covariates)
    keys = jax.random.split(jax.random.key(seed), count)
    try:
        drawn = jax.jit(lambda keys: jax.lax.map(make, keys, batch_size=_AT_ONCE))(keys)
    except Exception as error:
        raise InputError(
            f"the simulator failed with {type(error).__name__} on covariates "
            f"{_shown(covariates)}. Give covariates like the records that the model "
            "reads: a public sample of them, or a function of a key that makes one."
        ) from None
    return jax.tree.map(np.asarray, drawn)


def without_preparation(model: Model) -> Model:
    """The model of records that are prepared already, shown as θ itself."""
    return replace(
        model, preparation=None, transform=None, declared=None, coords={}, dims={}
    )


def _maker(
    simulate: Callable[..., Any], theta: Any, covariates: Covariates
) -> Callable[[jax.Array], Any]:
    def make(key: jax.Array) -> Any:
        first, second = jax.random.split(key)
        return simulate(theta, first, template(second))

    if callable(covariates):
        template = covariates
    elif covariates is None:

        def template(_: jax.Array) -> dict[str, Any]:
            return {}

    else:
        sample = jax.tree.map(jnp.asarray, covariates)
        length = len(jax.tree.leaves(sample)[0])

        def template(key: jax.Array) -> Any:
            row = jax.random.randint(key, (), 0, length)
            return jax.tree.map(lambda leaf: leaf[row], sample)

    return make


def _shown(covariates: Covariates) -> str:
    if covariates is None or callable(covariates):
        return "that were not given" if covariates is None else "made by a function"
    return show_shapes(covariates)
