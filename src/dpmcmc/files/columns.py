# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Columns: what becomes of one, by its type in the schema and never by a value.

Every column becomes floats, because a float can say that a value is missing. Which
floats, the type says: float32 if they hold all that the type can, else float64.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpmcmc.files.problems import FileError

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Reading", "reading_of_cells", "reading_of_type"]

NUMBER = (
    r"\A[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity))\z"
)
"""A number as text; whatever else a cell holds is missing."""


@dataclass(frozen=True)
class Reading:
    """How one column is read.

    Attributes
    ----------
    dtype
        What it becomes.
    levels
        For text, the public levels, whose places are the codes; None for numbers.
    cells
        Whether it comes as the cells of a text file.
    """

    dtype: np.dtype
    levels: tuple[str, ...] | None = None
    cells: bool = False

    def values(self, array: "pyarrow.Array") -> np.ndarray:
        """Turn a stretch of the column into floats; what is missing becomes NaN.

        Guarantee
        ---------
        Entry i is a function of entry i alone, of the dtype and of the levels. No entry
        raises an error or a warning.
        """
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        if self.cells:
            # ASCII blanks are taken off as they are, in text of whatever encoding
            array = pc.ascii_trim_whitespace(array.view(pa.string())).view(pa.binary())
        elif isinstance(array, pa.DictionaryArray):
            array = array.dictionary_decode()
        if self.levels is not None:
            levels = pa.array([level.encode() for level in self.levels], pa.binary())
            array = pc.index_in(array, value_set=levels.cast(array.type))
        elif self.cells:
            array = _numbers(array)
        floats = array.cast(pa.from_numpy_dtype(self.dtype), safe=False)
        return floats.to_numpy(zero_copy_only=False)


def reading_of_cells(levels: Sequence[str] | None) -> Reading:
    """Read a column of a text file: as numbers, unless it has levels."""
    if levels is None:
        return Reading(np.dtype(np.float64), cells=True)
    return Reading(np.dtype(np.float32), tuple(levels), cells=True)


def reading_of_type(
    path: Path, name: str, kind: "pyarrow.DataType", levels: Sequence[str] | None
) -> Reading:
    """Read a column of a typed file, or refuse its type.

    Raises
    ------
    FileError
        If the type holds no numbers and the column has no levels, or has levels and
        is not text.
    """
    import pyarrow.types as kinds  # noqa: PLC0415

    plain = kind.value_type if kinds.is_dictionary(kind) else kind
    text = (
        kinds.is_string(plain)
        or kinds.is_large_string(plain)
        or kinds.is_string_view(plain)
    )
    where = f"column {name!r} of {path} holds {kind}"
    if levels is not None:
        if text:
            return Reading(np.dtype(np.float32), tuple(levels))
        raise FileError(
            f"{where}, but it was given levels, which are for text. Leave them out; "
            "codes are told apart by preparation.OneHot."
        )
    if text:
        raise FileError(
            f"{where}; numbers are needed. Say what it may hold, if that is public: "
            f"levels={{{name!r}: [...]}}; or leave the column out."
        )
    if kinds.is_temporal(plain):
        raise FileError(
            f"{where}; numbers are needed. Write it as a number, such as days since a "
            "public day, or leave the column out."
        )
    if kinds.is_nested(plain):
        raise FileError(
            f"{where}, which is nested; a column must hold one number for each record. "
            "Write its parts as columns, or leave it out."
        )
    width = _width(plain)
    if width is None:
        raise FileError(
            f"{where}; booleans, whole numbers, decimals or floats are needed. Write "
            "it as numbers, or leave the column out."
        )
    return Reading(np.dtype(f"float{width}"))


def _width(kind: "pyarrow.DataType") -> int | None:
    """How many bits a float needs for all that a type holds; None if not numbers."""
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_boolean(kind):
        return 32
    if kinds.is_integer(kind):
        return 32 if kind.bit_width <= 16 else 64
    if kinds.is_floating(kind):
        return 32 if kind.bit_width <= 32 else 64
    return 64 if kinds.is_decimal(kind) else None


def _numbers(cells: "pyarrow.Array") -> "pyarrow.Array":
    """Numbers of cells; null where a cell is no number."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    try:
        return cells.cast(pa.float64())
    except pa.ArrowInvalid:  # some cell is no number; the message shows it
        fits = pc.match_substring_regex(cells, NUMBER)
        return pc.if_else(fits, cells, pa.scalar(None, pa.binary())).cast(pa.float64())
