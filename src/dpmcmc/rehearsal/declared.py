# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Covariates from what was declared of them: drawn evenly within public bounds.

They stand in where no public sample is at hand. Real covariates are seldom even: what
is rehearsed with these must say so.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from dpmcmc.errors import InputError
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Clamp, OneHot, Preparation, Stack
from dpmcmc.rehearsal.simulate import Covariates, simulate_records

__all__ = ["covariates_for", "shapes_declared", "within_bounds"]


_MISSING = (
    "it takes covariates to simulate records from. Give public ones like those of the "
    "model (covariates=…), or public bounds of every column that it does not explain: "
    "in a schema, or a Preparation with Clamp"
)


def covariates_for(
    model: Model, one_record: Any, theta: Any, covariates: Covariates
) -> tuple[Covariates, str, str | None]:
    """Where covariates come from, what must be said of it, or why there are none.

    Parameters
    ----------
    model, theta
        The model, and where it is to simulate.
    one_record
        The shapes of one record as it comes.
    covariates
        What was given, if anything was.
    """
    if model.simulate is None:
        return None, "", "the model has no simulator"
    if _simulates(model, theta, covariates):
        return covariates, "", None
    even = None if covariates is not None else within_bounds(model, one_record)
    if even is not None and _simulates(model, theta, even):
        said = (
            " (whose covariates are even within their declared bounds, as none were "
            "given: where real ones are more skewed, it does worse)"
        )
        return even, said, None
    return None, "", _MISSING


def shapes_declared(model: Model) -> Any:
    """Shapes of one record, by the columns of a formula; None if there is none."""
    if model.declared is None:
        return None
    from dpmcmc.models.formulas import columns_of  # noqa: PLC0415 - an extra

    one = jax.ShapeDtypeStruct((), jnp.result_type(float))
    return dict.fromkeys(columns_of(model.declared), one)


def _simulates(model: Model, theta: Any, covariates: Covariates) -> bool:
    try:
        simulate_records(model, theta, 2, covariates, 0)
    except InputError:
        return False
    return True


def within_bounds(model: Model, one_record: Any) -> Callable[[jax.Array], Any] | None:
    """Return what makes one prepared record of a random key, or None.

    Parameters
    ----------
    model
        The model, with the preparation that declares bounds.
    one_record
        The shapes of one record as it comes.

    Returns
    -------
    Callable or None
        None if a column that the model does not explain has no declared bounds.
    """
    preparation = model.preparation
    if preparation is None or not isinstance(one_record, Mapping):
        return None
    explained = set(model.responses or ())
    drawn = {
        name: _draws_of(preparation, name, shape)
        for name, shape in one_record.items()
        if name not in explained
    }
    if not drawn or any(draw is None for draw in drawn.values()):
        return None

    def make(key: jax.Array) -> Any:
        keys = jax.random.split(key, len(drawn))
        raw = {
            name: jnp.zeros(shape.shape, shape.dtype)
            for name, shape in one_record.items()
        }
        for one, (name, draw) in zip(keys, drawn.items(), strict=True):
            assert draw is not None
            raw[name] = draw(one)
        return preparation(raw)

    return make


def _draws_of(
    preparation: Preparation, name: str, shape: Any
) -> Callable[[jax.Array], jax.Array] | None:
    """Draws of one column as it comes, by the step that reads it first."""
    step = _first_step(preparation, name)
    if isinstance(step, Clamp):
        low, high = jnp.asarray(step.low), jnp.asarray(step.high)
        if jnp.issubdtype(shape.dtype, jnp.integer):
            ends = jnp.ceil(low).astype(int), jnp.floor(high).astype(int) + 1
            return lambda key: jax.random.randint(key, shape.shape, *ends, shape.dtype)
        return lambda key: low + (high - low) * jax.random.uniform(key, shape.shape)
    if isinstance(step, OneHot):
        levels = jnp.asarray(tuple(step.levels))  # type: ignore[arg-type]
        return lambda key: jax.random.choice(key, levels)
    return None


def _first_step(preparation: Preparation, name: str) -> Any:
    """The first step on a column, in this preparation or in those before it."""
    if preparation.first is not None:
        found = _first_step(preparation.first, name)
        if found is not None:
            return found
    columns = preparation.columns
    if not isinstance(columns, Mapping) or name not in columns:
        return None
    steps = columns[name]
    head = steps[0] if isinstance(steps, list | tuple) else steps
    return None if isinstance(head, Stack) else head
