# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The sums of the last release: two, of which the first says how to ask the second.

The second is asked where a step by the first leads, so that the noise of the curvature
counts for less. Where gradients are clipped tightly without bias, the first also says
how large the excess is, and so how much of the second to give it.
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
from dpmcmc.sampling.fit.questions import LastAnswer, LastPublic
from dpmcmc.sampling.fit.rounds import Arrival
from dpmcmc.sampling.fit.step import newton_step

__all__ = ["Bounds", "Fractions", "Sums", "ask_sums"]

_FOR_EXCESS = 0.7
"""Of the excess, whose size is shrunk: less than its noise alone would ask for."""

_FIRST = 0.35
"""What the first of two sums is paid."""

_CHOICES = np.linspace(0.0, 0.9, 19)
"""Fractions for the excess of which the second takes the best."""

_USUALLY_LOST = 0.1, 0.15
"""The information that tight clipping usually loses, and its sd over models."""

_BELIEVED, _CLEAR = 1.0, 3.0
"""Curvature is taken to be at least so many of its sd; and must be so many from none
not to be flat."""


class Bounds(NamedTuple):
    """Bounds on gradients, tight and wide, in typical lengths; and on Hessians.

    ``is_tight`` says whether tight ones are asked for. ``cut`` is what the bound cuts
    off a usual entry of the mean Hessian.
    """

    tight: float
    wide: float
    hessian: float
    cut: float
    is_tight: bool

    @property
    def room(self) -> float:
        """The bound on the excess."""
        return self.wide - self.tight if self.is_tight else self.wide


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
    left: float,
    question: LastAnswer,
) -> Asking[tuple[Arrival, Sums]]:
    """Ask for the sums with all that is left; and say where the second was asked."""
    here = _LastSums(arrival, bounds, fractions, question)
    for_excess = _FOR_EXCESS * bounds.room / bounds.wide if bounds.is_tight else 1.0
    first = yield from here.ask(_FIRST * left, for_excess)
    found = here.read(first)
    there, first = here.after(found, first)
    if found.sizes is not None:
        for_excess = here.for_excess(first, found.sizes, (1 - _FIRST) / _FIRST)
    second = yield from there.ask((1 - _FIRST) * left, for_excess)
    both = [one.and_also(other) for one, other in zip(first, second, strict=True)]
    return there.arrival, there.read(both).sums


class _Found(NamedTuple):
    """What sums say; how large the excess may be; and what tight clipping loses."""

    sums: Sums
    sizes: Sizes | None
    lost: float


@dataclass(frozen=True, eq=False)
class _LastSums:
    """How sums are asked for, and read."""

    arrival: Arrival
    bounds: Bounds
    fractions: Fractions
    question: LastAnswer

    def ask(self, paid: float, for_excess: float) -> Asking[Sequence[_Part]]:
        """A sum: tight gradients, the excess, Hessians, and what the model expects."""
        place, size = self.arrival.place, self.arrival.place.setting.size
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
        return self.bounds.tight * units, self.bounds.room * units

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
        sizes, lost = None, 1.0
        if self.bounds.is_tight:
            lost = _lost(inside, squares, expected.sd * np.sqrt(3) / records)
            gradient, spread, sizes = shrunken(
                Excess(near.mean * for_near, gradient, variance, lost),
                curvature.mean,
                place.prior,
                place.metric,
            )
            variance = spread + (near.sd * for_near) ** 2
        sums = Sums(gradient, variance, curvature, is_flat, beyond)
        return _Found(sums, sizes, lost)

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

    def for_excess(self, first: Sequence[_Part], sizes: Sizes, times: float) -> float:
        """The fraction of a second sum, so many times as dear, for the excess.

        The squared error of a gradient is that of the noise of the tight part, and what
        is not known of an excess that was shrunk.
        """
        for_near, for_far = self._units
        near, far = first[0].precision, first[1].precision
        whole = times * (near + far)
        errors = [
            np.sum(for_near**2) / (near + whole * (1 - fraction))
            + sizes.error(for_far**2 / (far + whole * fraction))
            for fraction in _CHOICES
        ]
        return float(_CHOICES[int(np.argmin(errors))])

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
