# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Records: sealed where they enter, opened only inside the boundary.

The wrapper shows what is public (the number of records or units, the shape and dtype
of one) and nothing else. It guards against accident, in our code and the user's; it
cannot guard against a hostile program in the same Python process.
"""

from typing import Any, NamedTuple, NoReturn
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from dpmcmc import processes
from dpmcmc.errors import InputError
from dpmcmc.model.schema import Schema
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.private.padded import Padded
from dpmcmc.private.sealing import layout_of, part_of
from dpmcmc.private.sources import Source, common_length, schema_of, source_of
from dpmcmc.private.tables import Kind, narrow, saturate
from dpmcmc.private.units import Grouped, grouped

__all__ = ["Opened", "Records", "open_on_host", "open_records", "presence"]


class Opened(NamedTuple):
    """Records that are open, and which are present; never leaves the boundary.

    Where all are present, by the kind of the records alone, ``present`` is None on the
    host and their number on devices: entries from there on are padding.
    """

    arrays: Any
    present: Any


class Records:
    """Sensitive records that only the privacy boundary can open.

    Parameters
    ----------
    data
        A pytree of arrays or columns with a common leading axis, one entry a record; a
        pandas, polars or Arrow table, which becomes a dict of its columns; or a
        `dpmcmc.files.DataFile`, whose values are read when they are first needed. A
        record with a missing value (a null or NaN in a column of a table, a masked
        cell of an array) contributes nothing to any decision.
    schema
        What is known of a table: the columns to read, as numbers, integers, texts with
        levels or dates, and their bounds. A data file has its own.
    unit
        The column with the ids of units, such as persons, each of which is protected
        with all its records; unless given, each record by itself. Ids are numbers or
        texts; a record without one contributes nothing. The number of units is public:
        they are counted here.
    most
        How many records of a unit count: of those without a missing value the first,
        in the order of the table. How many a unit has is not public.
    size
        A public number to protect how many records, or units, there are: adding and
        removing one is then protected as substituting it is. If there are more, the
        first count. All three may stand in the schema instead.
    in_parts
        Whether the records are spread over all processes that `jax.distributed` has
        joined. Each gives its own part, which may be empty; or all give the same
        Parquet `dpmcmc.files.DataFile`, of which each reads its own row groups.

    Attributes
    ----------
    schema, unit, most
        As given; without units, None and 1.
    sizes
        How many records each process has, if they are in parts; None otherwise.

    Raises
    ------
    InputError
        If there is no record, the leading axes differ, or an array or column does not
        hold numbers. Only shapes and types are looked at, and the number of ids.
    """

    __slots__ = ("__weakref__", "_count", "_kinds", "most", "schema", "sizes", "unit")

    def __init__(
        self,
        data: Any,
        *,
        schema: Schema | None = None,
        unit: str | None = None,
        most: int | None = None,
        size: int | None = None,
        in_parts: bool = False,
    ) -> None:
        given = Schema(unit=unit, most=most, size=size)
        self.schema: Schema = schema_of(data, schema).joined(given)
        self.unit, self.most = self.schema.unit, self.schema.most or 1
        self.sizes: tuple[int, ...] | None = None
        with boundary_arithmetic():
            rows = source_of(data, self.schema)
            if in_parts:
                rows, self.sizes = part_of(rows, self.schema)
            entries: Source | Grouped = rows
            if self.unit is not None:
                entries = grouped(rows, self.unit, self.most)
            count = common_length(entries.kinds, least=int(not in_parts))
            size = self.schema.size
            sealed = entries if size is None else Padded(entries, size)
            self._kinds = sealed.kinds
        self._count: int = sum(self.sizes) if self.sizes else size or count
        _SEALED[self] = sealed

    @classmethod
    def from_parquet(cls, path: Any, columns: Any = None, **declared: Any) -> "Records":
        """Records of a Parquet file or folder, in parts; see `dpmcmc.files.DataFile`."""
        from dpmcmc.files.data_file import DataFile  # noqa: PLC0415 - a room above

        return cls(DataFile(path, columns, **declared), in_parts=True)

    def __len__(self) -> int:
        return self._count

    def shape_of_one(self, dtype: Any) -> Any:
        """Shape and dtype of one record, or unit, in a chain of that float dtype."""
        return jax.tree.map(
            lambda kind: jax.ShapeDtypeStruct(
                kind.shape[1:], narrow(kind.dtype, dtype)
            ),
            self._kinds,
        )

    def __repr__(self) -> str:
        what = "records" if self.unit is None else f"units by {self.unit!r}"
        return f"Records({self._count:,} {what}, sealed)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("records are sealed: they cannot be copied, pickled or saved")


Sealed = Source | Grouped | Padded

_SEALED: WeakKeyDictionary[Records, Sealed] = WeakKeyDictionary()
_READ: WeakKeyDictionary[Records, Opened] = WeakKeyDictionary()
_PLACED: WeakKeyDictionary[Records, tuple[Any, Opened]] = WeakKeyDictionary()


def open_records(
    records: Records, dtype: Any, devices: list[jax.Device]
) -> tuple[Opened, int]:
    """Place records on the devices, for use inside the boundary alone.

    Padded to whole blocks on each device with entries that are not present, they stay
    there as long as the sealed records do. The length of a block is returned too.

    Guarantee
    ---------
    Each entry of every array, and of `presence`, is a function of one record and of
    public numbers: of record i at entry i, or at entry i of its process's stretch if
    records are in parts. Entries beyond a process's records are not present.
    """
    block, padded = layout_of(records.sizes, len(records), len(devices))
    asked, placed = (dtype, tuple(devices)), _PLACED.get(records)
    if placed is not None and placed[0] == asked:
        return placed[1], block
    mesh = Mesh(np.asarray(devices), ("records",))
    sharding = NamedSharding(mesh, PartitionSpec("records"))

    def place(leaf: np.ndarray) -> jax.Array:
        room = [(0, padded - len(leaf)), *[(0, 0)] * (leaf.ndim - 1)]
        whole = (padded * len(records.sizes or [0]), *leaf.shape[1:])
        filled = np.pad(leaf, room)
        return jax.make_array_from_process_local_data(sharding, filled, whole)

    arrays, present = jax.tree.map(place, open_on_host(records, dtype))
    if present is None:  # a number, as a step is as fast as the memory that it reads
        number = np.int64(len(records))
        present = jax.device_put(number, NamedSharding(mesh, PartitionSpec()))
    _PLACED[records] = asked, Opened(arrays, present)
    return _PLACED[records][1], block


def presence(opened: Opened) -> jax.Array:
    """Say of each entry of placed records whether it is present.

    Guarantee
    ---------
    Entry i is a function of record i and of public numbers; false from N on.
    """
    entries = jnp.arange(len(jax.tree.leaves(opened.arrays)[0]))
    return opened.present if opened.present.ndim else entries < opened.present


def open_on_host(records: Records, dtype: Any) -> Opened:
    """Open records as host arrays, in the chain's precision, inside the boundary alone.

    A record with a missing value is not present. Of records in parts, those of this
    process are opened, and ``present`` is an array.

    Guarantee
    ---------
    Entry i of every array, and of ``present``, is a function of record i and of
    public numbers. Whether ``present`` is None depends on the types alone. Whether an
    error is raised, on this process or another, does not depend on the values.
    """
    read = _read if records.sizes is None else _read_together
    arrays, present = read(records)
    narrowed = jax.tree.map(
        lambda leaf: saturate(leaf, narrow(leaf.dtype, dtype)), arrays
    )
    return Opened(narrowed, present)


def _read_together(records: Records) -> Opened:
    """Read this process's part, if every process can read its own."""
    with processes.on_all("a part of the records could not be read"):
        arrays, present = _read(records)
    if present is None:
        present = np.ones(len(jax.tree.leaves(arrays)[0]), bool)
    return Opened(arrays, present)


def _read(records: Records) -> Opened:
    """Read what was sealed, in its shapes and dtypes; no error tells of a value."""
    if records in _READ:
        return _READ[records]
    sealed, kinds = _SEALED[records], records._kinds
    try:
        opened = Opened(*sealed.read())
        found = jax.tree.map(lambda leaf: Kind(leaf.shape, leaf.dtype), opened.arrays)
    except InputError:
        raise
    except Exception:
        raise InputError(_CHANGED) from None
    if jax.tree.flatten(found) != jax.tree.flatten(kinds):
        raise InputError(_CHANGED)
    if sealed.is_kept and records.sizes is None:  # parts are on devices, once
        _READ[records] = opened
    return opened


_CHANGED = (
    "the records have changed since they were sealed: in number, shapes or dtypes. "
    "Seal them again, and leave them as they are."
)
