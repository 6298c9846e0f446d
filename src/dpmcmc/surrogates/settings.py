# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a user chooses for control variates, and their cost before any record."""

import math
from dataclasses import dataclass

from dp_accounting.dp_event import DpEvent

from dpmcmc.accounting import GaussianBatchSum, least_noise
from dpmcmc.errors import require_count, require_positive
from dpmcmc.surrogates.shares import check_shares, own_budget

__all__ = ["ControlVariates", "Plan"]

_SHARE = 0.75

_USUAL_GRADIENT, _WIDEST_GRADIENT = 4.0, 12.0
_USUAL_HESSIAN, _WIDEST_HESSIAN = 4.0, 40.0
"""Bounds in units of usual lengths: at least, and at most, where noise allows."""

_SHIFT = 0.15
"""How far the noise of the gradient may move a posterior for the sake of a wide bound,
in posterior deviations: what is cut off moves it too, and more with more records."""

_BEND = 0.005
"""How much of the curvature the noise of the Hessian may be, likewise."""


@dataclass(frozen=True)
class Plan:
    """A release whose cost is settled: made by `ControlVariates.plan`.

    Attributes
    ----------
    settings
        What the user chose.
    records, dimension
        How many records there are, and how many coordinates θ has.
    noise_multiplier
        The deviation of the noise, in units of the longest vector of a record.
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
            multiple = min(max(_USUAL_GRADIENT, _SHIFT * room), _WIDEST_GRADIENT)
        return multiple * math.sqrt(self.dimension)

    @property
    def hessian_bound(self) -> float:
        """The bound c_H on a record's whitened Hessian, in the Frobenius norm."""
        multiple = self.settings.hessian_bound
        if multiple is None:
            room = self.records / (self.noise_multiplier * self.dimension)
            multiple = min(max(_USUAL_HESSIAN, _BEND * room), _WIDEST_HESSIAN)
        return multiple * self.dimension

    @property
    def event(self) -> DpEvent:
        """What will be released, for the accountants."""
        return GaussianBatchSum(self.noise_multiplier, self.records, self.records)

    @property
    def description(self) -> str:
        """What will be released, in words, for a statement."""
        numbers = self.dimension * (self.dimension + 3) // 2
        return (
            f"one noisy sum over all {self.records:,} records of {numbers:,} numbers "
            "each (control variates: the gradient and Hessian of the log-likelihood at "
            "the released start), shortened where the gradient is longer than "
            f"{self.gradient_bound:.4g} or the Hessian than {self.hessian_bound:.4g} "
            "in whitened coordinates, with normal noise of "
            f"{self.noise_multiplier:.4g} times the longest"
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
        has on average in whitened coordinates, d the number of coordinates of θ. Unless
        given, 4, or more where there are so many records that the noise allows it.
    hessian_bound
        Where a record's Hessian is shortened: this many times d, in the Frobenius
        norm. What is cut off of a Hessian is small near the centre, so that it may be
        tighter than the other bound. Unless given, 4, or more likewise.
    centred
        Whether what is cut off of a gradient is made up for by its mean over all
        responses that the record might have had, where the model lists them. Then
        the bound may be tighter, and with it the noise.
    """

    epsilon: float | None = None
    share: float | None = None
    delta: float | None = None
    gradient_bound: float | None = None
    hessian_bound: float | None = None
    centred: bool = True

    def __post_init__(self) -> None:
        check_shares(self)
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
            The number of records, which is public, and of coordinates of θ.
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
        return Plan(self, records, dimension, noise)
