# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The sums of the last release: what they say, and how to divide them.

Where gradients are clipped tightly without bias there are two: the first says how large
the excess is, and so how much of the second to give it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpmcmc.sampling.fit.asking import Answer, Ask, Asking
from dpmcmc.sampling.fit.curvature import Curvature
from dpmcmc.sampling.fit.excess import Excess, Sizes, shrunken
from dpmcmc.sampling.fit.hessians import hessian_of_entries
from dpmcmc.sampling.fit.questions import LastAnswer, LastPublic
from dpmcmc.sampling.fit.rounds import Arrival

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
) -> Asking[Sums]:
    """Ask for the sums with all that is left of the budget."""
    asked = _LastSums(arrival, bounds, fractions, question)
    if not bounds.is_tight:
        return asked.read((yield from asked.ask(left, 1.0)))[0]
    first = yield from asked.ask(_FIRST * left, _FOR_EXCESS * bounds.room / bounds.wide)
    best = asked.for_excess(first, asked.read(first)[1], (1 - _FIRST) / _FIRST)
    second = yield from asked.ask((1 - _FIRST) * left, best)
    both = [one.and_also(other) for one, other in zip(first, second, strict=True)]
    return asked.read(both)[0]


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

    def read(self, asked: Sequence[_Part]) -> tuple[Sums, Sizes | None]:
        """What sums say; and how large the excess may be."""
        near, far, entries, expected = asked
        place = self.arrival.place
        size, records = place.setting.size, place.setting.records
        for_hessian = self.bounds.hessian * size / records
        curvature, is_flat = self._curvature(
            -hessian_of_entries(entries.mean, size) * for_hessian,
            float(np.hypot(entries.sd * for_hessian, self.bounds.cut)),
        )
        units = place.metric * place.typical / records
        for_far, for_near = self.bounds.room * units, self.bounds.tight * units
        gradient, variance = far.mean * for_far, (far.sd * for_far) ** 2
        inside, squares, beyond = expected.mean * np.sqrt(3) / records
        sizes = None
        if self.bounds.is_tight:
            lost = _lost(inside, squares, expected.sd * np.sqrt(3) / records)
            gradient, spread, sizes = shrunken(
                Excess(near.mean * for_near, gradient, variance, lost),
                curvature.mean,
                place.prior,
                place.metric,
            )
            variance = spread + (near.sd * for_near) ** 2
        return Sums(gradient, variance, curvature, is_flat, beyond), sizes

    def for_excess(
        self, first: Sequence[_Part], sizes: Sizes | None, times: float
    ) -> float:
        """The fraction of a second sum, so many times as dear, for the excess.

        The squared error of a gradient is that of the noise of the tight part, and what
        is not known of an excess that was shrunk.
        """
        assert sizes is not None
        place = self.arrival.place
        units = place.metric * place.typical / place.setting.records
        near, far = first[0].precision, first[1].precision
        whole = times * (near + far)
        errors = [
            np.sum((self.bounds.tight * units) ** 2) / (near + whole * (1 - fraction))
            + sizes.error((self.bounds.room * units) ** 2 / (far + whole * fraction))
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
