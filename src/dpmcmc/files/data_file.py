# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Data files: the schema and the number of records first, the values after the charge.

What a column becomes follows from its type in the file, or from what the user declares;
never from a value.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from difflib import SequenceMatcher
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.files.parquet import (
    SUFFIXES,
    Stamp,
    is_folder,
    open_parquet,
    stamp_of_folder,
)
from dpmcmc.files.problems import FileError, not_readable
from dpmcmc.files.readings import Reading, reading_of_type
from dpmcmc.files.text_file import TextFile, open_text
from dpmcmc.files.typed_file import TypedFile, open_arrow

__all__ = ["DataFile"]

_ARROW = (".arrow", ".feather", ".ipc")
_TEXT = {".csv": ",", ".tsv": "\t"}
_NUMBERS = Reading(np.dtype(np.float64))


class DataFile:
    """Columns of a data file, for `dpmcmc.sample` and `dpmcmc.Records`.

    When it is made, the names, the types and the number of records are read. The values
    are read when a run first needs them, which is after it was agreed to and charged;
    but for the ids of units, whose number is public, which are read to be counted.

    Parameters
    ----------
    path
        A Parquet (``.parquet``, ``.pq``), Arrow (``.arrow``, ``.feather``, ``.ipc``),
        ``.csv`` or ``.tsv`` file; a folder of Parquet files, or its URI, such as
        ``s3://bucket/folder``.
    columns
        The names of the columns to read; unless given, all. A text file has no types,
        so its columns must be named: to name one is to declare that it holds numbers,
        unless it is among ``levels`` or ``integers``.
    levels
        For columns of text, the values that each may have, chosen without looking at
        the records. A value becomes its place in the list: 0, 1, …; any other is
        missing.
    integers
        The columns that hold integers, such as codes of groups. What is not an integer
        is missing. Integer columns of Parquet and Arrow files need no declaration.
    without
        The columns that are not read, if ``columns`` are not named: such as that of the
        ids of units.

    Raises
    ------
    FileError
        If the file is missing or damaged, has no such column, or a column is of a type
        that cannot be read.
    InputError
        If ``columns``, ``levels`` or ``integers`` are not lists of names, or differ.

    Attributes
    ----------
    path
        The file.
    schema
        The dtype of each column, by name.
    """

    def __init__(
        self,
        path: str | Path,
        columns: Iterable[str] | None = None,
        *,
        levels: Mapping[str, Sequence[str]] | None = None,
        integers: Iterable[str] = (),
        without: Iterable[str] = (),
    ) -> None:
        self.path = str(path) if "://" in str(path) else Path(path)
        declared = _declared(levels or {}, _names("integers", integers))
        wanted = _names("columns", () if columns is None else columns)
        self._file, self._stamp = _open(self.path)
        if not wanted and isinstance(self._file, TypedFile):
            out = _names("without", without)
            wanted = tuple(name for name in self._file.names if name not in out)
        self._readings = _readings(self.path, self._file, wanted, declared)
        self.schema = {name: one.dtype for name, one in self._readings.items()}
        if len(self) < 1:
            raise FileError(f"{self.path} holds no records. Give a file that does.")

    def __len__(self) -> int:
        return self._file.count

    def __repr__(self) -> str:
        return f"DataFile({str(self.path)!r}, {len(self):,} records)"

    def part(self, number: int, parts: int) -> "DataFile":
        """One of several parts, by its number from 0 on: whole row groups of Parquet.

        Every record is in one of the parts. A part may be empty.

        Raises
        ------
        FileError
            If it is not Parquet.
        """
        if isinstance(self._file, TextFile) or self._file.part is None:
            raise FileError(
                f"{self.path} cannot be read in parts. Write it as Parquet, with a row "
                "group or more for each process."
            )
        own = copy(self)
        own._file = self._file.part(number, parts)
        return own

    def read_values(self) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Read the columns, and which records have no missing value.

        The privacy boundary calls this. To look at what it returns is to read the
        records at no cost, of which no statement knows.

        Raises
        ------
        FileError
            If the file is gone, damaged or not the same as when it was opened.

        Guarantee
        ---------
        Entry i of every array is a function of record i and of the schema. Whether an
        error is raised, and its words, do not depend on a value, in a file that is
        whole.
        """
        self._require_same()
        with _problems_of(self.path):
            found = self._file.read(self._readings)
        self._require_same()
        return found

    def read_ids(self, name: str) -> Iterator[list[Any]]:
        """Read whose each record is, for `dpmcmc.Records` with units.

        Parameters
        ----------
        name
            A column of ids, of any type; it need not be among ``columns``.

        Yields
        ------
        list
            The ids of a stretch of records, None where there is none. In a text file
            they are the cells, without spaces at their ends: 7 and 07 differ.

        Raises
        ------
        FileError
            If there is no such column, or as for `read_values`.
        """
        _require_one(self.path, self._file, name)
        self._require_same()
        with _problems_of(self.path):
            yield from self._file.ids(name)
        self._require_same()

    def _require_same(self) -> None:
        if _stamp(self.path) != self._stamp:
            raise FileError(
                f"{self.path} has changed since it was opened. Open it again, and do "
                "not write to it during a run."
            )


def _open(path: Path | str) -> tuple[TypedFile | TextFile, Stamp]:
    """The file by its schema, and its stamp from before the schema was read."""
    known = (*SUFFIXES, *_ARROW, *_TEXT)
    suffix = SUFFIXES[0] if is_folder(str(path)) else Path(path).suffix.lower()
    if suffix not in known:
        raise FileError(
            f"{path} ends in {suffix!r}; data files end in one of "
            f"{', '.join(known)}. Rename it, or write it as Parquet."
        )
    if find_spec("pyarrow") is None:
        raise FileError(
            f"{path} cannot be read: pyarrow is not installed. Install it with pip "
            "install 'dpmcmc[files]'."
        )
    stamp = _stamp(path)
    with _problems_of(path):
        if suffix in _TEXT:
            return open_text(Path(path), _TEXT[suffix]), stamp
        if suffix in SUFFIXES:
            return open_parquet(str(path)), stamp
        return open_arrow(Path(path)), stamp


def _readings(
    path: Path | str,
    file: TypedFile | TextFile,
    wanted: tuple[str, ...],
    declared: Mapping[str, Reading],
) -> dict[str, Reading]:
    """How each column is read, or an error by its name or type."""
    if not wanted and isinstance(file, TextFile):
        raise FileError(
            f"{path} is a text file, which has no types: name the columns to read "
            "(columns, --columns). Each is read as numbers unless you declare its "
            "levels, or that it holds integers."
        )
    names = wanted or file.names
    for name in (*names, *declared):
        _require_one(path, file, name)
        if name not in names:
            raise InputError(
                f"levels or integers name {name!r}, which is not among columns. Add it "
                "to columns, or remove its declaration."
            )
    if isinstance(file, TextFile):
        return {name: declared.get(name, _NUMBERS) for name in names}
    return {
        name: reading_of_type(
            path, name, file.schema.field(name).type, declared.get(name)
        )
        for name in names
    }


def _require_one(path: Path | str, file: TypedFile | TextFile, name: str) -> None:
    """Refuse a name that no column has, or more than one."""
    found = file.names.count(name)
    if found == 1:
        return
    if found > 1:
        raise FileError(
            f"{path} has {found} columns named {name!r}. Rename them, or read others."
        )
    if isinstance(file, TextFile):
        # the names are not shown: without a header they are the values of a record
        raise FileError(
            f"{path} has no column {name!r}. Its first line must name the columns, in "
            f"UTF-8, separated by {file.separator!r}: add such a line, or give names "
            "that are in it."
        )
    near = sorted(file.names, key=lambda it: -SequenceMatcher(None, name, it).ratio())
    raise FileError(
        f"{path} has no column {name!r}. Its columns, the most similar first: "
        f"{', '.join(map(repr, near))}."
    )


def _declared(
    levels: Mapping[str, Sequence[str]], integers: tuple[str, ...]
) -> dict[str, Reading]:
    """How the declared columns are read."""
    found = dict.fromkeys(integers, Reading(np.dtype(np.int64)))
    for name, values in levels.items():
        listed = tuple(values) if isinstance(values, list | tuple) else ()
        is_text = all(isinstance(value, str) for value in listed)
        if not is_text or len(set(listed)) < max(2, len(listed)):
            raise InputError(
                f"the levels of {name!r} are {values!r}; they must be at least two "
                "different texts. Choose them without looking at the records."
            )
        if name in found:
            raise InputError(f"{name!r} has levels and is among integers. Keep one.")
        found[name] = Reading(np.dtype(np.int32), listed)
    return found


def _names(what: str, given: Iterable[str]) -> tuple[str, ...]:
    is_list = isinstance(given, Iterable) and not isinstance(given, str)
    names = tuple(given) if is_list else (None,)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InputError(
            f"{what} is {given!r}; it must be a list of names of columns, each once."
        )
    return names  # type: ignore[return-value]


def _stamp(path: Path | str) -> Stamp:
    """The size of a file, and when it was last written; of each in a folder."""
    if is_folder(str(path)):
        with _problems_of(path):
            return stamp_of_folder(str(path))
    path = Path(path)
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
    except OSError as error:
        raise not_readable(path, error) from None
    if found.st_size == 0:
        raise FileError(f"{path} is empty. Write it again, or give another file.")
    return found.st_size, found.st_mtime_ns


@contextmanager
def _problems_of(path: Path | str) -> Iterator[None]:
    """Say that the file is damaged, whatever goes wrong, and show none of it.

    Arrow raises errors of the system for damage, too.
    """
    try:
        yield
    except FileError:
        raise
    except MemoryError:
        raise FileError(
            f"the columns of {path} do not fit into memory. Read fewer columns."
        ) from None
    except Exception:
        raise FileError(
            f"{path} is damaged, or not what its name ends in. Write it again, or get "
            "a whole copy."
        ) from None
