# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's test on a batch of records: the event, and what it costs."""

import functools
import math
from dataclasses import asdict, dataclass

import numpy as np
from scipy import special

from dpmcmc import errors
from dpmcmc.accounting.accountants import BLOCKS, PAPER, SHARPENED
from dpmcmc.accounting.batch_gaussian import require_batch
from dpmcmc.accounting.bit_profile import BitGrid, bit_profile
from dpmcmc.accounting.cache import cached_profile
from dpmcmc.accounting.decision_blocks import (
    DecisionBlocks,
    chain_parts,
    fineness,
    lens,
)
from dpmcmc.accounting.losses import LossPart
from dpmcmc.accounting.noise_mixture import (
    POSITIONS,
    VARIANCE,
    VARIANCE_ROUNDING,
    WEIGHTS,
    checked_mixture,
    gaussian_bit_distance,
)
from dpmcmc.accounting.paper import paper_minibatch
from dpmcmc.accounting.profiles import (
    Array,
    Profile,
    likely_copies,
    with_replacement,
    without_replacement,
)
from dpmcmc.accounting.registry import Event, NotApplicableError, bit_slack
from dpmcmc.accounting.renyi import LARGEST_ORDER, Divergence, subsampled
from dpmcmc.arithmetic import log_odds_range

__all__ = ["MinibatchBit", "drawn_profile", "sharpened_minibatch"]

_POINTS = 65
_FAR_POINTS = 4
_FAR = 9.0
_PAPER_VARIANCE = 2.0


@dataclass(frozen=True)
class MinibatchBit(Event):
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
        V_cor as a symmetric mixture of normal components; without standard deviations
        they are atoms.
    replacement
        Whether the batch is drawn with replacement.
    """

    batch: int
    records: int
    clip: float = 1.0
    variance: float = VARIANCE
    positions: tuple[float, ...] = POSITIONS
    weights: tuple[float, ...] = WEIGHTS
    deviations: tuple[float, ...] = ()
    replacement: bool = False

    def __post_init__(self) -> None:
        """Refuse numbers that no test can have."""
        require_batch(self.batch, self.records)
        errors.require_positive("clip", self.clip, "The paper takes 1.")
        errors.require_positive("variance", self.variance, "The paper takes 2.")
        if self.clip**2 + 2 * VARIANCE_ROUNDING >= self.variance:
            raise errors.InputError(
                f"clip is {self.clip!r}; its square must be below the variance "
                f"{self.variance!r}, for the batch may have that much variance itself. "
                f"Take a clip below {math.sqrt(self.variance):.6g}."
            )
        checked_mixture(self.positions, self.weights, self.deviations)

    def slack(self, epsilon: float) -> float:
        """What finite arithmetic may add to the δ of this ε.

        Guarantee
        ---------
        As `bit_slack`, for bits of neighbours. Given the batch, they are made of
        N(Δ*, C − s²); normal noise beyond 9 standard deviations and rare copies of a
        record are charged, and within them the loss is bounded.
        """
        copies, rare = 1, 2 * float(special.ndtr(-_FAR))
        drawn = self.batch / self.records
        if self.replacement:
            copies = likely_copies(self.batch, self.records)
            rare += float(special.bdtrc(copies, self.batch, 1 / self.records))
        shift, change, least = _moves(self, copies)
        ratio = change / least
        reach = (1 + _FAR**2) * ratio / 2 + shift**2 / (2 * least)
        reach += _FAR * shift * math.sqrt((1 + ratio) / least)
        reach = math.log1p(drawn * math.expm1(min(reach, 700.0)))
        distance = gaussian_bit_distance(len(self.positions))
        return bit_slack(distance, epsilon, reach, rare)


def _moves(bit: MinibatchBit, copies: int) -> tuple[float, float, float]:
    """How far ``copies`` substituted entries move Δ* and s², and the least C − s².

    The mean moves by at most copies · 2κ/√b, and the batch variance by at most
    4 f (1 − f) κ² with f = copies / b up to one half, by κ² beyond.
    """
    part = min(copies / bit.batch, 0.5)
    change = 4 * part * (1 - part) * bit.clip**2 + VARIANCE_ROUNDING
    shift = copies * log_odds_range(bit.clip / math.sqrt(bit.batch), bit.batch)
    return shift, change, bit.variance - bit.clip**2 - VARIANCE_ROUNDING


@PAPER.rule(MinibatchBit)
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
    return subsampled(sharpened_minibatch(bit), bit.batch, bit.records)


def sharpened_minibatch(bit: MinibatchBit) -> Divergence:
    """Return a sharper divergence of one batch than the paper's, for any C and clip.

    The batch variance changes by at most 4 (b − 1) κ² / b² when one of b scaled
    ratios in [−κ, κ] is replaced, which bounds the variance terms of the paper's
    Lemma 1 by second-order ones.

    Guarantee
    ---------
    The divergence of order α between N(Δ*, C − s²) for two batches that differ in
    one record, Δ* and s² as the test computes them, is at most the returned bound,
    for α w < 1 with w = E / v, E the largest change of s² and v the least variance,
    both with their rounding.
    """
    shift, change, least = _moves(bit, 1)
    w = change / least
    # The largest integer strictly below 1 / w.
    largest = math.ceil(1 / w) - 1
    if largest < 2:
        raise NotApplicableError(
            f"batch is {bit.batch}; the sharpened Rényi bound needs an order of at "
            f"least 2 below {1 / w:.3g}. Take a larger batch."
        )
    bound = (w**2 / (4 * (1 - w)) + shift**2 / (2 * least)) * (1 + 1e-9)
    return Divergence(
        lambda order: order / (1 - order * w) * bound, min(largest, LARGEST_ORDER)
    )


@BLOCKS.rule(MinibatchBit)
def _parts(bit: MinibatchBit, count: int) -> list[LossPart]:
    return chain_parts(_blocks(bit, *fineness(count)), count)


@functools.lru_cache(maxsize=16)
def _blocks(bit: MinibatchBit, longest: int, cells: int) -> DecisionBlocks:
    return lens(drawn_profile(bit), longest, cells)


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
        {"kind": "drawn batch", "points": _POINTS, **asdict(bit)},
        lambda: with_replacement(copies, epsilons, bit.batch, bit.records),
    )


def _in_batch(bit: MinibatchBit) -> Profile:
    """Return the profile of one substitution inside the batch, which is known."""
    fields = asdict(bit)
    del fields["records"], fields["replacement"]
    return cached_profile(
        {"kind": "batch", "points": _POINTS, **fields},
        lambda: bit_profile(_grid(bit, 1), _POINTS),
    )


def _grid(bit: MinibatchBit, copies: int) -> BitGrid:
    """Bound one bit when ``copies`` entries of the batch are substituted."""
    shift, change, least = _moves(bit, copies)
    mixture = checked_mixture(bit.positions, bit.weights, bit.deviations)
    most = bit.variance + VARIANCE_ROUNDING
    # Several copies are rare, so that their bound need not be as tight.
    return BitGrid(mixture, least, most, shift, change, 1.0 if copies == 1 else 2.0)
