# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A picture of a budget: what was spent, what is reserved, and what is left."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dpmcmc.report.budgets import save_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_ledger"]

_SPENT, _RESERVED, _LEFT = "#0072B2", "#E69F00", "#EEEEEE"
"""Colours of Okabe and Ito; what is reserved is hatched as well."""

_MOST_RUNS = 20
_LONGEST = 44


class OneRun(Protocol):
    """A run, by its shares of the budget from 0 to 1."""

    @property
    def run(self) -> str: ...
    @property
    def analyst(self) -> str: ...
    @property
    def purpose(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def spent(self) -> float: ...
    @property
    def held(self) -> float: ...


class Standing(Protocol):
    """How a budget stands, such as the overview of a ledger."""

    @property
    def dataset(self) -> str: ...
    @property
    def records(self) -> int: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def spent(self) -> float: ...
    @property
    def reserved(self) -> float: ...
    @property
    def left(self) -> float: ...
    @property
    def runs(self) -> Sequence[OneRun]: ...


def plot_ledger(overview: Standing, path: str | Path | None = None) -> "Figure":
    """Draw how the budget of a data set stands, and each run's share of it.

    Parameters
    ----------
    overview
        What ``Ledger.overview`` returns, or anything with the same numbers.
    path
        Where to write the picture; its ending says which kind. Optional.

    Returns
    -------
    matplotlib.figure.Figure
        The figure: the whole budget on top, below it the latest runs.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    runs = tuple(overview.runs)[-_MOST_RUNS:]
    figure = Figure(figsize=(9, 2.1 + 0.34 * max(1, len(runs))), layout="constrained")
    whole, each = figure.subplots(
        2, 1, sharex=True, height_ratios=[1.1, 0.3 + 0.4 * max(1, len(runs))]
    )
    _draw_whole(whole, overview)
    _draw_runs(each, runs)
    hidden = len(overview.runs) - len(runs)
    each.set_xlabel(
        "share of the budget, in percent"
        + (f" (the latest {len(runs)} of {len(overview.runs)} runs)" if hidden else "")
    )
    budget = f"ε = {overview.epsilon:g}, δ = {overview.delta:g}"
    figure.suptitle(
        f"{overview.dataset}: {overview.records:,} records, {budget}\n"
        f"Whatever is asked next, everything together stays ({budget})-private.",
        fontsize=10.5,
    )
    if path is not None:
        save_picture(figure, path)
    return figure


def _draw_whole(axes: Any, overview: Standing) -> None:
    parts = (
        ("spent", overview.spent, _SPENT, None),
        ("reserved", overview.reserved, _RESERVED, "///"),
        ("left", overview.left, _LEFT, None),
    )
    start = 0.0
    for name, share, colour, hatch in parts:
        _bar(axes, 0, start, share, colour, hatch, f"{name} {100 * share:.4g}%")
        start += share
    axes.set_xlim(0, 100)
    axes.set_yticks([])
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.02),
        ncols=3,
        frameon=False,
        fontsize=10,
    )
    _bare(axes)
    axes.tick_params(bottom=False)


def _draw_runs(axes: Any, runs: Sequence[OneRun]) -> None:
    for row, run in enumerate(runs):
        _bar(axes, row, 0.0, run.spent, _SPENT, None, None)
        rest = max(0.0, run.held - run.spent)
        _bar(axes, row, run.spent, rest, _RESERVED, "///", None)
        axes.text(
            100 * max(run.spent, run.held) + 0.8,
            row,
            f"{100 * run.spent:.4g}%"
            + (f" of {100 * run.held:.4g}%" if rest > 0 else ""),
            va="center",
            fontsize=9,
            color="0.2",
            clip_on=False,
        )
    axes.set_yticks(range(len(runs)), [_label(run) for run in runs], fontsize=9)
    axes.set_ylim(max(1, len(runs)) - 0.4, -0.6)
    if not runs:
        axes.text(50, 0, "no run yet", ha="center", va="center", color="0.4")
    axes.grid(True, axis="x", color="0.9")
    axes.set_axisbelow(True)
    _bare(axes)


def _bar(
    axes: Any,
    row: int,
    start: float,
    share: float,
    colour: str,
    hatch: str | None,
    label: str | None,
) -> None:
    axes.barh(
        row,
        100 * share,
        left=100 * start,
        height=0.62,
        color=colour,
        hatch=hatch,
        edgecolor="white",
        linewidth=0,
        label=label,
    )


def _bare(axes: Any) -> None:
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(left=False)


def _label(run: OneRun) -> str:
    words = f"{run.run} · {run.analyst}" + (f" · {run.purpose}" if run.purpose else "")
    if len(words) > _LONGEST:
        words = words[: _LONGEST - 1] + "…"
    return words if run.state == "closed" else f"{words} ({run.state})"
