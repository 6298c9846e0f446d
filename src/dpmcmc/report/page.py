# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The report: one page of HTML, complete in itself, for whoever reads the result."""

from collections.abc import Mapping, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from dpmcmc.errors import InputError
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.posterior.statement import Statement
from dpmcmc.report.coordinates import Coordinate, coordinates_of, shown_in_figures
from dpmcmc.report.costs import spent
from dpmcmc.report.diagnostics import trust, verdict
from dpmcmc.report.elements import Section, code, definitions, heading, paragraph
from dpmcmc.report.promise import guarantee, in_a_sentence
from dpmcmc.report.sections import answer, asked_for, pairs
from dpmcmc.report.spending import Budget, Part

__all__ = ["write_report"]

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""The page may load nothing, and run nothing, whatever it holds."""

_SETTINGS = {
    "choice": "How the run was chosen",
    "proposal": "How the chain moves",
    "start": "Where it starts",
    "warmup": "Steps of warm-up",
    "precision": "Precision",
}
_TOLD_AT_ONCE = 4

_WORDS = (
    ("Record", "One row of the data set: what is protected."),
    ("Posterior", "Which values of the parameters are credible, given the records."),
    ("Chain, step", "The draws are made one after another; each step moves, or stays."),
    ("Draw", "One value of all parameters, by chance, as the posterior has it."),
    ("Sd", "Standard deviation: how far draws typically lie from their mean."),
    ("ε (epsilon)", "How much one record can change: small is private."),
    ("δ (delta)", "The chance with which the promise of ε may fail."),
)


def write_report(
    posterior: Posterior,
    path: str | Path,
    *,
    title: str | None = None,
    asked: Mapping[str, str] | None = None,
    budget: Budget | None = None,
    parts: Sequence[Part] = (),
    rehearsal_text: str | None = None,
) -> Path:
    """Write a report of a posterior, for a reader who is not a programmer.

    The page needs no network and runs no script. The same arguments give the same
    bytes.

    Parameters
    ----------
    posterior
        The draws with their statement. If they are not private the page says so at
        its top and at every figure, in red.
    path
        Where to write the page, such as ``report.html``. A file there is replaced.
    title
        What the page is called.
    asked
        What was asked, by name, in the order to show: the model, the data set, the
        budget, who asked.
    budget
        The budget of the data set, as its ledger has it.
    parts
        What each thing that the run released costs by itself, as
        `dpmcmc.report.parts_of` says it.
    rehearsal_text
        What a rehearsal said.

    Returns
    -------
    Path
        Where the page is.

    Raises
    ------
    InputError
        If the folder does not exist, something other than a file is there, or the
        page cannot be written: a full disk, a folder that is not writable. A page
        that was there before is kept.
    """
    from dpmcmc.files.writing import write_safely  # noqa: PLC0415 - slow to import

    target = Path(path)
    folder = target.absolute().parent
    if not folder.is_dir():
        raise InputError(
            f"there is no folder {folder}. Make it, or write the report elsewhere."
        )
    if target.exists() and not target.is_file():
        # A new page takes the place of what was there, which must not be a device.
        raise InputError(
            f"{target} is there, and is not a file. Name a file, such as report.html."
        )
    page = _page(
        posterior,
        title or "Report on a posterior",
        asked or {},
        budget,
        parts,
        rehearsal_text,
    )
    # Half a surrogate pair, which no file can hold, becomes a question mark.
    whole = page.encode("utf-8", "replace")
    write_safely(target, whole)
    return target


def _page(
    posterior: Posterior,
    title: str,
    asked: Mapping[str, str],
    budget: Budget | None,
    parts: Sequence[Part],
    rehearsal_text: str | None,
) -> str:
    statement = posterior.statement
    found = coordinates_of(posterior)
    shown = shown_in_figures(found)
    every = (
        asked_for(posterior, asked),
        answer(posterior, found, shown),
        pairs(posterior, shown),
        trust(posterior, found, shown),
        guarantee(statement),
        spent(posterior, parts, budget),
        _done(posterior, rehearsal_text),
        _statement(statement),
        Section("words", "Words", [definitions(_WORDS)]),
    )
    sections = [one for one in every if one.body]
    contents = "".join(f"<li>{one.link}</li>" for one in sections)
    whole = "\n".join(one.html for one in sections)
    alarm = "" if statement.is_private else "NOT PRIVATE: "
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="generator" content="dpmcmc {version("dpmcmc")}">
<link rel="icon" href="data:,">
<title>{escape(alarm + title)}</title>
<style>
{_style()}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
{_label(statement)}
{_in_short(posterior, found)}
</header>
<nav aria-label="Contents"><ol>{contents}</ol></nav>
<main>
{whole}
</main>
<footer><p>Written by dpmcmc {version("dpmcmc")}. {escape(statement.label)}.</p>
</footer>
<script type="application/json" id="dpmcmc-statement">{_data(statement)}</script>
</body>
</html>
"""


