# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Sufficient statistics: their sum is released once, and chains run on it.

Where the statistics are exact, chains read no record. They are the same chains, by the
same test; but the records that they are handed are one made-up zero, so that they
cannot read any other. Where the statistics are nearly sufficient, decisions are about
what they miss.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import jax
import numpy as np

from dpmcmc.accounting import BarkerBit, GaussianRelease
from dpmcmc.errors import InputError
from dpmcmc.model.model import Model
from dpmcmc.model.statistics import Statistics
from dpmcmc.posterior import Posterior, Statement
from dpmcmc.posterior.statement import StageSummary
from dpmcmc.private import (
    Bins,
    FullData,
    Grid,
    Tape,
    release_counts,
    release_sum,
)
from dpmcmc.progress import steps_bar
from dpmcmc.proposals import Proposal
from dpmcmc.sampling.asked_of_statistics import BinOf, CellOf, UnitOf
from dpmcmc.sampling.chain import (
    PUBLIC,
    READS_NOTHING,
    Chain,
    ChainSetup,
    chain_lengths,
    fitted,
    repeated,
)
from dpmcmc.sampling.draws import collect_draws
from dpmcmc.sampling.gaussian_budget import Splitting, split_budget
from dpmcmc.sampling.plan import Plan, Request, make_plan
from dpmcmc.sampling.problem import Problem
from dpmcmc.sampling.released_sum import ReleasedSum
from dpmcmc.sampling.stages import Charge, Charged, Context, Events, Part, SoFar
from dpmcmc.sampling.tempering import Tempering, tempered_records

__all__ = ["SufficientStatistics"]

_STEPS, _CELL_STEPS = 2500, 10_000
"""Steps of each chain that reads no record: they cost nothing. Posteriors of cells may
be far from normal, and take more."""

_CHAINS = 4
_DECISIONS = 4000
"""Decisions where the statistics are not exact, shared by the chains."""

_FOR_DECISIONS = 0.4
"""Their fraction of the budget."""

_UP = 1 + 1e-12
"""Noise of several releases is rounded up by this: their fractions are rounded."""


