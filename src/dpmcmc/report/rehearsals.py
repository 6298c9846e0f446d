# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A picture of a rehearsal: how far each way was off, how wide, and how many draws."""

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.rehearsal import Rehearsal, Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_rehearsal"]

_COLOUR, _GOOD = "#0072B2", "#009E73"


def plot_rehearsal(rehearsal: Rehearsal, path: str | Path | None = None) -> "Figure":
    """Draw every trial of a rehearsal, a row for each way.

    Parameters
    ----------
    rehearsal
        The rehearsal.
    path
        Where to write the picture; its ending says which kind. Optional.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. Green bands say what counts as usable.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import
    from matplotlib.ticker import (  # noqa: PLC0415
        FormatStrFormatter,
        LogLocator,
        NullLocator,
    )

    names = list(dict.fromkeys(trial.name for trial in rehearsal.trials))
    figure = Figure(figsize=(10, 1.6 + 0.5 * len(names)), layout="constrained")
    axes = figure.subplots(1, 3, sharey=True)
    figure.suptitle(rehearsal.title.rstrip("."), fontsize=11)
    off, ratio, draws = axes
    off.axvspan(1e-3, 0.5, color=_GOOD, alpha=0.12, linewidth=0)
    ratio.axvspan(0.8, 1.25, color=_GOOD, alpha=0.12, linewidth=0)
    for trial in rehearsal.trials:
        _draw_trial(axes, names.index(trial.name), trial)
    for one in axes:
        one.set_xscale("log")
        one.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=6))
        one.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        one.xaxis.set_minor_locator(NullLocator())
        one.tick_params(labelsize=8)
        one.grid(axis="x", alpha=0.3)
    off.set_xlim(left=0.9 * _least_shown(rehearsal))
    off.set_yticks(range(len(names)), [textwrap.fill(name, 32) for name in names])
    off.set_ylim(len(names) - 0.5, -0.5)
    off.set_xlabel("error of a posterior mean\n(posterior deviations, largest)")
    ratio.set_xlabel("deviation over the true one\n(smallest to largest)")
    draws.set_xlabel("effective draws\n(fewest of a coordinate)")
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _draw_trial(axes: Any, row: int, trial: Trial) -> None:
    off, ratio, draws = axes
    style = {"color": _COLOUR, "alpha": 0.8}
    off.plot(max(np.abs(trial.off).max(), 1e-3), row, "o", **style)
    ends = [trial.sd_ratio.min(), trial.sd_ratio.max()]
    ratio.plot(ends, [row, row], "-o", markersize=4, **style)
    draws.plot(max(trial.ess, 1.0), row, "o", **style)


def _least_shown(rehearsal: Rehearsal) -> float:
    smallest = min(np.abs(trial.off).max() for trial in rehearsal.trials)
    return float(min(max(smallest, 1e-3), 0.1))
