# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A method of one's own, with a stage of its own, runs through the front door.

The code above the tests is shown in docs/how-to/method.md, word for word.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc
from dpmcmc.accounting import BarkerBit, GaussianRelease, certify_epsilon
from dpmcmc.posterior import Posterior, Statement
from dpmcmc.posterior.statement import StageSummary
from dpmcmc.private import FullData, Grid, release_sum
from dpmcmc.proposals import Proposal
from dpmcmc.sampling.chain import Chain, ChainSetup, chain_lengths, fitted, repeated
from dpmcmc.sampling.checkpoint import MemoryCheckpoint
from dpmcmc.sampling.draws import collect_draws
from dpmcmc.sampling.gaussian_budget import Splitting, split_budget
from dpmcmc.sampling.plan import Plan, Request, make_plan
from dpmcmc.sampling.problem import Problem
from dpmcmc.sampling.stages import Charge, Charged, Context, Events, Part, SoFar


# The stage: what it costs, what it releases, and what it says of it.
@dataclass(frozen=True)
class NoisyMean:
    """Releases the mean of the records, each clipped to ± the bound, with noise."""

    bound: float
    mu: float
    name: str = "pilot"

    @property
    def events(self) -> Events:
        """What bounds the cost: one release, which a substitution moves by μ sd."""
        return {GaussianRelease(self.mu): 1}

    @property
    def noise(self) -> float:
        """Sd of the noise on the sum: one substitution moves it by at most 2 bounds."""
        return 2 / self.mu

    def run(
        self, context: Context, so_far: SoFar, charged: Charged, charge: Charge
    ) -> Iterator[Part]:
        """Charge first; then ask the records, by a function of the boundary."""
        if so_far[self.name]:
            return  # it was released before the run was interrupted
        if charged:
            raise dpmcmc.InputError("the pilot was paid for and lost. Begin another.")
        charge(self.name, self.events)
        problem = context.problem
        total = release_sum(
            problem.model,
            problem.records,
            self,
            (),
            context.tape(self.name),
            noise=self.noise,
            dtype=problem.dtype,
            devices=list(problem.devices),
        )
        yield Part(self.name, {"mean": self.bound * total / problem.size})

    def __call__(self, model: dpmcmc.Model, record: Any, public: Any) -> jax.Array:
        """What is asked of a record: a vector, of length at most 1 once clipped."""
        del model, public
        return jnp.reshape(record, 1) / self.bound

    def describe(self, problem: Problem, so_far: SoFar) -> StageSummary:
        """A row of the statement."""
        sd = self.bound * self.noise / problem.size
        words = f"the mean of the records, with noise of sd {sd:.3g}."
        found = {f"mean {k}": m for k, m in enumerate(self.released(so_far))}
        return StageSummary(self.name, words, numbers={"sd": sd, **found})

    def objection(self, problem: Problem, so_far: SoFar) -> str | None:
        """Why the rest would be of no use, by what was released; or None."""
        del so_far
        if self.noise < problem.size:
            return None
        return "the noise of the pilot is wider than the range of the records."

    def released(self, so_far: SoFar) -> list[float]:
        """The noisy mean, once it is there."""
        return [float(part.arrays["mean"][0]) for part in so_far.get(self.name, ())]


