# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The Barker test on all records: the one bit that leaves the boundary at a step."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from dpmcmc.arithmetic import PUBLIC_LIMIT
from dpmcmc.private.distributions import bernoulli
from dpmcmc.private.ratios import Grid, clip_to_grid, sum_of_steps

__all__ = ["Decision", "Evidence", "barker", "log_odds"]


class Evidence(NamedTuple):
    """What a decision reads of the records: one number of each, and who is present."""

    ratios: jax.Array
    present: jax.Array


@dataclass(frozen=True)
class Decision:
    """How bits are decided: the grid of the ratios, and the block of their sums."""

    grid: Grid
    block: int


def barker(
    evidence: Evidence, public: jax.Array, word: jax.Array, decision: Decision
) -> jax.Array:
    """Accept with probability σ(Δ), Δ the clipped log posterior ratio.

    Parameters
    ----------
    evidence
        One number of each record, such as its log-likelihood ratio, along the last
        axis; not clipped yet.
    public
        Log-ratio of priors and of proposal densities: the part of Δ that no record
        enters. Where it is not finite the proposal is refused, for all data alike.
    word
        One word of the tape.
    decision
        The grid and block of the integer sum.

    Returns
    -------
    jax.Array
        The bit: whether the proposal is accepted.

    Guarantee
    ---------
    The bit depends on the records only through Σᵢ kᵢ, kᵢ an integer in
    [−grid.steps, grid.steps] made from record i. For two data sets that differ in
    one record, its log odds differ by at most
    ``arithmetic.log_odds_range(grid.clip, N)``, up to ``BIT_SLACK`` in total
    variation. The word must be fresh: used for this bit and nothing else.
    """
    steps = clip_to_grid(evidence.ratios, evidence.present, decision.grid)
    total = sum_of_steps(steps, decision.block)
    odds = log_odds(total, public, decision.grid)
    return bernoulli(word, odds) & jnp.isfinite(public)


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
