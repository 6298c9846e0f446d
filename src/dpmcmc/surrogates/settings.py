# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a user chooses for control variates, and their cost before any record."""

import math
from dataclasses import dataclass, replace

from dp_accounting.dp_event import ComposedDpEvent, DpEvent

from dpmcmc.accounting import GaussianBatchSum, least_noise
from dpmcmc.errors import (
    InputError,
    require_count,
    require_positive,
    require_probability,
)
from dpmcmc.surrogates.shares import check_shares, own_budget

__all__ = ["ControlVariates", "Plan"]

_SHARE = 0.75

_USUAL, _WIDEST_GRADIENT, _WIDEST_HESSIAN = 4.0, 12.0, 40.0
"""Bounds in units of usual lengths: at least, and at most, where noise allows."""

_FEW = 10
"""Coordinates up to which lengths scatter so much that the usual bounds are needed."""

_MIDDLE_GRADIENT, _MIDDLE_HESSIAN = 2.0, 1.0
"""Where the usual bounds tend for many coordinates, whose lengths are more alike."""

_SHIFT = 0.164
"""How far the noise of the gradient may move a posterior for the sake of a wide bound,
in posterior deviations: what is cut off moves it too, and more with more records."""

_BEND = 0.0125
"""How much of the curvature the noise of the Hessian may be, likewise."""

_LEAST_PART, _MOST_PART = 0.001, 0.999
"""Beyond these float32 would lose the other part."""

_NOISIER = 2.0
"""Noise of a round over that of the next: the first only has to point the way."""


@dataclass(frozen=True)
class Plan:
    """A release whose cost is settled: made by `ControlVariates.plan`.

    Attributes
    ----------
    settings
        What the user chose.
    records, dimension
        How many records there are, and of how many coordinates of θ they tell.
    noise_multiplier
        The deviation of the noise, in units of the longest vector of a record; of the
        last round, if there are several.
    """

    settings: "ControlVariates"
    records: int
    dimension: int
    noise_multiplier: float

    @property
    def gradient_bound(self) -> float:
        """The bound c_g on a record's whitened gradient."""
        multiple = self.settings.gradient_bound
        if multiple is None:
            room = math.sqrt(self.records / self.dimension) / self.noise_multiplier
            room *= math.sqrt(1 - self.settings.hessian_part**2)
            usual = _usual(_MIDDLE_GRADIENT, self.dimension)
            multiple = min(max(usual, _SHIFT * room), _WIDEST_GRADIENT)
        return multiple * math.sqrt(self.dimension)

    @property
    def hessian_bound(self) -> float:
        """The bound c_H on a record's whitened Hessian, in the Frobenius norm."""
        multiple = self.settings.hessian_bound
        if multiple is None:
            room = self.records / (self.noise_multiplier * self.dimension)
            room *= self.settings.hessian_part
            usual = _usual(_MIDDLE_HESSIAN, self.dimension)
            multiple = min(max(usual, _BEND * room), _WIDEST_HESSIAN)
        return multiple * self.dimension

    @property
    def stages(self) -> tuple["Plan", ...]:
        """The rounds, each as a plan by itself with the bounds of the whole."""
        rounds = self.settings.rounds
        if rounds == 1:
            return (self,)
        alone = replace(
            self.settings,
            rounds=1,
            gradient_bound=self.gradient_bound / math.sqrt(self.dimension),
            hessian_bound=self.hessian_bound / self.dimension,
        )
        return tuple(
            replace(self, settings=alone, noise_multiplier=noise)
            for noise in self._multipliers
        )

    @property
    def _multipliers(self) -> tuple[float, ...]:
        """The noise of each round."""
        before = range(self.settings.rounds - 1, -1, -1)
        return tuple(self.noise_multiplier * _NOISIER**number for number in before)

    @property
    def event(self) -> DpEvent:
        """What will be released, for the accountants."""
        each = [
            GaussianBatchSum(noise, self.records, self.records)
            for noise in self._multipliers
        ]
        return each[0] if len(each) == 1 else ComposedDpEvent(each)

    @property
    def description(self) -> str:
        """What will be released, in words, for a statement."""
        numbers = self.dimension * (self.dimension + 3) // 2
        rounds = self.settings.rounds
        sums = "one noisy sum" if rounds == 1 else f"{rounds} noisy sums, each"
        where = "the released start"
        if rounds > 1:
            where += ", and then at the top that the sum before it says"
        noise = ", ".join(f"{each:.4g}" for each in self._multipliers)
        return (
            f"{sums} over all {self.records:,} records of {numbers:,} numbers "
            "each (control variates: the gradient and Hessian of the log-likelihood at "
            f"{where}), shortened where the gradient is longer than "
            f"{self.gradient_bound:.4g} or the Hessian than {self.hessian_bound:.4g} "
            f"in whitened coordinates, with normal noise of {noise} times the longest"
        )


