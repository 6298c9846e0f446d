# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Make the paper's figures again: pictures, the numbers beneath them, and a summary."""

import csv
import textwrap
from collections.abc import Sequence
from pathlib import Path

from tqdm.auto import tqdm

from dpmcmc.errors import InputError
from dpmcmc.experiments.chain_figures import Drawn
from dpmcmc.experiments.correction_figures import Table
from dpmcmc.experiments.paper_chains import FIT, PAPER, QUICK, START, Settings, Study
from dpmcmc.experiments.paper_figures import FIGURES

__all__ = ["chosen_figures", "reproduce"]

_CHAINS = ("1c", "2", "3")


def reproduce(
    figures: Sequence[str],
    folder: str | Path,
    *,
    quick: bool = False,
    settings: Settings | None = None,
    progress: bool = True,
) -> str:
    """Draw figures of the paper into a folder, with their numbers and a summary.

    Parameters
    ----------
    figures
        Their names as in the paper, such as ``2a`` or ``3``; or ``all``.
    folder
        Where to write ``figure_….png``, ``figure_….csv`` and ``summary.md``; it is
        made if it is not there.
    quick
        Take minutes: shorter chains, fewer fits. The summary says which.
    settings
        Other settings than the paper's or the quick ones.
    progress
        Whether to show progress bars.

    Returns
    -------
    str
        The summary, as Markdown.
    """
    names = chosen_figures(figures)
    target = _made(folder)
    chosen = settings or (QUICK if quick else PAPER)
    study = Study(chosen, progress)
    drawn: dict[str, Drawn] = {}
    with tqdm(names, unit=" figures", disable=not progress) as bar:
        for name in bar:
            title, draw = FIGURES[name]
            bar.set_description(f"Figure {name}: {title}")
            drawn[name] = draw(study, target / f"figure_{name}.png")
            _write_csv(target / f"figure_{name}.csv", drawn[name].numbers)
    summary = _summary(drawn, study)
    (target / "summary.md").write_text(summary, encoding="utf-8")
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
    if not chosen:
        raise InputError(f"no figure was named; name some of {', '.join(FIGURES)}.")
    return [name for name in FIGURES if name in chosen]


def _names(figure: str) -> set[str]:
    """What a figure answers to: itself, its number, and its parts."""
    parts = {f"{figure}a", f"{figure}b"} if figure.isdigit() else set()
    return {"all", figure, figure[0], *parts}


def _made(folder: str | Path) -> Path:
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(
            f"the folder {folder} cannot be made: {problem.strerror}. Name another."
        ) from None
    return target


def _write_csv(path: Path, numbers: Table) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(numbers)
        writer.writerows(zip(*numbers.values(), strict=True))


def _summary(drawn: dict[str, Drawn], study: Study) -> str:
    lines = ["# Figures of the paper", ""]
    if any(name in drawn for name in _CHAINS):
        lines += [*_settings_lines(study.settings), ""]
    table = [("figure", "quantity", "here", "beside")]
    for name, figure in drawn.items():
        table += [(name, row.quantity, row.value, row.beside) for row in figure.rows]
    lines += [*_table(table), "", "± is one standard error. Files:", ""]
    lines += [
        f"- figure_{name}.png, figure_{name}.csv: {FIGURES[name][0]}" for name in drawn
    ]
    if "2" in drawn:
        lines += ["", "## Privacy statement of the private chain of figure 2", ""]
        for line in study.private.statement.text.splitlines():
            lines += textwrap.wrap(f"- {line}", width=88, subsequent_indent="  ")
    return "\n".join([*lines, ""])


def _settings_lines(settings: Settings) -> list[str]:
    as_in_paper = PAPER.steps == settings.steps
    steps = f"{settings.steps:,} steps" + (
        "" if as_in_paper else f" (the paper: {PAPER.steps:,})"
    )
    start = ", ".join(f"{value:g}" for value in START.values())
    text = (
        f"Chains: N = {settings.records:,} simulated records, b = {settings.batch:,}, "
        f"N₀ = {settings.tempered:g}, proposal variance "
        f"{settings.proposal_variance:g}, {steps}. Private chains start, as in the "
        "paper, where private variational inference with a budget of "
        f"({FIT.epsilon:g}, {FIT.delta:g}) led them, in addition to the ε of the "
        f"chain; the others at θ = ({start}), the mean of the prior. The first quarter "
        "of each chain is left out as warm-up, except in figure 3."
    )
    return textwrap.wrap(text, width=88)


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """A Markdown table whose columns are aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows]
    return [
        lines[0],
        "| " + " | ".join("-" * width for width in widths) + " |",
        *lines[1:],
    ]
