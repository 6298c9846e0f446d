# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Plan a chain before any record is read: what it costs, or what a budget buys."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dpmcmc import errors
from dpmcmc.accounting import (
    BarkerBit,
    Event,
    GaussianBarkerBit,
    MinibatchBit,
    certify_epsilon,
    largest_clip,
    most_steps,
)
from dpmcmc.accounting.paper import paper_epsilon, paper_steps
from dpmcmc.aligned import aligned, filled

__all__ = ["TESTS", "Plan", "Row", "plan"]

_SCALED_CLIP = 1.0


def _barker(records: int, batch: int | None, clip: float, replacement: bool) -> Event:
    _require_all("barker", batch, replacement)
    return BarkerBit(clip, records)


def _gaussian(records: int, batch: int | None, clip: float, replacement: bool) -> Event:
    _require_all("gaussian", batch, replacement)
    return GaussianBarkerBit(clip, records)


def _minibatch(
    records: int, batch: int | None, clip: float, replacement: bool
) -> Event:
    size = _require_some("minibatch", batch)
    return MinibatchBit(size, records, clip, replacement=replacement)


TESTS: dict[str, Callable[[int, int | None, float, bool], Event]] = {
    "barker": _barker,
    "gaussian": _gaussian,
    "minibatch": _minibatch,
}
"""The acceptance tests by name, and the event of one step of each."""


@dataclass(frozen=True)
class Row:
    """What one accountant says of the planned chain.

    Attributes
    ----------
    accountant
        Its name.
    epsilon
        Its ε for the plan's δ; infinite if it has no answer.
    note
        How it bounds the cost, or why it has no answer.
    """

    accountant: str
    epsilon: float
    note: str


@dataclass(frozen=True)
class Plan:
    """A chain that has not run yet, and its certified cost.

    Attributes
    ----------
    test
        The acceptance test.
    records, batch
        The number of records, and how many of them a step reads; all if None.
    clip
        The clip of a ratio, or of a scaled ratio if there is a batch.
    steps
        The number of steps.
    epsilon, delta
        The certified cost of these steps under substitution of one record.
    accountant
        Whose bound the certified one is.
    budget
        The ε that was given, if one was.
    paper_steps
        The steps that the paper's accountant finds in that budget.
    rows
        What each accountant says.
    bit, paper_bit
        The event of one step, and of the paper's test that it is compared with.
    """

    test: str
    records: int
    batch: int | None
    clip: float
    steps: int
    epsilon: float
    delta: float
    accountant: str
    budget: float | None
    paper_steps: int | None
    rows: tuple[Row, ...]
    bit: Event
    paper_bit: Event

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON values; where there is no bound, ε is None."""
        return {
            "test": self.test,
            "records": self.records,
            "batch": self.batch,
            "clip": self.clip,
            "steps": self.steps,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": "substitution of one record; the number of records is public",
            "accountant": self.accountant,
            "budget": self.budget,
            "paper_steps": self.paper_steps,
            "accountants": [
                {
                    "name": row.accountant,
                    "epsilon": row.epsilon if math.isfinite(row.epsilon) else None,
                    "note": row.note,
                }
                for row in self.rows
            ],
        }

    def table(self) -> str:
        """Return the plan as aligned text."""
        lines = [filled(line) for line in self._head()]
        entries = [("accountant", "ε", "")]
        entries += [
            (row.accountant, _shown(row.epsilon), row.note) for row in self.rows
        ]
        entries.append(("certified", _shown(self.epsilon), f"by {self.accountant}"))
        lines += aligned(entries, right=(1,), broken_at=(2,))
        return "\n".join([*lines, *self._foot()])

    def curve(self, steps: Sequence[int]) -> list[tuple[int, float, float]]:
        """Return steps, each with its certified ε and the paper's, for pictures."""
        return [
            (
                count,
                certify_epsilon({self.bit: count}, self.delta).epsilon,
                paper_epsilon(self.paper_bit, count, self.delta)[0],
            )
            for count in steps
        ]

    def _head(self) -> list[str]:
        read = "all" if self.batch is None else f"a batch of {self.batch:,} of"
        return [
            f"{self.steps:,} steps of the {self.test} test on {read} "
            f"{self.records:,} records, clip {self.clip:.6g}",
            f"δ = {self.delta:g}; substitution of one record, the number of records "
            "is public",
            "",
        ]

    def _foot(self) -> list[str]:
        if self.budget is None:
            return []
        verdict = "fit" if self.epsilon <= self.budget else "DO NOT FIT"
        lines = [
            "",
            f"These {self.steps:,} steps {verdict} a budget of ε = {self.budget:g}.",
        ]
        if self.paper_steps is not None:
            lines.append(f"The paper's accountant would allow {self.paper_steps:,}.")
        return lines


