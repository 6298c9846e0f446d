# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A table in memory as a formula reads it: its columns, with texts as codes of levels.

Like a `dpmcmc.files.DataFile`, it shows names and types at once, and its values when
the privacy boundary asks for them.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import narwhals as nw
import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.model.schema import Schema
from dpmcmc.models.formulas.bounds_and_levels import Levels

__all__ = ["CodedTable", "series_of"]


class CodedTable:
    """Columns of a table in memory, coded by declared levels.

    Parameters
    ----------
    table
        A pandas, polars or Arrow table, or a dict of columns.
    columns
        The columns to read.
    levels
        Levels of columns of text; a text that is none of them is missing.

    Attributes
    ----------
    dtypes
        The dtype of each column, by name: it follows from what is declared alone.
    schema
        An empty one: all that is declared is in the formula.

    Raises
    ------
    InputError
        If a column is not there, or by its type holds no numbers and has no levels.
    """

    def __init__(
        self, table: Any, columns: Sequence[str], levels: Mapping[str, Levels]
    ) -> None:
        self.schema = Schema()
        self._columns = series_of(table)
        self._levels = {
            name: one for name, one in levels.items() if one.is_text and name in columns
        }
        for name in columns:
            if name not in self._columns:
                close = get_close_matches(name, self._columns, 1)
                meant = f" Was {close[0]!r} meant?" if close else ""
                raise InputError(
                    f"the formula has the column {name!r}, but the table has "
                    f"{', '.join(map(repr, self._columns))}.{meant}"
                )
            if name not in self._levels and not _holds_numbers(self._columns[name]):
                raise InputError(
                    f"the column {name!r} of the table does not hold numbers by its "
                    "type. Declare its levels, or a dtype that holds missing values, "
                    f"as in frame.astype({{{name!r}: 'boolean'}})."
                )
        self.dtypes = {
            name: np.dtype(np.int32 if name in self._levels else np.float64)
            for name in columns
        }

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def read_values(self) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """What the privacy boundary reads."""
        return self.coded()

    def coded(self) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """The columns as numbers, and which rows have no missing value.

        Guarantee
        ---------
        Entry i of every array is a function of row i and of what is declared, and no
        value raises an error.
        """
        present = np.ones(len(self), bool)
        values = {}
        for name, dtype in self.dtypes.items():
            column = self._columns[name]
            if name in self._levels:
                levels = self._levels[name]
                places = dict(zip(levels.names, levels.codes, strict=True))
                texts = column.to_list()
                listed = [
                    places.get(one, -1) if isinstance(one, str) else -1 for one in texts
                ]
                found = np.asarray(listed, np.int64)
                missing = found < 0
            else:
                found = column.cast(nw.Float64).fill_null(np.nan).to_numpy()
                missing = np.isnan(found)
            present &= ~missing
            values[name] = np.where(missing, 0, found).astype(dtype)
        return values, present

    def read_ids(self, name: str) -> Iterator[list[Any]]:
        """The values of any column, for units of records."""
        if name not in self._columns:
            raise InputError(f"the table has no column {name!r} of ids.")
        yield self._columns[name].to_list()


def series_of(table: Any) -> dict[str, Any]:
    """The columns of a table or of a dict of arrays, by name."""
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return {str(name): frame.get_column(name) for name in frame.columns}
    if not isinstance(table, Mapping) or not table:
        raise InputError(
            f"the table is a {type(table).__name__}; a formula reads a pandas, polars "
            "or Arrow table, or a dict of columns."
        )
    import pandas as pd  # noqa: PLC0415 - slow to import

    columns = {}
    for name, values in table.items():
        column = nw.from_native(values, series_only=True, pass_through=True)
        if not isinstance(column, nw.Series):
            # an array of booleans misses none
            is_sure = isinstance(values, np.ndarray) and values.dtype == bool
            made = pd.Series(values, dtype=float if is_sure else None)
            column = nw.from_native(made, series_only=True)
        columns[str(name)] = column
    if len({len(column) for column in columns.values()}) > 1:
        raise InputError("the columns of the table have different lengths.")
    return columns


def _holds_numbers(column: Any) -> bool:
    """Whether its type holds numbers.

    In pandas one missing value turns booleans into objects: so neither do.
    """
    own = getattr(column.to_native(), "dtype", None)
    if isinstance(own, np.dtype):
        return own.kind in "iuf"
    return bool(column.dtype.is_numeric() or column.dtype == nw.Boolean)
