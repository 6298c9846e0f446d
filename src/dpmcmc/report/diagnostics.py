# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How far to trust the draws: numbers in words, traces and ranks."""

import math
from collections.abc import Sequence

import numpy as np

from dpmcmc.posterior.posterior import Posterior
from dpmcmc.report.charts import (
    MOST_LINES,
    MOST_TRACE,
    chart_ranks,
    chart_trace,
    rank_counts,
)
from dpmcmc.report.coordinates import Coordinate
from dpmcmc.report.elements import (
    Section,
    bullets,
    card,
    cards,
    heading,
    paragraph,
    several,
    table,
)

__all__ = ["trust", "verdict"]

_FEW_ACCEPTED, _NEARLY_HALF = 0.05, 0.47


def verdict(found: Sequence[Coordinate]) -> str:
    """The state of the whole run, in a sentence or two."""
    groups = {
        "never moved": "The chain never moved in {names}: nothing was learnt there.",
        "too short to say much": "The chain is too short to say much about {names}.",
        "parts of the run disagree": (
            "Parts of the run disagree about {names}: means and intervals are rough."
        ),
    }
    sentences = []
    for words, sentence in groups.items():
        names = [one.title for one in found if one.verdict == words]
        if names:
            sentences.append(sentence.format(names=several(names)))
    if sentences:
        return " ".join(sentences)
    if all(one.verdict == "good" for one in found):
        return "The draws are many enough, and the parts of the run agree."
    return (
        "The draws are usable: means and intervals are right but for their last digits."
    )


def trust(
    posterior: Posterior, found: Sequence[Coordinate], shown: Sequence[Coordinate]
) -> Section:
    """Diagnostics in words and numbers, and the figures behind them."""
    is_private = posterior.statement.is_private
    is_weak = any(one.is_weak for one in found)
    compared = (
        "the two halves of the chain" if len(posterior.accepted) == 1 else "the chains"
    )
    return Section(
        "trust",
        "How far to trust the draws",
        [
            paragraph(
                verdict(found),
                "care" if is_weak else "short",
            ),
            bullets(_points(posterior, found, compared)),
            table(
                "Diagnostics of every parameter",
                [
                    "Parameter",
                    "Effective draws",
                    "in the tails",
                    "R-hat",
                    "Error of the mean",
                    "In words",
                ],
                [_row(one) for one in found],
                ["weak" if one.is_weak else "" for one in found],
                "verdicts",
            ),
            paragraph(
                "The error of the mean is what a longer chain would take away, in "
                "percent of the sd. It does not count what clipping may have "
                "shifted, nor a model that is wrong.",
                "note",
            ),
            heading("The chain, draw by draw"),
            paragraph(
                "A healthy trace looks like a hedge: it crosses its whole range again "
                "and again. A slow drift or long flat stretches mean that the chain "
                "was too short." + _drawn(posterior)
            ),
            cards(
                card(
                    chart_trace(one),
                    one.title,
                    _trace_words(one),
                    "",
                    is_private=is_private,
                )
                for one in shown
            ),
            heading("Ranks"),
            paragraph(
                f"All draws are ranked together, and {compared} are compared: were "
                "they alike, every line would stay near the dotted one. A line that "
                "leans to one side belongs to a part of the run that saw other values."
            ),
            cards(
                card(
                    chart_ranks(one),
                    one.title,
                    _rank_words(one, compared),
                    "",
                    is_private=is_private,
                )
                for one in shown
            ),
        ],
    )


def _drawn(posterior: Posterior) -> str:
    """What of the draws the traces show."""
    chains, draws = posterior.accepted.shape
    words = " Each chain has its colour." if chains > 1 else ""
    if chains > MOST_LINES:
        words = f" Of {chains} chains the first {MOST_LINES} are shown."
    if draws > MOST_TRACE:
        words += f" Of the {draws:,} draws {MOST_TRACE}, evenly picked, are shown."
    return words


def _points(
    posterior: Posterior, found: Sequence[Coordinate], compared: str
) -> list[tuple[str, str]]:
    draws = posterior.accepted.size
    sizes = [one.ess for one in found if math.isfinite(one.ess)]
    fits = [one.r_hat for one in found if math.isfinite(one.r_hat)]
    points = []
    if sizes:
        least = min(sizes)
        points.append(
            (
                "Effective draws.",
                f"Draws of a chain resemble their neighbours; the {draws:,} draws are "
                f"worth at least {least:,.0f} that do not, so that a mean is "
                f"typically off by {100 / math.sqrt(max(least, 1)):.0f}% of its sd or "
                "less. From 100 on, means are usable; from 400 on, intervals are good "
                "too.",
            )
        )
    if fits:
        points.append(
            (
                "R-hat.",
                f"It compares {compared}: 1 is perfect, and above 1.05 they disagree. "
                f"The largest here is {max(fits):.3f}.",
            )
        )
    if not sizes or not fits:
        points.append(
            (
                "Too few draws.",
                "For some parameters there are too few draws to compute these at all.",
            )
        )
    points.append(("Accepted steps.", _acceptance(posterior, sizes)))
    return points


def _acceptance(posterior: Posterior, sizes: Sequence[float]) -> str:
    share = float(posterior.accepted.mean())
    words = (
        f"{share:.0%} of the steps were accepted. Barker’s test, which steps are "
        "decided by, accepts at most half of them even when all is well."
    )
    if share < _FEW_ACCEPTED:
        return (
            f"{words} So few mean that the moves were too long, or that the clip "
            "left too little to go by: take shorter moves."
        )
    if share > _NEARLY_HALF and sizes and min(sizes) < 0.02 * posterior.accepted.size:
        return (
            f"{words} Nearly all that could be accepted was, and the draws still "
            "resemble each other: the moves were very short."
        )
    return words


def _row(one: Coordinate) -> list[str]:
    return [
        one.title,
        _whole(one.ess),
        _whole(one.ess_tail),
        f"{one.r_hat:.3f}" if math.isfinite(one.r_hat) else "–",
        f"{one.error:.0%} of the sd" if math.isfinite(one.error) else "–",
        one.verdict,
    ]


def _whole(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "–"


def _trace_words(one: Coordinate) -> str:
    if one.is_stuck:
        return f"Trace of {one.title}: a flat line; the chain never moved."
    half = one.chain.shape[1] // 2
    first, last = one.chain[:, :half], one.chain[:, half:]
    words = (
        f"Trace of {one.title}: draws go from {one.show(float(one.chain.min()))} to "
        f"{one.show(float(one.chain.max()))}"
    )
    if not half:
        return f"{words}."
    return (
        f"{words}; the first half averages {one.show(float(first.mean()))}, the second "
        f"{one.show(float(last.mean()))}."
    )


def _rank_words(one: Coordinate, compared: str) -> str:
    counts = rank_counts(one)
    return (
        f"Ranks of {one.title}, comparing {compared}: bins hold from "
        f"{np.min(counts):.1f} to {np.max(counts):.1f} times as many draws as if all "
        "were alike."
    )
