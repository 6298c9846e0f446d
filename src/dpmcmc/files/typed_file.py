# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Parquet and Arrow files, column by column, a stretch of records at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpmcmc.files.problems import FileError
from dpmcmc.files.readings import Reading

__all__ = ["TypedFile", "open_typed"]

STRETCH = 131_072
"""How many records of one column are decoded at a time."""


@dataclass(frozen=True)
class TypedFile:
    """A file with a schema, which is known with the number of its records.

    ``schema`` and ``fragment`` are the schema and the file as pyarrow has them.
    """

    schema: Any
    count: int
    fragment: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
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
        arrays: dict[str, np.ndarray] = {}
        present = np.ones(self.count, bool)
        for name, reading in readings.items():
            arrays[name] = np.empty(self.count, reading.dtype)
            start = 0
            for stretch in self._stretches(name):
                rows = slice(start, start + len(stretch))
                arrays[name][rows], there = reading.values(stretch)
                present[rows] &= there
                start = rows.stop
            if start != self.count:
                raise ValueError("there are fewer records than the file says")
        return arrays, present

    def _stretches(self, name: str) -> Any:
        """The stretches of a column in order, with little kept of what comes next."""
        from pyarrow.dataset import field  # noqa: PLC0415

        batches = self.fragment.scanner(
            columns={name: field(name)},
            batch_size=STRETCH,
            batch_readahead=0,
            fragment_readahead=0,
            use_threads=False,
        ).to_batches()
        return (batch.column(0) for batch in batches)


def open_typed(path: Path, is_parquet: bool) -> TypedFile:
    """Open a file by its schema and the number of its records; no value is read.

    Raises
    ------
    FileError
        If two columns have the same name.
    """
    from pyarrow import dataset  # noqa: PLC0415
    from pyarrow.fs import LocalFileSystem  # noqa: PLC0415

    how = dataset.ParquetFragmentScanOptions(
        use_buffered_stream=True,
        buffer_size=1 << 20,
        pre_buffer=False,
        page_checksum_verification=True,
    )
    form = (
        dataset.ParquetFileFormat(default_fragment_scan_options=how)
        if is_parquet
        else dataset.IpcFileFormat()
    )
    file = form.make_fragment(str(path.absolute()), LocalFileSystem())
    schema = file.physical_schema
    if len(set(schema.names)) < len(schema.names):
        raise FileError(f"two columns of {path} have the same name. Rename them.")
    return TypedFile(schema, file.count_rows(), file)
