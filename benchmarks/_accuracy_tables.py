# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables in Markdown of runs on many regressions: errors, coverage, and verdicts."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from _regressions import REAL, RIGHT, WRONG

__all__ = ["tables"]

VERDICTS = {
    "usable": "usable",
    "usable with wide intervals": "wide",
    "not usable": "not",
    "refused": "refused",
}
"""What a run says of itself, and in the head of a column."""


def tables(runs: list[dict[str, Any]]) -> Iterator[str]:
    """Lines of Markdown: a table for each kind of regression, and of fixed bounds."""
    fixed = [run for run in runs if "bound" in run]
    free = [run for run in runs if "bound" not in run]
    for title, names in (
        ("Real tables", REAL),
        ("Wrong models", WRONG),
        ("Right models", RIGHT),
    ):
        those = [run for run in free if run["row"] in names]
        if those:
            yield from (f"### {title}", "", *rows(those, list(names)), "")
    if fixed:
        yield from ("### The best fixed bound", "", *beside_best(free, fixed), "")


def beside_best(
    runs: list[dict[str, Any]], fixed: list[dict[str, Any]]
) -> Iterator[str]:
    """Lines of a table: errors beside those with the best fixed bound."""
    yield "| regression | ε | error | best fixed bound | ratio | which | runs |"
    yield "|" + " --- |" * 7
    for row, epsilon in dict.fromkeys((run["row"], run["epsilon"]) for run in fixed):
        own, best = (
            [
                run
                for run in some
                if (run["row"], run["epsilon"]) == (row, epsilon) and "error" in run
            ]
            for some in (runs, fixed)
        )
        if not own or not best:
            continue
        errors = root_mean_square(own), root_mean_square(best)
        yield (
            f"| {row} | {epsilon:g} | {errors[0]:.2f} | {errors[1]:.2f} | "
            f"{errors[0] / errors[1]:.2f} | {best[0]['bound']:g} | "
            f"{len(own)}, {len(best)} |"
        )


def root_mean_square(runs: list[dict[str, Any]]) -> float:
    """The error over coordinates and runs."""
    return float(np.sqrt(np.mean([run["error"] ** 2 for run in runs])))


def rows(runs: list[dict[str, Any]], order: list[str]) -> Iterator[str]:
    """Lines of one table, with a row for each regression and ε."""
    yield (
        "| regression | ε | error | hindsight | largest | covered | width | > 3 sd | "
        f"{' | '.join(VERDICTS.values())} |"
    )
    yield "|" + " --- |" * (8 + len(VERDICTS))
    keys = sorted(
        {(run["row"], run["epsilon"]) for run in runs},
        key=lambda key: (order.index(key[0]), key[1]),
    )
    for row, epsilon in keys:
        those = [r for r in runs if (r["row"], r["epsilon"]) == (row, epsilon)]
        ended = [run for run in those if "error" in run]
        first, epsilons = those[0], [one for name, one in keys if name == row]
        about = [row, first["kind"], f"N = {first['records']:,}"]
        place = epsilons.index(epsilon)
        # A line of it in each row, and in the last what is left.
        parts = about[place:] if epsilon == epsilons[-1] else about[place : place + 1]
        cells = ["–"] * 6
        if ended:
            errors = [run["error"] for run in ended]
            cells = [
                f"{root_mean_square(ended):.2f}",
                f"{np.sqrt(np.mean([run['hindsight'] ** 2 for run in those])):.2f}",
                f"{max(errors):.2f}",
                f"{np.mean([run['covered'] for run in ended]):.2f}",
                f"{np.median([run['width'] for run in ended]):.2f}",
                f"{sum(run['own'] > 3 for run in ended)}",
            ]
        counts = [sum(run["verdict"] == word for run in those) for word in VERDICTS]
        cells += [str(count or "") for count in counts]
        yield f"| {', '.join(parts)} | {epsilon:g} | {' | '.join(cells)} |"
