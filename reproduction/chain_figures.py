# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Figures 2 and 3: what chains draw, with and without privacy, and how accurately."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpmcmc import Posterior
from dpmcmc.posterior.statement import round_up
from reproduction.drawing import (
    ALARM,
    COLOURS,
    FigureResult,
    Noted,
    Numbers,
    label_axes,
    panels,
)
from reproduction.paper_chains import Experiment, Sizes, whole_chain
from reproduction.paper_mixture import SYMBOLS

__all__ = [
    "accuracy",
    "beside_grid",
    "checkpoints",
    "figure_2",
    "figure_3",
    "running_moments",
]

_STATISTICS = ("mean", "variance")
_HELD = (0.5, 0.95)
_MOST_SAMPLES = 5000
_MARGIN = 0.05
_FIRST, _MOST_CHECKPOINTS = 1000, 20


def figure_2(experiment: Experiment) -> FigureResult:
    """Samples without and with privacy, and of Seita et al."""
    sizes, grid = experiment.sizes, experiment.grid
    chains = {
        "exact": (experiment.exact, "(a) all records"),
        "Seita": (experiment.seita, "Seita et al.: batches, C = 1"),
        "private": (experiment.private, "(b) the paper's test"),
    }
    numbers: Numbers = {}
    figure, (row,) = panels(1, len(chains), (4.4, 4.9), shared=True)
    for axes, colour, (name, (chain, title)) in zip(
        row, COLOURS, chains.items(), strict=False
    ):
        samples = {f"{name} {key}": _thinned(chain.draws[key]) for key in SYMBOLS}
        numbers |= samples
        x, y = samples.values()
        axes.scatter(x, y, s=4, color=colour, alpha=0.3, linewidths=0)
        axes.contour(
            grid.mean,
            grid.gap,
            grid.weights.T,
            levels=grid.levels(_HELD),
            colors="black",
            linewidths=1,
        )
        is_private = chain.statement.is_private
        axes.text(
            0.5,
            1.02,
            chain.statement.label,
            transform=axes.transAxes,
            ha="center",
            color="black" if is_private else ALARM,
            weight="normal" if is_private else "bold",
        )
        label_axes(
            axes,
            "θ₁ (first centre)",
            "θ₂ (gap between centres)",
            f"{title}: {len(x):,} samples\n",
        )
        axes.label_outer()
    row[0].set(xlim=_limits("mean", numbers, grid), ylim=_limits("gap", numbers, grid))
    caption = "Contours hold 50% and 95% of the tempered posterior, summed on a grid."
    figure.supxlabel(caption, fontsize=9)
    statement = experiment.private.statement
    cost = Noted(
        f"ε of the private chain, {sizes.steps:,} steps, δ = {statement.delta:g}",
        f"certified {round_up(statement.epsilon)}",
        f"paper's accountant {sizes.epsilons(sizes.steps)[0]:.5g}",
    )
    compared = [
        each
        for chain, title in chains.values()
        for each in beside_grid(chain, title, experiment)
    ]
    return FigureResult(figure, numbers, [cost, *compared])


def figure_3(experiment: Experiment) -> FigureResult:
    """Accuracy of means and variances against ε: the paper's and the certified."""
    sizes, numbers = experiment.sizes, accuracy(experiment)
    figure, (row,) = panels(1, len(_STATISTICS), (5.2, 5.2))
    figure.suptitle(
        f"NOT PRIVATE: {sizes.runs} seeded runs on simulated records; ε is the cost of "
        f"one private run (δ = {sizes.delta:g})",
        color=ALARM,
        weight="bold",
        fontsize=10,
    )
    for axes, statistic, letter in zip(row, _STATISTICS, "ab", strict=True):
        for (name, symbol), colour in zip(SYMBOLS.items(), COLOURS, strict=False):
            for against, what, style in (
                ("chain", "a non-private chain", "o-"),
                ("grid", "the grid posterior", "--"),
            ):
                heading = f"{statistic} of {name}, against {against}"
                axes.errorbar(
                    numbers["epsilon_paper"],
                    numbers[heading],
                    numbers[f"{heading}, standard error"],
                    color=colour,
                    fmt=style,
                    markersize=4,
                    linewidth=1.2,
                    capsize=3,
                    label=f"{symbol} against {what}",
                )
        across = f"({letter}) ε by the paper's accountant"
        label_axes(axes, across, f"mean absolute error of the posterior {statistic}")
        axes.set_ylim(bottom=0)
        _add_certified_axis(axes, numbers)
    row[1].legend(fontsize=9, loc="upper right")
    noted = [
        Noted(
            f"error of the posterior {statistic} of {symbol}, "
            f"{numbers['steps'][at]:,.0f} steps (ε: paper "
            f"{numbers['epsilon_paper'][at]:.2g}, certified "
            f"{round_up(numbers['epsilon_certified'][at], 2)})",
            f"{numbers[heading][at]:.3f} ± "
            f"{numbers[f'{heading}, standard error'][at]:.3f}",
            f"against the grid {numbers[heading.replace('chain', 'grid')][at]:.3f}",
        )
        for statistic in _STATISTICS
        for name, symbol in SYMBOLS.items()
        for heading in [f"{statistic} of {name}, against chain"]
        for at in (0, -1)
    ]
    title = f"{sizes.runs} seeded runs together"
    return FigureResult(
        figure, numbers, noted + beside_grid(experiment.runs, title, experiment)
    )