@dataclass(frozen=True)
class SufficientStatistics:
    """Release the sum of the model's sufficient statistics once, for all steps.

    The model says what they are (`Model.statistics`). Where they are exact, chains run
    on the released sum alone, read no record, and may have any number of steps.

    Parameters
    ----------
    proposal
        How a chain proposes; fitted to the released sum unless given.
    tempering
        As in `Barker`.
    """

    proposal: Proposal | None = None
    tempering: Tempering = None

    def plan(self, problem: Problem, request: Request) -> Plan:
        """Two stages: the sum, and a chain."""
        statistics = _require_statistics(problem.model)
        tempered = tempered_records(self.tempering, problem.size)
        chains = _CHAINS if request.chains is None else request.chains
        is_exact = statistics.is_exact
        steps = request.steps
        if steps is None:
            free = _STEPS if statistics.cells is None else _CELL_STEPS
            steps = free if is_exact else max(1, _DECISIONS // chains)
        decisions = 0 if is_exact else chains * steps
        splitting = Splitting(decisions, _FOR_DECISIONS)
        split = split_budget(request, problem.size, splitting)
        stage = _Sum(statistics, split.releases[0], problem.size)
        tempering = tempered / problem.size
        test = READS_NOTHING
        decision: BarkerBit | None = None
        sentence = "Decided on the released sum alone"
        if not is_exact:
            grid = Grid.unclipped(problem.size, tempering)
            clipped = "not clipped"
            if split.clip:
                grid = Grid(split.clip, scale=tempering)
                clipped = f"clipped to ±{split.clip:g}"
            test = FullData(grid)
            decision = BarkerBit(clip=grid.clip, records=problem.size)
            sentence = (
                "decided on all records, with each record's log-likelihood ratio, less "
                f"what its statistics say of it, {clipped}, by Barker's exact test"
            )
        lengths = chain_lengths(chains, steps, request.warmup, test)
        if self.proposal is not None:  # refuse it now, before the sum is released
            fitted(self.proposal, problem, problem.initial, lengths.warmup)

        def setup(context: Context, so_far: SoFar) -> ChainSetup:
            del context
            found = _found(problem, stage, so_far, tempering)
            proposal = found.proposal if self.proposal is None else self.proposal
            if not is_exact:
                points = repeated(found.mean, lengths.chains)
                used = replace(test, influence=found.unexplained)
                return ChainSetup(problem, points, proposal, used)
            # What is added up is as large as N: it takes float64 to tell two points
            # apart.
            public = replace(
                problem,
                records=PUBLIC,
                dtype="float64",
                devices=(problem.public_device,),
            )
            points = repeated(found.wide_mean, lengths.chains)
            used = replace(READS_NOTHING, influence=found.alone)
            return ChainSetup(public, points, proposal, used)

        chain = Chain(lengths, decision, test, setup, sentence)

        def collect(context: Context, so_far: SoFar, statement: Statement) -> Posterior:
            found = _found(problem, stage, so_far, tempering)
            generator = np.random.default_rng(context.public_seed)
            is_aware = is_exact and found.is_aware
            return collect_draws(
                problem,
                chain,
                so_far,
                statement,
                proposal=repr(self.proposal or "fitted to the released sum"),
                move=None if is_aware else found.mover(generator),
            )

        return make_plan(
            problem,
            request,
            [stage, chain],
            collect,
            tempered=tempered,
            notes=[_note(is_exact, statistics, tempered == problem.size)],
        )


@dataclass(frozen=True, eq=False)
class _Sum:
    """The stage that releases the sum of the statistics.

    Attributes
    ----------
    statistics
        What the model states.
    mu
        The shift of the sum that one substitution makes, in sd of its noise.
    records
        The number of records.
    """

    statistics: Statistics
    mu: float
    records: int
    name: str = "sum"

    @property
    def events(self) -> Events:
        """One release with normal noise."""
        return {GaussianRelease(self.mu): 1}

    @property
    def noise(self) -> float:
        """The sd of the noise, in units of the bound on a record's statistics."""
        return self._noise_for(self.statistics.own_fraction)

    def _noise_for(self, fraction: float) -> float:
        """That of a release that has a fraction of the budget, in squares of μ."""
        whole = self.statistics.sensitivity / self.mu
        is_one = not self.statistics.margins
        return whole if is_one else _UP * whole / math.sqrt(fraction)

    def run(
        self, context: Context, so_far: SoFar, charged: Charged, charge: Charge
    ) -> Iterator[Part]:
        """Release the sum, unless it was released before.

        Guarantee
        ---------
        What is released is one part, charged before a record is read for it, and
        dominated by ``GaussianRelease(mu)``: a sum, or the counts of a table and of its
        margins, whose fractions of μ² are public and add up to one.
        """
        if so_far[self.name]:
            return
        if charged:
            raise InputError(
                "the sum was paid for and lost when the run was interrupted; nothing "
                "can go on without it. Begin another run."
            )
        problem = context.problem
        charge(self.name, self.events)
        label = context.label("Statistics")
        with steps_bar(problem.size, label, context.progress, " records") as done:
            found = {"total": self._release(problem, context.tape("control variates"))}
            for number, margin in enumerate(self.statistics.margins):
                found[_margin(number)] = self._counted(
                    problem,
                    BinOf(self.statistics, margin),
                    context.tape(_margin(number)),
                    self._noise_for(margin.fraction),
                )
            done(problem.size)
        yield Part(self.name, found)

    def _release(self, problem: Problem, tape: Tape) -> np.ndarray:
        """The noisy sum in units of the bound, or the noisy counts of cells."""
        if self.statistics.cells is not None:
            return self._counted(problem, CellOf(self.statistics), tape, self.noise)
        return release_sum(
            problem.model,
            problem.records,
            UnitOf(self.statistics),
            (),
            tape,
            noise=self.noise,
            dtype=problem.dtype,
            devices=list(problem.devices),
        )

    def _counted(
        self, problem: Problem, bins: Bins, tape: Tape, noise: float
    ) -> np.ndarray:
        """The noisy counts of one histogram."""
        counts = release_counts(
            problem.model,
            problem.records,
            bins,
            (),
            tape,
            noise=noise,
            dtype=problem.dtype,
            devices=list(problem.devices),
        )
        if len(counts) != 1:
            raise ValueError(f"{len(counts)} histograms were asked, not one")
        return counts[0]

    def describe(self, problem: Problem, so_far: SoFar) -> StageSummary:
        """What is added up, and its noise."""
        del problem, so_far
        statistics, noise = self.statistics, self.noise
        words = (
            f"the sum over all {self.records:,} records of sufficient statistics "
            f"({statistics.words}), each record's norm-clipped to "
            f"{statistics.bound:.4g}, with normal noise of sd {noise:.4g} times that."
        )
        if statistics.cells is not None:
            words = (
                f"how many of the {self.records:,} records are in each of the "
                f"{statistics.cells} cells of a table ({statistics.words}), with "
                f"normal noise of sd {noise:.4g} on each count{self._margins()}."
            )
        numbers = {"noise": noise, "bound": statistics.bound}
        return StageSummary(self.name, words, numbers=numbers)

    def _margins(self) -> str:
        """The margins and their noise, in words."""
        margins = self.statistics.margins
        if not margins:
            return ""
        each = ", ".join(
            f"{one.words} (sd {self._noise_for(one.fraction):.4g})" for one in margins
        )
        return f"; and in its margins: {each}"

    def objection(self, problem: Problem, so_far: SoFar) -> str | None:
        """None: a noisy sum makes wide intervals, not wrong ones."""
        del problem, so_far
        return None


def _margin(number: int) -> str:
    """The name under which a margin is kept."""
    return f"margin-{number:03d}"


def _found(
    problem: Problem, stage: _Sum, so_far: SoFar, tempering: float
) -> ReleasedSum:
    (part,) = so_far[stage.name]
    margins = [
        part.arrays[_margin(number)] for number in range(len(stage.statistics.margins))
    ]
    return ReleasedSum(
        part.arrays["total"], margins, stage.statistics, stage.noise, problem, tempering
    )


def _require_statistics(model: Model) -> Statistics:
    if model.per == "unit" and model.statistics is None:
        raise InputError(
            "sufficient statistics are those of single records, of which a unit has a "
            "number that is not public. Take dpmcmc.ControlVariates()."
        )
    if model.statistics is None:
        raise InputError(
            "the model states no sufficient statistics. Give it some "
            "(Model(statistics=…)), or take dpmcmc.ControlVariates()."
        )
    for leaf in jax.tree.leaves(model.initial):
        if np.asarray(leaf).dtype.kind != "f":
            raise InputError(
                f"initial holds {leaf!r}, a discrete parameter; sufficient statistics "
                "are for continuous parameters alone. Write 0.0 for a real number, or "
                "choose another method."
            )
    return model.statistics


def _note(is_exact: bool, statistics: Statistics, is_whole: bool) -> str:
    if is_exact and statistics.log_density is not None and is_whole:
        words = "draws are of the posterior given the noisy sum, its noise included"
    else:
        words = (
            "each draw of the chain was moved by a draw of how far the noise of the "
            "sum may have moved the posterior; the chain's own draws are beside them"
        )
    if statistics.cells is not None:
        return f"{words}. A record with a missing value is in no cell."
    return f"{words}. A record with a missing value counts as one with statistics zero."
