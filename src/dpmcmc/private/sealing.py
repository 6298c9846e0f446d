# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Records in parts: what processes settle when these are sealed, by shapes and types.

And how entries are laid out on devices, by numbers that all have agreed on.
"""

import hashlib
import struct
from typing import Any

import jax

from dpmcmc import processes
from dpmcmc.arithmetic import RECORD_LIMIT
from dpmcmc.errors import InputError
from dpmcmc.model.schema import Schema
from dpmcmc.private.filling import require_room
from dpmcmc.private.ratios import BLOCK
from dpmcmc.private.sources import Source, TableFile, common_length
from dpmcmc.private.units import Grouped, grouped

__all__ = ["layout_of", "part_of", "sizes_of_parts"]

_FEWEST = 8
"""Entries that a device has at least, of records in parts."""

_SIZE = struct.Struct("<q")


def layout_of(
    sizes: tuple[int, ...] | None, count: int, devices: int
) -> tuple[int, int]:
    """The length of a block, and how many entries each process has on its devices."""
    own = devices if sizes is None else devices // len(sizes)
    most = -(-max(sizes or (count,)) // own)
    block = min(BLOCK, most if sizes is None else max(_FEWEST, most))
    return block, -(-most // block) * block * own


def part_of(
    rows: Source, schema: Schema, streamed: bool
) -> tuple[Source | Grouped, tuple[int, ...]]:
    """The part of this process, and how many records or units each has.

    A table in memory is a part as it is.
    """
    if schema.size is not None:
        raise InputError(
            "the records are in parts, which shows how many each process has: size "
            "cannot be given. Give a table that is not in parts."
        )
    if isinstance(rows, TableFile):
        if schema.unit is not None:
            return _part_of_units(rows, schema.unit, schema.most or 1)
        own = rows.file.part(processes.own(), processes.together())
        part = TableFile(own, rows.names)
        if streamed:
            with processes.on_all("there is no room for the records on disk"):
                require_room(part)
        return part, sizes_of_parts(part.kinds, len(rows.file))
    if schema.unit is not None:
        raise InputError(
            "the records are tables in memory, in parts, and a unit may have records "
            "in several of them. Write them as Parquet, and give all processes the "
            "same Records.from_parquet(folder, …)."
        )
    return rows, sizes_of_parts(rows.kinds, None)


def _part_of_units(
    rows: TableFile, unit: str, most: int
) -> tuple[Grouped, tuple[int, ...]]:
    """The units of this process: an equal stretch of all, wherever their rows are.

    Every process numbers the units of the whole file, which all of them read.
    """
    with processes.on_all("the ids of units could not be read"):
        rows.file.part(0, 1)  # refuses what cannot be read in stretches
        whole = grouped(rows, unit, most)
    part = whole.part(processes.own(), processes.together())
    return part, sizes_of_parts(part.kinds, whole.of.units)


def sizes_of_parts(kinds: Any, whole: int | None) -> tuple[int, ...]:
    """How many records each process has, if all have parts of the same table.

    Parameters
    ----------
    kinds
        Shapes and dtypes of this process's part.
    whole
        How many records there are in all, if that is known; 0 or more.

    Raises
    ------
    InputError
        On every process, if shapes and dtypes of a record differ between them, or they
        do not see the same table.
    """
    count = common_length(kinds, least=0)
    leaves, structure = jax.tree.flatten(kinds)
    one = f"{structure} {[(leaf.shape[1:], leaf.dtype.str) for leaf in leaves]} {whole}"
    told = _SIZE.pack(count) + hashlib.sha256(one.encode()).digest()
    said = processes.from_each(told)
    sizes = tuple(_SIZE.unpack(line[: _SIZE.size])[0] for line in said)
    is_one = len({line[_SIZE.size :] for line in said}) == 1
    if not is_one or (whole is not None and sum(sizes) != whole):
        raise InputError(
            "the processes of this run do not see parts of one table: columns, dtypes "
            "or the number of records differ between them. Give all the same data set."
        )
    if not 1 <= sum(sizes) <= RECORD_LIMIT:
        raise InputError(
            f"there are {sum(sizes)} records in all; the number must be from 1 to "
            f"{RECORD_LIMIT}."
        )
    return sizes
