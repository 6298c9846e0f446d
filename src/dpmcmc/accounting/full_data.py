# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The exact Barker bit on all records: the event, and what it costs.

An event is a frozen record on top of dp-accounting's event language: it holds every
number that a proof of its privacy needs and nothing else. Repetition and stages are
dp-accounting's own ``SelfComposedDpEvent`` and ``ComposedDpEvent``. The adjacency is
the substitution of one record; the number of records is public.
"""

import attrs
from dp_accounting import dp_event

from dpmcmc import errors
from dpmcmc.accounting.accountants import BLOCKS, SINGLES, ZCDP
from dpmcmc.accounting.blocks import BlockTable, bounded_range_table
from dpmcmc.accounting.bounded_range import bounded_range_rho
from dpmcmc.accounting.chains import compose_blocks, fineness, require_narrow
from dpmcmc.accounting.losses import Losses
from dpmcmc.accounting.registry import slack_rule
from dpmcmc.accounting.singles import singles_table
from dpmcmc.arithmetic import BIT_SLACK, log_odds_range

__all__ = ["BarkerBit"]


@attrs.frozen
class BarkerBit(dp_event.DpEvent):  # type: ignore[misc]
    """One accept bit of the exact Barker test on all records.

    The bit is 1 with probability σ(Δ), where Δ is the sum of the N clipped ratios,
    each in [−B, B], plus a public part.

    Parameters
    ----------
    clip
        The clip B of one record's ratio.
    records
        The number of records N.
    """

    clip: float
    records: int

    def __attrs_post_init__(self) -> None:
        """Refuse a clip or a number of records that no test can have."""
        errors.require_positive("clip", self.clip, "Give the clip of the test.")
        errors.require_count("records", self.records, "Give the number of records.")

    @property
    def log_odds_range(self) -> float:
        """How far one record can move the log odds, with the rounding of Δ."""
        return log_odds_range(self.clip, self.records)


@slack_rule(BarkerBit)
def _slack(_: BarkerBit) -> float:
    return BIT_SLACK


@ZCDP.rule(BarkerBit)
def _rho(bit: BarkerBit, count: int) -> float:
    return count * bounded_range_rho(bit.log_odds_range)


@SINGLES.rule(BarkerBit)
def _singles(bit: BarkerBit, count: int) -> Losses:
    return compose_blocks(singles_table(_table(bit, count)), count)


@BLOCKS.rule(BarkerBit)
def _blocks(bit: BarkerBit, count: int) -> Losses:
    return compose_blocks(_table(bit, count), count)


def _table(bit: BarkerBit, count: int) -> BlockTable:
    require_narrow(bit.log_odds_range)
    return bounded_range_table(bit.log_odds_range, *fineness(count))
