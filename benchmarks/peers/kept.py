# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Cells of the page that are not run again: their rows, and what rows say."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["Kept", "Standing", "has_runs", "kept_rows", "line_of", "standing_of_row"]

Kept = Mapping[tuple[str, str], Sequence[str]]
"""Entries of a row of a table, by method and ε as the page has them."""


class Standing(NamedTuple):
    """What the summary asks of a cell.

    Attributes
    ----------
    score, spread
        The score is None if no run ended with draws, or too few did for a coverage
        error.
    chance
        What a coverage error is by chance; 0 for other scores.
    covered, width
        Of 95% intervals, and of draws, if they are measured.
    runs, ended
        How many there are, and how many ended with draws.
    """

    score: float | None
    spread: float
    chance: float
    covered: float | None
    width: float | None
    runs: int
    ended: int


def kept_rows(section: str) -> dict[tuple[str, str], list[str]]:
    """The rows of a table in Markdown; a method is named in its first row alone."""
    found, method = {}, ""
    for line in section.splitlines():
        if line.startswith("| ") and not line.startswith(("| method |", "| --- |")):
            entries = [entry.strip() for entry in line.strip()[1:-1].split("|")]
            method = entries[0] or method
            found[method, entries[1]] = [method, *entries[1:]]
    return found


def line_of(name: str, row: Sequence[str]) -> str:
    """The row as a line, with a name for its method or none."""
    return f"| {' | '.join([name, *row[1:]])} |"


def has_runs(row: Sequence[str]) -> bool:
    """Whether it is not one of published figures alone."""
    return bool(row[-3])


def standing_of_row(row: Sequence[str], extras: Sequence[str]) -> Standing:
    """What a row says, of an experiment with these extra columns.

    Its coverage is a median over runs, where that of runs at hand is a mean.
    """
    found, _, chance = row[2].partition("; by chance ")
    score, _, spread = found.partition(" ± ")
    said = dict(zip(extras, row[5:], strict=False))
    runs, refused = (int(entry or 0) for entry in row[-3:-1])
    return Standing(
        _number(score),
        float(spread or 0),
        float(chance or 0),
        _number(said.get("covered", "")),
        _number(said.get("width", "")),
        runs,
        runs - refused,
    )


def _number(said: str) -> float | None:
    try:
        return float(said)
    except ValueError:
        return None
