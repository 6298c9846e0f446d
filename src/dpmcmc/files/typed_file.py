# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Typed files, column by column, a stretch of records at a time; Arrow files."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpmcmc.files.readings import Reading

__all__ = ["STRETCH", "Stretch", "TypedFile", "open_arrow"]

STRETCH = 131_072
"""How many records of one column are decoded at a time."""


class Stretch(NamedTuple):
    """Records ``rows`` of a column: their values, and which of them are present."""

    name: str
    rows: slice
    values: np.ndarray
    present: np.ndarray


@dataclass(frozen=True)
class TypedFile:
    """A file with a schema.

    Attributes
    ----------
    schema
        The names and types of its columns, as pyarrow has them.
    count
        The number of its records.
    stretches
        From the name of a column to its stretches, in order.
    part
        Makes a part of the file, by its number and the number of parts; None if it
        cannot be divided.
    """

    schema: Any
    count: int
    stretches: Callable[[str], Iterator[Any]]
    part: Callable[[int, int], "TypedFile"] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(self.schema.names)

    def read(
        self, readings: Mapping[str, Reading]
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Read the columns of these names, and which records have no missing value.

        Guarantee
        ---------
        Entry i of every array is a function of the i-th record, of the schema and of
        the readings. In a file that is whole, no value raises an error or a warning.
        """
        dtypes = {name: reading.dtype for name, reading in readings.items()}
        arrays = {name: np.empty(self.count, dtypes[name]) for name in dtypes}
        present = np.ones(self.count, bool)
        for name, rows, values, there in self.read_stretches(readings):
            arrays[name][rows] = values
            present[rows] &= there
        return arrays, present

    def read_stretches(self, readings: Mapping[str, Reading]) -> Iterator[Stretch]:
        """Read the columns of these names one after another, a stretch at a time.

        Guarantee
        ---------
        Of every column each record is in one stretch, in order, and its value and
        presence there are functions of that record, of the schema and of the readings.
        In a file that is whole, no value raises an error or a warning.
        """
        for name, reading in readings.items():
            start = 0
            for stretch in self.stretches(name):
                _require_sound(stretch)
                rows = slice(start, start + len(stretch))
                yield Stretch(name, rows, *reading.values(stretch))
                start = rows.stop
            if start != self.count:
                raise ValueError("there are fewer records than the file says")

    def ids(self, name: str) -> Iterator[list[Any]]:
        """The values of a column of any type as Python has them, None for a null."""
        return (stretch.to_pylist() for stretch in self.stretches(name))


def _require_sound(array: Any) -> None:
    """Refuse a stretch that points outside its own memory: it would end the process.

    Text is looked at as bytes, and numbers by their length alone, so that what they say
    does not matter.
    """
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    if pa.types.is_dictionary(array.type):
        _require_sound(array.dictionary)
        _require_sound(array.indices)
        ends = pc.min_max(array.indices).as_py()
        least, most = ends["min"], ends["max"]
        if most is not None and not 0 <= least <= most < len(array.dictionary):
            raise ValueError("a code has no text")
        return
    array.validate()
    as_bytes = {
        pa.string(): pa.binary(),
        pa.large_string(): pa.large_binary(),
        pa.string_view(): pa.binary_view(),
    }.get(array.type)
    if as_bytes is not None:
        array.view(as_bytes).validate(full=True)


def open_arrow(path: Path) -> TypedFile:
    """Open an Arrow file; the footer has the schema, and its batches are counted."""
    import pyarrow as pa  # noqa: PLC0415

    def batches(places: list[int]) -> Iterator[Any]:
        options = pa.ipc.IpcReadOptions(included_fields=places)
        with pa.memory_map(str(path)) as file:
            reader = pa.ipc.open_file(file, options=options)
            for index in range(reader.num_record_batches):
                yield reader.get_batch(index)

    def stretches(name: str) -> Iterator[Any]:
        for batch in batches([schema.get_field_index(name)]):
            for start in range(0, batch.num_rows, STRETCH):
                yield batch.column(0).slice(start, STRETCH)

    with pa.memory_map(str(path)) as file:
        schema = pa.ipc.open_file(file).schema
    # one column is as good as another to count by
    count = sum(batch.num_rows for batch in batches([0])) if len(schema) else 0
    return TypedFile(schema, count, stretches)