@dataclass(frozen=True)
class ControlVariates:
    """Release the quadratic part of the log-likelihood once, for all steps.

    Parameters
    ----------
    epsilon
        The ε that the release may cost by itself; or leave it out and give ``share``.
    share
        The part of the run's ε that it may cost by itself; three quarters unless
        either is given. The parts of a run together cost less than their sum.
    delta
        The δ that goes with it; the run's unless given.
    gradient_bound
        Where a record's gradient is shortened: this many times √d, the length that it
        has on average in whitened coordinates, d the number of coordinates of θ that
        the log-likelihood of a record depends on. Unless given, 4, less beyond ten
        coordinates (2.6 for a hundred), whose lengths are more alike, and more where
        there are so many records that the noise allows it.
    hessian_bound
        Where a record's Hessian is shortened: this many times d, in the Frobenius
        norm. What is cut off of a Hessian is small near the centre, so that it may be
        tighter than the other bound. Unless given, 4, less beyond ten coordinates (1.9
        for a hundred), or more likewise.
    hessian_part
        How the noise is split between gradient and Hessian: the length, between 0 and
        1, of the part of a record's vector that a Hessian at its bound makes. The
        gradient's part is √(1 − part²); the noise of each is in proportion to its bound
        over its part. A larger part serves where the centre is far from the top, or
        the curvature is little known.
    centred
        Whether what is cut off of a gradient is made up for by its mean over all
        responses that the record might have had, where the model lists them. Then
        the bound may be tighter, and with it the noise.
    rounds
        How often the sum is released: after each round but the last it is made again
        at the top that the surrogate says, with half the noise. More than one costs a
        little noise (3 rounds: 15% more), and saves a run whose start was far off.
    """

    epsilon: float | None = None
    share: float | None = None
    delta: float | None = None
    gradient_bound: float | None = None
    hessian_bound: float | None = None
    hessian_part: float = 0.4
    centred: bool = True
    rounds: int = 1

    def __post_init__(self) -> None:
        check_shares(self)
        require_count("rounds", self.rounds, "One is usual, three are safe.")
        _check_part(self.hessian_part)
        for name in ("gradient_bound", "hessian_bound"):
            if getattr(self, name) is not None:
                require_positive(name, getattr(self, name), "Leave it out for usual.")

    def plan(
        self, records: int, dimension: int, delta: float, epsilon: float | None = None
    ) -> Plan:
        """Settle the noise, from public numbers alone.

        Parameters
        ----------
        records, dimension
            The number of records, which is public, and of coordinates of θ that the
            log-likelihood of a record depends on.
        delta, epsilon
            The budget of the whole run; ε is needed where the release has a share
            of it.

        Returns
        -------
        Plan
            With the event that the release will cost, by itself within its budget.

        Raises
        ------
        InputError
            If no ε was given at all.
        """
        records = require_count("records", records, "Give the number of records.")
        dimension = require_count("dimension", dimension, "Give the size of θ.")
        own, own_delta = own_budget(self, _SHARE, delta, epsilon)
        noise = least_noise(1, records, records, own, own_delta)
        # Sums with normal noise compose like squares.
        squares = sum(_NOISIER ** (-2 * number) for number in range(self.rounds))
        return Plan(self, records, dimension, noise * math.sqrt(squares))


def _usual(middle: float, dimension: int) -> float:
    """The usual bound: a length of d numbers scatters by about 1/√d of itself."""
    return middle + (_USUAL - middle) * min(1.0, math.sqrt(_FEW / dimension))


def _check_part(part: float) -> None:
    advice = "0.4 is usual: noise on the gradient matters more."
    require_probability("hessian_part", part, advice)
    if not _LEAST_PART <= part <= _MOST_PART:
        raise InputError(
            f"hessian_part is {part!r}; it must be at least {_LEAST_PART} and at most "
            f"{_MOST_PART}. {advice}"
        )
