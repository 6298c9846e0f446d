# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's Gaussian test on all records: the event, and what it costs."""

import functools
import math
from dataclasses import asdict, dataclass

from scipy import special

from dpmcmc import errors
from dpmcmc.accounting.accountants import BLOCKS, GAUSSIAN, PAPER, ZCDP
from dpmcmc.accounting.bit_profile import BitGrid, bit_profile
from dpmcmc.accounting.cache import cached_profile
from dpmcmc.accounting.decision_blocks import (
    DecisionBlocks,
    chain_parts,
    fineness,
    lens,
    require_narrow,
)
from dpmcmc.accounting.losses import LossPart
from dpmcmc.accounting.noise_mixture import (
    POSITIONS,
    VARIANCE,
    WEIGHTS,
    checked_mixture,
    gaussian_bit_distance,
)
from dpmcmc.accounting.paper import paper_full_data
from dpmcmc.accounting.profiles import Profile
from dpmcmc.accounting.registry import Event, bit_slack
from dpmcmc.accounting.renyi import Divergence
from dpmcmc.arithmetic import log_odds_range

__all__ = ["GaussianBarkerBit", "full_data_profile"]

_POINTS = 65
_FAR = 9.0


@dataclass(frozen=True)
class GaussianBarkerBit(Event):
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
        V_cor as a symmetric mixture of normal components; without standard deviations
        they are atoms.
    """

    clip: float
    records: int
    variance: float = VARIANCE
    positions: tuple[float, ...] = POSITIONS
    weights: tuple[float, ...] = WEIGHTS
    deviations: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse numbers that no test can have."""
        errors.require_positive("clip", self.clip, "Give the clip of the test.")
        errors.require_count("records", self.records, "Give the number of records.")
        errors.require_positive("variance", self.variance, "The paper takes 2.")
        checked_mixture(self.positions, self.weights, self.deviations)

    @property
    def shift(self) -> float:
        """How far one record can move Δ, with the rounding of Δ."""
        return log_odds_range(self.clip, self.records)

    def slack(self, epsilon: float) -> float:
        """What finite arithmetic may add to the δ of this ε.

        Guarantee
        ---------
        As `bit_slack`, for bits of neighbours. They are made of Δ + N(0, C), whose
        loss exceeds 9μ + μ²/2 with probability Φ(−9).
        """
        mu = self.shift / math.sqrt(self.variance)
        distance = gaussian_bit_distance(len(self.positions))
        reach, rare = _FAR * mu + mu**2 / 2, float(special.ndtr(-_FAR))
        return bit_slack(distance, epsilon, reach, rare)


@PAPER.rule(GaussianBarkerBit)
def _paper(bit: GaussianBarkerBit, count: int) -> Divergence:
    return paper_full_data(bit.clip, bit.variance).repeated(count)


@ZCDP.rule(GaussianBarkerBit)
def _rho(bit: GaussianBarkerBit, count: int) -> float:
    return count * bit.shift**2 / (2 * bit.variance)


@GAUSSIAN.rule(GaussianBarkerBit)
def _mu(bit: GaussianBarkerBit, count: int) -> float:
    return bit.shift * math.sqrt(count / bit.variance)


@BLOCKS.rule(GaussianBarkerBit)
def _parts(bit: GaussianBarkerBit, count: int) -> list[LossPart]:
    return chain_parts(_blocks(bit, *fineness(count)), count)


@functools.lru_cache(maxsize=16)
def _blocks(bit: GaussianBarkerBit, longest: int, cells: int) -> DecisionBlocks:
    return lens(full_data_profile(bit), longest, cells)


def full_data_profile(bit: GaussianBarkerBit) -> Profile:
    """Return the profile of one bit."""
    require_narrow(bit.shift)
    mixture = checked_mixture(bit.positions, bit.weights, bit.deviations)
    return cached_profile(
        {"kind": "full data", "points": _POINTS, **asdict(bit)},
        lambda: bit_profile(
            BitGrid(mixture, bit.variance, bit.variance, bit.shift, 0.0), _POINTS
        ),
    )
