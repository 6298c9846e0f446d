# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a budget buys, before any record is read: for chains of decisions."""

import html
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
from dpmcmc.accounting.batch_gaussian import require_batch
from dpmcmc.accounting.paper import paper_epsilon, paper_steps
from dpmcmc.aligned import aligned, filled, in_html
from dpmcmc.rehearsal.outlook import Outlook, outlook

__all__ = ["ChainPlan", "Row", "plan"]

_ON_ALL = {"barker": BarkerBit, "gaussian-barker": GaussianBarkerBit}
_ON_BATCH = "minibatch-barker"


@dataclass(frozen=True)
class Row:
    """What one accountant says of a chain.

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
class ChainPlan:
    """A chain that has not run yet, and its certified cost.

    Attributes
    ----------
    method
        The method, by the name that commands give it.
    records, batch
        The number of records, and how many of them a step reads; all if None.
    clip
        The bound on a record's log-likelihood ratio in a step.
    steps
        The number of steps, of all chains together.
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
    decision
        The event of one step.
    """

    method: str
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
    decision: Event

    @property
    def fits(self) -> bool:
        """Whether the steps fit the budget that was given, if one was."""
        return self.budget is None or self.epsilon <= self.budget

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON values; where there is no bound, ε is None."""
        names = "method records batch clip steps epsilon delta accountant budget fits"
        return {
            **{name: getattr(self, name) for name in names.split()},
            "paper_steps": self.paper_steps,
            "adjacency": "substitution of one record; the number of records is public",
            "accountants": [
                {
                    "name": row.accountant,
                    "epsilon": row.epsilon if math.isfinite(row.epsilon) else None,
                    "note": row.note,
                }
                for row in self.rows
            ],
        }

    @property
    def _head(self) -> tuple[str, str]:
        read = "all" if self.batch is None else f"a batch of {self.batch:,} of"
        title = (
            f"{self.steps:,} steps of {self.method} on {read} {self.records:,} "
            f"records, each record's log-likelihood ratio clipped to ±{self.clip:.6g}"
        )
        adjacency = (
            f"δ = {self.delta:g}; substitution of one record, the number of records is "
            "public"
        )
        return title, adjacency

    @property
    def _entries(self) -> list[tuple[str, str, str]]:
        return [
            ("accountant", "ε", ""),
            *((row.accountant, _shown(row.epsilon), row.note) for row in self.rows),
            ("certified", _shown(self.epsilon), f"by {self.accountant}"),
        ]

    def __str__(self) -> str:
        title, adjacency = self._head
        table = aligned(self._entries, right=(1,), broken_at=(2,))
        return "\n".join([filled(title), adjacency, "", *table, *self._foot()])

    def _repr_html_(self) -> str:
        above, below = (
            "".join(f"<p>{html.escape(line)}</p>" for line in lines if line)
            for lines in (self._head, self._foot())
        )
        return f"{above}{in_html(self._entries, right=(1,))}{below}"

    def _foot(self) -> list[str]:
        if self.budget is None:
            return []
        verdict = "fit" if self.fits else "DO NOT FIT"
        return [
            "",
            f"These {self.steps:,} steps {verdict} a budget of ε = {self.budget:g}.",
            f"The paper's accountant would allow {self.paper_steps:,}.",
        ]


