# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tests: from one number of each record to the bit that leaves the boundary at a step.

They are Barker's on all records, which is exact, and the paper's two with normal noise
and a correction: on all records, and on a batch.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp

from dpmcmc.arithmetic import PUBLIC_LIMIT
from dpmcmc.private.distributions import NormalMixture, bernoulli, mixture_bernoulli
from dpmcmc.private.ratios import Grid, clip_to_grid, sum_of_steps, sums_of_steps

__all__ = [
    "BatchDecision",
    "CorrectedNoise",
    "Evidence",
    "barker",
    "gaussian_barker",
    "log_odds",
    "minibatch_barker",
    "total_of",
]

_LEAST_VARIANCE = 2.0**-20
"""Keeps the noise of a run that is not private, with C ≤ κ², from vanishing."""


class Evidence(NamedTuple):
    """One number of each record, not clipped yet, and who is present: the last axis."""

    ratios: jax.Array
    present: jax.Array


@dataclass(frozen=True)
class CorrectedNoise:
    """Normal noise of variance C, and the distribution of V_cor that goes with it."""

    variance: float
    correction: NormalMixture


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BatchDecision:
    """How bits are decided on a batch.

    ``grid`` is the grid of the scaled ratios ρᵢ = N₀ rᵢ / √b: its scale is N₀/√b, and
    its clip κ bounds their variance by κ².
    """

    grid: Grid
    batch: int = field(metadata={"static": True})
    noise: CorrectedNoise = field(metadata={"static": True})


def total_of(evidence: Evidence, grid: Grid, block: int) -> jax.Array:
    """The exact sum over records of their ratios on the grid, summed in blocks.

    Guarantee
    ---------
    Σᵢ kᵢ, kᵢ an integer in [−grid.steps, grid.steps] made from entry i; 0 where it is
    not present.
    """
    return sum_of_steps(clip_to_grid(evidence.ratios, evidence.present, grid), block)


def barker(
    total: jax.Array, public: jax.Array, word: jax.Array, grid: Grid
) -> jax.Array:
    """Accept with probability σ(Δ), Δ the clipped log posterior ratio.

    ``total`` is that of all records, by `total_of`. ``public`` is the log-ratio of
    priors and of proposal densities: the part of Δ that no record enters. Where it is
    not finite the proposal is refused, for all data alike. ``word`` is a word of the
    tape.

    Guarantee
    ---------
    The bit depends on the records only through the total. For two data sets that
    differ in one record, its log odds differ by at most
    ``arithmetic.log_odds_range(grid.clip, N)``, up to ``BIT_SLACK`` in total
    variation. The word must be fresh: used for this bit and nothing else.
    """
    return bernoulli(word, log_odds(total, public, grid)) & jnp.isfinite(public)


def gaussian_barker(
    total: jax.Array,
    public: jax.Array,
    word: jax.Array,
    grid: Grid,
    noise: CorrectedNoise,
) -> jax.Array:
    """Accept with probability F(Δ), F that of N(0, C) + V_cor (paper, eq. 7).

    Arguments are those of `barker`, and the noise.

    Guarantee
    ---------
    As for `barker`, with F in place of σ: for two data sets that differ in one
    record, the two Δ differ by at most ``arithmetic.log_odds_range(grid.clip, N)``,
    and the bit is within the total variation of `mixture_bernoulli` of
    Bernoulli(F(Δ)).
    """
    place = log_odds(total, public, grid)
    variance = jnp.full_like(place, noise.variance)
    bit = mixture_bernoulli(word, place, variance, noise.correction)
    return bit & jnp.isfinite(public)


def minibatch_barker(
    evidence: Evidence, public: jax.Array, word: jax.Array, decision: BatchDecision
) -> jax.Array:
    """Accept with probability F(Δ*), decided on a batch (paper, eq. 13).

    With the scaled ratios ρᵢ of the b records of the batch, Δ* = Σ ρᵢ / √b plus the
    public part, s² is their variance (divided by b), and F is the distribution function
    of N(0, C − s²) + V_cor: the batch's own noise, of variance about s², makes it up
    to that of N(0, C) + V_cor, which is close to logistic.

    Guarantee
    ---------
    The bit depends on the records of the batch only through the exact integers
    Σ kᵢ and Σ kᵢ², kᵢ in [−G, G] made from record i, G the steps of the grid. For two
    batches that differ in one record, the computed Δ* differ by at most
    ``arithmetic.log_odds_range(κ/√b, b)``, and the computed s² lie in [0, κ²] and
    differ by at most 4 (b − 1) κ²/b² + 2⁻⁴⁶; so C − s² ≥ C − κ² always. The bit is
    within the total variation of `mixture_bernoulli` of Bernoulli(F(Δ*)).
    """
    steps = clip_to_grid(evidence.ratios, evidence.present, decision.grid)
    first, second = sums_of_steps(steps)
    batch, clip = decision.batch, decision.grid.clip
    place = log_odds(first, public, Grid(clip / batch**0.5, decision.grid.steps))
    unit = decision.grid.step
    mean = first.astype(jnp.float64) * unit / batch
    spread = second.astype(jnp.float64) * (unit * unit) / batch - mean * mean
    variance = decision.noise.variance - jnp.clip(spread, 0.0, clip * clip)
    variance = jnp.maximum(variance, _LEAST_VARIANCE)
    bit = mixture_bernoulli(word, place, variance, decision.noise.correction)
    return bit & jnp.isfinite(public)


def log_odds(total: jax.Array, public: jax.Array, grid: Grid) -> jax.Array:
    """Turn the integer sum and the public part into the log odds of a bit, in float64.

    Guarantee
    ---------
    Each of the three operations rounds at most once. So for two sums of N records
    that differ by at most 2 · ``grid.steps``, and one public part, the results
    differ by at most ``arithmetic.log_odds_range(grid.clip, N)``.
    """
    limited = jnp.clip(public.astype(jnp.float64), -PUBLIC_LIMIT, PUBLIC_LIMIT)
    return total.astype(jnp.float64) * grid.step + limited
