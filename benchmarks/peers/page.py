# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables and pictures of the runs, and the page of the documentation."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.peers.catalogue import EXPERIMENTS
from benchmarks.peers.experiments.base import Experiment, Run, ended
from benchmarks.peers.kept import (
    Kept,
    Standing,
    has_runs,
    kept_rows,
    line_of,
    standing_of_row,
)
from benchmarks.peers.prices import price_table
from benchmarks.peers.scores import floor_of_coverage_error

__all__ = ["tables", "write_page"]

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "peers.md"
NOT_PRIVATE = ("not private", "without privacy", "published price")
"""How names of methods end that are no private peers at the same price."""

SETS = 10
"""Fewer data sets than this have no coverage error to speak of."""

CHANCE = 1.5
"""Coverage errors up to this many times what is expected by chance show no fault."""

COVERED = 0.8
"""The least coverage of 95% intervals at which widths are compared."""


def tables(runs: list[Run], page: Mapping[str, Kept] | None = None) -> Iterator[str]:
    """Lines of Markdown: a table for each experiment that was run.

    Cells that were not run are those that the page has, if any are given by experiment.
    """
    for experiment in EXPERIMENTS.values():
        those = [run for run in runs if run["row"] == experiment.name]
        if those:
            yield f"### {experiment.number}. {experiment.title}"
            yield ""
            yield from rows(experiment, those, (page or {}).get(experiment.name, {}))
            yield ""


def rows(experiment: Experiment, runs: list[Run], kept: Kept) -> Iterator[str]:
    """Lines of one table: a row for each method and ε."""
    extras = experiment.extras
    heads = ["method", "ε", experiment.score, "published", "goal", *extras.values()]
    heads += ["runs", "refused", "seconds"]
    yield f"| {' | '.join(heads)} |"
    yield "|" + " --- |" * len(heads)
    others = [name for name in experiment.published if name not in experiment.methods]
    for method in [*experiment.methods, *others]:
        name = method
        for epsilon in experiment.epsilons:
            said = experiment.published.get(method, {}).get(epsilon, "")
            cell = [r for r in runs if (r["method"], r["epsilon"]) == (method, epsilon)]
            row = kept.get((method, f"{epsilon:g}"))
            if not cell and row is not None:
                yield line_of(name, row)
                name = ""
                continue
            if not cell and not said:
                continue
            goal = experiment.goal.get(epsilon) if method.startswith("dpmcmc") else None
            shown = ["" if goal is None else f"≤ {goal:g}"]
            yield (
                f"| {name} | {epsilon:g} | {_score(experiment, cell)} | {said} | "
                + " | ".join([*shown, *_rest(experiment, cell)])
                + " |"
            )
            name = ""


def _score(experiment: Experiment, cell: list[Run]) -> str:
    good = _good(cell)
    if not good:
        return "–" if cell else ""
    if 0 < len(ended(good, "frequencies")) < SETS:
        return "too few data sets"
    mean, spread = experiment.summary(good)
    by_chance = f"; by chance {_number(_floor(good))}" if _floor(good) else ""
    spread = 0.0 if spread < 1e-9 * mean else spread  # rounding
    return f"{_number(mean)} ± {_number(spread)}{by_chance}"


def _floor(good: list[Run]) -> float:
    """What a coverage error × 10³ of so many runs is by chance; 0 for other scores."""
    sets = len(ended(good, "frequencies"))
    return 1e3 * floor_of_coverage_error(sets) if sets else 0.0


