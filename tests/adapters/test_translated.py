# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A function is translated once, as long as it computes the same."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from scipy.stats import norm

from dpmcmc.adapters import NumPyro, from_numpyro
from dpmcmc.model.model import Model

ONE = {
    "x": jax.ShapeDtypeStruct((), np.float32),
    "y": jax.ShapeDtypeStruct((), np.float32),
}
SETTINGS = {"scale": 1.0, "offset": jnp.zeros(3)}


def line(x: Any, y: Any, width: float = 1.0) -> None:
    """A line through records, with settings that it reads from outside."""
    slope = numpyro.sample("slope", dist.Normal(SETTINGS["offset"][0], width))
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(slope * x, SETTINGS["scale"]), obs=y)


def translated(model: Callable[..., Any] = line, **settings: Any) -> Model:
    return from_numpyro(model, 50, ONE, **settings)


def test_the_same_function_is_translated_once() -> None:
    first = translated()
    assert translated() is first
    assert NumPyro(line).for_records(50, ONE) is first
    assert translated(initial={"slope": 0.5}) is translated(initial={"slope": 0.5})


def test_what_differs_is_another_model() -> None:
    found = [
        translated(),
        from_numpyro(line, 51, ONE),
        translated(initial={"slope": 0.5}),
        translated(initial={"slope": 0.6}),
        translated(partial(line, width=2.0)),
        translated(dims={"slope": []}),
        from_numpyro(line, 50, {**ONE, "x": jax.ShapeDtypeStruct((), np.int32)}),
    ]
    assert len(set(map(id, found))) == len(found)


def test_a_changed_variable_is_seen(monkeypatch: Any) -> None:
    first = translated()
    monkeypatch.setitem(SETTINGS, "scale", 2.0)
    second = translated()
    monkeypatch.setitem(SETTINGS, "offset", jnp.ones(3))
    third = translated()
    assert len({id(first), id(second), id(third)}) == 3
    record, theta = {"x": 1.0, "y": 3.0}, {"slope": 0.0}
    assert np.isclose(third.log_likelihood(theta, record), norm.logpdf(3.0, 0.0, 2.0))
    assert np.isclose(third.log_prior(theta), norm.logpdf(0.0, 1.0, 1.0))
    monkeypatch.undo()
    assert translated() is first


def test_few_models_are_kept() -> None:
    first = translated()
    for width in range(2, 20):
        translated(partial(line, width=float(width)))
    assert translated() is not first
