# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The sums of the last release: one with normal noise, and a final one of gradients.

The first says how large the excess is, what tight clipping without bias leaves, and
where a step leads. The final sum is asked there, and has gradients alone: of so few
coordinates, Laplace noise costs much less than normal noise. At which bound they are
clipped is chosen by what the first has found of the excess.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dpmcmc.sampling.fit.asking import Answer, Ask, Asking
from dpmcmc.sampling.fit.curvature import Curvature
from dpmcmc.sampling.fit.excess import Excess, Sizes, shrunken
from dpmcmc.sampling.fit.hessians import hessian_of_entries
from dpmcmc.sampling.fit.known import Known
from dpmcmc.sampling.fit.last_questions import (
    FinalAnswer,
    FinalPublic,
    LastAnswer,
    LastPublic,
)
from dpmcmc.sampling.fit.rounds import Arrival
from dpmcmc.sampling.fit.step import newton_step

__all__ = ["Bounds", "Fractions", "Sums", "ask_sums"]

_FOR_EXCESS = 0.7
"""What the excess has of the first sum's gradients; the final sum is of tight ones."""

_IN_TURN = 0.4, 0.6
"""The first sum is asked in two parts, each where those before lead: where the rounds
ended far from the mode, that is seen before the final sum is asked."""

_USUALLY_LOST = 0.1, 0.15
"""The information that tight clipping usually loses, and its sd over models."""

_BELIEVED, _CLEAR = 1.0, 3.0
"""Curvature is taken to be at least so many of its sd; and must be so many from none
not to be flat."""


class Bounds(NamedTuple):
    """Bounds on gradients, tight and wide, in typical lengths; and on Hessians.

    ``is_tight`` says whether tight ones are asked for. Then the wide bound is not much
    wider, and ``whole`` how much larger the excess would be without it. ``cut`` is what
    the bound cuts off a usual entry of the mean Hessian.
    """

    tight: float
    wide: float
    hessian: float
    cut: float
    is_tight: bool
    whole: float = 1.0

    @property
    def room(self) -> float:
        """The bound on the excess."""
        return self.wide - self.tight if self.is_tight else self.wide


class Choice(NamedTuple):
    """A bound of the final sum, in typical lengths.

    ``left`` is which part of the excess it leaves, if all of it points one way; and
    ``other`` the squared part, if the excess of each length points another way, that
    the first sum does not tell.
    """

    bound: float
    left: float = 0.0
    other: float = 0.0


class Fractions(NamedTuple):
    """What of a sum Hessians have, and what the model expects; gradients the rest."""

    hessian: float
    expected: float

    @property
    def gradient(self) -> float:
        """What is left for gradients."""
        return 1 - self.hessian - self.expected


class _Part(NamedTuple):
    """A part of all sums together: their mean by precision, in sums over records."""

    weighted: np.ndarray
    precision: float

    @property
    def mean(self) -> np.ndarray:
        return self.weighted / max(self.precision, np.finfo(float).tiny)

    @property
    def sd(self) -> float:
        return float(max(self.precision, np.finfo(float).tiny) ** -0.5)

    def and_also(self, other: "_Part") -> "_Part":
        return _Part(self.weighted + other.weighted, self.precision + other.precision)

    def changed(self, change: np.ndarray, variance: float) -> "_Part":
        """With a change of its mean that is known but for a variance."""
        precision = self.precision / (1 + variance * self.precision)
        return _Part((self.mean + change) * precision, precision)


class Sums(NamedTuple):
    """What the sums say, per record, in the coordinates of the place.

    Attributes
    ----------
    gradient, variance
        The mean gradient, and the variance of its noise.
    curvature, is_flat
        The mean curvature; whether a direction is too flat to be distinguished from
        none.
    extreme
        How many records should have extreme gradients, by the model.
    """

    gradient: np.ndarray
    variance: np.ndarray
    curvature: Curvature
    is_flat: bool
    extreme: float


