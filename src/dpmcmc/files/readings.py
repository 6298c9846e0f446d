# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Readings: what a column becomes, by its type or its declaration, never by a value."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpmcmc.files.problems import FileError
from dpmcmc.model.schema import DeclaredColumn

if TYPE_CHECKING:
    import pyarrow

__all__ = ["NUMBER", "Reading", "declared_type", "reading_of_cells", "reading_of_type"]

NUMBER = (
    r"\A[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity))\z"
)
"""A number as text; whatever else a cell holds is missing."""

_WHOLE = 2.0**53
"""Below this, floats that are integers are what was written, not rounded."""

_A_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
"""How many units of time a day has."""

_TEXTS = ("string", "large_string", "string_view")


@dataclass(frozen=True)
class Reading:
    """How one column is read: into which dtype, and as what it is declared.

    The code of a text is its place among the levels; a date is the number of days since
    its origin.
    """

    dtype: np.dtype
    declared: DeclaredColumn | None = None

    def values(self, array: "pyarrow.Array") -> tuple[np.ndarray, np.ndarray]:
        """Return a stretch of the column, and which of its values are present.

        What is missing becomes 0: a null, NaN, a cell that is no number or date, a text
        that is not a level, a number that is not whole where integers were declared.

        Guarantee
        ---------
        Entry i of both is a function of entry i alone, of the type, the dtype and the
        declaration. No entry raises an error or a warning.
        """
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415
        import pyarrow.types as kinds  # noqa: PLC0415

        is_cells = kinds.is_binary(array.type)  # of a text file, in any encoding
        if is_cells:
            array = pc.ascii_trim_whitespace(array.view(pa.string())).view(pa.binary())
        elif kinds.is_dictionary(array.type):
            array = _viewless(array.dictionary).take(array.indices)
        else:
            array = _viewless(array)
        levels = None if self.declared is None else self.declared.levels
        if levels is not None:
            texts = pa.array([level.encode() for level in levels], pa.binary())
            array = pc.index_in(array, value_set=texts.cast(array.type))
        elif self.declared is not None and self.declared.origin is not None:
            array = _days(array, self.declared)
        elif is_cells:
            array = _numbers(array)
        is_float = kinds.is_floating(array.type) or kinds.is_decimal(array.type)
        dtype = np.dtype(np.float64) if is_float else self.dtype
        numbers = array.cast(pa.from_numpy_dtype(dtype), safe=False)
        present = numbers.is_valid().to_numpy(zero_copy_only=False)
        filled = numbers.fill_null(dtype.type(0).item())
        values = filled.to_numpy(zero_copy_only=False)
        if is_float:
            usable = _is_whole(values) if self.dtype.kind == "i" else ~np.isnan(values)
            present = present & usable
            values = np.where(present, values, 0.0)
        with np.errstate(all="ignore"):  # a warning would depend on the values
            values = values.astype(self.dtype, copy=False)
        if self.declared is not None and self.declared.if_missing is not None:
            return np.where(present, values, np.nan), np.ones_like(present)
        return values, present


def reading_of_cells(
    path: Path | str, name: str, declared: DeclaredColumn | None
) -> Reading:
    """How a column of a text file is read: as numbers unless it is declared otherwise.

    Raises
    ------
    FileError
        If it is declared as booleans, which have no one way to be written.
    """
    if declared is not None and declared.type == "boolean":
        raise FileError(
            f"column {name!r} of {path} is declared as boolean, but a text file holds "
            "texts. Declare how they are written: type: text, levels: [FALSE, TRUE]."
        )
    dtype = np.dtype(np.float64) if declared is None else declared.dtype
    return Reading(dtype, declared)


def reading_of_type(
    path: Path | str,
    name: str,
    kind: "pyarrow.DataType",
    declared: DeclaredColumn | None,
) -> Reading:
    """How a column of a typed file is read: by its type, or as it is declared.

    Raises
    ------
    FileError
        If the type does not hold numbers and the column is not declared, or is declared
        as something else.
    """
    import pyarrow.types as kinds  # noqa: PLC0415

    numeric = ("number", "integer", "boolean")
    fitting = {
        None: numeric,
        "number": numeric,
        "integer": numeric,
        "date": ("date", "text"),
    }
    asked = None if declared is None else declared.type
    own = declared_type(kind)
    dtype = _dtype_of(kind.value_type if kinds.is_dictionary(kind) else kind)
    dtype = dtype if declared is None else declared.dtype
    if own in fitting.get(asked, (asked,)) and dtype is not None:
        reading = Reading(dtype, declared)
        if _reads(reading, kind):
            return reading
    advice = {
        "text": "Declare its levels in a schema: type: text, levels: [...]",
        "date": "Declare its origin in a schema: type: date, origin: 2000-01-01",
        None: "Write it as columns of booleans, integers, decimals or floats",
    }.get(own, "Declare it as number or integer, or leave its declaration out")
    what = "numbers" if declared is None else f"a {declared.type}"
    raise FileError(
        f"column {name!r} of {path} has type {kind}, which cannot be read as {what}. "
        f"{advice}; or leave the column out."
    )


