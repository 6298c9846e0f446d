# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Noisy Newton rounds: from where the model starts to where the posterior is.

Each round asks for histograms of lengths, sets its bounds by them, asks for the sums of
clipped gradients and Hessians, and takes a step no longer than the last one has shown to
be believable. Rounds are cheap until they arrive; the last of them pays for precision.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dpmcmc.sampling.fit.asking import Ask, Asking
from dpmcmc.sampling.fit.geometry import denoised, floored
from dpmcmc.sampling.fit.place import Place
from dpmcmc.sampling.fit.questions import (
    LengthBins,
    RoundAnswer,
    RoundPublic,
    Unravel,
    hessian_of_entries,
)
from dpmcmc.sampling.fit.tails import Counts, Tail

__all__ = ["Arrival", "newton_rounds"]

_MOST_ROUNDS = 40
_KEPT_FOR_LAST = 0.45
"""Rounds end when less than this fraction of the budget would be left."""

_SCALES = 0.02
"""What the scales have taken before."""

_LEAST, _MOST, _CLOSE = 0.003, 0.04, 0.07
"""Fractions of the budget of a round: of the first ones, by what a usual gradient needs
to be seen; and of one that is close."""

_PRECISION_AT_FIRST = 25.0
"""Of the first rounds: noise is so many times smaller than the gradient of one
standard step, for coordinates that are each as long as their sd."""

_HISTOGRAMS = 0.30
"""A round's fraction for its histograms; the rest is for its sums."""

_SQUARES = 0.08
_LEAST_BOUND, _MOST_BOUND, _SQUARES_BOUND = 1.5, 50.0, 4.0
"""Bounds on gradients, in typical lengths; and on those whose squares are added."""

_GENEROUS = 4.0
"""Bounds where lengths were found to be much shorter than typical, in their own rms."""

_STEADY = 0.3
"""A step has arrived if it is at most √(0.3/√N): its square, times √N, is what a
quadratic about another point would be off by."""


class Arrival(NamedTuple):
    """Where the rounds ended.

    Attributes
    ----------
    place
        The place that the last step led to.
    lengths
        The last histogram of lengths, a step before.
    curvature_noise
        The sd of the entries of the curvature there, which is about the identity.
    covariance
        That of the gradient there, by what the last round knew.
    rounds
        How many rounds there were.
    arrived
        Whether the last step was short, by a precise round.
    """

    place: Place
    lengths: Counts
    curvature_noise: float
    covariance: np.ndarray
    rounds: int
    arrived: bool
    spent: float


@dataclass(frozen=True, eq=False)
class _Look:
    """What a round found, per record, in the coordinates of its place."""

    gradient: np.ndarray
    noise: np.ndarray
    cut: np.ndarray
    wide_cut: np.ndarray
    curvature: np.ndarray
    curvature_noise: float
    squares: np.ndarray
    lengths: Counts
    bound: float


@dataclass(frozen=True, eq=False)
class _Step:
    """A step that was taken, or is to be: the fraction of it, and what it rested on."""

    place: Place
    look: _Look
    curvature: np.ndarray
    whole: np.ndarray
    fraction: float

    @property
    def length(self) -> float:
        """Of the whole step, in standard units."""
        return float(np.sqrt(self.whole @ self.curvature @ self.whole))

    @property
    def precision(self) -> float:
        """How long a step would be that is made of noise alone."""
        variances = self.look.noise**2 + self.look.cut
        return float(
            np.sqrt(np.sum(np.diag(np.linalg.inv(self.curvature)) * variances))
        )

    def point(self) -> np.ndarray:
        """Where it leads."""
        return self.place.point + self.place.factor @ (self.fraction * self.whole)


