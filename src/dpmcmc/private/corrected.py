# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's tests: normal noise and a correction, on all records or on a batch."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp

from dpmcmc.private.decisions import Decision, Evidence, log_odds
from dpmcmc.private.distributions import NormalMixture, mixture_bernoulli
from dpmcmc.private.ratios import Grid, clip_to_grid, sum_of_steps, sums_of_steps

__all__ = ["BatchDecision", "CorrectedNoise", "gaussian_barker", "minibatch_barker"]


_LEAST_VARIANCE = 2.0**-20
"""Keeps the noise of a run that is not private, with C ≤ κ², from vanishing."""


@dataclass(frozen=True)
class CorrectedNoise:
    """Normal noise of variance C, and the law of V_cor that goes with it."""

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


def gaussian_barker(
    evidence: Evidence,
    public: jax.Array,
    word: jax.Array,
    decision: Decision,
    noise: CorrectedNoise,
) -> jax.Array:
    """Accept with probability F(Δ), F the law of N(0, C) + V_cor (paper, eq. 7).

    Parameters
    ----------
    evidence, public, word, decision
        As for `barker`.
    noise
        The variance C and the correction.

    Guarantee
    ---------
    As for `barker`, with F in place of σ: for two data sets that differ in one
    record, the two Δ differ by at most ``arithmetic.log_odds_range(grid.clip, N)``,
    and the bit is within the total variation of `mixture_bernoulli` of
    Bernoulli(F(Δ)).
    """
    steps = clip_to_grid(evidence.ratios, evidence.present, decision.grid)
    total = sum_of_steps(steps, decision.block)
    place = log_odds(total, public, decision.grid)
    variance = jnp.full_like(place, noise.variance)
    bit = mixture_bernoulli(word, place, variance, noise.correction)
    return bit & jnp.isfinite(public)


def minibatch_barker(
    evidence: Evidence, public: jax.Array, word: jax.Array, decision: BatchDecision
) -> jax.Array:
    """Accept with probability F(Δ*), decided on a batch (paper, eq. 13).

    With the scaled ratios ρᵢ of the b records of the batch, Δ* = Σ ρᵢ / √b plus the
    public part, s² is their variance (divided by b), and F is the law of
    N(0, C − s²) + V_cor: the batch's own noise, of variance about s², makes it up to
    the law of N(0, C) + V_cor, which is close to logistic.

    Parameters
    ----------
    evidence
        One number of each record of the batch, along the last axis.
    public, word
        As for `barker`.
    decision
        The grid, the batch and the noise.

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
