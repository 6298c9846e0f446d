# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Figures 1a and 1b: what a chain costs, by the paper's accountant and certified."""

from collections.abc import Mapping, Sequence

from dpmcmc.posterior.statement import round_up
from reproduction.drawing import (
    COLOURS,
    FigureResult,
    Noted,
    Numbers,
    label_axes,
    panels,
)
from reproduction.paper_chains import Experiment, epsilons

__all__ = ["figure_1a", "figure_1b"]

_STEPS = 5000
_SIZES = {"N = 10⁵": 10**5, "N = 10⁶": 10**6, "N = 10⁷": 10**7}
_FRACTION = 1e-3
_BATCHES = {"b = 100": 100, "b = 1000": 1000, "b = 10,000": 10_000}

Chain = tuple[int, int, int]
"""The number of records, how many of them a step reads, and the number of steps."""


def figure_1a(experiment: Experiment) -> FigureResult:
    """ε against the fraction of the records in a batch, for several N."""
    sizes = experiment.sizes
    chains = {
        label: [(n, round(q * n), _STEPS) for q in sizes.fractions]
        for label, n in _SIZES.items()
    }
    title = f"{_STEPS:,} steps, δ = {sizes.delta:g}"
    across = "fraction q of the records in a batch"
    at = sizes.fractions.index(_FRACTION), f"q = {_FRACTION:g}"
    return _costs(experiment, chains, sizes.fractions, across, title, at)


def figure_1b(experiment: Experiment) -> FigureResult:
    """ε against the number of steps, for several batches."""
    sizes = experiment.sizes
    chains = {
        label: [(round(b / _FRACTION), b, steps) for steps in sizes.counts]
        for label, b in _BATCHES.items()
    }
    title = f"q = {_FRACTION:g}, δ = {sizes.delta:g}"
    at = -1, f"{sizes.counts[-1]:,} steps"
    return _costs(experiment, chains, sizes.counts, "steps", title, at)


def _costs(
    experiment: Experiment,
    chains: Mapping[str, Sequence[Chain]],
    points: Sequence[float],
    across: str,
    title: str,
    at: tuple[int, str],
) -> FigureResult:
    """Draw ε of each chain at its point; note those at one place, in words."""
    place, where = at
    bar = experiment.bar(chains.items(), "Accounting", "lines")
    numbers: Numbers = {across: list(map(float, points))}
    figure, ((axes,),) = panels(size=(8.4, 4.4))
    rows = []
    for (label, line), colour in zip(bar, COLOURS, strict=False):
        found = [epsilons(*chain, experiment.sizes.delta) for chain in line]
        paper, certified = (list(each) for each in zip(*found, strict=True))
        numbers |= {f"{label}, paper": paper, f"{label}, certified": certified}
        axes.plot(points, paper, "--", color=colour, label=f"{label}, paper")
        axes.plot(points, certified, color=colour, label=f"{label}, certified", lw=2.2)
        rows.append(
            Noted(
                f"ε at {where}, {label}, {title}",
                f"certified {round_up(certified[place])}",
                f"paper's accountant {paper[place]:.5g}",
            )
        )
    title = f"Cost of a chain: {title}; paper's accountant (dashed), certified (solid)"
    label_axes(axes, across, "ε", title, xscale="log", yscale="log")
    figure.legend(loc="outside right upper", fontsize=9, frameon=False)
    return FigureResult(figure, numbers, rows)
