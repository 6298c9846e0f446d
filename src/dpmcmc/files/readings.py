# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Readings: what a column becomes, by its type or its declaration, never by a value."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpmcmc.files.problems import FileError

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Reading", "reading_of_type"]

NUMBER = (
    r"\A[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity))\z"
)
"""A number as text; whatever else a cell holds is missing."""

_WHOLE = 2.0**53
"""Below this, floats that are integers are what was written, not rounded."""


@dataclass(frozen=True)
class Reading:
    """How one column is read: into which dtype, and by which levels if it is text.

    The code of a text is its place among the levels.
    """

    dtype: np.dtype
    levels: tuple[str, ...] | None = None

    def values(self, array: "pyarrow.Array") -> tuple[np.ndarray, np.ndarray]:
        """Return a stretch of the column, and which of its values are present.

        What is missing becomes 0: a null, NaN, a cell that is no number, a text that is
        not a level, a number that is not whole where integers were declared.

        Guarantee
        ---------
        Entry i of both is a function of entry i alone, of the type, the dtype and the
        levels. No entry raises an error or a warning.
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
        if self.levels is not None:
            levels = pa.array([level.encode() for level in self.levels], pa.binary())
            array = pc.index_in(array, value_set=levels.cast(array.type))
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
            return values.astype(self.dtype, copy=False), present


def reading_of_type(
    path: Path | str, name: str, kind: "pyarrow.DataType", declared: Reading | None
) -> Reading:
    """How a column of a typed file is read: by its type, or as it is declared.

    Raises
    ------
    FileError
        If the type does not hold numbers and the column has no levels, or has levels
        and is not text.
    """
    import pyarrow.types as kinds  # noqa: PLC0415

    plain = kind.value_type if kinds.is_dictionary(kind) else kind
    is_text = str(plain) in ("string", "large_string", "string_view")
    dtype = _dtype_of(plain)
    reading = Reading(dtype) if dtype is not None and declared is None else declared
    has_levels = reading is not None and reading.levels is not None
    fits = is_text if has_levels else dtype is not None
    if reading is not None and fits and _reads(reading, kind):
        return reading
    if is_text:
        advice = f"Declare its levels, levels={{{name!r}: [...]}}"
    elif dtype is not None:
        advice = "Levels are for text: remove them"
    elif kinds.is_temporal(plain):
        advice = "Write it as a number, such as days since a public date"
    else:
        advice = "Write it as columns of booleans, integers, decimals or floats"
    raise FileError(
        f"column {name!r} of {path} has type {kind}, which cannot be read as "
        f"{'text with levels' if has_levels else 'numbers'}. {advice}; or leave the "
        "column out."
    )


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
