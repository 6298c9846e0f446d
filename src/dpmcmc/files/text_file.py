# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Text files (CSV, TSV): a header, and one line for each record.

A cell in quotes may hold separators, line ends, and quotes written twice (RFC 4180). A
record with too few or too many cells is one whose values are all missing: an error
would tell that there is such a record, and to leave it out would change the number of
records, which is public. A line with nothing on it is no record, except in a file of
one column: there it is a record whose one value is missing.
"""

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpmcmc.files.problems import FileError
from dpmcmc.files.readings import Reading

__all__ = ["TextFile", "header_names", "open_text"]

BLOCK = 1 << 20
"""How many bytes are read at a time."""

LONGEST = 1 << 24
"""A record of more bytes than this means that a quote is never closed."""

_MARK = b"\xef\xbb\xbf"
"""What may stand before the header to say that the text is UTF-8."""


@dataclass(frozen=True)
class TextFile:
    """A text file by the names in its first line and the number of its records.

    The names are not shown in any message: in a file without a header they are the
    values of a record.
    """

    path: Path
    separator: str
    names: tuple[str, ...]
    count: int

    def read(
        self, readings: Mapping[str, Reading]
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Read the columns of these names, and which records have no missing value.

        Guarantee
        ---------
        Entry i of every array is a function of the i-th record of the file, of the
        header and of the readings. No record raises an error or a warning.
        """
        places = [self.names.index(name) for name in readings]
        arrays = {
            name: np.empty(self.count, reading.dtype)
            for name, reading in readings.items()
        }
        present = np.ones(self.count, bool)
        start = 0
        for records in _records(self.path, self.separator, len(self.names)):
            rows = slice(start, start + len(records))
            cells = _cells(records, self.separator, len(self.names), places)
            for (name, reading), part in zip(readings.items(), cells, strict=True):
                arrays[name][rows], there = reading.values(part)
                present[rows] &= there
            start = rows.stop
        if start != self.count:
            raise ValueError("the number of records has changed")
        return arrays, present

    def ids(self, name: str) -> Iterator[list[bytes | None]]:
        """The cells of a column, None where a cell is empty or there is none."""
        place = self.names.index(name)
        for records in _records(self.path, self.separator, len(self.names)):
            (cells,) = _cells(records, self.separator, len(self.names), [place])
            yield [(cell and cell.strip()) or None for cell in cells.to_pylist()]


def open_text(path: Path, separator: str) -> TextFile:
    """Read the header and count the records; no cell of a record is looked at.

    Raises
    ------
    FileError
        If a quote is out of place.
    """
    names = header_names(path, separator)
    count = sum(len(records) for records in _records(path, separator, len(names)))
    return TextFile(path, separator, names, count)


def header_names(path: Path, separator: str) -> tuple[str, ...]:
    """The names in the first line, none if it is not UTF-8; nothing else is read."""
    data, lines = b"", list[bytes]()
    with path.open("rb") as file:
        if file.read(len(_MARK)) != _MARK:
            file.seek(0)
        while not lines and len(data) <= LONGEST and (more := file.readline(LONGEST)):
            data += more if more.endswith(b"\n") else more + b"\n"
            lines, _ = _lines(data, separator)
    try:
        cells = _split(lines[0] if lines else b"", separator.encode())
        return tuple(cell.decode().strip() for cell in cells)
    except UnicodeDecodeError:
        return ()


def _records(path: Path, separator: str, width: int) -> Iterator[list[bytes]]:
    """The records after the header, about as many at a time as fit in a block."""
    header = 1
    for lines in _blocks(path, separator):
        records = [line for line in lines[header:] if line or width == 1]
        header = 0
        if records:
            yield records


def _blocks(path: Path, separator: str) -> Iterator[list[bytes]]:
    """All lines of a file without their ends; a line end in quotes is part of a line.

    Raises
    ------
    FileError
        If a quote is out of place.
    """
    rest, is_over = b"", False
    with path.open("rb") as file:
        if file.read(len(_MARK)) != _MARK:
            file.seek(0)
        while not is_over:
            data = file.read(BLOCK)
            is_over = not data
            end = b"\n" if is_over and rest else b""  # the last line may have none
            lines, rest = _lines(rest + data + end, separator)
            if lines:
                yield lines
            if len(rest) > LONGEST or (is_over and rest):
                raise FileError(
                    f"{path} is not well-formed: a cell in quotes does not end, or "
                    "goes on after the closing quote. Write the file again, with every "
                    "quote inside a cell doubled (RFC 4180)."
                )


def _lines(data: bytes, separator: str) -> tuple[list[bytes], bytes]:
    """Whole lines without their ends, and what follows them."""
    if b'"' not in data:
        *lines, rest = data.split(b"\n")
    else:
        lines, end = [], 0
        match = _line(separator.encode()).match
        while found := match(data, end):
            lines.append(found[1])
            end = found.end()
        rest = data[end:]
    if b"\r" in data:
        lines = [line.removesuffix(b"\r") for line in lines]
    return lines, rest


@functools.cache
def _line(separator: bytes) -> re.Pattern[bytes]:
    """Cells with separators between them, up to the end of the line.

    A cell that begins with a quote ends with one. Nothing is tried twice (``*+``), so
    that no line needs much time or memory.
    """
    quoted = rb'"[^"]*+(?:""[^"]*+)*+"(?=' + separator + rb"|\r?\n)"
    cell = rb"(?:" + quoted + rb'|(?!")[^' + separator + rb"\n]*+)"
    return re.compile(rb"(" + cell + rb"(?:" + separator + cell + rb")*+)\r?\n")


def _cells(
    records: list[bytes], separator: str, width: int, places: list[int]
) -> list[Any]:
    """The cells of the wanted columns, null in a record of a wrong number of cells."""
    import pyarrow as pa  # noqa: PLC0415

    rows = [_split(record, separator.encode()) for record in records]
    return [
        pa.array(
            [row[place] if len(row) == width else None for row in rows], pa.binary()
        )
        for place in places
    ]


def _split(line: bytes, separator: bytes) -> list[bytes]:
    """The cells of one line.

    Not by Python's ``csv``, which refuses cells above a length that any part of the
    process may change.
    """
    if b'"' not in line:
        return line.split(separator)
    found = _cell(separator).findall(separator + line)
    return [quoted.replace(b'""', b'"') + bare for quoted, bare in found]


@functools.cache
def _cell(separator: bytes) -> re.Pattern[bytes]:
    """A separator and the cell after it, in quotes or bare."""
    quoted = rb'"([^"]*+(?:""[^"]*+)*+)"'
    bare = rb"([^" + separator + rb"]*+)"
    return re.compile(separator + rb"(?:" + quoted + rb"|" + bare + rb")")
