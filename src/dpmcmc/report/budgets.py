# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of budgets: ε against what it is spent on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpmcmc.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpmcmc.planning import Plan

__all__ = ["Line", "plot_lines", "plot_plan", "save_picture"]

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
"""Colours of Okabe and Ito, told apart by readers with any colour vision."""

_POINTS = 17


@dataclass(frozen=True)
class Line:
    """One curve: what it shows, its points, and whether it is certified.

    Attributes
    ----------
    label
        What the legend calls it.
    group
        Curves of one group share a colour.
    certified
        Certified curves are drawn solid, quoted ones dashed.
    points
        Pairs of the horizontal value and ε; infinite ε are left out.
    """

    label: str
    group: int
    certified: bool
    points: tuple[tuple[float, float], ...]


def plot_lines(
    lines: Sequence[Line],
    across: str,
    title: str,
    *,
    mark: tuple[float, float] | None = None,
    budget: float | None = None,
    path: str | Path | None = None,
) -> "Figure":
    """Draw curves of ε on logarithmic axes.

    Parameters
    ----------
    lines
        The curves.
    across, title
        What the horizontal axis shows, and the title.
    mark
        A point to mark as the plan, if any.
    budget
        An ε to draw a level line at, if any.
    path
        Where to write the picture; its ending says which kind. Optional.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    figure = Figure(figsize=(8.4, 4.4), layout="constrained")
    axes = figure.subplots()
    for line in lines:
        shown = [(x, y) for x, y in line.points if np.isfinite(y) and y > 0]
        axes.plot(
            [x for x, _ in shown],
            [y for _, y in shown],
            color=_COLOURS[line.group % len(_COLOURS)],
            linestyle="-" if line.certified else "--",
            linewidth=2.2 if line.certified else 1.4,
            label=line.label,
        )
    if budget is not None:
        axes.axhline(budget, color="0.45", linewidth=1, linestyle=":")
        axes.annotate(
            f"budget ε = {budget:g}",
            (0, budget),
            xycoords=("axes fraction", "data"),
            xytext=(6, 5),
            textcoords="offset points",
            color="0.3",
            fontsize=9,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )
    if mark is not None:
        axes.plot(*mark, "o", color="black", markersize=6, zorder=5, label="this plan")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(across)
    axes.set_ylabel("ε")
    axes.set_title(title, fontsize=10)
    axes.grid(True, which="major", color="0.9")
    figure.legend(loc="outside right upper", fontsize=9, frameon=False)
    if path is not None:
        save_picture(figure, path)
    return figure


def plot_plan(plan: "Plan", path: str | Path | None = None) -> "Figure":
    """Draw the certified ε of a plan and the paper's against the number of steps."""
    last = max(2 * plan.steps, 10)
    counts = np.unique(np.geomspace(max(1, last // 200), last, _POINTS).astype(int))
    curve = plan.curve([int(count) for count in counts])
    where = "all records" if plan.batch is None else f"batches of {plan.batch:,}"
    lines = [
        Line("certified", 0, True, tuple((t, e) for t, e, _ in curve)),
        Line("the paper's accountant", 1, False, tuple((t, e) for t, _, e in curve)),
    ]
    return plot_lines(
        lines,
        "steps",
        f"{plan.test} test on {where}, N = {plan.records:,}, clip {plan.clip:.4g}, "
        f"δ = {plan.delta:g}",
        mark=(plan.steps, plan.epsilon) if plan.epsilon > 0 else None,
        budget=plan.budget,
        path=path,
    )


def save_picture(figure: "Figure", path: str | Path) -> None:
    """Write a picture as the kind that its ending says, or say which there are."""
    kinds = sorted(figure.canvas.get_supported_filetypes())
    if Path(path).suffix.lstrip(".").lower() not in kinds:
        raise InputError(
            f"the picture's file is {str(path)!r}; its ending must be one of "
            f"{', '.join(kinds)}. Name it, for example, budget.png."
        )
    figure.savefig(path, dpi=150)
