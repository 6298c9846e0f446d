# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The logistic test on a batch of records: the event, and what it costs.

The bit is 1 with probability σ(Δ*), without a correction for the variance of the batch.
Given the batch it has bounded log-odds range, so everything is in closed form.
"""

import functools
import math

import attrs
import numpy as np
from dp_accounting import dp_event

from dpmcmc import errors
from dpmcmc.accounting.accountants import BLOCKS, SINGLES, ZCDP
from dpmcmc.accounting.batches import require_batch
from dpmcmc.accounting.blocks import BlockTable
from dpmcmc.accounting.bounded_range import bounded_range_rho
from dpmcmc.accounting.chains import compose_blocks, fineness, require_narrow
from dpmcmc.accounting.lens import lens_table
from dpmcmc.accounting.losses import Losses
from dpmcmc.accounting.profiles import (
    Profile,
    amplified_range,
    bounded_range_points,
    likely_copies,
    with_replacement,
    without_replacement,
)
from dpmcmc.accounting.registry import NotApplicableError, slack_rule
from dpmcmc.accounting.singles import singles_table
from dpmcmc.arithmetic import BIT_SLACK, log_odds_range

__all__ = ["LogisticMinibatchBit", "logistic_profile"]

_POINTS = 97
_FAR_POINTS = 8


@attrs.frozen
class LogisticMinibatchBit(dp_event.DpEvent):  # type: ignore[misc]
    """One accept bit of the logistic test on a batch drawn afresh.

    Of N records a batch of b is drawn. With the scaled ratios ρᵢ = N rᵢ / √b, each
    clipped to [−κ, κ], the bit is 1 with probability σ(Δ*), where Δ* = Σ ρᵢ / √b plus a
    public part.

    Parameters
    ----------
    batch
        The number b of records in a batch.
    records
        The number N of records.
    clip
        The clip κ of a scaled ratio.
    replacement
        Whether the batch is drawn with replacement.
    """

    batch: int
    records: int
    clip: float = 1.0
    replacement: bool = False

    def __attrs_post_init__(self) -> None:
        """Refuse numbers that no test can have."""
        require_batch(self.batch, self.records)
        errors.require_positive("clip", self.clip, "Give the clip of the test.")

    @property
    def log_odds_range(self) -> float:
        """How far one record of the batch can move the log odds."""
        return log_odds_range(self.clip / math.sqrt(self.batch), self.batch)


@slack_rule(LogisticMinibatchBit)
def _slack(_: LogisticMinibatchBit) -> float:
    return BIT_SLACK


@ZCDP.rule(LogisticMinibatchBit)
def _rho(bit: LogisticMinibatchBit, count: int) -> float:
    if bit.replacement:
        raise NotApplicableError(
            "the batch is drawn with replacement; the closed form of the log-odds "
            "range is for batches without replacement."
        )
    eta = amplified_range(bit.log_odds_range, bit.batch, bit.records)
    return count * bounded_range_rho(eta)


@SINGLES.rule(LogisticMinibatchBit)
def _singles(bit: LogisticMinibatchBit, count: int) -> Losses:
    return compose_blocks(singles_table(_table(bit, *fineness(count))), count)


@BLOCKS.rule(LogisticMinibatchBit)
def _blocks(bit: LogisticMinibatchBit, count: int) -> Losses:
    return compose_blocks(_table(bit, *fineness(count)), count)


@functools.lru_cache(maxsize=16)
def _table(bit: LogisticMinibatchBit, longest: int, cells: int) -> BlockTable:
    return lens_table(logistic_profile(bit), longest, cells)


def logistic_profile(bit: LogisticMinibatchBit) -> Profile:
    """Return the profile of one bit, its batch drawn afresh and never released."""
    eta = bit.log_odds_range
    require_narrow(eta)
    epsilons = eta * np.linspace(0.0, 1.0, _POINTS)
    if not bit.replacement:
        base = Profile(epsilons, bounded_range_points(eta, epsilons))
        return without_replacement(base, bit.batch, bit.records)
    # The rare k copies move the log odds by k η.
    most = likely_copies(bit.batch, bit.records)
    far = eta * np.arange(1 + 1 / _FAR_POINTS, most + 1e-9, 1 / _FAR_POINTS)
    epsilons = np.concatenate([epsilons, far])
    return with_replacement(
        lambda copies: bounded_range_points(copies * eta, epsilons),
        epsilons,
        bit.batch,
        bit.records,
    )
