# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Stages without records, for tests of the loop: they do what their script says."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpmcmc import Model, Posterior, Statement
from dpmcmc.accounting import GaussianRelease
from dpmcmc.posterior.statement import StageSummary
from dpmcmc.sampling.checkpoint import MemoryCheckpoint
from dpmcmc.sampling.plan import Plan, Request, make_plan
from dpmcmc.sampling.problem import Problem, make_problem
from dpmcmc.sampling.stages import Charge, Charged, Context, Events, Part, SoFar

MODEL = Model(lambda theta, record: 0.0 * record, lambda theta: -(theta**2), 0.0)
PROBLEM = make_problem(MODEL, np.zeros(50), start=None, precision=None, devices=None)
CONTEXT = Context(PROBLEM, progress=False)


@dataclass
class Log(MemoryCheckpoint):
    """A checkpoint that writes down what happens, with what the stages add."""

    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def reserve(self, events: Events, statement: Statement) -> None:
        super().reserve(events, statement)
        self.lines.append("reserve")

    def charge(self, stage: str, part: str, events: Events) -> None:
        super().charge(stage, part, events)
        self.lines.append(f"charge {stage} {part}")

    def keep(self, stage: str, part: Part) -> None:
        super().keep(stage, part)
        self.lines.append(f"keep {stage} {part.name}")


@dataclass(frozen=True, eq=False)
class Toy:
    """A stage of numbered parts, each a release of its own.

    Attributes
    ----------
    name
        Its name.
    log
        Where it writes down that it would read records now.
    parts
        How many parts it has.
    fails
        Raises what it likes before a part, given by its number.
    objects
        Its objection to what comes after.
    mu
        The μ of each release.
    """

    name: str
    log: Log
    parts: int = 1
    fails: Callable[[int], None] = lambda number: None
    objects: str | None = None
    mu: float = 0.1

    @property
    def events(self) -> Events:
        return {GaussianRelease(self.mu): self.parts}

    def run(
        self, context: Context, so_far: SoFar, charged: Charged, charge: Charge
    ) -> Iterator[Part]:
        del context
        assert {part.name for part in so_far[self.name]} <= set(charged)
        for number in range(len(charged), self.parts):
            charge(str(number), {GaussianRelease(self.mu): 1})
            self.fails(number)
            self.log.lines.append(f"read {self.name} {number}")
            yield Part(str(number), {"number": np.array(number)})

    def describe(self, problem: Problem, so_far: SoFar) -> StageSummary:
        del problem
        return StageSummary(
            self.name, "", numbers={"kept": len(so_far.get(self.name, ()))}
        )

    def objection(self, problem: Problem, so_far: SoFar) -> str | None:
        del problem, so_far
        return self.objects


class Draws(Toy):
    """Stands for a chain, whose parts are of use without what comes after."""


def collect(context: Context, so_far: SoFar, statement: Statement) -> Posterior:
    """A posterior whose draws are the numbers of the parts of the stage "two"."""
    del context
    numbers = [float(part.arrays["number"]) for part in so_far.get("two", ())]
    draws = {"theta": np.array([numbers])}
    none = {"theta": np.zeros((1, 0))}
    accepted = np.ones((1, len(numbers)), bool)
    return Posterior(draws, accepted, statement, draws, none, accepted[:, :0])


def planned(stages: Sequence[Any], **changes: Any) -> Plan:
    settings = {"epsilon": None, "delta": 1e-5, **changes}
    return make_plan(PROBLEM, Request(**settings), stages, collect, tempered=50.0)


def raises(error: BaseException, at: int) -> Callable[[int], None]:
    """What raises an error before the part of a number."""

    def fails(number: int) -> None:
        if number == at:
            raise error

    return fails
