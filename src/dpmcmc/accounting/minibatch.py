# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's test on a batch of records: the event, and what it costs."""

import functools
import math

import attrs
import numpy as np
from dp_accounting import dp_event

from dpmcmc import errors
from dpmcmc.accounting import default_correction
from dpmcmc.accounting.accountants import (
    BLOCKS,
    PAPER,
    PAPER_IMPROVED,
    SHARPENED,
    SINGLES,
)
from dpmcmc.accounting.batches import require_batch
from dpmcmc.accounting.bit_profile import BitGrid, bit_profile
from dpmcmc.accounting.blocks import BlockTable
from dpmcmc.accounting.cache import cached_profile
from dpmcmc.accounting.chains import compose_blocks, fineness
from dpmcmc.accounting.gaussian import (
    paper_minibatch,
    sharpened_minibatch,
    subsampled,
)
from dpmcmc.accounting.lens import lens_table
from dpmcmc.accounting.losses import Losses
from dpmcmc.accounting.noise import (
    VARIANCE_ROUNDING,
    checked_mixture,
    gaussian_bit_slack,
)
from dpmcmc.accounting.profiles import (
    Array,
    Profile,
    likely_copies,
    with_replacement,
    without_replacement,
)
from dpmcmc.accounting.registry import NotApplicableError, slack_rule
from dpmcmc.accounting.renyi import Divergence
from dpmcmc.accounting.singles import singles_table
from dpmcmc.arithmetic import log_odds_range

__all__ = ["MinibatchBit", "drawn_profile"]

_POINTS = 65
_FAR_POINTS = 4
_PAPER_VARIANCE = 2.0


@attrs.frozen
class MinibatchBit(dp_event.DpEvent):  # type: ignore[misc]
    """One accept bit of the paper's test on a batch drawn afresh.

    Of N records a batch of b is drawn. With the scaled ratios ρᵢ = N rᵢ / √b, each
    clipped to [−κ, κ], the bit is 1 with probability F(Δ*), where Δ* = Σ ρᵢ / √b plus a
    public part, F is the distribution function of N(0, C − s²) + V_cor, and s² is the
    variance of the ρᵢ in the batch (divided by b).

    Parameters
    ----------
    batch
        The number b of records in a batch.
    records
        The number N of records.
    clip
        The clip κ of a scaled ratio; the paper takes 1, which is √b/N for a ratio.
    variance
        The variance C that batch and added noise have together.
    positions, weights, deviations
        V_cor as a symmetric mixture of normal components; no deviations make atoms.
    replacement
        Whether the batch is drawn with replacement.
    """

    batch: int
    records: int
    clip: float = 1.0
    variance: float = default_correction.VARIANCE
    positions: tuple[float, ...] = default_correction.POSITIONS
    weights: tuple[float, ...] = default_correction.WEIGHTS
    deviations: tuple[float, ...] = ()
    replacement: bool = False

    def __attrs_post_init__(self) -> None:
        """Refuse numbers that no test can have."""
        require_batch(self.batch, self.records)
        errors.require_positive("clip", self.clip, "The paper takes 1.")
        errors.require_positive("variance", self.variance, "The paper takes 2.")
        if self.clip**2 >= self.variance:
            raise errors.InputError(
                f"clip is {self.clip!r}; its square must be below the variance "
                f"{self.variance!r}, for the batch may have that much variance itself. "
                f"Take a clip below {math.sqrt(self.variance):.6g}."
            )
        checked_mixture(self.positions, self.weights, self.deviations)


@slack_rule(MinibatchBit)
def _slack(bit: MinibatchBit) -> float:
    return gaussian_bit_slack(len(bit.positions))


