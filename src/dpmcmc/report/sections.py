# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What was asked, and what the answer is."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from dpmcmc.posterior.posterior import Posterior
from dpmcmc.posterior.statement import Statement, round_up
from dpmcmc.report.charts import chart_density, chart_pair
from dpmcmc.report.coordinates import Coordinate, number
from dpmcmc.report.elements import (
    Section,
    bullets,
    card,
    cards,
    definitions,
    heading,
    paragraph,
    several,
    table,
)

__all__ = ["answer", "asked_for", "explained", "pairs"]

_MOST_PAIRS = 6


def asked_for(posterior: Posterior, asked: Mapping[str, str]) -> Section:
    """What was asked, as it was told to the report, and the public facts of the run."""
    statement = posterior.statement
    told = [(name[:1].upper() + name[1:], value) for name, value in asked.items()]
    facts = [
        ("Records", f"{statement.records:,} (public)"),
        ("Privacy", _cost(statement)),
        ("Parameters", several(list(posterior.draws))),
        ("Run", _run(posterior)),
    ]
    names = {name.casefold() for name in asked}
    facts = [fact for fact in facts if fact[0].casefold() not in names]
    known = explained(posterior)
    return Section(
        "asked",
        "What was asked",
        [
            definitions([*told, *facts]),
            *([heading("What to know of this run"), bullets(known)] if known else []),
        ],
    )


def explained(posterior: Posterior) -> list[tuple[str, str]]:
    """One sentence for each thing that makes the run other than a textbook's."""
    statement = posterior.statement
    found = []
    if statement.is_tempered:
        found.append(
            (
                "Tempered.",
                "The likelihood was made to count for "
                f"{statement.tempered:,.6g} records instead of {statement.records:,}, "
                "so that every interval in this report is wider than that of all "
                "records.",
            )
        )
    if "batch" in statement.decided:
        found.append(
            (
                "Decided on batches.",
                "Each step looked at a small, secret batch of records, drawn afresh, "
                "instead of all of them.",
            )
        )
    if "clipped" in statement.decided and (
        statement.clip is not None or statement.is_private
    ):
        found.append(("Clipped.", _clipped(statement)))
    if any("control variates" in words for words in statement.released_first):
        found.append(
            (
                "Control variates.",
                "The bulk of what the records say was released once, with noise, as "
                "the slope and the curvature of the log-likelihood, and each step then "
                "asked only for what that missed.",
            )
        )
    if any("sufficient statistics" in words for words in statement.released_first):
        found.append(
            (
                "Sufficient statistics.",
                "Sums over the records that the model lives on were released once, "
                "with noise"
                + (
                    ", and each step then asked only for what they missed."
                    if statement.asks_records
                    else "; they say all that it can learn, so that the chain ran on "
                    "them alone and its steps cost nothing."
                ),
            )
        )
    if posterior.noise_aware is not None:
        found.append(("Noise-aware draws.", _aware(statement)))
    if statement.prepared:
        found.append(
            (
                "Prepared.",
                "Before the model read it, each record was changed by public bounds "
                f"alone: {'; '.join(statement.prepared)}.",
            )
        )
    return found


def _aware(statement: Statement) -> str:
    how = (
        "To each draw of the chain is added a draw of how far the noise of what was "
        "released first may have moved the posterior, so that"
        if statement.asks_records
        else "They are draws of the posterior given sums that are known to be noisy: so"
    )
    return (
        f"{how} the intervals count that noise too; means and intervals are of these."
    )


def _clipped(statement: Statement) -> str:
    bound = "a set bound" if statement.clip is None else f"±{statement.clip:.4g}"
    hides = ", which is what hides it" if statement.is_private else ""
    _, has_way, way = statement.decided.partition("; ")
    return (
        f"At each step one record could push by at most {bound}{hides}; where records "
        "wanted to push harder, the answer may be shifted, and nobody may ask the "
        "records whether they did."
        + (f" To keep the answer in its place, {way}." if has_way else "")
    )


def answer(
    posterior: Posterior, found: Sequence[Coordinate], shown: Sequence[Coordinate]
) -> Section:
    """The table of all parameters, and the densities of those shown."""
    is_private = posterior.statement.is_private
    lead = (
        "The posterior says which values of each parameter are credible, given the "
        "model, the prior and the records. The mean is the best single guess; the sd "
        "says how uncertain it is; an interval of 90% holds the value with a "
        "probability of 90%, if the model is right."
    )
    numbers = table(
        f"All parameters ({len(found)})",
        ["Parameter", "Mean", "Sd", "90% interval", "94% interval"],
        [_row(one) for one in found],
        ["weak" if one.is_weak else "" for one in found],
    )
    legend = (
        "The hill is high where draws are many. Under it, the thick line is the 90% "
        "interval, the thin line the 94% interval, and the dot the mean."
    )
    if posterior.noise_aware is not None:
        legend += (
            " The dashed line is before the noise of what was released first is "
            "counted."
        )
    return Section(
        "answer",
        "The answer",
        [
            paragraph(lead),
            numbers,
            paragraph(_marked(found), "note"),
            heading("How the draws are spread"),
            paragraph(legend),
            paragraph(_left_out(found, shown), "note"),
            cards(
                card(
                    chart_density(one),
                    one.title,
                    _density_words(one),
                    f"mean {one.show(one.mean)}, 90% between "
                    f"{one.show(one.low_90)} and {one.show(one.high_90)}",
                    is_private=is_private,
                )
                for one in shown
            ),
        ],
    )


