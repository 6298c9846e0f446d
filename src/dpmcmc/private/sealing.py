# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What is settled when records are sealed, from shapes, types and the number of ids."""

import hashlib
import struct
from typing import Any

import jax

from dpmcmc import processes
from dpmcmc.arithmetic import RECORD_LIMIT
from dpmcmc.errors import InputError, require_count
from dpmcmc.private.sources import Source, named
from dpmcmc.private.units import Grouped, membership

__all__ = ["checked_unit", "common_length", "grouped"]
__all__ += ["number_of", "sizes_of_parts"]

_SIZE = struct.Struct("<q")


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
    count = common_length(kinds)
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
    return sizes


def checked_unit(unit: Any, most: Any, in_parts: bool) -> tuple[str | None, int]:
    """The unit, and how many of its records count; refuse one without the other."""
    if unit is None and most is None:
        return None, 1
    if not isinstance(unit, str) or most is None:
        raise InputError(
            f"unit is {unit!r} and most is {most!r}; give both or neither: the column "
            "with the ids of units, and how many records of a unit count."
        )
    if in_parts:
        raise InputError(
            f"unit is {unit!r} and the records are in parts; all records of a unit "
            "must be in one place. Give a table that is not in parts."
        )
    advice = "Choose it without looking at the records."
    return unit, require_count("most", most, advice)


def grouped(rows: Source, unit: str, most: int) -> Grouped:
    """The rows as units; the ids are read, and are no part of a record."""
    rest = rows.without(unit)
    of = membership(rows.ids(unit))
    if len(of.codes) != common_length(rest.kinds):
        raise InputError(f"column {unit!r} has not one id for each record.")
    if of.units * most > RECORD_LIMIT:
        raise InputError(
            f"most is {most}, for which {of.units:,} units need more room than there "
            "can be. Choose a smaller one."
        )
    return Grouped(rest, of, most)


def common_length(kinds: Any) -> int:
    """The length of the leading axis; refuse unequal ones."""
    found = jax.tree_util.tree_leaves_with_path(kinds)
    lengths = {named(path): kind.shape[0] for path, kind in found}
    if not lengths:
        raise InputError("records hold no array. Give at least one array or column.")
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise InputError(
            f"records have unequal leading axes ({listed}); each array must have one "
            "entry for each record."
        )
    return next(iter(lengths.values()))


def number_of(kinds: Any, sizes: tuple[int, ...] | None) -> int:
    """How many records there are, in all parts; refuse none, and too many."""
    count = common_length(kinds) if sizes is None else sum(sizes)
    if not 1 <= count <= RECORD_LIMIT:
        raise InputError(
            f"there are {count} records; the number must be from 1 to {RECORD_LIMIT}."
        )
    return count
