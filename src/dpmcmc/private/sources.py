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

from dpmcmc.arithmetic import RECORD_LIMIT
from dpmcmc.errors import InputError
from dpmcmc.model.schema import Schema, as_schema
from dpmcmc.private.declared import Declared, python_values
from dpmcmc.private.tables import Kind, columns_of, kind_of, read_leaf

__all__ = [
    "Source",
    "Table",
    "TableFile",
    "common_length",
    "schema_of",
    "source_of",
]


@dataclass(frozen=True, eq=False)
class Table:
    """A pytree of arrays and columns in memory, some of them `Declared`."""

    tree: Any

    @property
    def is_kept(self) -> bool:
        """Whether what was read is kept: if it takes time to read."""
        return any(isinstance(leaf, Declared) for leaf in jax.tree.leaves(self.tree))

    @property
    def kinds(self) -> Any:
        """By types; parts that hold no numbers are refused."""
        return _kinds(self.tree)

    def read(self) -> tuple[Any, np.ndarray | None]:
        """Read the parts one by one."""
        leaves, structure = jax.tree.flatten(self.tree)
        columns = [
            leaf.read() if isinstance(leaf, Declared) else read_leaf(leaf, kind)
            for leaf, kind in zip(leaves, jax.tree.leaves(self.kinds), strict=True)
        ]
        missing = [column.missing for column in columns if column.missing is not None]
        present = ~np.logical_or.reduce(missing) if missing else None
        values = [column.values for column in columns]
        return jax.tree.unflatten(structure, values), present

    def ids(self, name: str) -> Iterator[list[Any]]:
        """The values of a column as Python has them."""
        return python_values(self._column(name))

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
    """Columns of a `dpmcmc.files.DataFile`, which is read once, after the charge.

    ``picked`` says which records are read; all if it is None.
    """

    file: Any
    names: tuple[str, ...]
    picked: np.ndarray | None = None
    is_kept = True

    @property
    def kinds(self) -> Any:
        """By the schema."""
        count = len(self.file) if self.picked is None else int(self.picked.sum())
        kinds = {name: Kind((count,), self.file.dtypes[name]) for name in self.names}
        return _kinds(kinds)

    def read(self) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Read the file, of which no more is held than what is picked."""
        if self.picked is None:
            values, present = self.file.read_values()
            return {name: values[name] for name in self.names}, present
        parts: dict[str, list[np.ndarray]] = {name: [] for name in self.names}
        usable = np.ones(len(self.file), bool)
        for name, rows, values, there in self.file.read_stretches():
            usable[rows] &= there
            if name in parts:
                parts[name].append(values[self.picked[rows]])
        joined = {name: np.concatenate(some) for name, some in parts.items()}
        return joined, usable[self.picked]

    def ids(self, name: str) -> Iterator[list[Any]]:
        """The values of any column of the file: its ids are read before the charge."""
        return iter(self.file.read_ids(name))

    def without(self, name: str) -> "TableFile":
        """The other columns."""
        return TableFile(self.file, tuple(own for own in self.names if own != name))


Source = Table | TableFile


def schema_of(data: Any, given: Any) -> Schema:
    """What is declared of records: of a data file by itself, else as given."""
    if not hasattr(type(data), "read_values"):
        return as_schema(given)
    if given is not None:
        raise InputError("a data file has its schema: give it to DataFile instead.")
    declared: Schema = data.schema
    return declared


def source_of(data: Any, schema: Schema) -> Source:
    """What a user gave as records; only types are looked at, no attribute evaluated."""
    if hasattr(type(data), "read_values"):
        return TableFile(data, tuple(data.dtypes))
    columns, declared = columns_of(data), schema.columns
    if not declared:
        return Table(columns)
    wanted = [*declared, *([] if schema.unit is None else [schema.unit])]
    there = list(columns) if isinstance(columns, dict) else []
    for name in wanted:
        if name not in there:
            raise InputError(
                f"the schema declares {name!r}, but the records have no such column; "
                f"they have {', '.join(map(repr, there)) or 'no names'}. Give a table, "
                "or a dict of columns, that has it."
            )
    return Table(
        {
            name: Declared(_array(columns[name]), declared[name])
            if name in declared
            else columns[name]
            for name in wanted
        }
    )


def _array(leaf: Any) -> Any:
    return leaf if isinstance(leaf, nw.Series) else np.asanyarray(leaf)


def _kinds(parts: Any) -> Any:
    def kind(path: Any, leaf: Any) -> Kind:
        name = _named(path)
        return leaf.kind(name) if isinstance(leaf, Declared) else kind_of(name, leaf)

    return jax.tree_util.tree_map_with_path(kind, parts)


def _named(path: Any) -> str:
    """What a part of the records is called in messages."""
    return f"records{jax.tree_util.keystr(path)}"


def common_length(kinds: Any, least: int = 1) -> int:
    """How many records there are, if all columns have as many."""
    found = jax.tree_util.tree_leaves_with_path(kinds)
    lengths = {_named(path): kind.shape[0] for path, kind in found}
    if not lengths:
        raise InputError("records hold no array. Give at least one array or column.")
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise InputError(
            f"records have unequal leading axes ({listed}); each array must have one "
            "entry for each record."
        )
    count = next(iter(lengths.values()))
    if not least <= count <= RECORD_LIMIT:
        raise InputError(
            f"there are {count} records; the number must be from 1 to {RECORD_LIMIT}."
        )
    return count