# The method: from settings and a budget to a list of stages.
@dataclass(frozen=True)
class PilotBarker:
    """Barker's chain, started at a noisy mean of the records."""

    bound: float
    proposal: Proposal
    fraction: float = 0.2

    def plan(self, problem: Problem, request: Request) -> Plan:
        """Two stages: the pilot, and a chain."""
        steps = 500 if request.steps is None else request.steps
        splitting = Splitting(steps, 1 - self.fraction)
        split = split_budget(request, problem.size, splitting)
        pilot = NoisyMean(self.bound, split.releases[0])
        test = FullData(Grid(split.clip))
        lengths = chain_lengths(1, steps, request.warmup, test)
        fitted(self.proposal, problem, problem.initial, lengths.warmup)

        def setup(context: Context, so_far: SoFar) -> ChainSetup:
            del context
            start = problem.unravel(np.array(pilot.released(so_far)))
            points = repeated(start, lengths.chains)
            return ChainSetup(problem, points, self.proposal, test)

        decision = BarkerBit(clip=split.clip, records=problem.size)
        words = f"decided on all records, clipped to ±{split.clip:.3g}"
        chain = Chain(lengths, decision, test, setup, words)

        def collect(context: Context, so_far: SoFar, statement: Statement) -> Posterior:
            del context
            words = repr(self.proposal)
            return collect_draws(problem, chain, so_far, statement, proposal=words)

        stages = [pilot, chain]
        return make_plan(problem, request, stages, collect, tempered=problem.size)


# Tests.

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "method.md"
MODEL = dpmcmc.Model(
    lambda theta, record: -0.5 * (record - theta) ** 2, lambda theta: 0.0, 0.0
)
RECORDS = np.random.default_rng(4).normal(3.0, 1.0, 2000)
METHOD = PilotBarker(bound=10.0, proposal=dpmcmc.RandomWalk(0.05))
BUDGET: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "progress": False}


@pytest.fixture(scope="module")
def checkpoint() -> MemoryCheckpoint:
    return MemoryCheckpoint()


@pytest.fixture(scope="module")
def posterior(checkpoint: MemoryCheckpoint) -> Posterior:
    return dpmcmc.sample(MODEL, RECORDS, method=METHOD, checkpoint=checkpoint, **BUDGET)


def test_its_stages_are_rows_of_the_statement(posterior: Posterior) -> None:
    statement = posterior.statement
    pilot, chain = statement.stages
    assert (pilot.name, chain.name) == ("pilot", "chain")
    assert pilot.fraction == pytest.approx(0.2, rel=0.01)
    assert pilot.fraction + chain.fraction == pytest.approx(1)
    assert abs(pilot.numbers["mean 0"] - RECORDS.mean()) < 5 * pilot.numbers["sd"]
    assert any(line.startswith("Stage pilot: ") for line in statement.lines)


def test_its_cost_is_that_of_its_events(
    posterior: Posterior, checkpoint: MemoryCheckpoint
) -> None:
    charged: dict[Any, int] = {}
    for stage in ("pilot", "chain"):
        for events in checkpoint.charged(stage).values():
            for event, count in events.items():
                charged[event] = charged.get(event, 0) + count
    expected = certify_epsilon(charged, 1e-5).epsilon
    assert posterior.statement.epsilon == expected
    assert 0.99 < expected <= 1.0


def test_the_chain_starts_at_what_the_pilot_released(posterior: Posterior) -> None:
    found = posterior.statement.stages[0].numbers["mean 0"]
    assert abs(posterior.warmup_draws["theta"][0, 0] - found) < 0.3
    assert abs(posterior.draws["theta"].mean() - RECORDS.mean()) < 0.2


def test_it_is_said_that_the_method_is_another_s(posterior: Posterior) -> None:
    assert any("PilotBarker" in note for note in posterior.statement.notes)


def test_its_objection_stops_the_run() -> None:
    checkpoint = MemoryCheckpoint()
    with pytest.raises(dpmcmc.NotUsableError) as stopped:
        dpmcmc.sample(
            MODEL,
            np.zeros(3),
            method=METHOD,
            checkpoint=checkpoint,
            **{**BUDGET, "epsilon": 0.1},
        )
    assert stopped.value.stage == "pilot"
    assert not checkpoint.charged("chain")


def test_the_page_shows_this_very_code() -> None:
    code = Path(__file__).read_text()
    start, end = code.index("# The stage: "), code.index("# Tests.")
    stage, method = code[start:end].strip().split("\n\n\n# The method: ")
    page = PAGE.read_text()
    assert stage.partition("\n")[2] in page
    assert method.partition("\n")[2] in page