def plan(
    records: int,
    *,
    delta: float,
    batch: int | None = None,
    clip: float | None = None,
    steps: int | None = None,
    epsilon: float | None = None,
    method: str | None = None,
    replacement: bool = False,
    width: float | None = None,
) -> ChainPlan | Outlook:
    """Say what a budget buys, or what is needed, before any record is read.

    With ε or ``width`` alone, of the default method: how wide intervals will be, or
    which ε is needed. Otherwise of a chain of decisions: give all but one of clip,
    steps and ε, and get the missing one.

    Parameters
    ----------
    records
        The number N of records.
    delta
        The δ of the budget.
    batch
        How many records a step reads; all of them unless given.
    clip
        The bound on a record's log-likelihood ratio in a step. With a batch of b,
        √b/N unless given.
    steps
        The number of steps, of all chains together.
    epsilon
        The ε of the budget. With clip and steps given as well, it is compared.
    method
        ``barker``, ``gaussian-barker`` or ``minibatch-barker``. Unless given, the
        exact test, or with a batch the paper's.
    replacement
        Whether batches are drawn with replacement.
    width
        How many times as wide as without privacy intervals may be.

    Returns
    -------
    ChainPlan or Outlook
        With every number filled in. No step at all may fit; then steps is 0.

    Guarantee
    ---------
    The planned steps are (ε, δ)-differentially private with the plan's ε and δ, under
    substitution of one record. Steps and clip are rounded down, ε is rounded up.
    """
    if all(one is None for one in (batch, clip, steps, method)) and not replacement:
        return outlook(records, delta=delta, epsilon=epsilon, width=width)
    if width is not None:
        raise errors.InputError(
            f"width is {width!r}, but it is for the default method; leave out batch, "
            "clip, steps, method and replacement, or width."
        )
    delta = errors.require_probability("delta", delta, "1e-6 is a common choice.")
    if steps is not None:
        steps = errors.require_count("steps", steps, "0 steps cost nothing.", least=0)
    if epsilon is not None:
        epsilon = errors.require_positive("epsilon", epsilon, "Give the budget's ε.")
    name = method or ("barker" if batch is None else _ON_BATCH)
    decision_of = _decision_of(name, records, batch, replacement)
    if clip is None:
        clip = (
            _clip_for(decision_of, steps, epsilon, delta)
            if batch is None
            else math.sqrt(batch) / records
        )
    decision = decision_of(clip)
    if steps is None:
        if epsilon is None:
            raise errors.InputError(
                "steps and epsilon are both missing; one of them must be given. Give "
                "steps to get their cost, or epsilon to get the steps it buys."
            )
        steps = most_steps(decision, epsilon, delta)
    certificate = certify_epsilon({decision: steps}, delta)
    if math.isinf(certificate.epsilon):
        raise errors.InputError(
            f"delta is {delta!r}; with {steps} steps and clip {clip:.6g} no ε is "
            "proven for it, because finite arithmetic alone may cost more. Take a "
            "larger delta, fewer steps or a smaller clip."
        )
    in_paper = _in_paper(decision, records, clip)
    rows = [Row(*alternative) for alternative in certificate.alternatives]
    if "paper" not in [row.accountant for row in rows]:
        paper, note = paper_epsilon(in_paper, steps, delta)
        rows.insert(0, Row("paper", paper, f"the paper's own test: {note}"))
    return ChainPlan(
        method=name,
        records=records,
        batch=batch,
        clip=clip,
        steps=steps,
        epsilon=certificate.epsilon,
        delta=delta,
        accountant=certificate.accountant,
        budget=epsilon,
        paper_steps=None if epsilon is None else paper_steps(in_paper, epsilon, delta),
        rows=tuple(rows),
        decision=decision,
    )


def _decision_of(
    method: str, records: int, batch: int | None, replacement: bool
) -> Callable[[float], Event]:
    """The event of one step of a method, as a function of the clip."""
    if method not in (*_ON_ALL, _ON_BATCH):
        raise errors.InputError(
            f"method is {method!r}; it must be one of {', '.join(_ON_ALL)}, "
            f"{_ON_BATCH}. Leave it out for the usual one."
        )
    if method in _ON_ALL:
        if batch is not None or replacement:
            raise errors.InputError(
                f"batch is {batch!r}, but {method} reads all records. Leave batch and "
                f"replacement out, or take {_ON_BATCH}."
            )
        return partial(_ON_ALL[method], records=records)
    if batch is None:
        raise errors.InputError(
            f"batch is missing; {method} reads a batch of at least 1 record. Give "
            "batch, or take barker."
        )
    require_batch(batch, records)
    return lambda clip: MinibatchBit(
        batch, records, clip / (math.sqrt(batch) / records), replacement=replacement
    )


def _clip_for(
    decision_of: Callable[[float], Event],
    steps: int | None,
    epsilon: float | None,
    delta: float,
) -> float:
    if not steps or epsilon is None:
        raise errors.InputError(
            "clip is missing; without a batch it must be given, or else both steps "
            "(at least 1) and epsilon. Give two of clip, steps and epsilon."
        )
    return largest_clip(decision_of, steps, epsilon, delta)


def _in_paper(decision: Event, records: int, clip: float) -> Event:
    """Return the paper's test with the same clip, for comparison."""
    if isinstance(decision, MinibatchBit):
        return MinibatchBit(decision.batch, records, decision.clip)
    return GaussianBarkerBit(clip, records)


def _shown(epsilon: float) -> str:
    return f"{epsilon:.6g}" if math.isfinite(epsilon) else "-"
