# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The budget of a data set, as a report shows it, and its picture."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpmcmc.errors import InputError
from dpmcmc.report.pictures import COLOURS, cut, name_style, new_figure, save_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Budget", "BudgetEntry", "plot_budget"]

_LONGEST = 60


@dataclass(frozen=True)
class BudgetEntry:
    """A run that was charged to a budget.

    Attributes
    ----------
    run
        Its public name.
    analyst, purpose, when
        Who ran it, for what, and when.
    fraction
        The fraction of the budget that it was charged, from 0 to 1.
    """

    run: str
    analyst: str
    purpose: str
    when: str
    fraction: float


@dataclass(frozen=True)
class Budget:
    """The budget of a data set, and how much of it is spent.

    Attributes
    ----------
    dataset
        The name of the data set.
    epsilon, delta
        The whole budget.
    spent, reserved, left
        Fractions of it that add up to 1: what was spent, what runs that have not
        ended may still spend, and what is left.
    entries
        The runs, in the order in which they were charged.
    this_run
        Which of them the report is about; empty if none.

    Raises
    ------
    InputError
        If these are not fractions of one budget.
    """

    dataset: str
    epsilon: float
    delta: float
    spent: float
    reserved: float
    left: float
    entries: tuple[BudgetEntry, ...] = ()
    this_run: str = ""

    def __post_init__(self) -> None:
        parts = (self.spent, self.reserved, self.left)
        is_whole = math.isclose(sum(parts), 1, abs_tol=1e-6)
        each = [*parts, *(entry.fraction for entry in self.entries)]
        if not is_whole or not all(0 <= fraction <= 1 for fraction in each):
            raise InputError(
                f"spent, reserved and left are {parts}; they must be fractions from 0 "
                "to 1 that add up to 1, and each entry's a fraction too. Divide each "
                "by the whole budget."
            )


def plot_budget(budget: Budget, path: str | Path | None = None) -> "Figure":
    """Draw what is spent, reserved and left of a budget.

    Parameters
    ----------
    budget
        The budget.
    path
        Where to write the picture; its ending says which kind. Optional.
    """
    figure = new_figure(9, 1.6)
    axes = figure.subplots()
    parts = {"spent": budget.spent, "reserved": budget.reserved, "left": budget.left}
    looks = ((COLOURS[0], ""), (COLOURS[4], "///"), ("#E4E7EA", ""))
    start = 0.0
    for (name, fraction), (colour, hatch) in zip(parts.items(), looks, strict=True):
        label = f"{name} {100 * fraction:.4g}%"
        (piece,) = axes.barh(0, 100 * fraction, left=start, color=colour, label=label)
        piece.set(hatch=hatch, edgecolor="white")
        start += 100 * fraction
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=3, frameon=False)
    axes.set_xlim(0, 100)
    axes.set_axis_off()
    name = cut(budget.dataset, _LONGEST)
    words = f"{name}: a budget of ε = {budget.epsilon:g}, δ = {budget.delta:g}"
    axes.set_title(words, **name_style())
    save_picture(figure, path)
    return figure