@PAPER.rule(MinibatchBit)
@PAPER_IMPROVED.rule(MinibatchBit)
def _paper(bit: MinibatchBit, count: int) -> Divergence:
    if bit.variance != _PAPER_VARIANCE or bit.clip > 1:
        raise NotApplicableError(
            f"variance is {bit.variance!r} and clip {bit.clip!r}; Theorem 3 needs "
            "variance 2 and a clip of at most 1."
        )
    return _paper_one(_without_replacement(bit)).repeated(count)


@SHARPENED.rule(MinibatchBit)
def _sharpened(bit: MinibatchBit, count: int) -> Divergence:
    return _sharpened_one(_without_replacement(bit)).repeated(count)


def _without_replacement(bit: MinibatchBit) -> MinibatchBit:
    if bit.replacement:
        raise NotApplicableError(
            "the batch is drawn with replacement; the amplification of Rényi "
            "divergences is for batches without replacement."
        )
    return bit


@functools.lru_cache(maxsize=16)
def _paper_one(bit: MinibatchBit) -> Divergence:
    return subsampled(paper_minibatch(bit.batch), bit.batch, bit.records)


@functools.lru_cache(maxsize=16)
def _sharpened_one(bit: MinibatchBit) -> Divergence:
    base = sharpened_minibatch(bit.batch, bit.clip, bit.variance)
    return subsampled(base, bit.batch, bit.records)


@SINGLES.rule(MinibatchBit)
def _singles(bit: MinibatchBit, count: int) -> Losses:
    return compose_blocks(singles_table(_table(bit, *fineness(count))), count)


@BLOCKS.rule(MinibatchBit)
def _blocks(bit: MinibatchBit, count: int) -> Losses:
    return compose_blocks(_table(bit, *fineness(count)), count)


@functools.lru_cache(maxsize=16)
def _table(bit: MinibatchBit, longest: int, cells: int) -> BlockTable:
    return lens_table(drawn_profile(bit), longest, cells)


def drawn_profile(bit: MinibatchBit) -> Profile:
    """Return the profile of one bit, its batch drawn afresh and never released."""
    base = _in_batch(bit)
    if not bit.replacement:
        return without_replacement(base, bit.batch, bit.records)
    # The rare k copies move the mean by k D, so that their losses reach further.
    most = likely_copies(bit.batch, bit.records)
    far = np.arange(1 + 1 / _FAR_POINTS, most + 1e-9, 1 / _FAR_POINTS)
    epsilons = np.concatenate([base.epsilons, base.epsilons[-1] * far])

    def copies(number: int) -> Array:
        return _grid(bit, number).deltas(epsilons)

    return cached_profile(
        {"kind": "drawn batch", "points": _POINTS, **attrs.asdict(bit)},
        lambda: with_replacement(copies, epsilons, bit.batch, bit.records),
    )


def _in_batch(bit: MinibatchBit) -> Profile:
    """Return the profile of one substitution inside the batch, which is known."""
    fields = attrs.asdict(bit)
    del fields["records"], fields["replacement"]
    return cached_profile(
        {"kind": "batch", "points": _POINTS, **fields},
        lambda: bit_profile(_grid(bit, 1), _POINTS),
    )


def _grid(bit: MinibatchBit, copies: int) -> BitGrid:
    """Bound one bit when ``copies`` entries of the batch are substituted.

    The mean moves by at most copies · 2κ/√b, and the batch variance by at most
    4 f (1 − f) κ² with f = copies / b up to one half, by κ² beyond.
    """
    share = min(copies / bit.batch, 0.5)
    change = 4 * share * (1 - share) * bit.clip**2 + VARIANCE_ROUNDING
    shift = copies * log_odds_range(bit.clip / math.sqrt(bit.batch), bit.batch)
    least = bit.variance - bit.clip**2 - VARIANCE_ROUNDING
    mixture = checked_mixture(bit.positions, bit.weights, bit.deviations)
    most = bit.variance + VARIANCE_ROUNDING
    # Several copies are rare, so that their bound need not be as tight.
    return BitGrid(mixture, least, most, shift, change, 1.0 if copies == 1 else 2.0)
