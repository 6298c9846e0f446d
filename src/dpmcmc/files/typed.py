# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Parquet and Arrow files, column by column, a stretch of records at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Typed", "open_arrow", "open_parquet"]

STRETCH = 131_072
"""How many records of one column are decoded at a time."""


@dataclass(frozen=True)
class Typed:
    """A file with a schema.

    Attributes
    ----------
    schema
        The names and types of its columns.
    count
        How many records it holds.
    column
        From the place of a column to its stretches, in order.
    """

    schema: Any
    count: int
    column: Callable[[int], Iterator[Any]]


def open_parquet(path: Path) -> Typed:
    """Open a Parquet file; its footer is read, no record."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415

    def parquet() -> Any:
        # A pass for each column keeps no other; small buffers keep little of this one.
        return ParquetFile(
            path, buffer_size=1 << 20, pre_buffer=False, page_checksum_verification=True
        )

    def column(place: int) -> Iterator[Any]:
        with parquet() as file:
            # By place, since names of columns may have dots, as paths do.
            batches = file.reader.iter_batches(
                STRETCH,
                row_groups=range(file.num_row_groups),
                column_indices=[_leaf(file.schema_arrow, place)],
                use_threads=True,
            )
            for batch in batches:
                yield batch.column(0)

    with parquet() as file:
        return Typed(file.schema_arrow, file.metadata.num_rows, column)


def open_arrow(path: Path) -> Typed:
    """Open an Arrow file, of the kind with a footer (Feather) or a stream."""
    import pyarrow as pa  # noqa: PLC0415

    def batches(places: list[int]) -> Iterator[Any]:
        options = pa.ipc.IpcReadOptions(included_fields=places)
        with pa.memory_map(str(path)) as file:
            if file.read(6) == b"ARROW1":
                reader = pa.ipc.open_file(file, options=options)
                for index in range(reader.num_record_batches):
                    yield reader.get_batch(index)
            else:
                file.seek(0)
                yield from pa.ipc.open_stream(file, options=options)

    def column(place: int) -> Iterator[Any]:
        for batch in batches([place]):
            for start in range(0, batch.num_rows, STRETCH):
                yield batch.column(0).slice(start, STRETCH)

    with pa.memory_map(str(path)) as file:
        stream = file.read(6) != b"ARROW1"
        file.seek(0)
        opened = pa.ipc.open_stream(file) if stream else pa.ipc.open_file(file)
        schema = opened.schema
    # the lengths alone: one column is as good as another
    count = sum(batch.num_rows for batch in batches([0])) if len(schema) else 0
    return Typed(schema, count, column)


def _leaf(schema: Any, place: int) -> int:
    """Where the column of a place is among the leaves, of which a nested one has many.

    A nested column is refused by its type and never read, but it may stand before.
    """
    return sum(_leaves(schema.field(before).type) for before in range(place))


def _leaves(kind: Any) -> int:
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_dictionary(kind) or not kinds.is_nested(kind):
        return 1
    return sum(_leaves(kind.field(part).type) for part in range(kind.num_fields))
