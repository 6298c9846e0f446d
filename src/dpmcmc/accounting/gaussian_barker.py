# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's Gaussian test on all records: the event, and what it costs."""

import functools

import attrs
from dp_accounting import dp_event

from dpmcmc import errors
from dpmcmc.accounting import default_correction
from dpmcmc.accounting.accountants import (
    BLOCKS,
    GAUSSIAN,
    PAPER,
    PAPER_IMPROVED,
    SINGLES,
    ZCDP,
)
from dpmcmc.accounting.bit_profile import BitGrid, bit_profile
from dpmcmc.accounting.blocks import BlockTable
from dpmcmc.accounting.cache import cached_profile
from dpmcmc.accounting.chains import compose_blocks, fineness, require_narrow
from dpmcmc.accounting.gaussian import paper_full_data
from dpmcmc.accounting.lens import lens_table
from dpmcmc.accounting.losses import Losses
from dpmcmc.accounting.noise import checked_mixture, gaussian_bit_slack
from dpmcmc.accounting.profiles import Profile
from dpmcmc.accounting.registry import slack_rule
from dpmcmc.accounting.renyi import Divergence
from dpmcmc.accounting.singles import singles_table
from dpmcmc.arithmetic import log_odds_range

__all__ = ["GaussianBarkerBit", "full_data_profile"]

_POINTS = 65


@attrs.frozen
class GaussianBarkerBit(dp_event.DpEvent):  # type: ignore[misc]
    """One accept bit of the paper's Gaussian test on all records.

    The bit is 1 with probability F(Δ), where Δ is the sum of the N clipped ratios,
    each in [−B, B], plus a public part, and F is the distribution function of
    N(0, C) + V_cor.

    Parameters
    ----------
    clip
        The clip B of one record's ratio.
    records
        The number of records N.
    variance
        The variance C of the normal noise.
    positions, weights, deviations
        V_cor as a symmetric mixture of normal components; no deviations make atoms.
    """

    clip: float
    records: int
    variance: float = default_correction.VARIANCE
    positions: tuple[float, ...] = default_correction.POSITIONS
    weights: tuple[float, ...] = default_correction.WEIGHTS
    deviations: tuple[float, ...] = ()

    def __attrs_post_init__(self) -> None:
        """Refuse numbers that no test can have."""
        errors.require_positive("clip", self.clip, "Give the clip of the test.")
        errors.require_count("records", self.records, "Give the number of records.")
        errors.require_positive("variance", self.variance, "The paper takes 2.")
        checked_mixture(self.positions, self.weights, self.deviations)

    @property
    def shift(self) -> float:
        """How far one record can move Δ, with the rounding of Δ."""
        return log_odds_range(self.clip, self.records)


@slack_rule(GaussianBarkerBit)
def _slack(bit: GaussianBarkerBit) -> float:
    return gaussian_bit_slack(len(bit.positions))


@PAPER.rule(GaussianBarkerBit)
@PAPER_IMPROVED.rule(GaussianBarkerBit)
def _paper(bit: GaussianBarkerBit, count: int) -> Divergence:
    return paper_full_data(bit.clip, bit.variance).repeated(count)


@ZCDP.rule(GaussianBarkerBit)
def _rho(bit: GaussianBarkerBit, count: int) -> float:
    return count * bit.shift**2 / (2 * bit.variance)


@GAUSSIAN.rule(GaussianBarkerBit)
def _mu(bit: GaussianBarkerBit, count: int) -> float:
    return bit.shift * (count / bit.variance) ** 0.5


@SINGLES.rule(GaussianBarkerBit)
def _singles(bit: GaussianBarkerBit, count: int) -> Losses:
    return compose_blocks(singles_table(_table(bit, *fineness(count))), count)


@BLOCKS.rule(GaussianBarkerBit)
def _blocks(bit: GaussianBarkerBit, count: int) -> Losses:
    return compose_blocks(_table(bit, *fineness(count)), count)


@functools.lru_cache(maxsize=16)
def _table(bit: GaussianBarkerBit, longest: int, cells: int) -> BlockTable:
    return lens_table(full_data_profile(bit), longest, cells)


def full_data_profile(bit: GaussianBarkerBit) -> Profile:
    """Return the profile of one bit."""
    require_narrow(bit.shift)
    mixture = checked_mixture(bit.positions, bit.weights, bit.deviations)
    return cached_profile(
        {"kind": "full data", "points": _POINTS, **attrs.asdict(bit)},
        lambda: bit_profile(
            BitGrid(mixture, bit.variance, bit.variance, bit.shift, 0.0), _POINTS
        ),
    )
