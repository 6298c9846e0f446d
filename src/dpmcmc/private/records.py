# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Records: sealed where they enter, opened only inside the boundary.

The wrapper shows what is public (the number of records, the shape and dtype of one)
and nothing else. It guards against accident, in our code and the user's; it cannot
guard against a hostile program in the same Python process.
"""

from typing import Any, NamedTuple, NoReturn
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from dpmcmc.arithmetic import RECORD_LIMIT
from dpmcmc.errors import InputError
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.private.ratios import BLOCK
from dpmcmc.private.tables import (
    Kind,
    columns_of,
    is_float,
    is_source,
    kind_of,
    read_leaf,
)

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

    Raises
    ------
    InputError
        If there is no record, the leading axes differ, or an array or column does not
        hold numbers. Only shapes and types are looked at.
    """

    __slots__ = ("__weakref__", "_count", "_kinds")

    _count: int
    _kinds: Any

    def __init__(self, data: Any) -> None:
        with boundary_arithmetic():
            sealed = data if is_source(data) else columns_of(data)
            parts = sealed
            if is_source(sealed):
                size = (len(sealed),)
                parts = {name: Kind(size, own) for name, own in sealed.schema.items()}
            self._kinds = jax.tree_util.tree_map_with_path(
                lambda path, leaf: kind_of(_named(path), leaf), parts
            )
        self._count = _common_length(self._kinds)
        _SEALED[self] = sealed

    def __len__(self) -> int:
        return self._count

    def shape_of_one(self, dtype: Any) -> Any:
        """Shape and dtype of one record in a chain of the given float dtype."""
        return jax.tree.map(
            lambda kind: jax.ShapeDtypeStruct(
                kind.shape[1:], _narrow(kind.dtype, dtype)
            ),
            self._kinds,
        )

    def __repr__(self) -> str:
        return f"Records({self._count:,} records, sealed)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("records are sealed: they cannot be copied, pickled or saved")


_SEALED: WeakKeyDictionary[Records, Any] = WeakKeyDictionary()
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
    Entry i of every array, and of `presence`, is a function of record i and of public
    numbers. Entries from N on are not present.
    """
    count = len(records)
    block = min(BLOCK, -(-count // len(devices)))
    asked, placed = (dtype, tuple(devices)), _PLACED.get(records)
    if placed is not None and placed[0] == asked:
        return placed[1], block
    stride = block * len(devices)
    padded = -(-count // stride) * stride
    mesh = Mesh(np.asarray(devices), ("records",))
    sharding = NamedSharding(mesh, PartitionSpec("records"))

    def place(leaf: np.ndarray) -> jax.Array:
        room = [(0, padded - count), *[(0, 0)] * (leaf.ndim - 1)]
        return jax.device_put(np.pad(leaf, room), sharding)

    arrays, present = jax.tree.map(place, open_on_host(records, dtype))
    if present is None:  # a number, as a step is as fast as the memory that it reads
        present = jax.device_put(np.int64(count), NamedSharding(mesh, PartitionSpec()))
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

    A record with a missing value is not present.

    Guarantee
    ---------
    Entry i of every array, and of ``present``, is a function of record i and of
    public numbers. Whether ``present`` is None depends on the types alone. Whether an
    error is raised does not depend on the values.
    """
    arrays, present = _read(records)
    narrowed = jax.tree.map(
        lambda leaf: _saturate(leaf, _narrow(leaf.dtype, dtype)), arrays
    )
    return Opened(narrowed, present)


def _read(records: Records) -> Opened:
    """Read what was sealed, in the shapes and dtypes that were sealed.

    A source is read once, and what it gave is kept. No error tells of a value.
    """
    if records in _READ:
        return _READ[records]
    sealed, kinds = _SEALED[records], records._kinds
    try:
        if is_source(sealed):
            opened = Opened(*sealed.read_values())
        else:
            opened = _read_leaves(sealed, kinds)
        found = jax.tree.map(lambda leaf: Kind(leaf.shape, leaf.dtype), opened.arrays)
    except InputError:
        raise
    except Exception:
        raise InputError(_CHANGED) from None
    if jax.tree.flatten(found) != jax.tree.flatten(kinds):
        raise InputError(_CHANGED)
    if is_source(sealed):
        _READ[records] = opened
    return opened


def _read_leaves(tree: Any, kinds: Any) -> Opened:
    leaves, structure = jax.tree.flatten(tree)
    columns = [
        read_leaf(leaf, kind)
        for leaf, kind in zip(leaves, jax.tree.leaves(kinds), strict=True)
    ]
    missing = [column.missing for column in columns if column.missing is not None]
    present = ~np.logical_or.reduce(missing) if missing else None
    values = [column.values for column in columns]
    return Opened(jax.tree.unflatten(structure, values), present)


_CHANGED = (
    "the records have changed since they were sealed: their number, shapes or dtypes "
    "are no longer what they were. Seal them again, and leave them as they are."
)


def _saturate(leaf: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Cast, with integers too large for the dtype put at its end."""
    if dtype.kind in "iu" and leaf.dtype.itemsize > dtype.itemsize:
        limits = np.iinfo(dtype)
        leaf = np.clip(leaf, limits.min, limits.max)
    return leaf.astype(dtype)


def _narrow(leaf: np.dtype, dtype: Any) -> np.dtype:
    """Return the dtype of a leaf in a chain of float ``dtype``."""
    if is_float(leaf):
        return np.dtype(dtype)
    small = {"i": np.dtype(np.int32), "u": np.dtype(np.uint32)}.get(leaf.kind, leaf)
    wide = np.dtype(dtype).itemsize == 8
    narrow = leaf if wide or leaf.itemsize <= small.itemsize else small
    return narrow.newbyteorder("=")


def _named(path: Any) -> str:
    return f"records{jax.tree_util.keystr(path)}"


def _common_length(kinds: Any) -> int:
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
    if not 1 <= count <= RECORD_LIMIT:
        raise InputError(
            f"there are {count} records; the number must be from 1 to {RECORD_LIMIT}."
        )
    return count
