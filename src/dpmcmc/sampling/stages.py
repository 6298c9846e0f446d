# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A run is a list of stages; a method is a function from settings to such a list.

A stage has events, fixed before a record is read, that bound the cost of all that it
releases. It releases parts, each charged before a record is read for it and kept once
it is released. What it does next may depend on what was released before, and on nothing
else of the records.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from dpmcmc.accounting import Event
from dpmcmc.posterior.statement import StageSummary
from dpmcmc.private import Tape
from dpmcmc.sampling.problem import Problem

__all__ = [
    "Arrays",
    "Charge",
    "Charged",
    "Context",
    "Events",
    "Part",
    "SoFar",
    "Stage",
]

Events = Mapping[Event, int]
"""What is released, each event with how often it happens."""

Arrays = Mapping[str, np.ndarray]
"""What a part released, by name."""


class Part(NamedTuple):
    """A part of a stage, as it was released."""

    name: str
    arrays: Arrays


SoFar = Mapping[str, Sequence[Part]]
"""What each stage has released so far, by the name of the stage."""

Charged = Mapping[str, Events]
"""The parts of a stage that were charged, by name, and for what."""

Charge = Callable[[str, Events], None]
"""Charges a part of a stage, by its name, before a record is read for it."""


@dataclass(frozen=True)
class Context:
    """What a stage runs with.

    Attributes
    ----------
    problem
        The model, the sealed records, and how they are computed with.
    seed
        Makes tapes repeatable, so that the result is not private; None otherwise.
    progress
        Whether bars are shown.
    drawn
        A random number, the same on all processes of the run.
    """

    problem: Problem
    seed: int | None = None
    progress: bool = True
    drawn: int = field(default_factory=lambda: int.from_bytes(os.urandom(8)))

    @property
    def public_seed(self) -> int:
        """The seed of what is random and reads no record, such as noise-aware draws."""
        return self.drawn if self.seed is None else self.seed

    def tape(self, use: str = "") -> Tape:
        """A tape for one release: fresh, or by the seed and what it is used for."""
        if self.seed is not None:
            return Tape.seeded(self.seed, use)
        return Tape.fresh(everywhere=self.problem.is_shared)

    def label(self, text: str) -> str:
        """The name of a bar."""
        return text if self.seed is None else f"{text} (NOT PRIVATE)"


class Stage(Protocol):
    """A stage of a run; a frozen dataclass."""

    @property
    def name(self) -> str:
        """A name that no other stage of the run has, such as "chain"."""
        ...

    @property
    def events(self) -> Events:
        """What bounds the cost of all its parts together."""
        ...

    def run(
        self, context: Context, so_far: SoFar, charged: Charged, charge: Charge
    ) -> Iterator[Part]:
        """Release the parts that are still to be released, one by one.

        Parameters
        ----------
        context
            What to run with.
        so_far
            What earlier stages released, and the parts of this one that were kept
            when it was interrupted.
        charged
            Its parts that were charged before. One that was charged and not kept is
            lost, and is never made again.
        charge
            Must have returned for a part before a record is read for it.
        """
        ...

    def describe(self, problem: Problem, so_far: SoFar) -> StageSummary:
        """What was released, or will be, as a row of the statement."""
        ...

    def objection(self, problem: Problem, so_far: SoFar) -> str | None:
        """Why what comes after would be of no use, by what was released; or None."""
        ...
