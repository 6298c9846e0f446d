# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Data files: the schema and the number of records first, the values after the charge.

What a column becomes follows from its type in the file, or from what the user declares;
never from a value.
"""

import os
from collections.abc import Iterable, Iterator
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
from dpmcmc.files.readings import Reading, reading_of_cells, reading_of_type
from dpmcmc.files.text_file import TextFile, header_names, open_text
from dpmcmc.files.typed_file import Stretch, TypedFile, open_arrow
from dpmcmc.model.schema import Schema, as_schema

__all__ = ["DataFile", "header_of"]

_ARROW = (".arrow", ".feather", ".ipc")
_TEXT = {".csv": ",", ".tsv": "\t"}


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
        The names of the columns to read; unless given, those that the schema declares,
        or all. A text file has no types, so its columns must be named or declared: to
        name one is to declare that it holds numbers.
    schema
        What is known of the columns: a `dpmcmc.Schema`. Of a Parquet or Arrow file,
        columns that hold numbers need no declaration. The column of its unit is not
        read as one of the record's.

    Raises
    ------
    FileError
        If the file is missing or damaged, has no such column, or a column is of a type
        that cannot be read.
    InputError
        If ``columns`` is no list of names.

    Attributes
    ----------
    path
        The file.
    dtypes
        The dtype of each column, by name.
    schema
        What was declared of these columns, and of units.
    """

    def __init__(
        self,
        path: str | Path,
        columns: Iterable[str] | None = None,
        *,
        schema: Schema | None = None,
    ) -> None:
        self.path = str(path) if "://" in str(path) else Path(path)
        declared = as_schema(schema)
        wanted = _names("columns", () if columns is None else columns)
        wanted = wanted or tuple(declared.columns)
        self._file, self._stamp = _open(self.path)
        if not wanted and isinstance(self._file, TypedFile):
            wanted = tuple(name for name in self._file.names if name != declared.unit)
        self._readings = _readings(self.path, self._file, wanted, declared)
        self.schema = declared.of(wanted)
        self.dtypes = {name: one.dtype for name, one in self._readings.items()}
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

    def read_stretches(self) -> Iterator[Stretch]:
        """Read the columns of a typed file in turn, a stretch of records at a time.

        For the privacy boundary, as `read_values`: what does not fit into memory.

        Raises
        ------
        FileError
            As for `read_values`, and if it is a text file.

        Guarantee
        ---------
        That of `TypedFile.read_stretches`; errors are as for `read_values`.
        """
        if isinstance(self._file, TextFile):
            raise FileError(f"{self.path} is a text file. Write it as Parquet.")
        self._require_same()
        with _problems_of(self.path):
            yield from self._file.read_stretches(self._readings)
        self._require_same()

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


def header_of(path: Path) -> list[tuple[str, Any]]:
    """The names of all columns with their types as Arrow has them, None in a text file.

    Of a text file the first line is read, of others the metadata.
    """
    if (suffix := path.suffix.lower()) not in _TEXT:
        file, _ = _open(path)
        assert isinstance(file, TypedFile)
        return [(one.name, one.type) for one in file.schema]
    _stamp(path)  # refuses what cannot be read
    with _problems_of(path):
        return [(name, None) for name in header_names(path, _TEXT[suffix])]


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
    names: tuple[str, ...],
    schema: Schema,
) -> dict[str, Reading]:
    """How each column is read, or an error by its name or type."""
    if not names and isinstance(file, TextFile):
        raise FileError(
            f"{path} is a text file, which has no types: declare the columns to read "
            "in a schema (schema, --schema; dpmcmc schema writes a template), or name "
            "those that hold numbers (columns, --columns)."
        )
    for name in (*names, *schema.columns):
        _require_one(path, file, name)
    found = {}
    for name in names:
        declared = schema.columns.get(name)
        if isinstance(file, TypedFile):
            kind = file.schema.field(name).type
            found[name] = reading_of_type(path, name, kind, declared)
        else:
            found[name] = reading_of_cells(path, name, declared)
    return found


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
