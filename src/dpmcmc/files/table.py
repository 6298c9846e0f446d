# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One table from one file: which columns there are, which are wanted, their arrays."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.files.columns import Reading, reading_of_cells, reading_of_type
from dpmcmc.files.lines import header_of, read_lines
from dpmcmc.files.problems import FileError, not_readable
from dpmcmc.files.typed import Typed, open_arrow, open_parquet

__all__ = ["read_table"]

Levels = Mapping[str, Sequence[str]]

_TYPED = {
    ".parquet": open_parquet,
    ".pq": open_parquet,
    ".arrow": open_arrow,
    ".feather": open_arrow,
    ".ipc": open_arrow,
}
_TEXT = {".csv": ",", ".tsv": "\t"}


def read_table(
    path: str | Path,
    columns: Iterable[str] | None = None,
    *,
    levels: Levels | None = None,
) -> dict[str, np.ndarray]:
    """Read columns of a file, one array of floats each, ready for `dpmcmc.Records`.

    What is missing becomes NaN, and a record with NaN counts for nothing in any
    decision. Memory holds the columns once, and a little more.

    Parameters
    ----------
    path
        A Parquet (``.parquet``, ``.pq``), Arrow (``.arrow``, ``.feather``, ``.ipc``),
        ``.csv`` or ``.tsv`` file.
    columns
        The names of the columns to read; unless given, all.
    levels
        For columns of text, the values that each may have, chosen without looking at
        the records. A value becomes its place in the list: 0, 1, …, as
        `dpmcmc.preparation.OneHot` wants it; any other becomes NaN.

    Returns
    -------
    dict
        From names to arrays, in the order asked. Types of at most 16 bits and float32
        become float32, all others float64.

    Raises
    ------
    FileError
        If there is no such file, it is damaged, it has no records, or a column is not
        there or has a type that does not fit. All that it says follows from the
        schema and the number of records.

    Guarantee
    ---------
    Entry i of every array is a function of record i and of the schema. No error and no
    warning depends on a value, in a file that is whole.
    """
    path = Path(path)
    wanted = _names(columns)
    public = _levels(levels)
    open_typed = _TYPED.get(path.suffix.lower())
    separator = _TEXT.get(path.suffix.lower())
    if open_typed is None and separator is None:
        known = ", ".join([*_TYPED, *_TEXT])
        raise FileError(
            f"{path} ends in {path.suffix!r}; data files end in one of {known}. Rename "
            "it to what it is, or write it as Parquet."
        )
    if find_spec("pyarrow") is None:
        raise FileError(
            f"{path} cannot be read: pyarrow is not installed. Install it with pip "
            "install 'dpmcmc[files]'."
        )
    _require_bytes(path)
    if open_typed is not None:
        with _damage_said(path):
            typed = open_typed(path)
        return _read_typed(path, typed, wanted, public)
    assert separator is not None
    with _damage_said(path):
        names = header_of(path, separator)
    asked = _places(path, names, wanted, public)
    readings = {
        place: reading_of_cells(public.get(name)) for name, place in asked.items()
    }
    with _damage_said(path):
        arrays = read_lines(path, separator, readings)
    _require_records(path, len(arrays[0]))
    return dict(zip(asked, arrays, strict=True))


def _read_typed(
    path: Path, typed: Typed, wanted: tuple[str, ...] | None, levels: Levels
) -> dict[str, np.ndarray]:
    asked = _places(path, tuple(typed.schema.names), wanted, levels)
    readings = {
        name: reading_of_type(
            path, name, typed.schema.field(place).type, levels.get(name)
        )
        for name, place in asked.items()
    }
    _require_records(path, typed.count)
    with _damage_said(path):
        return {
            name: _fill(typed, place, readings[name]) for name, place in asked.items()
        }


def _fill(typed: Typed, place: int, reading: Reading) -> np.ndarray:
    """Read one column into an array of its own, a stretch at a time."""
    values = np.empty(typed.count, reading.dtype)
    start = 0
    for stretch in typed.column(place):
        stop = start + len(stretch)
        values[start:stop] = reading.values(stretch)
        start = stop
    if start != typed.count:
        raise ValueError("there are fewer records than the file says")
    return values


def _names(columns: Iterable[str] | None) -> tuple[str, ...] | None:
    if columns is None:
        return None
    listed = isinstance(columns, Iterable) and not isinstance(columns, str)
    names = tuple(columns) if listed else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"columns is {columns!r}; it must be a list of column names. Leave it out "
            "to read all."
        )
    if twice := _twice(names):
        raise InputError(f"columns has {twice!r} twice. Name every column once.")
    return names


def _levels(levels: Levels | None) -> Levels:
    for name, values in (levels or {}).items():
        listed = tuple(values) if isinstance(values, list | tuple) else ()
        text = all(isinstance(value, str) for value in listed)
        if not text or len(listed) < 2 or _twice(listed) is not None:
            raise InputError(
                f"the levels of {name!r} are {values!r}; they must be at least two "
                "different texts. Choose them without looking at the records."
            )
    return levels or {}


def _places(
    path: Path,
    there: tuple[str, ...],
    wanted: tuple[str, ...] | None,
    levels: Levels,
) -> dict[str, int]:
    """Where the wanted columns are, or an error that names what there is."""
    asked = there if wanted is None else wanted
    if not there:
        raise FileError(f"{path} has no columns. Give a file with one or more.")
    for name in (*asked, *levels):
        if name not in there:
            (closest,) = difflib.get_close_matches(name, there, 1, cutoff=0.0)
            raise FileError(
                f"{path} has no column {name!r}; the closest is {closest!r}. There are "
                f"{', '.join(map(repr, there))}."
            )
        if there.count(name) > 1:
            raise FileError(
                f"{path} has {there.count(name)} columns named {name!r}. Rename them, "
                "or ask for others."
            )
    for name in levels:
        if name not in asked:
            raise InputError(
                f"levels are given for {name!r}, which is not among columns. Ask for "
                "it, or leave its levels out."
            )
    return {name: there.index(name) for name in asked}


def _twice(names: tuple[str, ...]) -> str | None:
    return next((name for name in names if names.count(name) > 1), None)


def _require_bytes(path: Path) -> None:
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        raise not_readable(path, error) from None
    if empty:
        raise FileError(f"{path} is empty. Write it again, or give another file.")


def _require_records(path: Path, count: int) -> None:
    if count < 1:
        raise FileError(f"{path} has columns but no records. Give a file with some.")


@contextmanager
def _damage_said(path: Path) -> Iterator[None]:
    """Say of whatever goes wrong that the file is damaged, and show none of it."""
    try:
        yield
    except FileError:
        raise
    except MemoryError:
        raise FileError(
            f"the columns of {path} do not fit into memory. Ask for fewer."
        ) from None
    except Exception:
        raise FileError(
            f"{path} is damaged, or not what its name ends in. Write it again, or get "
            "a whole copy."
        ) from None
