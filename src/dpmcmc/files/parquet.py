# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Parquet data sets: one file, or a folder of them, read by row groups.

Footers say how many records each row group has, so that every process of a run can read
a part of its own, and none reads a value to find out which.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dpmcmc.files.problems import FileError
from dpmcmc.files.typed_file import STRETCH, TypedFile

__all__ = ["SUFFIXES", "Stamp", "is_folder", "open_parquet", "stamp_of_folder"]

SUFFIXES = (".parquet", ".pq")

Stamp = tuple[Any, ...]
"""What tells whether data has changed: names, sizes and times."""


class _Group(NamedTuple):
    """A row group: its file, its place there, and how many records it has."""

    file: str
    place: int
    size: int


def is_folder(place: str) -> bool:
    """Whether it is a folder, or a URI of one."""
    return "://" in place or Path(place).is_dir()


def open_parquet(place: str) -> TypedFile:
    """Open a Parquet file, or all of a folder; footers are read, no record.

    Files of a folder are in the order of their names, and have the same columns.
    """
    files = [name for name, *_ in stamp_of_folder(place)]
    if not is_folder(place):
        files = [place]
    schema, groups = None, []
    for name in files:
        with _parquet(place, name) as file:
            found = file.schema_arrow
            if schema is not None and not found.equals(schema):
                raise FileError(
                    f"the files of {place} have different columns or types. Write them "
                    "with one schema."
                )
            schema = found
            sizes = [
                file.metadata.row_group(number).num_rows
                for number in range(file.metadata.num_row_groups)
            ]
            groups += [_Group(name, number, size) for number, size in enumerate(sizes)]
    if schema is None:
        raise FileError(f"{place} holds no Parquet file. Give a folder that does.")
    return _typed(place, schema, groups)


def stamp_of_folder(place: str) -> Stamp:
    """Names, sizes and times of the Parquet files of a folder; () of a file.

    Names that begin with a dot or an underscore are not data, by convention.
    """
    if not is_folder(place):
        return ()
    from pyarrow.fs import FileSelector, FileType  # noqa: PLC0415

    system, root = _system(place)
    found = system.get_file_info(FileSelector(root, recursive=True))
    return tuple(
        sorted(
            (one.path, one.size, one.mtime_ns)
            for one in found
            if one.type == FileType.File
            and one.path.lower().endswith(SUFFIXES)
            and not one.base_name.startswith((".", "_"))
        )
    )


def _typed(place: str, schema: Any, groups: list[_Group]) -> TypedFile:
    """Row groups as one file."""
    count = sum(group.size for group in groups)

    def stretches(name: str) -> Iterator[Any]:
        for file, places in _by_file(groups).items():
            with _parquet(place, file) as opened:
                batches = opened.iter_batches(
                    STRETCH, row_groups=places, columns=[name]
                )
                for batch in batches:
                    yield batch.column(name)  # names with dots may bring others along

    def part(number: int, parts: int) -> TypedFile:
        """Row groups in a row whose middles are in one of equal stretches of records.

        So every group is in one part, whoever asks, and parts are about as long.
        """
        own, before = [], 0
        for group in groups:
            middle = 2 * before + group.size
            if middle * parts // (2 * count + 1) == number:
                own.append(group)
            before += group.size
        return _typed(place, schema, own)

    return TypedFile(schema, count, stretches, part)


def _by_file(groups: list[_Group]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for group in groups:
        found.setdefault(group.file, []).append(group.place)
    return found


def _parquet(place: str, name: str) -> Any:
    """A file of the data set, opened."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415

    # A pass for each column keeps no other; small buffers keep little of this one.
    return ParquetFile(
        name,
        filesystem=_system(place)[0],
        buffer_size=1 << 20,
        pre_buffer=False,
        page_checksum_verification=True,
    )


def _system(place: str) -> tuple[Any, str]:
    """The file system of a place, and its path there."""
    from pyarrow.fs import FileSystem, LocalFileSystem  # noqa: PLC0415

    if "://" in place:
        system, path = FileSystem.from_uri(place)
        return system, path
    return LocalFileSystem(), place