def ask_sums(
    arrival: Arrival,
    bounds: Bounds,
    fractions: Fractions,
    choices: Sequence[Choice],
    paid: tuple[float, float],
    question: LastAnswer,
) -> Asking[tuple[Arrival, Sums]]:
    """Ask for a sum, then for the final one where it leads.

    ``paid`` are the fraction of the budget for the first, and the sd of the noise of
    the final sum in units of its bound.
    """
    there = _LastSums(arrival, bounds, fractions, question)
    parts: Sequence[_Part] = ()
    for fraction in _IN_TURN:
        asked = yield from there.ask(fraction * paid[0])
        both = zip(parts, asked, strict=True) if parts else ()
        parts = [one.and_also(other) for one, other in both] or asked
        there, parts = there.after(there.read(parts), parts)
    found, place = there.read(parts), there.arrival.place
    units = place.metric * place.typical / place.setting.records

    def error(choice: Choice) -> float:
        noise = (choice.bound * units * paid[1]) ** 2
        return float(np.sum(noise + found.not_known(choice)))

    choice = min(choices, key=error)
    answer = yield Ask(
        FinalAnswer(question.tight),
        FinalPublic(place.public, choice.bound * place.typical, bounds.is_tight),
        is_final=True,
    )
    if answer.is_lost:
        return there.arrival, found.sums
    units = choice.bound * units
    final = answer.values * units, (answer.noise * units) ** 2
    return there.arrival, there.with_final(found, *final, choice)


class _Found(NamedTuple):
    """What a sum says; the excess, if there are tight gradients; and what these lose.

    ``excess`` is its mean, the variance of its noise, and of what is not known of it
    after it was shrunk.
    """

    sums: Sums
    excess: tuple[np.ndarray, np.ndarray, np.ndarray]
    sizes: Sizes | None
    lost: float

    def not_known(self, choice: Choice) -> np.ndarray:
        """The variance of what a bound leaves of the excess, by coordinate."""
        if self.sizes is None:
            return np.zeros_like(self.sums.variance)
        usual = self.sizes.weights @ self.sizes.squares
        return choice.left**2 * self.excess[2] + choice.other * usual


