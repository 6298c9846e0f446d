# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Text files: one line is one record, and no line is refused.

A line with too few or too many cells is a record whose values are all missing. An error
would tell that there is such a line, and to leave it out would change the number of
records, which is public and the same for neighbours. For the same reason a line ends
where it ends, even within quotes: one quote that is never closed would else swallow
all records after it. A line with nothing on it is no record, but in a file of one
column: there it is a record whose one value is missing.
"""

import csv
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from dpmcmc.files.columns import Reading
from dpmcmc.files.problems import FileError

__all__ = ["header_of", "read_lines"]

BLOCK = 1 << 20
"""How many bytes are read at a time."""

LONGEST = 1 << 30
"""Lines of more bytes than this are of a wrong length: Arrow counts in 32 bits."""

_MARK = b"\xef\xbb\xbf"
_BLANK = re.compile(rb"^\r?\n", re.MULTILINE)


def header_of(path: Path, separator: str) -> tuple[str, ...]:
    """Return the names of the columns: the first line that is not blank.

    Raises
    ------
    FileError
        If it is not text in UTF-8, or separated by something else.
    """
    with path.open("rb") as file:
        line = _header(file)
    try:
        text = line.decode("utf-8-sig").strip("\r\n")
        names = next(csv.reader([text], delimiter=separator, strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        raise FileError(
            f"the first line of {path} is not a header of column names in UTF-8. Write "
            "the file again as UTF-8, with the names of its columns first."
        ) from None
    if len(names) == 1 and any(other in names[0] for other in ";\t,"):
        raise FileError(
            f"the columns of {path} are not separated by {separator!r}. Write commas "
            "in a .csv and tabs in a .tsv; decimals have a point."
        )
    return tuple(name.strip() for name in names)


def read_lines(
    path: Path, separator: str, wanted: Mapping[int, Reading]
) -> list[np.ndarray]:
    """Read the wanted columns, given by their places, one array each.

    The lines are counted first, so that no column is ever there twice.

    Guarantee
    ---------
    Entry i of every array is a function of the i-th line and of the header, where blank
    lines do not count unless there is one column alone. No line raises an error or a
    warning.
    """
    width = len(header_of(path, separator))
    blanks = width == 1
    with path.open("rb") as file:
        _header(file)
        count = sum(_count(block) for block in _blocks(file, blanks))
    columns = [np.empty(count, reading.dtype) for reading in wanted.values()]
    start = 0
    with path.open("rb") as file:
        _header(file)
        for block in _blocks(file, blanks):
            stop = start + _count(block)
            cells = _cells(block, separator, width, list(wanted))
            for column, reading, part in zip(
                columns, wanted.values(), cells, strict=True
            ):
                column[start:stop] = reading.values(part)
            start = stop
    if start != count:
        raise ValueError("the file changed while it was read")
    return columns


def _count(block: bytes) -> int:
    """How many lines there are."""
    return block.count(b"\n") + (not block.endswith(b"\n"))


def _header(file: IO[bytes]) -> bytes:
    """Read up to the end of the header."""
    while (line := file.readline()) and not line.strip(b"\r\n"):
        pass
    return line


def _blocks(file: IO[bytes], blanks: bool) -> Iterator[bytes]:
    """Whole lines, with or without blank ones, about as much at a time as a block."""
    rest = b""
    while data := file.read(BLOCK):
        end = data.rfind(b"\n") + 1
        lines, rest = (rest + data[:end], data[end:]) if end else (b"", rest + data)
        if kept := lines if blanks else _BLANK.sub(b"", lines):
            yield kept
    if rest if blanks else rest.strip(b"\r"):
        yield rest


def _cells(block: bytes, separator: str, width: int, places: list[int]) -> list[Any]:
    """The cells of the wanted columns, null in a line of a wrong number of them."""
    fast = _plain_cells(block, separator, width, places) if _is_plain(block) else None
    return _any_cells(block, separator, width, places) if fast is None else fast


def _is_plain(block: bytes) -> bool:
    """Whether cells are what stands between separators, for Arrow as for `_split`.

    For Arrow any return ends a line, and a byte order mark is no part of a block that
    begins with it.
    """
    return (
        b'"' not in block
        and block.count(b"\r") == block.count(b"\r\n")
        and not block.startswith(_MARK)
        and len(block) <= LONGEST
    )


def _plain_cells(
    block: bytes, separator: str, width: int, places: list[int]
) -> list[Any] | None:
    """Cells of a plain block; None if its lines must be read with more care.

    Arrow has a hook for lines of a wrong length, but it warns of those that are not
    UTF-8, and a warning depends on a record.
    """
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import csv as arrow_csv  # noqa: PLC0415

    names = [str(place) for place in range(width)]
    kept = [str(place) for place in places]
    try:
        table = arrow_csv.read_csv(
            pa.py_buffer(block),
            arrow_csv.ReadOptions(
                use_threads=False, block_size=len(block) + 1, column_names=names
            ),
            arrow_csv.ParseOptions(
                delimiter=separator, quote_char=False, ignore_empty_lines=False
            ),
            arrow_csv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(names, pa.binary()),
                include_columns=kept,
            ),
        )
    except pa.ArrowException:  # a line of a wrong length; the message shows it
        return None
    if table.num_rows != _count(block):
        return None
    return [table.column(name).combine_chunks() for name in kept]


def _any_cells(
    block: bytes, separator: str, width: int, places: list[int]
) -> list[Any]:
    """Cells of any lines, each by itself."""
    import pyarrow as pa  # noqa: PLC0415

    rows = [
        _row(line.removesuffix(b"\r"), separator, width, places)
        for line in block.removesuffix(b"\n").split(b"\n")
    ]
    return [pa.array(column, pa.binary()) for column in zip(*rows, strict=True)]


def _row(
    line: bytes, separator: str, width: int, places: list[int]
) -> list[bytes | None]:
    cells = _split(line, separator.encode()) if len(line) <= LONGEST else []
    if len(cells) != width:
        return [None] * len(places)
    return [cells[place] for place in places]


def _split(line: bytes, separator: bytes) -> list[bytes]:
    """The cells of one line.

    Not by the ``csv`` of Python, which refuses cells above a length that any part of
    the process may change.
    """
    if b'"' not in line:
        return line.split(separator)
    found = _cell(separator).findall(separator + line)
    return [
        (quoted.replace(b'""', b'"') if b'"' in quoted else quoted) + after + plain
        for quoted, after, plain in found
    ]


@functools.cache
def _cell(separator: bytes) -> re.Pattern[bytes]:
    """A separator and the cell after it: within quotes, after them, or without any.

    Within quotes are separators, and quotes written twice. They end with the line at
    the latest; what stands between the last quote and the next separator is as it is.
    Nothing is tried twice (``*+``), so that no line needs much memory.
    """
    bare = b"[^" + separator + b"]*+"
    within = rb'"([^"]*+(?:""[^"]*+)*+)(?:"(' + bare + rb")|\Z)"
    return re.compile(separator + b"(?:" + within + b"|(" + bare + b"))")
