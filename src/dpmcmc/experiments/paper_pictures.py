# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the paper's chains and corrections: figures 1c, 2, 3 and 4."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.experiments.accuracy import STATISTICS
from dpmcmc.experiments.clipping import Clipped
from dpmcmc.experiments.correction_figures import Table
from dpmcmc.experiments.paper_chains import Settings
from dpmcmc.experiments.tempered_grid import GridPosterior
from dpmcmc.posterior.statement import Statement, round_up

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_accuracy", "draw_clipping", "draw_errors", "draw_samples"]

_COLOURS = ("#0072B2", "#D55E00", "#009E73")
"""Colours of Okabe and Ito, told apart by readers with any colour vision."""

_ALARM = "#B00020"
_SYMBOLS = {"mean": "θ₁ (first centre)", "gap": "θ₂ (gap between centres)"}
_MARKS = {"mean": "o", "gap": "s"}
_SHARES = (0.5, 0.95)
_MARGIN = 0.05
_METHODS = {
    "ridge": ("ridge regression (Seita et al.)", "#D55E00", "s"),
    "gaussian_mixture": ("Gaussian mixture (the paper)", "#0072B2", "o"),
    "linear_programme": ("linear programme (ours)", "#009E73", "^"),
}


def draw_clipping(
    found: Sequence[Clipped],
    batches: Mapping[float, int],
    settings: Settings,
    path: Path,
) -> None:
    """Draw the share of clipped ratios against the proposal variance."""
    figure = _figure(6.4, 4.4)
    axes = figure.subplots()
    for (clip, batch), colour in zip(batches.items(), _COLOURS, strict=False):
        line = [each for each in found if each.clip == clip and each.share > 0]
        axes.errorbar(
            [each.variance for each in line],
            [each.share for each in line],
            [each.standard_error for each in line],
            color=colour,
            marker="o",
            markersize=4,
            linewidth=2.2 if batch == settings.batch else 1.2,
            capsize=3,
            label=f"b = {batch:,}: clip √b/N₀ = {clip:.3g}",
        )
    axes.axvline(settings.proposal_variance, color="0.45", linewidth=1, linestyle=":")
    axes.set(
        xscale="log",
        yscale="log",
        ylim=(1e-6, 1),
        xlabel="proposal variance (dotted: the paper's)",
        ylabel="share of log-likelihood ratios beyond the clip",
    )
    axes.set_title(
        f"Clipped ratios, N₀ = {settings.tempered:g} (simulated records)", fontsize=10
    )
    axes.grid(True, which="major", color="0.9")
    axes.legend(fontsize=9, loc="lower right")
    figure.savefig(path, dpi=150)


def draw_samples(
    panels: Mapping[str, tuple[Table, Statement]], grid: GridPosterior, path: Path
) -> None:
    """Draw samples of several chains over contours of the tempered posterior.

    Parameters
    ----------
    panels
        Title, with columns ``mean`` and ``gap`` of samples and their statement.
    grid
        The posterior whose contours are drawn.
    path
        Where to write the picture.
    """
    figure = _figure(4.3 * len(panels) + 0.4, 4.9)
    row = figure.subplots(1, len(panels), sharex=True, sharey=True)
    limits = {}
    for name in _SYMBOLS:
        shown = [samples[name] for samples, _ in panels.values()]
        ends = np.concatenate([grid.reach(name), *shown])
        limits[name] = (ends.min() - _MARGIN, ends.max() + _MARGIN)
    for axes, colour, (title, (samples, statement)) in zip(
        row, _COLOURS, panels.items(), strict=False
    ):
        axes.scatter(
            samples["mean"], samples["gap"], s=4, color=colour, alpha=0.3, linewidths=0
        )
        axes.contour(
            grid.mean,
            grid.gap,
            grid.weights.T,
            levels=grid.levels(_SHARES),
            colors="black",
            linewidths=1,
        )
        axes.set_title(f"{title}\n", fontsize=10)
        axes.text(
            0.5,
            1.02,
            statement.label,
            transform=axes.transAxes,
            ha="center",
            fontsize=10,
            color="black" if statement.is_private else _ALARM,
            weight="normal" if statement.is_private else "bold",
        )
        axes.set_xlabel(_SYMBOLS["mean"])
        axes.set(xlim=limits["mean"], ylim=limits["gap"])
    row[0].set_ylabel(_SYMBOLS["gap"])
    figure.supxlabel(
        "Contours hold 50% and 95% of the tempered posterior, summed on a grid.",
        fontsize=9,
    )
    figure.savefig(path, dpi=150)


