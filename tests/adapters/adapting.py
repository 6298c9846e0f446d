# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Small NumPyro models, adapted or refused."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import numpyro
from numpyro import distributions as dist
from refusals import assert_refused

from dpmcmc.adapters import from_numpyro
from dpmcmc.model.model import Model

COUNT = 30
ONE = {
    "x": jax.ShapeDtypeStruct((), np.float32),
    "y": jax.ShapeDtypeStruct((), np.float32),
}


def adapt(model: Any, one: Any = ONE, **settings: Any) -> Model:
    return from_numpyro(model, COUNT, one, **settings)


def refused(model: Any, *parts: str, one: Any = ONE, **settings: Any) -> str:
    return assert_refused(lambda: adapt(model, one, **settings), *parts)


def mean_of_records(inside: Callable[..., Any]) -> Callable[..., Any]:
    """A model with a mean, and in a plate over the records what ``inside`` says."""

    def model(x, y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        with numpyro.plate("records", y.shape[0]):
            inside(mean, x, y)

    return model


def observe(mean, x, y):
    numpyro.sample("y", dist.Normal(mean, 1), obs=y)


def of_one(model: Model, theta: Any, record: Any) -> Any:
    return jax.jit(model.log_likelihood)(theta, record)


def by_record(model: Model, theta: Any, records: Any) -> np.ndarray:
    each = jax.jit(jax.vmap(model.record_log_likelihood, (None, 0)))
    return np.asarray(each(theta, records))


def simple(model: Any, names: str, count: int = 7, **settings: Any) -> Model:
    """Adapt a model whose columns are plain numbers with one-letter names."""
    one = {name: jax.ShapeDtypeStruct((), np.float32) for name in names}
    return from_numpyro(model, count, one, **settings)
