# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Columns made anew from others: a copy under another name, a vector of several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from dpmcmc.errors import InputError

__all__ = ["Copy", "Stack", "as_float", "column_of"]


@dataclass(frozen=True)
class Copy:
    """Make a column anew as a copy of another; a first step, to rename a column.

    Parameters
    ----------
    column
        The name of the column.
    """

    column: str

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise InputError(f"column is {self.column!r}; it must be a column's name.")

    def __call__(self, record: Mapping[str, Any]) -> jax.Array:
        """Copy the column of one record."""
        return as_float(column_of(record, self.column))

    def describe(self) -> str:
        """Name the column."""
        return f"copied from {self.column}"


@dataclass(frozen=True)
class Stack:
    """Make a column anew as a vector of others; a first step, for a regression's x.

    Parameters
    ----------
    columns
        The names of the columns, numbers or vectors, as they are by then.
    intercept
        Whether to put a one before them.
    """

    columns: Sequence[str]
    intercept: bool = False

    def __post_init__(self) -> None:
        named = not isinstance(self.columns, str) and len(self.columns) > 0
        if not named or not all(isinstance(name, str) for name in self.columns):
            raise InputError(
                f"columns is {self.columns!r}; it must be a list of column names."
            )
        object.__setattr__(self, "columns", tuple(self.columns))

    def __call__(self, record: Mapping[str, Any]) -> jax.Array:
        """Stack the columns of one record."""
        parts = [as_float(column_of(record, name)).ravel() for name in self.columns]
        ones = [jnp.ones(1, parts[0].dtype)] if self.intercept else []
        return jnp.concatenate(ones + parts)

    def describe(self) -> str:
        """Name the columns."""
        names = ["1"] if self.intercept else []
        return f"stacked from {', '.join([*names, *self.columns])}"


def column_of(record: Mapping[str, Any], name: str) -> Any:
    """One column of a record, or an error that names those there are."""
    if name in record:
        return record[name]
    there = ", ".join(repr(column) for column in record)
    raise InputError(
        f"there is no column {name!r}; there are {there}. Name one of them."
    )


def as_float(value: Any) -> jax.Array:
    """A column in the precision of the chain."""
    return jnp.asarray(value, jnp.result_type(float))