def draw_accuracy(table: Table, settings: Settings, path: Path) -> None:
    """Draw errors of means and variances against ε: the paper's and the certified."""
    figure = _figure(10.4, 5.2)
    figure.suptitle(
        f"NOT PRIVATE: {settings.runs} seeded runs on simulated records; ε is what one "
        f"private run of as many steps costs (δ = {settings.delta:g})",
        color=_ALARM,
        weight="bold",
        fontsize=10,
    )
    row = figure.subplots(1, len(STATISTICS))
    for axes, statistic, letter in zip(row, STATISTICS, "ab", strict=True):
        for (name, symbol), colour in zip(_SYMBOLS.items(), _COLOURS, strict=False):
            for against, style, label in (
                ("chain", "-", "a non-private chain"),
                ("grid", "--", "the grid posterior"),
            ):
                heading = f"{statistic} of {name}, against {against}"
                axes.errorbar(
                    table["epsilon_paper"],
                    table[heading],
                    table[f"{heading}, standard error"],
                    color=colour,
                    linestyle=style,
                    linewidth=1.6 if style == "-" else 1,
                    marker=_MARKS[name] if style == "-" else "",
                    markersize=4,
                    capsize=3,
                    label=f"{symbol.split()[0]} against {label}",
                )
        axes.set(
            xlabel=f"({letter}) ε by the paper's accountant",
            ylabel=f"mean absolute error of the posterior {statistic}",
        )
        axes.set_ylim(bottom=0)
        axes.grid(True, color="0.9")
        _add_certified_axis(axes, table)
    row[1].legend(fontsize=9, loc="upper right")
    figure.savefig(path, dpi=150)


def draw_errors(table: Table, settings: Settings, path: Path) -> None:
    """Draw the sup-error of each kind of correction against C."""
    figure = _figure(6.4, 4.4)
    axes = figure.subplots()
    for method, (label, colour, mark) in _METHODS.items():
        axes.errorbar(
            table["C"],
            table[method],
            table.get(f"{method}_sem"),
            color=colour,
            marker=mark,
            markersize=4,
            capsize=4,
            label=label,
        )
    fits = f"{settings.fits} fit" + "s" * (settings.fits > 1)
    axes.set(
        xlabel="variance C of the normal part",
        ylabel="sup-error of the cdf",
        yscale="log",
    )
    axes.set_title(
        f"Error of corrections ({fits} of the mixture: mean, standard error)",
        fontsize=10,
    )
    axes.grid(True, color="0.9")
    axes.legend(loc="lower right", fontsize=9)
    figure.savefig(path, dpi=150)


def _add_certified_axis(axes: Any, table: Table) -> None:
    """Write the certified ε and the steps above the paper's ε."""
    upper = axes.secondary_xaxis("top")
    places = np.unique(np.linspace(0, len(table["steps"]) - 1, 5).astype(int))
    upper.set_xticks(
        [table["epsilon_paper"][place] for place in places],
        [
            f"{round_up(table['epsilon_certified'][place], 2)}\n"
            f"({table['steps'][place]:,.0f})"
            for place in places
        ],
        fontsize=8,
    )
    upper.set_xlabel("certified ε (steps)", fontsize=9)


def _figure(width: float, height: float) -> "Figure":
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    return Figure(figsize=(width, height), layout="constrained")