def plan(
    records: int,
    *,
    delta: float,
    batch: int | None = None,
    clip: float | None = None,
    steps: int | None = None,
    epsilon: float | None = None,
    test: str | None = None,
    replacement: bool = False,
) -> Plan:
    """Plan a chain: give all but one of clip, steps and ε, and get the missing one.

    Parameters
    ----------
    records
        The number N of records.
    delta
        The δ of the budget.
    batch
        How many records a step reads; all of them if left out.
    clip
        The clip of a record's ratio. With a batch, the clip of the scaled ratio
        N r / √b, which is 1 if left out.
    steps
        The number of steps of the chain.
    epsilon
        The ε of the budget. With clip and steps given as well, it is compared.
    test
        One of ``TESTS``; the exact Barker test without a batch and the paper's test
        with one if left out.
    replacement
        Whether batches are drawn with replacement.

    Returns
    -------
    Plan
        With every number filled in. No step at all may fit; then steps is 0.

    Guarantee
    ---------
    The planned steps are (ε, δ)-differentially private with the plan's ε and δ, under
    substitution of one record. Steps and clip are rounded down, ε is rounded up.
    """
    delta = errors.require_probability("delta", delta, "1e-6 is a common choice.")
    name = test or ("barker" if batch is None else "minibatch")
    if name not in TESTS:
        raise errors.InputError(
            f"test is {test!r}; it must be one of {', '.join(TESTS)}. Leave it out for "
            "the usual one."
        )
    if steps is not None:
        steps = errors.require_count("steps", steps, "0 steps cost nothing.", least=0)
    if epsilon is not None:
        epsilon = errors.require_positive("epsilon", epsilon, "Give the budget's ε.")

    def bit_of(width: float) -> Event:
        return TESTS[name](records, batch, width, replacement)

    if clip is None:
        clip = (
            _SCALED_CLIP
            if batch is not None
            else _clip_for(bit_of, steps, epsilon, delta)
        )
    bit = bit_of(clip)
    if steps is None:
        if epsilon is None:
            raise errors.InputError(
                "steps and epsilon are both missing; one of them must be given. Give "
                "steps to get their cost, or epsilon to get the steps it buys."
            )
        steps = most_steps(bit, epsilon, delta)
    paper_bit = _paper_bit(records, batch, clip)
    certificate = certify_epsilon({bit: steps}, delta)
    if math.isinf(certificate.epsilon):
        raise errors.InputError(
            f"delta is {delta!r}; with {steps} steps and clip {clip:.6g} no ε is "
            "proved for it, because finite arithmetic alone may cost more. Take a "
            "larger delta, fewer steps or a smaller clip."
        )
    rows = [Row(*alternative) for alternative in certificate.alternatives]
    if "paper" not in [row.accountant for row in rows]:
        paper, note = paper_epsilon(paper_bit, steps, delta)
        rows.insert(0, Row("paper", paper, f"the paper's own test: {note}"))
    return Plan(
        test=name,
        records=records,
        batch=batch,
        clip=clip,
        steps=steps,
        epsilon=certificate.epsilon,
        delta=delta,
        accountant=certificate.accountant,
        budget=epsilon,
        paper_steps=None if epsilon is None else paper_steps(paper_bit, epsilon, delta),
        rows=tuple(rows),
        bit=bit,
        paper_bit=paper_bit,
    )


def _clip_for(
    bit_of: Callable[[float], Event],
    steps: int | None,
    epsilon: float | None,
    delta: float,
) -> float:
    if not steps or epsilon is None:
        raise errors.InputError(
            "clip is missing; without a batch it must be given, or else both steps "
            "(at least 1) and epsilon. Give two of clip, steps and epsilon."
        )
    return largest_clip(bit_of, steps, epsilon, delta)


def _paper_bit(records: int, batch: int | None, clip: float) -> Event:
    """Return the paper's test with the same clip, for comparison."""
    if batch is None:
        return GaussianBarkerBit(clip, records)
    return MinibatchBit(batch, records, clip)


def _require_all(test: str, batch: int | None, replacement: bool) -> None:
    if batch is not None or replacement:
        raise errors.InputError(
            f"batch is {batch!r}; the {test} test reads all records. Leave batch and "
            "replacement out, or take the minibatch test."
        )


def _require_some(test: str, batch: int | None) -> int:
    if batch is None:
        raise errors.InputError(
            f"batch is missing; the {test} test reads a batch of at least 1 record. "
            "Give batch, or take the barker test."
        )
    return batch


def _shown(epsilon: float) -> str:
    return f"{epsilon:.6g}" if math.isfinite(epsilon) else "-"
