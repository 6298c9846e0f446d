# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Units: all records of one person, arranged so that they enter as one record.

A table has rows; a unit is all rows with one id. Everything inside the boundary bounds
what one entry of an array can do, so an entry is made of a whole unit: its first rows,
as many as there is room for, and which of them are there.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np

from dpmcmc.arithmetic import RECORD_LIMIT
from dpmcmc.errors import InputError
from dpmcmc.model.units import Unit
from dpmcmc.private.sources import Source, TableFile, common_length
from dpmcmc.private.tables import Kind

__all__ = ["Grouped", "Membership", "arrange", "grouped", "membership"]


class Membership(NamedTuple):
    """The unit of each row, from 0 on, or −1 for a row without an id; their number."""

    codes: np.ndarray
    units: int


@dataclass(frozen=True, eq=False)
class Grouped:
    """Rows of a source as units of at most ``most`` rows: a source itself."""

    rows: Source
    of: Membership
    most: int
    is_kept = True

    @property
    def kinds(self) -> Unit:
        """Of arrays of shape (units, most, …)."""
        room = (self.of.units, self.most)
        rows = jax.tree.map(
            lambda kind: Kind(room + kind.shape[1:], kind.dtype), self.rows.kinds
        )
        return Unit(rows, Kind(room, np.dtype(bool)))

    def read(self) -> tuple[Unit, np.ndarray]:
        """Read the rows, and arrange them."""
        rows, usable = self.rows.read()
        if any(len(leaf) != len(self.of.codes) for leaf in jax.tree.leaves(rows)):
            raise ValueError(
                "there are more rows, or fewer, than when they were sealed"
            )
        return arrange(rows, usable, self.of, self.most)

    def part(self, number: int, parts: int) -> "Grouped":
        """One of several stretches of the units of a file, with all their rows.

        Guarantee
        ---------
        Part k has the units from ⌊kU/parts⌋ to ⌊(k + 1)U/parts⌋ in their order, of U,
        with the rows that they have in the whole.
        """
        assert isinstance(self.rows, TableFile)
        first, last = (self.of.units * one // parts for one in (number, number + 1))
        codes = self.of.codes
        is_own = (codes >= first) & (codes < last)
        own = Membership(codes[is_own] - first, last - first)
        return Grouped(replace(self.rows, picked=is_own), own, self.most)


def grouped(rows: Source, unit: str, most: int) -> Grouped:
    """The rows as units; the ids are read, and are no part of a record."""
    rest = rows.without(unit)
    of = membership(rows.ids(unit))
    if len(of.codes) != common_length(rest.kinds):
        raise InputError(f"column {unit!r} has not one id for each record.")
    if of.units * most > RECORD_LIMIT:
        raise InputError(
            f"most is {most}, too many for {of.units:,} units. Choose a smaller one."
        )
    return Grouped(rest, of, most)


def membership(ids: Iterable[list[Any]]) -> Membership:
    """Number the units in the order of their first rows.

    A null, NaN or what cannot be compared is no id: its row belongs to no unit.

    Guarantee
    ---------
    Rows have one code, other than −1, if and only if they have ids that are equal. No
    id raises an error.
    """
    known: dict[Any, int] = {}

    def code(value: Any) -> int:
        try:
            is_missing = value is None or bool(value != value)  # noqa: PLR0124
            return -1 if is_missing else known.setdefault(value, len(known))
        except Exception:  # such as a missing value of pandas, or a list
            return -1

    codes = [np.fromiter(map(code, part), np.int64, len(part)) for part in ids]
    return Membership(np.concatenate([np.empty(0, np.int64), *codes]), len(known))


def arrange(
    rows: Any, usable: np.ndarray | None, of: Membership, most: int
) -> tuple[Unit, np.ndarray]:
    """Put the first ``most`` usable rows of each unit side by side.

    Returns
    -------
    tuple
        Arrays of shape (units, most, …) with which of their rows are there; and which
        units have any. In place of rows that are not there, the unit's first stands
        again, so that nothing is evaluated where no row is; or zeros if it has none.

    Guarantee
    ---------
    Entry u of everything is a function of the rows of unit u, in their order, and of
    ``most``: of no other unit's rows, nor of their number.
    """
    is_used = of.codes >= 0 if usable is None else usable & (of.codes >= 0)
    used = np.flatnonzero(is_used)
    order = used[np.argsort(of.codes[used], kind="stable")]
    unit = of.codes[order]
    rank = np.arange(len(unit)) - np.searchsorted(unit, unit)
    kept = rank < most
    index = np.full((of.units, most), -1, np.int64)
    index[unit[kept], rank[kept]] = order[kept]
    there = index >= 0
    present = there[:, 0]
    index = np.maximum(np.where(there, index, index[:, :1]), 0)

    def of_units(leaf: np.ndarray) -> np.ndarray:
        found = leaf[index]
        found[~present] = 0
        return found

    return Unit(jax.tree.map(of_units, rows), there), present
