# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables: pandas, polars and Arrow columns as arrays, through narwhals."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from dpmcmc.errors import InputError

__all__ = ["Column", "Table", "read_column", "table_of"]


_NUMBERS = frozenset(
    {
        *(nw.Int8, nw.Int16, nw.Int32, nw.Int64),
        *(nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64),
        *(nw.Float16, nw.Float32, nw.Float64, nw.Boolean),
    }
)


class Column(NamedTuple):
    """A column's values, and which of them are missing."""

    values: np.ndarray
    missing: np.ndarray


@dataclass(frozen=True)
class Table:
    """A table by its schema: names and dtypes are public, the columns are not.

    It holds the columns themselves, so that the frame may change or go.
    """

    names: tuple[str, ...]
    dtypes: tuple[np.dtype, ...]
    length: int
    series: tuple[Any, ...]

    @property
    def columns(self) -> list[tuple[str, tuple[int, ...]]]:
        """Name and shape of each column."""
        return [(f"column {name!r}", (self.length,)) for name in self.names]


def table_of(data: Any) -> Table | None:
    """Return ``data`` as a table if it is one, looking at the schema alone.

    Raises
    ------
    InputError
        If a column does not hold numbers; it is named, its values are not.
    """
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    names, dtypes = [], []
    for name, dtype in frame.schema.items():
        if not isinstance(name, str):
            raise InputError(
                f"the name of column {name!r} is not text. Give every column a name."
            )
        if dtype not in _NUMBERS:
            # the full dtype is not shown: an Enum lists the values of its column
            raise InputError(
                f"column {name!r} holds {type(dtype).__name__}; records must be "
                "booleans, whole numbers or floats. Encode it as numbers, or leave "
                "the column out."
            )
        names.append(name)
        dtypes.append(_numpy_dtype(dtype))
    series = tuple(frame.get_column(name) for name in names)
    return Table(tuple(names), tuple(dtypes), len(frame), series)


def read_column(table: Table, name: str) -> Column:
    """Read one column; where it is missing, its value is zero.

    The dtype follows from the schema, never from whether a value is missing.
    """
    place = table.names.index(name)
    series, dtype = table.series[place], table.dtypes[place]
    missing = series.is_null().to_numpy().astype(bool)
    filled = series.fill_null(dtype.type(0).item()).to_numpy()
    return Column(filled.astype(dtype), missing)


def _numpy_dtype(dtype: Any) -> np.dtype:
    """Return the NumPy dtype of the same name: Int64 is int64, Boolean is bool."""
    return np.dtype("bool" if dtype == nw.Boolean else str(dtype).lower())
