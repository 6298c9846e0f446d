# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Names for the entries of a column, as far as a preparation says how it is made."""

from collections.abc import Mapping
from typing import Any

from dpmcmc.model.preparation import Copy, OneHot, Preparation, Stack, Whiten

__all__ = ["named", "names_from"]

Entries = tuple[str, ...] | None
"""The names of a column's entries; None for a number, or a vector as it comes."""


def named(parameter: str, dim: str, names: Entries) -> dict[str, Any]:
    """Coords and dims of a `Model` with one vector whose places have names."""
    if names is None or len(set(names)) < len(names):
        return {}
    return {"coords": {dim: names}, "dims": {parameter: (dim,)}}


def names_from(before: Preparation | None, size: int) -> Entries:
    """Names for the entries of the column x.

    Parameters
    ----------
    before
        What prepares a record before the model does.
    size
        How many entries x has.

    Returns
    -------
    tuple or None
        The names that a `Stack` gives to x, if it says what all entries are. A column
        is called by its name, a level of `OneHot` ``region=2``, an entry of a vector
        ``scores[2]``; and so a level of a column that was changed before, as its codes
        are no longer those of the table.
    """
    made: dict[str, Any] = {}
    for columns in _columns(before):
        for name, steps in columns.items():
            listed = steps if isinstance(steps, list | tuple) else [steps]
            made[name] = _entries(name, listed, made)
    return _sized(made.get("x"), size)


class _Stacked(tuple[tuple[str, Entries], ...]):
    """What a vector was stacked from: columns, with the names of their entries."""

    __slots__ = ()


def _columns(before: Preparation | None) -> list[Mapping[str, Any]]:
    """What is done to named columns, first things first."""
    if before is None:
        return []
    own = before.columns
    return [*_columns(before.first), *([own] if isinstance(own, Mapping) else [])]


def _entries(name: str, steps: Any, made: Mapping[str, Any]) -> Any:
    """What is known of a column after its steps, from the columns made before."""
    entries = made.get(name)
    for step in steps:
        if isinstance(step, Copy):
            entries = made.get(step.column)
        elif isinstance(step, Stack):
            ones: list[tuple[str, Entries]] = []
            if step.intercept:
                ones.append(("intercept", None))
            for column in step.columns:
                known = made.get(column)
                ones += known if isinstance(known, _Stacked) else [(column, known)]
            entries = _Stacked(ones)
        elif isinstance(step, OneHot):
            codes = tuple(step.levels)  # type: ignore[arg-type]
            kept = codes[1:] if step.drop_first else codes
            as_it_came = step is steps[0] and name not in made
            entries = tuple(
                f"{name}={code}" if as_it_came else f"{name}[{place}]"
                for place, code in enumerate(kept)
            )
        elif isinstance(step, Whiten):
            entries = None  # each entry is now of several
    return entries


def _sized(x: Any, size: int) -> tuple[str, ...] | None:
    """The names of that number of entries; None if they are not known.

    A column whose length is not known has one entry, unless it is the only one and
    entries are left over. Every column has at least one: so nothing is named wrongly.
    """
    if not isinstance(x, _Stacked):
        return None
    unknown = [name for name, entries in x if entries is None]
    least = sum(1 if entries is None else len(entries) for _, entries in x)
    over = size - least
    if over < 0 or (over and len(unknown) != 1):
        return None
    names: list[str] = []
    for name, entries in x:
        if entries is not None:
            names += entries
        elif over:
            names += [f"{name}[{place}]" for place in range(1 + over)]
        else:
            names.append(name)
    return tuple(names)
