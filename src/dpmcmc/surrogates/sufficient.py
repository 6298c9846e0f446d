# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a user chooses for sufficient statistics, and their cost before any record."""

from dataclasses import dataclass

from dp_accounting.dp_event import DpEvent

from dpmcmc.accounting import GaussianBatchSum, least_noise
from dpmcmc.errors import InputError, require_count
from dpmcmc.model.statistics import Statistics
from dpmcmc.surrogates.shares import check_shares, own_budget

__all__ = ["StatisticsPlan", "SufficientStatistics"]

_SHARE = 0.75
"""Share of the run's ε where bits follow; where none do, the release has all of it."""


@dataclass(frozen=True)
class StatisticsPlan:
    """A release of statistics whose cost is settled: `SufficientStatistics.plan`.

    Attributes
    ----------
    statistics
        What the model states.
    records
        How many records there are.
    noise_multiplier
        The deviation of the noise, in units of the bound on a record's statistics.
    """

    statistics: Statistics
    records: int
    noise_multiplier: float

    @property
    def says_all(self) -> bool:
        """Whether the released sum says all there is to say, so that no bit follows."""
        return self.statistics.is_exact

    @property
    def deviation(self) -> float:
        """The deviation of the noise, in the units of the statistics."""
        return self.noise_multiplier * self.statistics.bound

    @property
    def event(self) -> DpEvent:
        """What will be released, for the accountants."""
        return GaussianBatchSum(self.noise_multiplier, self.records, self.records)

    @property
    def description(self) -> str:
        """What will be released, in words, for a statement."""
        return (
            f"one noisy sum over all {self.records:,} records (sufficient statistics: "
            f"{self.statistics.words}), each record's shortened where it is longer "
            f"than {self.statistics.bound:.4g}, with normal noise of "
            f"{self.noise_multiplier:.4g} times that length"
        )


@dataclass(frozen=True)
class SufficientStatistics:
    """Release the sum of the model's sufficient statistics once, for all steps.

    The model says what they are (`Model.statistics`). Where they say all that records
    can say of θ, a chain runs on the released sum alone, asks the records nothing more,
    and may be as long as liked. Where they say nearly all, steps decide on the rest.

    Parameters
    ----------
    epsilon
        The ε that the release may cost by itself; or leave it out and give ``share``.
    share
        The part of the run's ε that it may cost by itself. Unless either is given, all
        of it where no bits follow, and three quarters otherwise.
    delta
        The δ that goes with it; the run's unless given.
    """

    epsilon: float | None = None
    share: float | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        check_shares(self)

    def plan(
        self,
        statistics: Statistics | None,
        records: int,
        delta: float,
        epsilon: float | None = None,
    ) -> StatisticsPlan:
        """Settle the noise, from public numbers alone.

        Parameters
        ----------
        statistics
            The model's.
        records
            The number of records, which is public.
        delta, epsilon
            The budget of the whole run; ε is needed where the release has a share
            of it.

        Returns
        -------
        StatisticsPlan
            With the event that the release will cost, by itself within its budget.

        Raises
        ------
        InputError
            If the model has no statistics, or no ε was given at all.
        """
        records = require_count("records", records, "Give the number of records.")
        if statistics is None:
            raise InputError(
                "the model states no sufficient statistics. Give it some "
                "(Model(statistics=…)), or take dpmcmc.ControlVariates()."
            )
        usual = 1.0 if statistics.is_exact else _SHARE
        own, own_delta = own_budget(self, usual, delta, epsilon)
        noise = least_noise(1, records, records, own, own_delta)
        return StatisticsPlan(statistics, records, noise)