def declared_type(kind: "pyarrow.DataType") -> str | None:
    """As what a column of a type can be declared; None if it cannot be read."""
    import pyarrow.types as kinds  # noqa: PLC0415

    plain = kind.value_type if kinds.is_dictionary(kind) else kind
    if str(plain) in _TEXTS:
        return "text"
    if kinds.is_date(plain) or kinds.is_timestamp(plain):
        return "date"
    found = {"b": "boolean", "i": "integer", "u": "integer", "f": "number"}
    dtype = _dtype_of(plain)
    return None if dtype is None else found[dtype.kind]


def _dtype_of(kind: "pyarrow.DataType") -> np.dtype | None:
    """The dtype of a type of numbers; None for any other."""
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_decimal(kind):
        return np.dtype(np.float64)
    if kinds.is_boolean(kind):
        return np.dtype(bool)
    if kinds.is_integer(kind):
        # short integers overflow in the arithmetic of a model: 90 · 90 in 8 bits is 164
        return np.promote_types(np.int32, kind.to_pandas_dtype())
    if kinds.is_floating(kind):
        return np.promote_types(np.float32, kind.to_pandas_dtype())
    return None


def _reads(reading: Reading, kind: "pyarrow.DataType") -> bool:
    """Whether this pyarrow can read the type, tried on an empty column.

    Once the values are read, it would be too late to find out.
    """
    import pyarrow as pa  # noqa: PLC0415

    try:
        if pa.types.is_dictionary(kind):
            codes, texts = pa.nulls(0, kind.index_type), pa.nulls(0, kind.value_type)
            reading.values(pa.DictionaryArray.from_arrays(codes, texts))
        else:
            reading.values(pa.nulls(0, kind))
    except pa.ArrowException:
        return False
    return True


def _viewless(array: "pyarrow.Array") -> "pyarrow.Array":
    """Text in a layout that all functions of Arrow know, as polars does not write."""
    import pyarrow as pa  # noqa: PLC0415

    is_view = pa.types.is_string_view(array.type)
    return array.cast(pa.large_string()) if is_view else array


def _is_whole(values: np.ndarray) -> np.ndarray:
    """Which floats are integers that a float holds exactly, NaN and ±inf excluded."""
    return (np.abs(values) < _WHOLE) & (np.trunc(values) == values)


def _numbers(cells: "pyarrow.Array") -> "pyarrow.Array":
    """Numbers of the cells of a text file; null where a cell is no number."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    fits = pc.match_substring_regex(cells, NUMBER)
    return pc.if_else(fits, cells, pa.scalar(None, pa.binary())).cast(pa.float64())


def _days(array: "pyarrow.Array", declared: DeclaredColumn) -> "pyarrow.Array":
    """Days since the origin, of dates and times or of texts and cells that are some."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if not kinds.is_temporal(array.type):
        as_bytes = pa.large_binary() if kinds.is_large_string(array.type) else None
        cells = array.view(as_bytes or pa.binary()).to_pylist()
        return pa.array(map(declared.number_of, cells), pa.float64())
    assert declared.origin is not None
    in_a_day = 1  # date32 counts days
    if not kinds.is_date32(array.type):
        in_a_day = _A_DAY[getattr(array.type, "unit", "ms")]  # date64 counts ms
    narrow = pa.int32() if kinds.is_date32(array.type) else pa.int64()
    counted = array.view(narrow).cast(pa.float64(), safe=False)
    start = (declared.origin - date(1970, 1, 1)).days
    present = counted.is_valid().to_numpy(zero_copy_only=False)
    days = counted.fill_null(0.0).to_numpy(zero_copy_only=False) / in_a_day - start
    return pa.array(days, mask=~present)