def _rest(experiment: Experiment, cell: list[Run]) -> list[str]:
    if not cell:
        return [""] * (len(experiment.extras) + 3)
    good = _good(cell)
    medians = [
        _number(float(np.median(ended(good, name)))) if ended(good, name) else "–"
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
    """Put tables, prices and pictures between their marks on the page.

    What the page has of cells that were not run stays there.
    """
    sections = {
        part.partition("\n")[0]: f"### {part}".strip()
        for part in _read("experiments").split("### ")[1:]
    }
    page = {
        experiment.name: kept_rows(sections.get(_title(experiment), ""))
        for experiment in EXPERIMENTS.values()
    }
    found = _read("findings").splitlines()
    lines = list(short(runs, page))
    parts, findings = [], lines[:2]
    for experiment in EXPERIMENTS.values():
        those = [run for run in runs if run["row"] == experiment.name]
        for epsilon in experiment.epsilons:
            start = f"| {experiment.number}. {experiment.name}: {experiment.score} | "
            start += f"{epsilon:g} | "
            new = [line for line in lines if line.startswith(start)]
            findings += new or [line for line in found if line.startswith(start)]
        if those:
            picture = f"peers-{experiment.name}.png"
            path = DOCS / "_static" / picture
            draw(experiment, those, path, page[experiment.name])
            table = "\n".join(tables(those, page))
            parts += [table, f"![{experiment.title}](_static/{picture})", ""]
        elif _title(experiment) in sections:
            parts += [sections[_title(experiment)], ""]
    _write("experiments", "\n".join(parts))
    _write("prices", "\n".join([*price_table(), ""]))
    _write("findings", "\n".join([*findings, ""]))


def _title(experiment: Experiment) -> str:
    return f"{experiment.number}. {experiment.title}"


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name} -->\n", f"<!-- end of {name} -->"


def _read(name: str) -> str:
    first, last = _marks(name)
    return PAGE.read_text("utf-8").partition(first)[2].partition(last)[0]


def _write(name: str, text: str) -> None:
    page = PAGE.read_text("utf-8")
    first, last = _marks(name)
    before, _, rest = page.partition(first)
    _, _, after = rest.partition(last)
    PAGE.write_text(f"{before}{first}\n{text}\n{last}{after}", "utf-8")


def short(runs: list[Run], page: Mapping[str, Kept] | None = None) -> Iterator[str]:
    """Lines of the table of all experiments: the best here, and the best of others.

    Of cells that were not run, what the page says counts, if it is given.
    """
    heads = ["experiment", "ε", "one call", "best of dpmcmc", "best private peer"]
    yield f"| {' | '.join([*heads, 'published'])} |"
    yield "| --- |" + " --- |" * len(heads)
    for experiment in EXPERIMENTS.values():
        kept = (page or {}).get(experiment.name, {})
        for epsilon in experiment.epsilons:
            about = {"row": experiment.name, "epsilon": epsilon}
            those = [run for run in runs if about.items() <= run.items()]
            if not those:
                continue
            cells = {}
            for method in experiment.methods:
                row = kept.get((method, f"{epsilon:g}"))
                if cell := [run for run in those if run["method"] == method]:
                    cells[method] = _standing(experiment, cell)
                elif row is not None and has_runs(row):
                    cells[method] = standing_of_row(row, list(experiment.extras))
            ours = [name for name in cells if name.startswith("dpmcmc")]
            peers = [n for n in cells if n not in ours and not n.endswith(NOT_PRIVATE)]
            said = [
                f"{values[epsilon]} ({name})"
                for name, values in experiment.published.items()
                if epsilon in values and not name.endswith(NOT_PRIVATE)
            ]
            first = cells.get(next(iter(experiment.methods)))
            yield (
                f"| {experiment.number}. {experiment.name}: {experiment.score} | "
                f"{epsilon:g} | {_one_call(first)} | {_best(cells, ours)} | "
                f"{_best(cells, peers)} | {'; '.join(said)} |"
            )


def _standing(experiment: Experiment, cell: list[Run]) -> Standing:
    good = _good(cell)
    covered, widths = ended(good, "covered"), ended(good, "width")
    is_few = 0 < len(ended(good, "frequencies")) < SETS
    score, spread = experiment.summary(good) if good and not is_few else (None, 0.0)
    return Standing(
        score,
        spread,
        _floor(good),
        float(np.mean(covered)) if covered else None,
        float(np.median(widths)) if widths else None,
        len(cell),
        len(good),
    )


def _one_call(cell: Standing | None) -> str:
    if cell is None:
        return ""
    lost = f"{cell.runs - cell.ended} of {cell.runs} refused"
    if not cell.ended:
        return lost
    score = "too few data sets" if cell.score is None else _number(cell.score)
    return score if cell.ended == cell.runs else f"{score}; {lost}"


