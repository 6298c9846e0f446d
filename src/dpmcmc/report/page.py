# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The report: one page of HTML about a posterior, for readers who are not programmers.

The words stand in ``templates``; here they get their numbers.
"""

import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from dpmcmc.files.writing import write_safely
from dpmcmc.model.schema import Schema
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.posterior.statement import Statement
from dpmcmc.posterior.summary import caution
from dpmcmc.report import pictures
from dpmcmc.report.budget import Budget
from dpmcmc.report.elements import (
    Html,
    bar,
    definitions,
    each,
    fill,
    paragraph,
    read,
    table,
)
from dpmcmc.report.explained import model_section, predictions_section
from dpmcmc.report.numbers import NONE, number
from dpmcmc.report.pictures import MOST_CHAINS, MOST_ROWS, Coordinate
from dpmcmc.report.promise import in_a_sentence, promise

__all__ = ["write_report"]

Row = Mapping[str, float]
"""The summary of a coordinate, as `Posterior.summary` has it."""

_LOOKS = {
    "usable": "good",
    "usable with wide intervals": "care",
    "not usable": "alarm",
}
_FEW_DRAWS, _APART = 100, 1.05
"""Fewer effective draws, or a larger R-hat, make an estimate rough."""

_MODEL_LINK = Html('<li><a href="#model">The model</a></li>')
_PREDICTIONS_LINK = Html('<li><a href="#predictions">Predictions</a></li>')
_BUDGET_LINK = Html('<li><a href="#budget">The budget of the data set</a></li>')
_NOT_PRIVATE = Html('<strong class="alarm">NOT PRIVATE</strong>')
_AWARE = "All numbers count the noise of what was released before the chain."


def write_report(
    posterior: Posterior,
    path: str | Path,
    *,
    title: str = "",
    asked: Mapping[str, str] = {},
    schema: Schema | None = None,
    budget: Budget | None = None,
) -> Path:
    """Write a report of a posterior, for a reader who is not a programmer.

    The page is one file: it loads nothing and runs no script. The same arguments give
    the same bytes.

    Parameters
    ----------
    posterior
        The draws with their statement. If they are not private, the page says so at
        its top and in every picture, in red.
    path
        Where to write the page, such as ``report.html``. A file there is replaced.
    title
        The title of the page.
    asked
        What was asked, by name, in the order to show: the model, the data set, who
        asked.
    schema
        What is known of the columns, which are shown with what they are measured in.
    budget
        The budget of the data set, from its ledger.

    Returns
    -------
    Path
        Where the page is.

    Raises
    ------
    FileError
        If the page cannot be written there. A file that was there before stays.
    """
    target = Path(path)
    asked_of = _Asked(title or "Report on a posterior", asked, schema or Schema())
    page = _page(posterior, asked_of, budget)
    # Half a surrogate pair, which no file can hold, becomes a question mark.
    write_safely(target, page.encode("utf-8", "replace"))
    return target


class _Asked(NamedTuple):
    """What was asked: the title, facts by name, and what is known of the columns."""

    title: str
    facts: Mapping[str, str]
    schema: Schema


def _page(posterior: Posterior, asked: _Asked, budget: Budget | None) -> Html:
    statement, summary = posterior.statement, posterior.summary()
    found = list(
        zip(pictures.coordinates_of(posterior), summary.to_dict("records"), strict=True)
    )
    warning = caution(posterior.chain_draws, posterior.accepted)
    chains, draws = posterior.accepted.shape
    model, predictions = model_section(posterior), predictions_section(posterior)
    settings = {**posterior.settings, "version": f"dpmcmc {statement.version}"}
    return fill(
        read("page.html"),
        style=read("style.css"),
        title=asked.title,
        alarm="" if statement.is_private else "NOT PRIVATE: ",
        privacy="private" if statement.is_private else "open",
        label=statement.label,
        verdict=_verdict(statement, warning or ""),
        sentence=in_a_sentence(statement),
        asked=definitions(asked.facts.items()),
        columns="" if model else _columns(asked.schema),  # a formula's section has them
        promise=promise(statement),
        model_link=_MODEL_LINK if model else "",
        model=model,
        predictions_link=_PREDICTIONS_LINK if predictions else "",
        predictions=predictions,
        tempered=paragraph(_tempered(statement), "care"),
        estimates=_estimates(found),
        chains=str(chains),
        draws=f"{draws:,}",
        accepted=f"{posterior.accepted.mean():.0%}",
        compared="the chains" if chains > 1 else "the two halves of the chain",
        aware=_AWARE if posterior.is_noise_aware else "",
        shown=_shown(len(found), chains),
        figures=Html(
            "".join(_figure(*one, statement.is_private) for one in found[:MOST_ROWS])
        ),
        cost=_cost(statement),
        stages=_stages(statement),
        budget_link="" if budget is None else _BUDGET_LINK,
        budget="" if budget is None else _budget(budget),
        settings=definitions(settings.items()),
        statement=Html("".join(map(paragraph, statement.lines))),
        version=version("dpmcmc"),
    )


def _columns(schema: Schema) -> Html:
    """What the columns are, and what they are measured in."""
    rows = [
        (
            name,
            "days" if one.origin is not None else one.measured_in or NONE,
            one.describe(),
        )
        for name, one in schema.columns.items()
    ]
    head = ["Column", "Measured in", "What is known of it"]
    return table("Columns of the table", head, rows, "texts") if rows else Html()


def _verdict(statement: Statement, caution: str) -> Html:
    """One verdict: what the evidence says, and what the chains say of themselves."""
    verdict = statement.verdict
    if verdict is None:
        return paragraph(caution, "care")
    words = f"{verdict} {caution}".strip()
    look = _LOOKS[verdict.usability]
    return paragraph(words, f"verdict {'care' if caution and look == 'good' else look}")


def _tempered(statement: Statement) -> str:
    if not statement.is_tempered:
        return ""
    return (
        f"Tempered: the {statement.counted} count for only "
        f"{statement.tempered:,.6g}, so that all intervals are wider than they need be."
    )


def _estimates(found: Sequence[tuple[Coordinate, Row]]) -> Html:
    rows = [
        (
            one.title,
            _value(one, row["mean"], row),
            number(row["sd"], row["sd"] / 10),
            _interval(one, row),
            _marked(row["ess_bulk"], 100, row["ess_bulk"] >= _FEW_DRAWS),
            _marked(row["r_hat"], 0.01, row["r_hat"] <= _APART),
        )
        for one, row in found
    ]
    head = ["Parameter", "Mean", "Sd", "94% interval", "Effective draws", "R‑hat"]
    return table(f"All parameters ({len(found)})", head, rows, "numbers")


def _shown(parameters: int, chains: int) -> str:
    words = []
    if chains > MOST_CHAINS:
        words.append(f"Of {chains} chains, the first {MOST_CHAINS} have a line.")
    if parameters > MOST_ROWS:
        words.append(f"Of {parameters} parameters, the first {MOST_ROWS} are shown.")
    return " ".join(words)


def _figure(one: Coordinate, row: Row, is_private: bool) -> Html:
    words = pictures.remark(one.draws)
    if math.isfinite(row["mean"]):
        mean = _value(one, row["mean"], row)
        words = f"Mean {mean}; 94% of the draws from {_interval(one, row)}. {words}"
    return fill(
        "<figure><figcaption>$alarm <b>$title</b> $words</figcaption>\n"
        '<div class="pair"><img src="$density" alt="$start density of $title. $words">'
        '\n<img src="$trace" alt="$start trace of $title, from its first to its last '
        'draw. $moves"></div></figure>\n',
        alarm="" if is_private else _NOT_PRIVATE,
        start="The" if is_private else "NOT PRIVATE: the",
        title=one.title,
        words=words,
        moves=pictures.remark(one.chain),
        density=pictures.density(one, row, is_private),
        trace=pictures.trace(one, is_private),
    )


def _cost(statement: Statement) -> str:
    if not statement.is_private:
        return "Nothing protects what they released: this run is NOT PRIVATE."
    return f"Together they are {statement.label}; the bars are fractions of the cost."


def _stages(statement: Statement) -> Html:
    rows = []
    for stage in statement.stages:
        words = "read no record, and cost nothing"
        if stage.fraction > 0:
            words = f"{_percent(stage.fraction)} of the cost"
        cost = [bar([("spent", stage.fraction)], words), fill(" $words", words=words)]
        shown = Html("".join(cost) * statement.is_private)
        rows.append((stage.name, stage.sentence, shown))
    return each("<li><b>$a:</b> $b<div>$c</div></li>", rows)


def _budget(budget: Budget) -> Html:
    parts = {"spent": budget.spent, "reserved": budget.reserved, "left": budget.left}
    words = {name: _percent(fraction) for name, fraction in parts.items()}
    rows = [
        (
            one.run + " (this report)" * (one.run == budget.this_run),
            one.analyst,
            one.purpose,
            one.when,
            _percent(one.fraction),
        )
        for one in budget.entries
    ]
    head = ["Run", "Analyst", "Purpose", "When", "Fraction of the budget"]
    return fill(
        read("budget.html"),
        dataset=budget.dataset,
        epsilon=f"{budget.epsilon:g}",
        delta=f"{budget.delta:g}",
        bar=bar(parts.items(), "{spent} spent, {reserved} reserved".format(**words)),
        entries=table("Runs on this data set", head, rows, "texts") if rows else "",
        **words,
    )


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.4g}%"


def _interval(one: Coordinate, row: Row) -> str:
    ends = [_value(one, row[name], row) for name in ("hdi_3%", "hdi_97%")]
    return NONE if NONE in ends else " to ".join(ends)


def _value(one: Coordinate, value: float, row: Row) -> str:
    return number(value, 100 if one.is_discrete and value % 1 == 0 else row["sd"])


def _marked(value: float, sd: float, is_good: bool) -> str:
    shown = number(value, sd)
    return shown if is_good else fill("<mark>$shown</mark>", shown=shown)
