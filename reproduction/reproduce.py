# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Make the paper's figures: pictures, the numbers in them, and a summary."""

import argparse
import csv
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from dpmcmc import InputError
from reproduction.agreement import figure_agreement
from reproduction.chain_figures import figure_2, figure_3
from reproduction.clipping_figure import figure_1c
from reproduction.correction_figures import figure_4, figure_5, figure_6
from reproduction.cost_figures import figure_1a, figure_1b
from reproduction.drawing import FigureResult, Numbers
from reproduction.paper_chains import FULL, QUICK, START, Experiment, Sizes

__all__ = ["FIGURES", "chosen_figures", "main", "reproduce"]

FIGURES: dict[str, tuple[str, Callable[[Experiment], FigureResult]]] = {
    "1a": ("privacy against the fraction of records in a batch", figure_1a),
    "1b": ("privacy against steps", figure_1b),
    "1c": ("clipped ratios against the proposal variance", figure_1c),
    "2": ("samples without and with privacy", figure_2),
    "3": ("accuracy of posterior means and variances against ε", figure_3),
    "4": ("error of corrections against C", figure_4),
    "5": ("log-densities of corrections", figure_5),
    "6": ("cdfs with corrections, and their differences", figure_6),
    "agreement": ("whether all tests draw from one posterior", figure_agreement),
}
"""Each figure by its number: what it shows, and what draws it. The last is ours."""

_CHAINS = ("1c", "2", "3")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__)
    parser.add_argument(
        "figures",
        nargs="*",
        default=["all"],
        metavar="FIGURE",
        help=f"{', '.join(FIGURES)}, or all (the default)",
    )
    parser.add_argument(
        "--full", action="store_true", help="the paper's sizes: about half an hour"
    )
    parser.add_argument("--out", type=Path, default=Path("build/reproduction"))
    chosen = parser.parse_args(arguments)
    try:
        sizes = FULL if chosen.full else QUICK
        print(reproduce(chosen.figures, chosen.out, Experiment(sizes)))
    except InputError as problem:
        print(problem, file=sys.stderr)
        return 2
    print(f"Everything is in {chosen.out}/, this summary in summary.md.")
    return 0


def reproduce(figures: Sequence[str], folder: Path, experiment: Experiment) -> str:
    """Draw figures of the paper into a folder, with their numbers and a summary.

    Parameters
    ----------
    figures
        Their names as in the paper, such as ``2a`` or ``3``; or ``all``.
    folder
        Where to write ``figure_….png``, ``figure_….csv`` and ``summary.md``; it is
        made if it is not there.
    experiment
        What they are figures of.

    Returns
    -------
    str
        The summary, as Markdown.
    """
    names = chosen_figures(figures)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(
            f"the folder {folder} cannot be made: {problem.strerror}. Name another."
        ) from None
    drawn: dict[str, FigureResult] = {}
    for name in experiment.bar(names, "Figures", "figures"):
        drawn[name] = FIGURES[name][1](experiment)
        drawn[name].picture.savefig(folder / f"figure_{name}.png", dpi=150)
        _write_csv(folder / f"figure_{name}.csv", drawn[name].numbers)
    summary = _summary(drawn, experiment)
    (folder / "summary.md").write_text(summary, encoding="utf-8")
    return summary


def chosen_figures(wanted: Sequence[str]) -> list[str]:
    """Return the figures meant, in order: ``1`` means three, ``2a`` is part of 2."""
    chosen = set()
    for word in wanted:
        found = [name for name in FIGURES if word in _names(name)]
        if not found:
            raise InputError(
                f"there is no figure {word!r}; the figures are {', '.join(FIGURES)} "
                "(2a and 2b are parts of 2, and so on), or all of them: all."
            )
        chosen.update(found)
    return [name for name in FIGURES if name in chosen]


def _names(figure: str) -> set[str]:
    """What a figure answers to: itself, its number, and its parts."""
    parts = {f"{figure}a", f"{figure}b"} if figure.isdigit() else set()
    number = {figure[0]} if figure[0].isdigit() else set()
    return {"all", figure, *number, *parts}


def _write_csv(path: Path, numbers: Numbers) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(numbers)
        writer.writerows(zip(*numbers.values(), strict=True))


def _summary(drawn: dict[str, FigureResult], experiment: Experiment) -> str:
    lines = ["# Figures of the paper", ""]
    if any(name in drawn for name in _CHAINS):
        lines += [*_sizes_lines(experiment.sizes), ""]
    table = [("figure", "quantity", "here", "beside")]
    for name, figure in drawn.items():
        table += [
            (name, each.quantity, each.value, each.beside) for each in figure.noted
        ]
    lines += [*_table(table), "", "± is one standard error. Files:", ""]
    lines += [
        f"- figure_{name}.png, figure_{name}.csv: {FIGURES[name][0]}" for name in drawn
    ]
    if "2" in drawn:
        lines += ["", "## Privacy statement of the private chain of figure 2", ""]
        for line in experiment.private.statement.lines:
            lines += textwrap.wrap(f"- {line}", width=88, subsequent_indent="  ")
    return "\n".join([*lines, ""])


def _sizes_lines(sizes: Sizes) -> list[str]:
    paper = "" if sizes.steps == FULL.steps else f" (the paper: {FULL.steps:,})"
    start = ", ".join(f"{value:g}" for value in START.values())
    text = (
        f"Chains: N = {sizes.records:,} simulated records, b = {sizes.batch:,}, "
        f"N₀ = {sizes.tempered:g}, proposal variance {sizes.proposal_variance:g}, "
        f"{sizes.steps:,} steps{paper}. All chains start at θ = ({start}), "
        "the mean of the prior. The first quarter of each chain is left out as "
        "warm-up, except in figure 3."
    )
    return textwrap.wrap(text, width=88)


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """A Markdown table whose columns are aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = tuple("-" * width for width in widths)
    return [
        "| " + " | ".join(map(str.ljust, row, widths)) + " |"
        for row in (rows[0], rule, *rows[1:])
    ]
