# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Columns of a table in memory, read as a schema declares them.

Texts become places among their levels, dates days since their origin; integers stay
integers. What a column may be declared as depends on its type alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.model.schema import DeclaredColumn
from dpmcmc.private.tables import Column, Kind, is_float, kind_of, read_leaf, saturate

__all__ = ["Declared", "python_values"]

_STRETCH = 65_536
"""How many values are looked at together."""

_WHOLE = 2.0**53
"""Below this, floats that are integers are what was written, not rounded."""

_FITTING = {
    "number": ("numbers",),
    "integer": ("numbers",),
    "boolean": ("booleans", "objects"),
    "text": ("texts", "objects"),
    "date": ("dates", "texts", "objects"),
}
"""Which columns can be declared as what."""


@dataclass(frozen=True, eq=False)
class Declared:
    """A column with its declaration: a part of the records."""

    leaf: Any
    column: DeclaredColumn

    def kind(self, name: str) -> Kind:
        """Shape and dtype, from the type of the column and the declaration alone."""
        found, fitting = _family(self.leaf), _FITTING[self.column.type]
        if found not in fitting or len(self.leaf.shape) != 1:
            raise InputError(
                f"{name} is declared as {self.column.type}, for which a column must "
                f"hold {' or '.join(fitting)}, one for each record; by its type it "
                f"holds {found}. Change the declaration, or the type of the column."
            )
        return Kind((len(self.leaf),), self.column.dtype)

    def read(self) -> Column:
        """Read the column.

        Guarantee
        ---------
        Entry i of ``values`` and of ``missing`` is a function of entry i of the column,
        of its type and of the declaration. Whether ``missing`` is None depends on the
        type alone. No value raises an error.
        """
        found = self._found()
        if self.column.if_missing is None or found.missing is None:
            return found
        return Column(np.where(found.missing, np.nan, found.values), None)

    def _found(self) -> Column:
        """The values, zero where they are missing."""
        if self.column.type in ("number", "integer"):
            found = read_leaf(self.leaf, kind_of("", self.leaf))
            if self.column.type == "integer":
                return _whole(found)
            return Column(found.values.astype(self.column.dtype), found.missing)
        numbers = [
            self.column.number_of(value)
            for part in python_values(self.leaf)
            for value in part
        ]
        missing = np.fromiter((one is None for one in numbers), bool, len(numbers))
        values = [0 if one is None else one for one in numbers]
        return Column(np.asarray(values).astype(self.column.dtype), missing)


def python_values(column: Any) -> Iterator[list[Any]]:
    """The values of a column of any type as Python has them, a stretch at a time."""
    for start in range(0, len(column), _STRETCH):
        part = column[start : start + _STRETCH]
        if isinstance(part, nw.Series):
            yield part.to_list()
        else:  # nanoseconds would become integers
            is_date = part.dtype.kind == "M"
            yield (part.astype("datetime64[us]") if is_date else part).tolist()


def _whole(found: Column) -> Column:
    """Integers; what is none is missing."""
    values, missing = found
    if is_float(values.dtype):
        is_whole = (np.abs(values) < _WHOLE) & (np.trunc(values) == values)
        values = np.where(is_whole, values, 0.0)
        missing = ~is_whole if missing is None else missing | ~is_whole
    return Column(saturate(values, np.dtype(np.int64)), missing)


def _family(leaf: Any) -> str:
    """What a column holds by its type alone; values of objects are not looked at.

    Booleans of NumPy and pandas are objects, as one missing value makes them so.
    """
    own = leaf.to_native().dtype if _is_pandas(leaf) else leaf.dtype
    if isinstance(own, np.dtype):
        kinds = {"i": "numbers", "u": "numbers", "U": "texts", "M": "dates"}
        kinds |= {"f": "numbers", "b": "objects", "O": "objects"}
        return kinds.get(own.kind, "something else")
    if not isinstance(leaf, nw.Series):
        return "numbers" if is_float(leaf.dtype) else "something else"
    if leaf.dtype == nw.Boolean:
        return "booleans"
    if leaf.dtype in (nw.String, nw.Categorical, nw.Enum):
        return "texts"
    if leaf.dtype in (nw.Date, nw.Datetime):
        return "dates"
    return "numbers" if leaf.dtype.is_numeric() else "something else"


def _is_pandas(leaf: Any) -> bool:
    return isinstance(leaf, nw.Series) and leaf.implementation.is_pandas_like()