def pairs(posterior: Posterior, shown: Sequence[Coordinate]) -> Section:
    """The pairs of parameters that move together most; nothing for a single one."""
    moving = [one for one in shown if np.ptp(one.honest) > 0]
    chosen = sorted(
        (
            (_correlation(one, other), one, other)
            for one, other in combinations(moving, 2)
        ),
        key=lambda pair: -abs(pair[0]),
    )[:_MOST_PAIRS]
    title = "Parameters together"
    if not chosen:
        return Section("pairs", title, [])
    count = len(moving) * (len(moving) - 1) // 2
    which = (
        "Every pair is shown."
        if count == len(chosen)
        else f"Of {count} pairs, the {len(chosen)} that move together most are shown."
    )
    return Section(
        "pairs",
        title,
        [
            paragraph(
                "Each point is a draw of two parameters at once. In a round cloud the "
                "one says little about the other; in a slanted one they are tied to "
                "each other, which the table, one parameter at a time, cannot show. "
                f"Dotted lines are the means. {which}"
            ),
            cards(
                card(
                    chart_pair(one, other),
                    f"{other.title} against {one.title}",
                    f"Scatter of draws of {one.title} (across) and {other.title} (up): "
                    f"{_together(value)}.",
                    _together(value),
                    is_private=posterior.statement.is_private,
                    across=one.title,
                    up=other.title,
                )
                for value, one, other in chosen
            ),
        ],
    )


def _row(one: Coordinate) -> list[str]:
    return [
        one.title,
        one.show(one.mean),
        number(one.sd, one.sd / 10),
        f"{one.show(one.low_90)} to {one.show(one.high_90)}",
        f"{one.show(one.low_94)} to {one.show(one.high_94)}",
    ]


def _marked(found: Sequence[Coordinate]) -> str:
    how = "Each interval is the shortest that holds so many of the draws."
    if any(one.is_weak for one in found):
        how += " Shaded rows are to be read as rough: see “How far to trust the draws”."
    return how


def _left_out(found: Sequence[Coordinate], shown: Sequence[Coordinate]) -> str:
    if len(shown) == len(found):
        return "Every parameter is shown."
    return (
        f"Figures show {len(shown)} of the {len(found)} parameters: the first ones, "
        "and of the others those with the fewest effective draws. The tables have all."
    )


def _density_words(one: Coordinate) -> str:
    if np.ptp(one.honest) == 0:
        return f"{one.title}: every draw is {one.show(one.mean)}."
    return (
        f"Density of the draws of {one.title}: mean {one.show(one.mean)}; 90% of the "
        f"draws lie between {one.show(one.low_90)} and {one.show(one.high_90)}, 94% "
        f"between {one.show(one.low_94)} and {one.show(one.high_94)}."
    )


def _correlation(one: Coordinate, other: Coordinate) -> float:
    with np.errstate(all="ignore"):
        value = np.corrcoef(one.honest.ravel(), other.honest.ravel())[0, 1]
    return float(np.nan_to_num(value))


def _together(value: float) -> str:
    way = "rise together" if value > 0 else "trade off against each other"
    if abs(value) < 0.1:
        words = "hardly related"
    elif abs(value) < 0.5:
        words = f"{way} weakly"
    else:
        words = f"{way} {'strongly' if abs(value) >= 0.8 else 'clearly'}"
    return f"{words} (correlation {number(value, 0.1)})"


def _cost(statement: Statement) -> str:
    if not statement.is_private:
        return "NOT PRIVATE: " + "; ".join(statement.not_private_because)
    return f"ε = {round_up(statement.epsilon)}, δ = {round_up(statement.delta)}, proven"


def _run(posterior: Posterior) -> str:
    chains, draws = posterior.accepted.shape
    warm_up = posterior.warmup_accepted.shape[1]
    many = "1 chain" if chains == 1 else f"{chains} chains"
    return (
        f"{many} of {draws + warm_up:,} steps; the first {warm_up:,} are warm-up, the "
        f"last {draws:,} the draws" + ("" if chains == 1 else " of each")
    )