def accuracy(experiment: Experiment) -> Numbers:
    """Errors of means and variances after each number of steps, over all runs.

    Returns
    -------
    dict
        Columns steps, both ε of one private chain of that length, and for each
        statistic and parameter the mean absolute error with its standard error,
        against the first steps of the chain without privacy and against the grid.
    """
    sizes = experiment.sizes
    counts = checkpoints(sizes)
    bar = experiment.bar(counts, "Accounting", "costs")
    costs = [sizes.epsilons(count) for count in bar]
    numbers: Numbers = {
        "steps": [float(count) for count in counts],
        "epsilon_paper": [paper for paper, _ in costs],
        "epsilon_certified": [certified for _, certified in costs],
    }
    first = min(sizes.baseline_steps, sizes.steps)
    for name, (centre, sd) in experiment.grid.moments().items():
        found = running_moments(whole_chain(experiment.runs, name), counts)
        chain = running_moments(whole_chain(experiment.exact, name), [first])
        grid = {"mean": centre, "variance": sd**2}
        for statistic in _STATISTICS:
            truths = {"chain": chain[statistic].item(), "grid": grid[statistic]}
            for against, truth in truths.items():
                errors = np.abs(found[statistic] - truth)
                heading = f"{statistic} of {name}, against {against}"
                spread = errors.std(axis=0, ddof=1) / len(errors) ** 0.5
                numbers[heading] = errors.mean(axis=0).tolist()
                numbers[f"{heading}, standard error"] = spread.tolist()
    return numbers


def checkpoints(sizes: Sizes) -> list[int]:
    """Numbers of steps to look at: evenly from 1000 to the last."""
    first = min(_FIRST, sizes.steps)
    count = min(_MOST_CHECKPOINTS, max(2, 2 * sizes.steps // _FIRST - 1))
    return np.unique(np.linspace(first, sizes.steps, count).astype(int)).tolist()


def running_moments(chains: np.ndarray, counts: Sequence[int]) -> dict[str, np.ndarray]:
    """Mean and variance of the first steps of each chain, of shape (chains, counts)."""
    index = np.asarray(counts) - 1
    means = np.cumsum(chains, axis=1)[:, index] / counts
    squares = np.cumsum(chains**2, axis=1)[:, index] / counts
    return {"mean": means, "variance": squares - means**2}


def beside_grid(chain: Posterior, title: str, experiment: Experiment) -> list[Noted]:
    """Mean and sd of each parameter after warm-up, beside those of the grid."""
    summary, moments = chain.summary(), experiment.grid.moments()
    noted = []
    for name, symbol in SYMBOLS.items():
        mean, sd, ess = summary.loc[name, ["mean", "sd", "ess_bulk"]]
        true_mean, true_sd = moments[name]
        noted.append(
            Noted(
                f"{symbol}, {title}, {chain.statement.label}",
                f"mean {mean:.3f} ± {sd / ess**0.5:.3f}, sd {sd:.3f} (ess {ess:.0f})",
                f"grid: mean {true_mean:.3f}, sd {true_sd:.3f}",
            )
        )
    return noted


def _thinned(draws: np.ndarray) -> list[float]:
    """At most 5000 draws, evenly spaced."""
    kept = np.linspace(0, draws.size - 1, min(_MOST_SAMPLES, draws.size))
    values: list[float] = draws.ravel()[kept.astype(int)].tolist()
    return values


def _limits(name: str, numbers: Numbers, grid: Any) -> tuple[float, float]:
    """A range that shows all samples and nearly all of the posterior."""
    shown = [values for key, values in numbers.items() if key.endswith(name)]
    ends = np.concatenate([grid.reach(name), *shown])
    return ends.min() - _MARGIN, ends.max() + _MARGIN


def _add_certified_axis(axes: Any, numbers: Numbers) -> None:
    """Write the certified ε and the steps above the paper's ε."""
    upper = axes.secondary_xaxis("top")
    places = np.unique(np.linspace(0, len(numbers["steps"]) - 1, 5).astype(int))
    upper.set_xticks(
        [numbers["epsilon_paper"][place] for place in places],
        [
            f"{round_up(numbers['epsilon_certified'][place], 2)}\n"
            f"({numbers['steps'][place]:,.0f})"
            for place in places
        ],
        fontsize=8,
    )
    upper.set_xlabel("certified ε (steps)", fontsize=9)