def newton_rounds(place: Place, budget: float, unravel: Unravel) -> Asking[Arrival]:
    """Take rounds until a precise one makes but a short step, or the budget ends.

    Parameters
    ----------
    place
        Where to start.
    budget
        The μ of the whole fit.
    unravel
        Makes θ of its coordinates.
    """
    setting = place.setting
    size, records = setting.size, setting.records
    needed = (_PRECISION_AT_FIRST * size / (budget * records)) ** 2
    fraction = float(np.clip(needed, _LEAST, _MOST))
    steady = np.sqrt(_STEADY / np.sqrt(records))
    spent, radius, least_hessian = _SCALES, 1.0, 1.0
    known, moved, is_flat = np.inf, np.inf, True
    last: _Step | None = None
    arrived = False
    rounds = 0
    while True:
        look = yield from _ask(place, fraction, least_hessian, unravel)
        spent += fraction
        rounds += 1
        lowest = np.linalg.eigvalsh(look.curvature)[0]
        if (
            moved < 0.5
            and not is_flat
            and look.curvature_noise * np.sqrt(size) < 0.3
            and lowest < 0.5
        ):
            # Curvature has gone where nothing moved: clipped away, so widen the bound.
            least_hessian = min(3 * least_hessian, 300.0)
        known = np.hypot(known, min(moved, 1.0) / np.sqrt(size))
        curvature, known, is_flat = _combined(look, known)
        total = curvature + place.prior[1]
        trust = _trusted(last, place, look, radius)
        if trust is None and last is not None:
            # The gradient has grown: go back, and take a quarter of the step.
            radius = min(radius, last.length * last.fraction) / 4
            moved = last.length
            last = replace(last, fraction=min(1.0, radius / last.length))
            place = place.at(last.point())
            if spent + fraction > 1 - _KEPT_FOR_LAST or rounds >= _MOST_ROUNDS:
                break
            continue
        radius = radius if trust is None else trust
        whole = np.linalg.solve(total, look.gradient)
        step = _Step(place, look, total, whole, 1.0)
        step = replace(step, fraction=min(1.0, radius / max(step.length, 1e-300)))
        place = place.moved(step.fraction * whole, total, look.squares)
        moved, last = step.fraction * step.length, step
        turn = np.linalg.solve(step.place.whitening, place.whitening)
        known = min(known * np.linalg.norm(turn, 2) ** 2, 1.0)
        is_short = step.length <= max(steady, 2 * step.precision)
        if step.fraction == 1 and is_short and step.precision < 1:
            if fraction >= 0.99 * _CLOSE and not is_flat:
                arrived = True
                break
            fraction = min(6 * fraction, _CLOSE)
        elif step.length < 3 * step.precision:
            fraction = min(2 * fraction, _CLOSE)
        if spent + fraction > 1 - _KEPT_FOR_LAST or rounds >= _MOST_ROUNDS:
            break
    turn = np.linalg.solve(last.place.whitening, place.whitening)
    covariance = (turn.T * (last.look.noise**2 + last.look.wide_cut)) @ turn
    return Arrival(
        place,
        last.look.lengths,
        float(np.hypot(known, min(moved, 1.0) / np.sqrt(size))),
        covariance,
        rounds,
        arrived,
        spent,
    )