def _style() -> str:
    return files("dpmcmc.report").joinpath("style.css").read_text(encoding="utf-8")


def _label(statement: Statement) -> str:
    kind = "label" if statement.is_private else "label alarm"
    return f'<p class="{kind}">{escape(statement.label)}</p>'


def _in_short(posterior: Posterior, found: Sequence[Coordinate]) -> str:
    """What someone reads who reads nothing else."""
    statement = posterior.statement
    told = [
        f"{one.title}: about {one.show(one.mean)}, 90% interval "
        f"{one.show(one.low_90)} to {one.show(one.high_90)}"
        for one in found[:_TOLD_AT_ONCE]
    ]
    more = len(found) - len(told)
    results = "; ".join(told) + (f"; and {more} more in the table." if more else ".")
    tempered = (
        " It is tempered: the records count for only "
        f"{statement.tempered:,.6g}, so that intervals are wider than they could be."
        if statement.is_tempered
        else ""
    )
    kind = "short" if statement.is_private else "short open"
    return (
        f'<div class="{kind}">'
        + paragraph(in_a_sentence(statement), "" if statement.is_private else "alarm")
        + paragraph(results + tempered)
        + paragraph(verdict(found), "care" if any(one.is_weak for one in found) else "")
        + "</div>"
    )


def _done(posterior: Posterior, rehearsal_text: str | None) -> Section:
    settings = dict(posterior.settings)
    jax = settings.pop("jax", None)
    versions = [
        (
            "The draws were made by",
            f"dpmcmc {posterior.statement.version}" + (f", JAX {jax}" if jax else ""),
        ),
        (
            "This page was written by",
            ", ".join(
                f"{name} {version(name.lower())}"
                for name in ("dpmcmc", "NumPy", "SciPy", "ArviZ", "Matplotlib")
            ),
        ),
    ]
    named = [
        (_SETTINGS.get(name, name), value)
        for name, value in settings.items()
        if value != rehearsal_text
    ]
    rehearsed = (
        []
        if rehearsal_text is None
        else [
            heading("Choice and rehearsal"),
            paragraph(
                "Ways to run are rehearsed on simulated records, never on real ones, "
                "which costs no privacy. This is what was said of them:"
            ),
            code(rehearsal_text),
        ]
    )
    return Section(
        "done",
        "How it was done",
        [
            heading("Settings"),
            definitions(named, "machine"),
            *rehearsed,
            heading("Versions"),
            definitions(versions),
        ],
    )


def _statement(statement: Statement) -> Section:
    lines = [
        paragraph(line, "alarm" if line.startswith("NOT PRIVATE") else "")
        for line in statement.text.splitlines()
    ]
    note = paragraph(
        "The same statement stands in this file for machines, as JSON, in the element "
        "named dpmcmc-statement.",
        "note",
    )
    return Section("statement", "The statement in full", [*lines, note])


def _data(statement: Statement) -> str:
    """The statement as JSON that cannot end the element it stands in."""
    return (
        statement.to_json()
        .replace("&", "\\u0026")
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
    )
