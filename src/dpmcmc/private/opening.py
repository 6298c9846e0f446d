# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Opening sealed records: on the host, on devices, or block by block.

Nothing that is opened here leaves the boundary.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from dpmcmc import processes
from dpmcmc.errors import InputError
from dpmcmc.private.filling import filled, in_memory, on_disk
from dpmcmc.private.records import SEALED, Records
from dpmcmc.private.sealing import layout_of
from dpmcmc.private.sources import TableFile
from dpmcmc.private.tables import Kind, narrow, saturate

__all__ = ["Opened", "open_blocks", "open_on_host", "open_records", "presence"]

_STREAMED_BYTES = 2**25
"""Bytes of records on a device at once, about, where they are streamed."""


class Opened(NamedTuple):
    """Records that are open, and which are present; never leaves the boundary.

    Where all are present, by the kind of the records alone, ``present`` is None on the
    host and their number on devices: entries from there on are padding.
    """

    arrays: Any
    present: Any


_READ: WeakKeyDictionary[Records, Opened] = WeakKeyDictionary()
_STREAMED: WeakKeyDictionary[Records, tuple[Any, Opened]] = WeakKeyDictionary()
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
    if records.sizes is None:
        opened = open_on_host(records, dtype)
        arrays, present = _placed(_copied(opened, 0, padded), mesh, 1)
        if present is None:  # a number, as a step is as fast as the memory it reads
            number = np.int64(len(records))
            present = jax.device_put(number, NamedSharding(mesh, PartitionSpec()))
    else:
        part = _open_part(records, dtype, padded)
        arrays, present = _placed(part, mesh, len(records.sizes))
    _PLACED[records] = asked, Opened(arrays, present)
    return _PLACED[records][1], block


def open_blocks(
    records: Records, dtype: Any, devices: list[jax.Device]
) -> Iterator[Opened]:
    """Place records on the devices: all together, or in turn if they are streamed.

    Blocks have one shape, and as many come on every process. The next is read while
    the last is used; use it up before the next is taken.

    Guarantee
    ---------
    That of `open_records` for each block, of records of one stretch of each process.
    Every record is in one block. How many blocks there are is a function of public
    numbers.
    """
    if not records.streamed or records.sizes is None:
        yield open_records(records, dtype, devices)[0]
        return
    processes_, mesh = len(records.sizes), Mesh(np.asarray(devices), ("records",))
    block, padded = layout_of(records.sizes, len(records), len(devices))
    part, own = open_on_host(records, dtype), len(devices) // processes_
    one = jax.tree.leaves(records.shape_of_one(dtype))
    size = sum(leaf.dtype.itemsize * int(np.prod(leaf.shape)) for leaf in one)
    each = max(1, _STREAMED_BYTES // size // block) * block * own
    starts = range(0, padded, min(each, padded))
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(_copied, part, 0, starts.step)
        for start in starts:
            read = following.result()
            if start != starts[-1]:
                after = start + starts.step
                following = pool.submit(_copied, part, after, starts.step)
            yield _placed(read, mesh, processes_)


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
    process are opened, and ``present`` is an array; if they are streamed from a file,
    arrays are on disk.

    Guarantee
    ---------
    Entry i of every array, and of ``present``, is a function of record i and of
    public numbers. Whether ``present`` is None depends on the types alone. Whether an
    error is raised, on this process or another, does not depend on the values.
    """
    if records.sizes is None:
        return _narrowed(_read(records), dtype)
    own = records.sizes[processes.own()]
    if not records.streamed:
        return _open_part(records, dtype, own)
    kept = _STREAMED.get(records)
    if kept is None or kept[0] != dtype:
        kept = _STREAMED[records] = dtype, _open_part(records, dtype, own)
    return kept[1]


def _open_part(records: Records, dtype: Any, entries: int) -> Opened:
    """Open this process's part in so many entries, if every process can open its own.

    Entries beyond its records are zero, and not present.
    """
    with processes.on_all("a part of the records could not be read"):
        sealed = SEALED[records]
        if isinstance(sealed, TableFile):
            make = on_disk if records.streamed else in_memory
            return Opened(*filled(sealed, dtype, entries, make))
        opened = _narrowed(_read(records), dtype)
    if opened.present is None:
        everyone = np.ones(len(jax.tree.leaves(opened.arrays)[0]), bool)
        opened = Opened(opened.arrays, everyone)
    return _copied(opened, 0, entries)


def _narrowed(opened: Opened, dtype: Any) -> Opened:
    """Arrays in the chain's precision."""
    arrays = jax.tree.map(
        lambda leaf: saturate(leaf, narrow(leaf.dtype, dtype)), opened.arrays
    )
    return Opened(arrays, opened.present)


def _copied(opened: Opened, start: int, entries: int) -> Opened:
    """Entries from ``start`` on, in new arrays; zeros where there are no more."""

    def copy(leaf: np.ndarray) -> np.ndarray:
        made = in_memory((entries, *leaf.shape[1:]), leaf.dtype)
        some = leaf[start : start + entries]
        made[: len(some)] = some
        return made

    return jax.tree.map(copy, opened)


def _placed(opened: Opened, mesh: Mesh, processes_: int) -> Opened:
    """Arrays of each process side by side, over the devices."""
    sharding = NamedSharding(mesh, PartitionSpec("records"))

    def place(leaf: np.ndarray) -> jax.Array:
        whole = (processes_ * len(leaf), *leaf.shape[1:])
        return jax.make_array_from_process_local_data(sharding, leaf, whole)

    return jax.tree.map(place, opened)


def _read(records: Records) -> Opened:
    """Read what was sealed, in its shapes and dtypes; no error tells of a value."""
    if records in _READ:
        return _READ[records]
    sealed, kinds = SEALED[records], records._kinds
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