def _ask(
    place: Place, fraction: float, least_hessian: float, unravel: Unravel
) -> Asking[_Look]:
    """One round: histograms, bounds, sums."""
    size, records = place.setting.size, place.setting.records
    answer = yield Ask(
        LengthBins(unravel), place.public, _HISTOGRAMS * fraction, histograms=2
    )
    lengths, hessians = (Counts(row, answer.noise) for row in answer.values)
    tail, hessian_tail = Tail([lengths], records), Tail([hessians], records, seed=1)
    parts = np.sqrt(_parts(size, fraction))
    # The noise of the sum to come, in units of its bounds, from that of the histograms:
    # both have one budget.
    noise = answer.noise * np.sqrt(_HISTOGRAMS / (1 - _HISTOGRAMS))
    # A place that was reached by a long step may have much shorter gradients.
    least = min(_LEAST_BOUND, _GENEROUS * tail.root_mean_square())
    bound = tail.choose(noise / parts[0] * place.noise_per_cut, least)
    bound = min(bound, _MOST_BOUND)
    most = hessian_tail.choose(noise / parts[2] * np.sqrt(2 * size), least_hessian)
    narrow = min(bound, _SQUARES_BOUND)
    typical, metric = place.typical, place.metric
    total, noise = yield Ask(
        RoundAnswer(unravel),
        RoundPublic(
            place.public, bound * typical, narrow * typical, most * size, parts
        ),
        (1 - _HISTOGRAMS) * fraction,
    )
    units = metric * bound * typical / parts[0] / records
    squares_units = (metric * narrow * typical) ** 2 / parts[1] / records
    hessian_units = most * size / parts[2] / records
    shortest = min(tail.root_mean_square(), 1.0) ** 2
    floor = np.maximum(noise * squares_units, 0.05 * shortest * place.squares)
    clipped = hessian_tail.cut(most) * size / records / np.sqrt(2 * size)
    return _Look(
        gradient=total[:size] * units + place.prior[0],
        noise=noise * units,
        cut=place.cut_variance(tail.cut(bound)),
        wide_cut=place.cut_variance(tail.cut(bound, 0.9)),
        curvature=-hessian_of_entries(total[2 * size :], size) * hessian_units,
        curvature_noise=float(np.hypot(noise * hessian_units, clipped)),
        squares=np.maximum(total[size : 2 * size] * squares_units, floor),
        lengths=lengths,
        bound=bound,
    )


def _parts(size: int, fraction: float) -> np.ndarray:
    """Fractions of a sum's budget for gradients, squares and Hessians.

    A round that is close needs a precise gradient; far from there, the Hessian says
    how far to go.
    """
    hessian = 0.37
    if fraction >= 0.99 * _CLOSE:
        hessian = min(0.2 + 0.0086 * max(size - 5, 0), 0.5)
    return np.array([1 - _SQUARES - hessian, _SQUARES, hessian])


def _combined(look: _Look, known: float) -> tuple[np.ndarray, float, bool]:
    """Curvature with what earlier rounds knew of it, which coordinates have made 1.

    Returns
    -------
    tuple
        The curvature, made positive; its noise; whether some direction is too flat
        to be told from none.
    """
    size = len(look.gradient)
    weight = 1.0
    if np.isfinite(known):
        weight = 1 / (1 + (look.curvature_noise / known) ** 2)
    mixed = weight * look.curvature + (1 - weight) * np.eye(size)
    noise = look.curvature_noise * np.sqrt(weight)
    least = min(noise * np.sqrt(size), 0.5)
    curvature, values = floored(denoised(mixed, noise), least)
    return curvature, float(noise), bool(np.any(values < least))


def _trusted(
    last: _Step | None, place: Place, look: _Look, radius: float
) -> float | None:
    """How long a step may be, by what the last one has led to; None: go back.

    If the log posterior were quadratic, a fraction a of a step would leave 1 − a of
    the gradient.
    """
    if last is None:
        return radius
    back = np.linalg.solve(place.whitening, last.place.whitening).T
    gradient, before = back @ look.gradient, last.look.gradient
    noise = np.linalg.norm(back * look.noise) + np.linalg.norm(last.look.noise)
    length = max(float(np.linalg.norm(before)), 1e-300)
    left = np.linalg.norm(gradient - (1 - last.fraction) * before) / length
    surprise = max(left - noise / length, 0.0)
    taken = last.length * last.fraction
    is_alike = 0.5 < look.bound / last.look.bound < 2
    has_grown = np.linalg.norm(gradient) > length + 2 * noise
    if not is_alike and taken < 0.3:
        return radius
    if surprise > 1 and has_grown and taken > 0.1:
        return None
    if surprise > 0.5:
        return min(radius, taken / 2)
    if last.fraction < 1:
        return radius * (4 if left < 0.3 else 2)
    return max(radius, 1.0) if left < 0.5 else radius