def _best(cells: Mapping[str, Standing], names: list[str]) -> str:
    """The lowest score of methods of which at least half of the runs ended.

    Where coverage of 95% intervals is measured, it must be 80% or more. Of coverage
    errors that may be chance, that of the narrowest draws is taken.
    """
    scores, widths = {}, {}
    for name in names:
        cell = cells[name]
        if cell.score is None or 2 * cell.ended < cell.runs:
            continue
        if cell.covered is None or cell.covered >= COVERED:
            scores[name] = cell.score
            if cell.width is not None and cell.score < CHANCE * cell.chance:
                widths[name] = cell.width
    if not scores:
        return "–"
    ranked = widths or scores
    best = min(ranked, key=lambda name: ranked[name])
    width = cells[best].width
    wide = "" if width is None else f", width {_number(width)}"
    return f"{_number(scores[best])} ({best.removeprefix('dpmcmc, ')}{wide})"


def draw(
    experiment: Experiment, runs: list[Run], path: Path, kept: Kept | None = None
) -> None:
    """A picture: the score by ε, and beside it how wide draws are, if it is measured.

    Published figures are hollow. Of cells that were not run, scores are those of the
    page, if it is given, and widths their medians.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - tables need none

    has_widths = "width" in experiment.extras
    figure = Figure(figsize=(10 if has_widths else 7.5, 3.8), layout="constrained")
    panels = figure.subplots(1, 1 + has_widths, squeeze=False)[0]
    places = np.arange(len(experiment.epsilons))
    rows_of_page = {cell: row for cell, row in (kept or {}).items() if has_runs(row)}
    made = {run["method"] for run in runs} | {method for method, _ in rows_of_page}
    names = [name for name in experiment.methods if name in made]
    names += [name for name in experiment.published if name not in names]
    for index, method in enumerate(names):
        shift = 0.7 * ((index + 0.5) / len(names) - 0.5)
        about = {"color": f"C{index}", "ms": 5}
        hollow = {"mfc": "none", "mec": f"C{index}", "ms": 7}
        points, widths, is_published = [], [], method in experiment.published
        for place, epsilon in zip(places, experiment.epsilons, strict=True):
            cell = [r for r in runs if (r["method"], r["epsilon"]) == (method, epsilon)]
            row = rows_of_page.get((method, f"{epsilon:g}"))
            score, found = _shown(experiment, cell, row)
            points += [(place + shift, *score)] if score else []
            widths += [(place + shift, width) for width in found]
            for value in _values(experiment.published.get(method, {}).get(epsilon, "")):
                panels[0].plot(place + shift, value, "D", **hollow)
        if points:
            x, y, spread = np.array(points).T
            errors = np.minimum(spread, 0.9 * y), spread
            panels[0].errorbar(x, y, errors, fmt="o", capsize=2, label=method, **about)
        elif widths:
            panels[0].plot([], [], "o", label=method, **about)
        elif is_published:
            panels[0].plot([], [], "D", label=f"{method} (published)", **hollow)
        else:
            panels[0].plot([], [], "x", label=f"{method} (refused)", **about)
        if has_widths and widths:
            panels[1].plot(*np.array(widths).T, "o", alpha=0.4, **(about | {"ms": 3}))
    for axes in panels:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(_minor_label)
        axes.set_xticks(places, [f"ε = {epsilon:g}" for epsilon in experiment.epsilons])
        axes.set_xlim(-0.6, len(places) - 0.4)
        axes.grid(axis="y", alpha=0.3)
    panels[0].set_ylabel(experiment.score)
    if has_widths:
        panels[1].set_ylabel("posterior sd over that without privacy")
    figure.suptitle(experiment.title, fontsize=10)
    figure.legend(
        *panels[0].get_legend_handles_labels(), fontsize=7, loc="outside right center"
    )
    figure.savefig(path, dpi=110)


def _shown(
    experiment: Experiment, cell: list[Run], row: Sequence[str] | None
) -> tuple[tuple[float, float] | None, list[float]]:
    """The score of a cell and its spread, and widths of draws."""
    if cell:
        said, widths = _standing(experiment, cell), ended(_good(cell), "width")
    elif row is not None:
        said = standing_of_row(row, list(experiment.extras))
        widths = [] if said.width is None else [said.width]
    else:
        return None, []
    return None if said.score is None else (said.score, said.spread), widths


def _minor_label(value: float, _: int | None = None) -> str:
    """Labels between powers of ten: twos and fives alone."""
    return f"{value:g}" if f"{value:e}"[0] in "25" else ""


def _values(said: str) -> list[float]:
    """The numbers in a published figure."""
    words = said.replace(",", " ").replace("to", " ").split()
    return [float(word) for word in words]