@dataclass(frozen=True, eq=False)
class _LastSums:
    """How sums are asked for, and read."""

    arrival: Arrival
    bounds: Bounds
    fractions: Fractions
    question: LastAnswer

    def ask(self, paid: float) -> Asking[Sequence[_Part]]:
        """A sum: tight gradients, the excess, Hessians, and what the model expects."""
        place, size = self.arrival.place, self.arrival.place.setting.size
        for_excess = _FOR_EXCESS if self.bounds.is_tight else 1.0
        for_gradients = self.fractions.gradient
        parts = np.sqrt(
            [
                for_gradients * (1 - for_excess),
                for_gradients * for_excess,
                *self.fractions,
            ]
        )
        public = LastPublic(
            place.public,
            self.bounds.tight * place.typical,
            self.bounds.wide * place.typical,
            self.bounds.hessian * size,
            parts,
        )
        answer: Answer = yield Ask(self.question, public, paid)
        rows = self.question.split(answer.values, size)
        lengths = parts * self.question.longer
        return [
            _Part(length * row / answer.noise**2, (length / answer.noise) ** 2)
            for length, row in zip(lengths, rows, strict=True)
        ]

    @property
    def _units(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean gradients by coordinate, tight and of the excess, for a sum of 1."""
        place = self.arrival.place
        units = place.metric * place.typical / place.setting.records
        return self.bounds.tight * units, self.bounds.whole * self.bounds.room * units

    def read(self, asked: Sequence[_Part]) -> _Found:
        """What sums say."""
        near, far, entries, expected = asked
        place, (for_near, for_far) = self.arrival.place, self._units
        size, records = place.setting.size, place.setting.records
        for_hessian = self.bounds.hessian * size / records
        curvature, is_flat = self._curvature(
            -hessian_of_entries(entries.mean, size) * for_hessian,
            float(np.hypot(entries.sd * for_hessian, self.bounds.cut)),
        )
        gradient, variance = far.mean * for_far, (far.sd * for_far) ** 2
        inside, squares, beyond = expected.mean * np.sqrt(3) / records
        sizes, lost, excess = None, 1.0, (gradient, variance, variance)
        if self.bounds.is_tight:
            lost = _lost(inside, squares, expected.sd * np.sqrt(3) / records)
            tight = near.mean * for_near
            rest, spread, sizes = self._shrunken(
                tight, gradient, variance, lost, curvature
            )
            excess = gradient, variance, spread
            gradient, variance = tight + rest, spread + (near.sd * for_near) ** 2
        sums = Sums(gradient, variance, curvature, is_flat, beyond)
        return _Found(sums, excess, sizes, lost)

    def _shrunken(
        self,
        near: np.ndarray,
        far: np.ndarray,
        variance: np.ndarray,
        lost: float,
        curvature: Curvature,
    ) -> tuple[np.ndarray, np.ndarray, Sizes]:
        """The excess, shrunk; the variance of that; and how large it may be."""
        place = self.arrival.place
        total, spread, sizes = shrunken(
            Excess(near, far, variance, lost),
            curvature.mean,
            place.prior,
            place.metric,
        )
        return total - near, spread, sizes

    def with_final(
        self, found: _Found, near: np.ndarray, variance: np.ndarray, choice: Choice
    ) -> Sums:
        """What is known with the final sum, which leaves a part of the excess."""
        sums, (far, noise, _) = found.sums, found.excess
        if not self.bounds.is_tight:
            precision = 1 / sums.variance + 1 / variance
            mean = (sums.gradient / sums.variance + near / variance) / precision
            return sums._replace(gradient=mean, variance=1 / precision)
        left = choice.left
        if left > 0:
            rest, _, _ = self._shrunken(
                near, left * far, left**2 * noise, left * found.lost, sums.curvature
            )
            near = near + rest
        return sums._replace(gradient=near, variance=variance + found.not_known(choice))

    def after(
        self, found: _Found, asked: Sequence[_Part]
    ) -> tuple["_LastSums", Sequence[_Part]]:
        """Where a Newton step leads, and what sums say there."""
        place, own = self.arrival.place, found.sums.curvature
        gradient, prior = place.prior
        here = Known(found.sums.gradient + gradient, np.diag(found.sums.variance))
        step = newton_step(here.combined(self.arrival.known), own.mean + prior, place)
        there = replace(place, point=place.point + place.factor @ step)
        total = Curvature(own.mean + prior, own.noise)
        known = self.arrival.known.after(step, total, place.bends)
        by_prior = there.prior[0] - gradient + prior @ step
        arrival = self.arrival._replace(
            place=there, known=replace(known, mean=known.mean + by_prior)
        )
        none = Known(np.zeros_like(step), np.zeros_like(prior))
        added = none.after(step, own, place.bends)
        moved = []
        parts = (1 - found.lost, found.lost)
        for part, units, of_all in zip(asked[:2], self._units, parts, strict=True):
            variance = np.mean(np.diag(added.covariance) / units**2)
            moved.append(
                part.changed(of_all * added.mean / units, of_all**2 * variance)
            )
        return replace(self, arrival=arrival), [*moved, *asked[2:]]

    def _curvature(self, found: np.ndarray, noise: float) -> tuple[Curvature, bool]:
        """The curvature of records with what the rounds knew, and if it is flat."""
        prior = self.arrival.place.prior[1]
        total = self.arrival.curvature.combined(found + prior, noise, 0.0)
        total, _ = total.positive(_BELIEVED)
        values, axes = np.linalg.eigh(total.mean)
        own = np.einsum("ij,ik,kj->j", axes, total.noise, axes)
        is_flat = bool(np.any(values < _CLEAR * own))
        curvature, _ = Curvature(total.mean - prior, total.noise).positive(0.0)
        return curvature, is_flat


def _lost(inside: float, squares: float, sd: float) -> float:
    """The fraction of the information that tight clipping loses, of two noisy means.

    It multiplies the step, so that its noise would too: it is drawn to what is usual.
    """
    ratio = inside / max(squares, sd)
    variance = (sd / max(squares, sd)) ** 2 * (1 + ratio**2)
    usual, spread = _USUALLY_LOST
    weight = 1 / (1 + variance / spread**2)
    return float(np.clip(usual + weight * (1 - ratio - usual), 0, 1))
