# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Answers to what a fit asks, worked out in NumPy from derivatives in closed form."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from dpmcmc.influence.derivatives import Frame
from dpmcmc.sampling.fit.asking import Answer, Ask, Asking
from dpmcmc.sampling.fit.last_questions import FinalAnswer, LastAnswer
from dpmcmc.sampling.fit.questions import CurvatureBins, LengthBins, RoundAnswer
from dpmcmc.sampling.fit.tails import BINS, EDGES

T = TypeVar("T")
Derivatives = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Gradients (N, d) and Hessians (N, d, d) of all records at a point."""


def normal_derivatives(x: np.ndarray, y: np.ndarray) -> Derivatives:
    """Of y ~ N(x · θ[:-1], e^θ[-1])."""

    def at(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size, precision = len(theta), np.exp(-2 * theta[-1])
        away = y - x @ theta[:-1]
        gradients = np.empty((len(y), size))
        gradients[:, :-1] = precision * away[:, None] * x
        gradients[:, -1] = precision * away**2 - 1
        hessians = np.empty((len(y), size, size))
        hessians[:, :-1, :-1] = -precision * x[:, :, None] * x[:, None, :]
        cross = -2 * precision * away[:, None] * x
        hessians[:, :-1, -1] = hessians[:, -1, :-1] = cross
        hessians[:, -1, -1] = -2 * precision * away**2
        return gradients, hessians

    return at


def logistic_derivatives(x: np.ndarray, y: np.ndarray) -> Derivatives:
    """Of y ~ Bernoulli(σ(x · θ))."""

    def at(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        chance = 1 / (1 + np.exp(-x @ theta))
        spread = chance * (1 - chance)
        return (
            (y - chance)[:, None] * x,
            -spread[:, None, None] * x[:, :, None] * x[:, None, :],
        )

    return at


def final_noise(shift: float, size: int) -> float:
    """The sd of each number of a vector with Laplace noise that a sum is 2 long in."""
    return float(2 / shift * np.sqrt(size + 1))


@dataclass
class Oracle:
    """Answers questions with noise as a budget says.

    Attributes
    ----------
    derivatives
        Of the records.
    mu
        The budget: 1e6 leaves no noise to speak of. And the shift of the final sum.
    seed
        Of the noise.
    asked
        The fractions of the budget for normal noise that were asked for.
    finals
        How many final sums were asked for.
    """

    derivatives: Derivatives
    mu: float = 1e6
    seed: int = 0
    asked: list[float] = field(default_factory=list)
    finals: int = 0

    def drive(self, asking: Asking[T]) -> T:
        """Answer until nothing more is asked; what was found."""
        generator = np.random.default_rng(self.seed)
        try:
            ask = next(asking)
            while True:
                exact = self._exact(ask)
                drawn = generator.standard_normal(exact.shape)
                if ask.is_final:
                    self.finals += 1
                    noise = final_noise(self.mu, len(exact))
                    # A normal vector times a length of d + 1 more normal numbers.
                    length = np.linalg.norm(generator.standard_normal(len(exact) + 1))
                    drawn *= length / np.sqrt(len(exact) + 1)
                else:
                    self.asked.append(ask.fraction)
                    moved = np.sqrt(2 * ask.histograms) if ask.histograms else 2.0
                    noise = float(moved / (self.mu * np.sqrt(ask.fraction)))
                ask = asking.send(Answer(exact + noise * drawn, noise))
        except StopIteration as end:
            found: T = end.value
            return found

    def _exact(self, ask: Ask) -> np.ndarray:
        question, public = ask.question, ask.public
        if isinstance(question, CurvatureBins):
            _, hessians = self._in(public)
            return _counted(_powers(np.diagonal(hessians, axis1=1, axis2=2)), 121)
        at = public if isinstance(question, LengthBins) else public.at
        gradients, hessians = self._in(at.frame)
        scaled = gradients / at.metric
        sizes = np.linalg.norm(hessians, axis=(1, 2)) / gradients.shape[1]
        if isinstance(question, LengthBins):
            lengths = np.stack([np.linalg.norm(scaled, axis=1), sizes], axis=1)
            if question.is_first:
                return _counted(_powers(lengths), 121)
            lengths[:, 0] /= at.typical
            asked = lengths if question.has_hessians else lengths[:, :1]
            return _counted(np.searchsorted(EDGES, asked, side="right"), BINS)
        if isinstance(question, FinalAnswer):
            assert not question.tight.is_stated
            return np.asarray(_clipped(scaled, public.bound).sum(axis=0))
        rows, columns = np.triu_indices(gradients.shape[1])
        entries = hessians[:, rows, columns] * np.where(rows == columns, 1, np.sqrt(2))
        entries = _clipped(entries, public.hessian)
        lengths = public.parts * question.longer
        second = lengths[2] * entries.sum(axis=0)
        if isinstance(question, RoundAnswer):
            inner = _clipped(scaled, public.squares)
            free = [lengths[0] * _clipped(scaled, public.gradient).sum(axis=0)]
            positive = lengths[1] * (inner**2).sum(axis=0)
        else:
            assert isinstance(question, LastAnswer)
            assert not question.tight.is_stated
            far = lengths[1] * _clipped(scaled, public.wide).sum(axis=0)
            free, positive = [0 * far, far], np.zeros(3)
        if not question.is_concave:
            return np.concatenate([*free, second, positive])
        outer = -second * np.where(rows == columns, 1, 41 / 29 / np.sqrt(2))
        return np.concatenate([*free, positive, outer])

    def _in(self, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
        gradients, hessians = self.derivatives(frame.centre)
        factor = frame.factor
        return gradients @ factor, factor.T @ hessians @ factor


def _clipped(rows: np.ndarray, bound: Any) -> np.ndarray:
    """Rows with a length of at most the bound, in units of it."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, bound))


def _powers(numbers: np.ndarray) -> np.ndarray:
    """Powers of two below |numbers|, from −60 on; −1 for none."""
    sizes = np.abs(numbers)
    powers = np.floor(np.log2(np.where(sizes > 0, sizes, 1)))
    return np.where(sizes > 0, np.clip(powers, -60, 60) + 60, -1).astype(int)


def _counted(bins: np.ndarray, count: int) -> np.ndarray:
    rows = [np.bincount(row[row >= 0], minlength=count) for row in bins.T]
    return np.array(rows, float)
