# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Every figure of the paper by its number; here those that need no chain.

Each is drawn into a file, and returns its numbers and which of them to note.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from dpmcmc.experiments.budget_figures import DELTA, figure_1a, figure_1b
from dpmcmc.experiments.chain_figures import (
    Drawn,
    Row,
    accuracy_figure,
    clipping_figure,
    samples_figure,
)
from dpmcmc.experiments.correction_figures import (
    approximation_errors,
    cdfs,
    log_densities,
)
from dpmcmc.experiments.paper_chains import Study
from dpmcmc.experiments.paper_pictures import draw_errors
from dpmcmc.posterior.statement import round_up
from dpmcmc.report.budgets import Line, plot_lines

__all__ = ["FIGURES"]

_SHARES = (5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2)
_COUNTS = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)
_METHODS = {
    "linear_programme": "linear programme",
    "gaussian_mixture": "mixture",
    "ridge": "ridge",
}


def _costs(
    of_one: Callable[[float], list[Line]],
    points: Sequence[float],
    across: str,
    title: str,
    noted: tuple[str, float, str],
    study: Study,
    path: Path,
) -> Drawn:
    """Figures 1a and 1b: ε at each point, one after the other under a progress bar."""
    bar = tqdm(points, "Accounting", unit=" points", disable=not study.progress)
    parts = [of_one(point) for point in bar]
    lines = [
        replace(found[0], points=tuple(each.points[0] for each in found))
        for found in zip(*parts, strict=True)
    ]
    plot_lines(lines, across, title, path=path)
    numbers = {
        across: [float(point) for point in points],
        **{line.label: [cost for _, cost in line.points] for line in lines},
    }
    label, point, what = noted
    at = points.index(point)
    certified = round_up(numbers[f"{label}, certified"][at])
    paper = numbers[f"{label}, paper"][at]
    row = Row(what, f"certified {certified}", f"paper's accountant {paper:.5g}")
    return Drawn(numbers, [row])


def _shares(study: Study, path: Path) -> Drawn:
    return _costs(
        lambda share: figure_1a(shares=(share,)),
        _SHARES,
        "share q of the records in a batch",
        f"ε of 5000 steps, δ = {DELTA:g}: paper (dashed) and certified (solid)",
        ("N = 1e6", 1e-3, f"ε of 5,000 steps, N = 10⁶, b = 1000, δ = {DELTA:g}"),
        study,
        path,
    )


def _steps(study: Study, path: Path) -> Drawn:
    return _costs(
        lambda count: figure_1b(counts=(int(count),)),
        _COUNTS,
        "steps",
        f"ε at q = 0.001, δ = {DELTA:g}: paper (dashed) and certified (solid)",
        ("b = 1000", 20_000, f"ε of 20,000 steps, N = 10⁶, b = 1000, δ = {DELTA:g}"),
        study,
        path,
    )


def _errors(study: Study, path: Path) -> Drawn:
    settings = study.settings
    bar = tqdm(
        settings.variances,
        f"Fitting {settings.fits} mixtures for each C",
        unit=" C",
        disable=not study.progress,
    )
    parts = [
        approximation_errors(variances=(variance,), runs=settings.fits)
        for variance in bar
    ]
    table = {name: [part[name][0] for part in parts] for name in parts[0]}
    draw_errors(table, settings, path)
    rows = []
    for at, variance in enumerate(table["C"]):
        ours, mixture, ridge = (
            f"{name} {table[key][at]:.2e}" for key, name in _METHODS.items()
        )
        if settings.fits > 1:
            mixture += f" ± {table['gaussian_mixture_sem'][at]:.0e}"
        what = f"sup-error at C = {variance:g}, mixtures fitted: {settings.fits}"
        rows.append(Row(what, ours, f"{mixture}, {ridge}"))
    return Drawn(table, rows)


def _densities(study: Study, path: Path) -> Drawn:  # noqa: ARG001 - all have one form
    table = log_densities(path)
    rows = [
        Row(
            f"share of [−10, 10] without density, {name}",
            f"{np.isinf(values).mean():.0%}",
            "mixture 0%",
        )
        for name, values in table.items()
        if name.startswith("ridge")
    ]
    return Drawn(table, rows)


def _cdfs(study: Study, path: Path) -> Drawn:  # noqa: ARG001 - all have one form
    table = cdfs(path)
    logistic = np.array(table["logistic"])
    off = {key: np.abs(np.array(table[key]) - logistic).max() for key in _METHODS}
    ours, *others = (f"{name} {off[key]:.2e}" for key, name in _METHODS.items())
    what = "largest difference from the logistic cdf on [−10, 10], C = 2"
    return Drawn(table, [Row(what, ours, ", ".join(others))])


FIGURES: dict[str, tuple[str, Callable[[Study, Path], Drawn]]] = {
    "1a": ("privacy against the share of records in a batch", _shares),
    "1b": ("privacy against steps", _steps),
    "1c": ("clipped ratios against the proposal variance", clipping_figure),
    "2": ("samples without and with privacy", samples_figure),
    "3": ("accuracy of posterior means and variances against ε", accuracy_figure),
    "4": ("error of corrections against C", _errors),
    "5": ("log-densities of corrections", _densities),
    "6": ("cdfs with corrections, and their differences", _cdfs),
}
"""Each figure by its number: what it shows, and what draws it."""
