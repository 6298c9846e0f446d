# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One round's look at the records: histograms, bounds by them, and sums."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpmcmc.sampling.fit.asking import Ask, Asking
from dpmcmc.sampling.fit.hessians import hessian_of_entries
from dpmcmc.sampling.fit.place import Place
from dpmcmc.sampling.fit.questions import (
    LengthBins,
    RoundAnswer,
    RoundPublic,
    Unravel,
)
from dpmcmc.sampling.fit.tails import Counts, Tail

__all__ = ["CLOSE", "LEAST_BOUND", "Least", "Look", "ask_round"]

CLOSE = 0.15
"""The least fraction of the budget of a round that is close."""

_HISTOGRAMS = 0.30
"""A round's fraction for its histograms; the rest is for its sums."""

_LONG, _SHORT = 0.6, 0.3
"""How long steps are for which a round is shared out, in standard units, far away and
close by; times what a Hessian's bound usually is beside a gradient's, over √2."""

_SQUARES, _FLATTEST = 0.08, 0.05
_CAUTIOUS = 0.75
"""Rounds choose bounds by this quantile of what they may cut: a bound that is too wide
costs a round, one that is too narrow leads astray."""

_GENEROUS = 4.0
"""Bounds where lengths were found to be much shorter than typical, in their own rms."""

LEAST_BOUND, _MOST_BOUND, _SQUARES_BOUND = 1.5, 50.0, 4.0
"""Bounds on gradients, in typical lengths; and on those whose squares are added."""


class Least(NamedTuple):
    """The least bounds: on gradients, in typical lengths, and on Hessians."""

    gradient: float = LEAST_BOUND
    hessian: float = 1.0


@dataclass(frozen=True, eq=False)
class Look:
    """What a round found, per record, in the coordinates of its place.

    ``noise_of_one`` is the noise of the gradient for a bound of 1 on it.
    """

    gradient: np.ndarray
    noise: np.ndarray
    cut: np.ndarray
    wide_cut: np.ndarray
    curvature: np.ndarray
    curvature_noise: float
    squares: np.ndarray
    lengths: Counts
    hessians: Counts
    bound: float
    noise_of_one: float


def ask_round(
    place: Place, fraction: float, least: Least, unravel: Unravel
) -> Asking[Look]:
    """One round: histograms, bounds, sums."""
    size, records = place.setting.size, place.setting.records
    answer = yield Ask(
        LengthBins(unravel), place.public, _HISTOGRAMS * fraction, histograms=2
    )
    lengths, hessians = (Counts(row, answer.noise) for row in answer.values)
    tail, hessian_tail = Tail([lengths], records), Tail([hessians], records, seed=1)
    question = RoundAnswer(unravel, place.setting.is_concave)
    parts = np.sqrt(_parts(size, fraction, question.longer[2]))
    longest = parts * question.longer
    # The noise of the sum to come, in units of its bounds, from that of the histograms:
    # both have one budget.
    noise = answer.noise * np.sqrt(_HISTOGRAMS / (1 - _HISTOGRAMS))
    # A place that was reached by a long step may have much shorter gradients.
    usual = tail.root_mean_square(_CAUTIOUS)
    lowest = least.gradient
    if lowest == LEAST_BOUND:
        lowest = min(lowest, _GENEROUS * usual)
    bound = tail.choose(noise / longest[0] * place.noise_per_cut, lowest, _CAUTIOUS)
    bound = min(bound, _MOST_BOUND)
    most = hessian_tail.choose(noise / longest[2] * np.sqrt(2 * size), least.hessian)
    narrow = min(bound, max(_SQUARES_BOUND, least.gradient))
    typical, metric = place.typical, place.metric
    total, noise = yield Ask(
        question,
        RoundPublic(
            place.public, bound * typical, narrow * typical, most * size, parts
        ),
        (1 - _HISTOGRAMS) * fraction,
    )
    units = metric * bound * typical / longest[0] / records
    squares_units = (metric * narrow * typical) ** 2 / longest[1] / records
    hessian_units = most * size / longest[2] / records
    gradients, inner, entries = question.split(total, size)
    squares = _drawn(
        inner * squares_units,
        noise * squares_units,
        min(usual, _SQUARES_BOUND) ** 2 * place.squares,
    )
    clipped = hessian_tail.cut(most) * size / records / np.sqrt(2 * size)
    return Look(
        gradient=gradients * units + place.prior[0],
        noise=noise * units,
        cut=place.cut_variance(tail.cut(bound)),
        wide_cut=place.cut_variance(tail.cut(bound, 0.9)),
        curvature=-hessian_of_entries(entries, size) * hessian_units,
        curvature_noise=float(np.hypot(noise * hessian_units, clipped)),
        squares=squares,
        lengths=lengths,
        hessians=hessians,
        bound=bound,
        noise_of_one=float(noise / longest[0]),
    )


def _drawn(found: np.ndarray, noise: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Mean squares by coordinate, drawn to what lengths say as far as noise hides them.

    What is less than its noise is taken to be as large, as far as it counts.
    """
    weight = expected**2 / (expected**2 + noise**2)
    drawn = expected + weight * (found - expected)
    return np.maximum(drawn, np.maximum(weight * noise, _FLATTEST * expected))


def _parts(size: int, fraction: float, length: float = 1.0) -> np.ndarray:
    """Fractions of a sum's budget for gradients, squares and Hessians.

    Noise of a gradient is as its bound, √d; that of a Hessian as d, times the step, and
    less by how much longer it may be. Of two squared errors a/f + b/(1 − f), the sum is
    least if f/(1 − f) = √(a/b).
    """
    step = _SHORT if fraction >= 0.99 * CLOSE else _LONG
    ratio = step * np.sqrt(size) / length
    rest = (1 - _SQUARES) / (1 + ratio)
    return np.array([rest, _SQUARES, ratio * rest])
