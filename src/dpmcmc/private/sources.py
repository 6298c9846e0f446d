# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Sources of records: tables in memory, and files that are read after the charge.

A source shows the shape and dtype of each part (``kinds``), with a common leading axis.
Inside the boundary ``read`` gives the parts and which records have no missing value, or
None where no type can say so: entry i is a function of record i and of the kinds, and
no value raises an error. ``ids`` are the values of a column of any type.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import narwhals as nw
import numpy as np

from dpmcmc import processes
from dpmcmc.errors import InputError
from dpmcmc.private.tables import Kind, columns_of, kind_of, read_leaf

__all__ = ["Source", "Table", "TableFile", "named", "part_of", "source_of"]

_STRETCH = 65_536
"""How many ids are looked at together."""


@dataclass(frozen=True, eq=False)
class Table:
    """A pytree of arrays and columns in memory."""

    tree: Any
    is_kept = False

    @property
    def kinds(self) -> Any:
        """By types; parts that hold no numbers are refused."""
        return _kinds(self.tree)

    def read(self) -> tuple[Any, np.ndarray | None]:
        """Read the parts one by one."""
        leaves, structure = jax.tree.flatten(self.tree)
        columns = [read_leaf(leaf, kind_of("", leaf)) for leaf in leaves]
        missing = [column.missing for column in columns if column.missing is not None]
        present = ~np.logical_or.reduce(missing) if missing else None
        values = [column.values for column in columns]
        return jax.tree.unflatten(structure, values), present

    def ids(self, name: str) -> Iterator[list[Any]]:
        """The values of a column as Python has them."""
        column = self._column(name)
        for start in range(0, len(column), _STRETCH):
            part = column[start : start + _STRETCH]
            yield part.to_list() if isinstance(part, nw.Series) else part.tolist()

    def without(self, name: str) -> "Table":
        """The other columns."""
        self._column(name)
        return Table({own: part for own, part in self.tree.items() if own != name})

    def _column(self, name: str) -> Any:
        column = self.tree.get(name) if isinstance(self.tree, dict) else None
        if not isinstance(column, nw.Series):
            column = np.asarray(column)
        if len(column.shape) != 1:
            raise InputError(
                f"the records have no column {name!r} with one id for each record. "
                "Give a table, or a dict of arrays, that has it."
            )
        return column


@dataclass(frozen=True, eq=False)
class TableFile:
    """Columns of a `dpmcmc.files.DataFile`, which is read once, after the charge."""

    file: Any
    names: tuple[str, ...]
    is_kept = True

    @property
    def kinds(self) -> Any:
        """By the schema."""
        size = (len(self.file),)
        return _kinds({name: Kind(size, self.file.schema[name]) for name in self.names})

    def read(self) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Read the file."""
        values, present = self.file.read_values()
        return {name: values[name] for name in self.names}, present

    def ids(self, name: str) -> Iterator[list[Any]]:
        """The values of any column of the file: its ids are read before the charge."""
        return iter(self.file.read_ids(name))

    def without(self, name: str) -> "TableFile":
        """The other columns."""
        return TableFile(self.file, tuple(own for own in self.names if own != name))


Source = Table | TableFile


def source_of(data: Any) -> Source:
    """What a user gave as records; only types are looked at, no attribute evaluated."""
    if hasattr(type(data), "read_values"):
        return TableFile(data, tuple(data.schema))
    return Table(columns_of(data))


def part_of(source: Source) -> tuple[Source, int | None]:
    """The part of this process, and how many records all have together.

    A table in memory is a part as it is.
    """
    if isinstance(source, Table):
        return source, None
    own = source.file.part(processes.own(), processes.together())
    return TableFile(own, source.names), len(source.file)


def _kinds(parts: Any) -> Any:
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: kind_of(named(path), leaf), parts
    )


def named(path: Any) -> str:
    """What a part of the records is called in messages."""
    return f"records{jax.tree_util.keystr(path)}"
