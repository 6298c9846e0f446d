# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How a run spent its budget, and where the budget of its data set stands."""

from collections.abc import Sequence

from dpmcmc.posterior.posterior import Posterior
from dpmcmc.posterior.statement import Statement, round_up
from dpmcmc.report.elements import (
    Bar,
    Section,
    bar,
    definitions,
    heading,
    paragraph,
    table,
)
from dpmcmc.report.pictures import COLOURS
from dpmcmc.report.spending import Budget, Part

__all__ = ["spent"]

_SPENT, _RESERVED, _LEFT, _ALL = COLOURS[0], "#E69F00", "#e4e7ea", "#333333"


def spent(
    posterior: Posterior, parts: Sequence[Part], budget: Budget | None
) -> Section:
    """How this run spent its budget, and where the data set's budget stands."""
    statement = posterior.statement
    body = [*(_parts(posterior, parts) if statement.is_private else [_unpriced()])]
    if budget is not None:
        body += _ledger(budget)
    return Section("spent", "How the budget was spent", body)


def _parts(posterior: Posterior, parts: Sequence[Part]) -> list[str]:
    statement = posterior.statement
    bits = statement.chains * statement.steps
    warm_up = posterior.warmup_accepted.size
    released = (
        f"{bits:,} accept-or-reject bits, one at each step; {warm_up:,} of them "
        f"({warm_up / bits:.0%}) are warm-up, which costs what the others cost."
        if statement.asks_records
        else "Nothing more: the chain did not ask the records, and its steps are free."
    )
    told = [
        *(("Released first", _sentence(words)) for words in statement.released_first),
        ("Released", released),
        ("Proven by", _sentence(statement.accountant)),
    ]
    if not parts:
        parts = _only_part(statement)
    return [
        paragraph(
            f"The run cost ε = {round_up(statement.epsilon)} at δ = "
            f"{round_up(statement.delta)}, for everything together."
        ),
        *([_bars(statement, parts)] if parts else []),
        *(
            [
                paragraph(
                    "Each bar is what that part would cost by itself. Privacy costs "
                    "do not add up like money: together the parts never cost more "
                    "than the sum of their bars, and mostly less.",
                    "note",
                )
            ]
            if len(parts) > 1
            else []
        ),
        definitions(told),
    ]


def _only_part(statement: Statement) -> list[Part]:
    """Where a run released one thing only, that cost it all; else nothing is known."""
    if statement.asks_records and not statement.released_first:
        return [Part("accept-or-reject bits", statement.epsilon)]
    if not statement.asks_records and len(statement.released_first) == 1:
        return [Part("noisy sums", statement.epsilon)]
    return []


def _bars(statement: Statement, parts: Sequence[Part]) -> str:
    whole = max([statement.epsilon, *(part.epsilon for part in parts)])
    rows = [
        [part.name, f"ε = {round_up(part.epsilon)}", _one_bar(part, whole, _SPENT)]
        for part in parts
    ]
    together = Part("all together", statement.epsilon)
    if len(parts) > 1:
        shown = f"ε = {round_up(together.epsilon)}"
        rows.append([together.name, shown, _one_bar(together, whole, _ALL)])
    return table(
        "What each part costs",
        ["Part", "By itself", "In a picture"],
        rows,
        kind="bars",
    )


def _one_bar(part: Part, whole: float, colour: str) -> Bar:
    share = part.epsilon / whole if whole > 0 else 0.0
    return bar([(share, colour)], f"{part.name}: ε = {round_up(part.epsilon)}")


def _ledger(budget: Budget) -> list[str]:
    shares = [
        ("spent", budget.spent, _SPENT),
        ("reserved by open runs", budget.reserved, _RESERVED),
        ("left", budget.left, _LEFT),
    ]
    words = ", ".join(f"{share:.1%} {name}" for name, share, _ in shares)
    key = "".join(
        f'<li><svg viewBox="0 0 9 9" aria-hidden="true"><rect width="9" height="9" '
        f'fill="{colour}"/></svg>{share:.1%} {name}</li>'
        for name, share, colour in shares
    )
    picture = bar([(share, colour) for _, share, colour in shares], words)
    return [
        heading("The budget of the data set"),
        paragraph(
            f"All that was ever released from “{budget.name}” by its ledger is to "
            f"keep within ε = {budget.epsilon:g} at δ = {budget.delta:g}. When this "
            "report was written it stood so:"
        ),
        f'<div class="whole">{picture}<ul class="key">{key}</ul></div>',
        *([_entries(budget)] if budget.entries else []),
    ]


def _entries(budget: Budget) -> str:
    return table(
        "Runs on this data set",
        ["Run", "Who", "What for", "Share", "ε by itself", "State"],
        [
            [
                one.run + (" (this report)" if one.run == budget.this_run else ""),
                one.analyst,
                one.purpose,
                "–" if one.share is None else f"{one.share:.1%}",
                "–" if one.epsilon is None else round_up(one.epsilon),
                one.state,
            ]
            for one in budget.entries
        ],
        ["this" if one.run == budget.this_run else "" for one in budget.entries],
        "texts",
    )


def _unpriced() -> str:
    return paragraph("This run had no budget: it is NOT PRIVATE.", "alarm")


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
