# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Data containers around columns: ``pm.Data`` while a user's function builds a model.

A container holds values, and a column has none while the model is built. So a column
goes into the model as it is, and its dims get its length, as a container's would.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pymc as pm
from pytensor.graph.basic import Variable

__all__ = ["columns_for_containers"]

_container = pm.Data


@contextmanager
def columns_for_containers() -> Iterator[None]:
    """Let ``pm.Data`` take columns, for as long as this lasts."""
    setattr(pm, "Data", _data)  # noqa: B010
    try:
        yield
    finally:
        setattr(pm, "Data", _container)  # noqa: B010


def _data(
    name: str,
    value: Any,
    *,
    dims: str | Sequence[str | None] | None = None,
    coords: Mapping[str, Any] | None = None,
    model: pm.Model | None = None,
    **settings: Any,
) -> Any:
    """A container of public values; of a column, the column."""
    if not isinstance(value, Variable):
        return _container(
            name, value, dims=dims, coords=coords, model=model, **settings
        )
    model = pm.modelcontext(model)
    axes = (dims,) if isinstance(dims, str) else dims or ()
    for axis, length in zip(axes, value.shape, strict=False):
        if axis is not None and axis not in model.dim_lengths:
            model.add_coord(axis, (coords or {}).get(axis), length=length)
    return value
