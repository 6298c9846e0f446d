# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Chains that decide on a fresh batch at every step: the paper's subsampled test."""

import math
from dataclasses import dataclass

from dpmcmc.accounting import MinibatchBit
from dpmcmc.correction import Correction
from dpmcmc.errors import InputError, require_count, require_positive
from dpmcmc.posterior import Posterior, Statement
from dpmcmc.private import BatchDecision, CorrectedNoise, Grid, Minibatch
from dpmcmc.proposals import Proposal
from dpmcmc.sampling.affordable import affordable_steps
from dpmcmc.sampling.barker import corrected_noise, require_proposal
from dpmcmc.sampling.chain import Chain, ChainSetup, chain_lengths, fitted
from dpmcmc.sampling.draws import collect_draws
from dpmcmc.sampling.plan import Plan, Request, make_plan
from dpmcmc.sampling.problem import Problem
from dpmcmc.sampling.stages import Context, SoFar
from dpmcmc.sampling.starting import starting_points
from dpmcmc.sampling.tempering import Tempering, tempered_records

__all__ = ["MinibatchBarker"]

_MOST_BATCH = 2**22
_MOST_RECORDS = 2**32 - 2
"""Half a word of the tape names a record of which a batch is drawn."""


@dataclass(frozen=True)
class MinibatchBarker:
    """The paper's test on a fresh, secret batch at every step (§3.2).

    Parameters
    ----------
    batch
        The number b of records in a batch.
    clip
        The bound on one record's log-likelihood ratio in one step. Unless given,
        √b/N₀: then the batch's own variance is at most 1 whatever the records are.
    proposal, tempering
        As in `Barker`.
    variance
        The variance C of batch and normal noise together: above (N₀ clip)²/b, which
        bounds the batch's own, and below π²/3.
    correction
        The distribution of V_cor; fitted by linear programme unless given.
    replacement
        Whether a batch is drawn with replacement. Without costs less privacy.
    """

    batch: int
    clip: float | None = None
    proposal: Proposal | None = None
    tempering: Tempering = None
    variance: float = 2.0
    correction: Correction | None = None
    replacement: bool = False

    def plan(self, problem: Problem, request: Request) -> Plan:
        """One stage: a chain."""
        proposal = require_proposal(self.proposal)
        chains = 1 if request.chains is None else request.chains
        tempered = tempered_records(self.tempering, problem.size)
        batch = self._batch(problem.size)
        noise = corrected_noise(self.variance, self.correction)
        scale = tempered / math.sqrt(batch)
        bound = (
            1.0
            if self.clip is None
            else scale * require_positive("clip", self.clip, "√b/N₀ is usual.")
        )
        if request.is_private:
            _require_noise(noise, bound)
        decided = BatchDecision(Grid(bound, scale=scale), batch, noise)
        test = Minibatch(decided, self.replacement)
        decision = MinibatchBit(
            batch=batch,
            records=problem.size,
            clip=bound,
            variance=noise.variance,
            positions=noise.correction.centres,
            weights=noise.correction.weights,
            deviations=noise.correction.widths,
            replacement=self.replacement,
        )
        steps = affordable_steps(request, decision, chains)
        lengths = chain_lengths(chains, steps, request.warmup, test)
        fitted(proposal, problem, problem.initial, lengths.warmup)  # refuse it now

        def setup(context: Context, so_far: SoFar) -> ChainSetup:
            del so_far
            points = starting_points(problem, lengths.chains, context.public_seed)
            return ChainSetup(problem, points, proposal, test)

        how = "with" if self.replacement else "without"
        chain = Chain(
            lengths,
            decision,
            test,
            setup,
            f"decided on a fresh, secret batch of {batch:,} {problem.counts} drawn "
            f"{how} replacement, with the log-likelihood ratio of each clipped to "
            f"±{bound / scale:.4g}, by the minibatch test with C = {self.variance:g}",
        )

        def collect(context: Context, so_far: SoFar, statement: Statement) -> Posterior:
            del context
            words = repr(proposal)
            return collect_draws(problem, chain, so_far, statement, proposal=words)

        return make_plan(problem, request, [chain], collect, tempered=tempered)

    def _batch(self, records: int) -> int:
        batch = require_count("batch", self.batch, "1000 is the paper's choice.")
        if batch > min(records, _MOST_BATCH):
            raise InputError(
                f"batch is {batch}; it must be at most the {records} records and at "
                f"most {_MOST_BATCH}. Choose a smaller batch."
            )
        if records > _MOST_RECORDS:
            raise InputError(
                f"there are {records} records; the minibatch test takes at most "
                f"{_MOST_RECORDS}."
            )
        return batch


def _require_noise(noise: CorrectedNoise, bound: float) -> None:
    if noise.variance <= bound**2:
        raise InputError(
            f"variance is {noise.variance!r}; for a private run C must lie strictly "
            f"between {bound**2:g}, the most that a batch's own variance can be, and "
            f"π²/3 ≈ {math.pi**2 / 3:.4f}. Choose a larger one, or a smaller clip."
        )
