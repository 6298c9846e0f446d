# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a user chooses for a private start, and what it costs before any record."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from dp_accounting.dp_event import DpEvent, SelfComposedDpEvent

from dpmcmc.accounting import GaussianBatchSum, least_noise
from dpmcmc.errors import (
    InputError,
    require_count,
    require_positive,
    require_probability,
)

__all__ = ["Guide", "Plan", "Variational"]

Guide = Literal["mean-field", "full-rank"]

_SHARE = 0.2
_BATCH = 4000
_MOST_RECORDS = 2**32 - 2
"""Half a word of the tape names a record of which a batch is drawn."""


@dataclass(frozen=True)
class Plan:
    """A private start whose cost is settled: made by `Variational.plan`.

    Attributes
    ----------
    settings
        What the user chose.
    records, batch
        Of how many records each batch is drawn, and how many.
    noise_multiplier
        The deviation of the noise, in units of the longest vector of a record.
    epsilon, delta
        The budget that the start keeps to by itself.
    """

    settings: "Variational"
    records: int
    batch: int
    noise_multiplier: float
    epsilon: float
    delta: float

    @property
    def steps(self) -> int:
        """How many noisy sums will be released."""
        return self.settings.steps

    @property
    def event(self) -> DpEvent:
        """What will be released, for the accountants."""
        one = GaussianBatchSum(self.noise_multiplier, self.batch, self.records)
        return SelfComposedDpEvent(one, self.steps)

    @property
    def description(self) -> str:
        """What will be released, in words, for a statement."""
        return (
            f"{self.steps:,} noisy sums (a start by {self.settings.guide} "
            f"variational inference), each over a fresh batch of {self.batch:,} "
            "records, of derivatives of the log-likelihood clipped in length, with "
            f"normal noise of {self.noise_multiplier:.4g} times that length"
        )


@dataclass(frozen=True)
class Variational:
    """A private start: a normal approximation of the posterior, fitted with noise.

    Parameters
    ----------
    epsilon
        The ε that the start may cost by itself; or leave it out and give ``share``.
    share
        The part of the run's ε that the start may cost by itself; a fifth unless
        either is given. Start and chain together cost less than the sum of both.
    delta
        The δ that goes with it; the run's unless given.
    guide
        "full-rank", a normal law with any covariance; or "mean-field", one with
        independent coordinates, for many of them.
    steps
        How many noisy sums are released.
    batch
        How many records each is over; 4000, or all if there are fewer, unless given.
    clip
        Where a record's vector of derivatives is clipped: this many times the length
        that it has on average, when the model is right.
    learning_rate
        How far the mean moves in a step at first, in units of ``scale``.
    scale
        About how far off the start may be: a number, or a pytree like θ. Unless
        given, the width of the prior where its density is like a normal's, else 1.
    pairs
        At how many pairs of points of the guide each record is differentiated.
    """

    epsilon: float | None = None
    share: float | None = None
    delta: float | None = None
    guide: Guide = "full-rank"
    steps: int = 1000
    batch: int | None = None
    clip: float = 4.0
    learning_rate: float = 0.05
    scale: Any = None
    pairs: int = 1

    def __post_init__(self) -> None:
        if self.epsilon is not None and self.share is not None:
            raise InputError(
                f"epsilon is {self.epsilon!r} and share is {self.share!r}; give one of "
                "the two: the start's own ε, or its share of the run's."
            )
        if self.epsilon is not None:
            require_positive("epsilon", self.epsilon, "Give the ε of the start.")
        if self.share is not None:
            require_probability("share", self.share, "A fifth is a common choice.")
        if self.delta is not None:
            require_probability("delta", self.delta, "Choose it well below 1/N.")
        if self.guide not in get_args(Guide):
            raise InputError(
                f"guide is {self.guide!r}; it must be one of "
                f"{', '.join(map(repr, get_args(Guide)))}."
            )
        require_count("steps", self.steps, "A thousand is a common choice.", least=10)
        if self.batch is not None:
            require_count("batch", self.batch, "Give the records of one batch.")
        require_positive("clip", self.clip, "Four leaves most records as they are.")
        require_positive("learning_rate", self.learning_rate, "0.05 is common.")
        require_count("pairs", self.pairs, "One is enough for most models.")

    def plan(self, records: int, delta: float, epsilon: float | None = None) -> Plan:
        """Settle the noise, from the number of records and the budget alone.

        Parameters
        ----------
        records
            The number of records, which is public.
        delta, epsilon
            The budget of the whole run; ε is needed where the start has a share of
            it.

        Returns
        -------
        Plan
            With the event that the start will cost, by itself within its budget.

        Raises
        ------
        InputError
            If the batch is larger than the records, or no ε was given at all.
        """
        records = require_count("records", records, "Give the number of records.")
        batch = min(_BATCH, records) if self.batch is None else self.batch
        if batch > records:
            raise InputError(
                f"batch is {batch}; it must be between 1 and the {records} records. "
                "Take a smaller batch, or leave it out."
            )
        if batch < records > _MOST_RECORDS:
            raise InputError(
                f"there are {records} records; a batch is drawn from at most "
                f"{_MOST_RECORDS}. Split the records, or use a part of them."
            )
        if self.epsilon is not None:
            own = self.epsilon
        elif epsilon is None:
            raise InputError(
                f"the start has a share of {self.share or _SHARE:g} of the run's ε, "
                "but the run has none. Give Variational(epsilon=…), or the run an ε."
            )
        else:
            whole = require_positive("epsilon", epsilon, "Give the budget's ε.")
            own = whole * (_SHARE if self.share is None else self.share)
        own_delta = delta if self.delta is None else self.delta
        noise = least_noise(self.steps, batch, records, own, own_delta)
        return Plan(self, records, batch, noise, own, own_delta)
