# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables and pictures of the runs, and the page of the documentation."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.peers.catalogue import EXPERIMENTS
from benchmarks.peers.experiments.base import Experiment, Run, ended

__all__ = ["tables", "write_page"]

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "peers.md"


def tables(runs: list[Run]) -> Iterator[str]:
    """Lines of Markdown: a table for each experiment that was run."""
    for experiment in EXPERIMENTS.values():
        those = [run for run in runs if run["row"] == experiment.name]
        if those:
            yield f"### {experiment.number}. {experiment.title}"
            yield ""
            yield from rows(experiment, those)
            yield ""


def rows(experiment: Experiment, runs: list[Run]) -> Iterator[str]:
    """Lines of one table: a row for each method and ε."""
    extras = experiment.extras
    heads = ["method", "ε", experiment.score, "published", "goal", *extras.values()]
    heads += ["runs", "refused", "seconds"]
    yield f"| {' | '.join(heads)} |"
    yield "|" + " --- |" * len(heads)
    others = [name for name in experiment.published if name not in experiment.methods]
    for method in [*experiment.methods, *others]:
        for place, epsilon in enumerate(experiment.epsilons):
            said = experiment.published.get(method, {}).get(epsilon, "")
            cell = [r for r in runs if (r["method"], r["epsilon"]) == (method, epsilon)]
            if not cell and not said:
                continue
            name = method if place == 0 else ""
            goal = experiment.goal.get(epsilon) if method.startswith("dpmcmc") else None
            shown = ["" if goal is None else f"≤ {goal:g}"]
            yield (
                f"| {name} | {epsilon:g} | {_score(experiment, cell)} | {said} | "
                + " | ".join([*shown, *_rest(experiment, cell)])
                + " |"
            )


def _score(experiment: Experiment, cell: list[Run]) -> str:
    good = _good(cell)
    if not good:
        return "–" if cell else ""
    mean, spread = experiment.summary(good)
    return f"{_number(mean)} ± {_number(spread)}"


def _rest(experiment: Experiment, cell: list[Run]) -> list[str]:
    if not cell:
        return [""] * (len(experiment.extras) + 3)
    good = _good(cell)
    medians = [
        _number(float(np.median(ended(good, name)))) if good else "–"
        for name in experiment.extras
    ]
    lost = len(cell) - len(good)
    seconds = ended(cell, "seconds")
    took = f"{np.median(seconds):.1f}" if seconds else "–"
    return [*medians, str(len(cell)), str(lost or ""), took]


def _good(cell: list[Run]) -> list[Run]:
    """Runs that ended with draws."""
    return [run for run in cell if "seconds" in run and run["said"] != "diverged"]


def _number(value: float) -> str:
    """Three digits, without an exponent unless the number is very small or large."""
    if value == 0 or 0.001 <= abs(value) < 10_000:
        return f"{float(f'{value:.3g}'):.10g}"
    return f"{value:.1e}"


def write_page(runs: list[Run]) -> None:
    """Put tables and pictures between their marks on the page."""
    parts = []
    for experiment in EXPERIMENTS.values():
        those = [run for run in runs if run["row"] == experiment.name]
        if not those:
            continue
        picture = f"peers-{experiment.name}.png"
        draw(experiment, those, DOCS / "_static" / picture)
        parts += [*tables(those), f"![{experiment.title}](_static/{picture})", ""]
    page = PAGE.read_text("utf-8")
    first, last = "<!-- experiments -->\n", "<!-- end of experiments -->"
    before, _, rest = page.partition(first)
    _, _, after = rest.partition(last)
    text = "\n".join(parts)
    PAGE.write_text(f"{before}{first}\n{text}\n{last}{after}", "utf-8")


def draw(experiment: Experiment, runs: list[Run], path: Path) -> None:
    """A picture: the score by ε, published figures as hollow marks."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - tables need none

    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(experiment.epsilons))
    names = list(experiment.methods)
    names += [name for name in experiment.published if name not in names]
    for index, method in enumerate(names):
        shift = 0.7 * ((index + 0.5) / len(names) - 0.5)
        colour = f"C{index}"
        points = []
        for place, epsilon in zip(places, experiment.epsilons, strict=True):
            cell = [r for r in runs if (r["method"], r["epsilon"]) == (method, epsilon)]
            if good := _good(cell):
                points.append((place + shift, *experiment.summary(good)))
            said = experiment.published.get(method, {}).get(epsilon, "")
            for value in _values(said):
                axes.plot(place + shift, value, "D", mfc="none", mec=colour, ms=7)
        if points:
            x, y, spread = np.array(points).T
            low = np.minimum(spread, 0.9 * y)
            axes.errorbar(
                x,
                y,
                (low, spread),
                fmt="o",
                color=colour,
                ms=5,
                capsize=2,
                label=method,
            )
        else:
            axes.plot([], [], "D", mfc="none", mec=colour, label=f"{method}, published")
    axes.set_yscale("log")
    axes.set_xticks(places, [f"ε = {epsilon:g}" for epsilon in experiment.epsilons])
    axes.set_xlim(-0.6, len(places) - 0.4)
    axes.set_ylabel(experiment.score)
    axes.set_title(experiment.title, fontsize=10)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=130)


def _values(said: str) -> list[float]:
    """The numbers in a published figure."""
    words = said.replace(",", " ").replace("to", " ").split()
    return [float(word) for word in words]
