# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A plan: the stages of a run and their certificate, before a record is read."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from typing import Any, Protocol

from dpmcmc.accounting import (
    Certificate,
    Event,
    certify_epsilon,
    gdp_cost,
    privacy_profile,
    zcdp_cost,
)
from dpmcmc.errors import InputError
from dpmcmc.model.python_function import PythonFunction
from dpmcmc.posterior import Posterior, Statement
from dpmcmc.posterior.statement import StageSummary
from dpmcmc.sampling.problem import Problem
from dpmcmc.sampling.stages import Context, Events, SoFar, Stage

__all__ = ["Method", "Plan", "Request", "make_plan"]


@dataclass(frozen=True)
class Request:
    """What a user asked of a run, whatever its method.

    Attributes
    ----------
    epsilon, delta
        The budget; ε is None where steps were given instead.
    steps, chains, warmup
        As in `sample`; None where they were left to the method.
    not_private_because
        Why the result will not be private; empty if it will.
    """

    epsilon: float | None
    delta: float
    steps: int | None = None
    chains: int | None = None
    warmup: int | None = None
    not_private_because: tuple[str, ...] = ()

    @property
    def is_private(self) -> bool:
        """Whether a guarantee is claimed."""
        return not self.not_private_because

    @property
    def is_open(self) -> bool:
        """Whether there is neither a guarantee nor a budget: no clip, no noise."""
        return not self.is_private and self.epsilon is None


class Method(Protocol):
    """How a posterior is drawn: a frozen dataclass that makes plans."""

    def plan(self, problem: Problem, request: Request) -> "Plan":
        """Settle the stages of a run, from public numbers and shapes alone."""
        ...


Collect = Callable[[Context, SoFar, Statement], Posterior]
"""Makes a posterior of what the stages released."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A run before it begins: made by `make_plan`.

    Attributes
    ----------
    problem
        What is to be sampled.
    request
        What was asked.
    stages
        The stages, in order.
    certificate
        What they cost together; None if the run is not private.
    tempered
        How many records the likelihood counts for.
    collect
        Makes a posterior of what the stages released.
    notes
        Remarks for the statement.
    """

    problem: Problem
    request: Request
    stages: tuple[Stage, ...]
    certificate: Certificate | None
    tempered: float
    collect: Collect
    notes: tuple[str, ...] = ()

    @property
    def events(self) -> Events:
        """What bounds the cost of all stages together."""
        return _together(self.stages)

    def statement(self, so_far: SoFar) -> Statement:
        """What will be released, or was, and what it costs."""
        found, records = self.certificate, self.problem.records
        return Statement(
            epsilon=math.inf if found is None else found.epsilon,
            delta=1.0 if found is None else found.delta,
            records=self.problem.size,
            unit=records.unit,
            hides_number=records.schema.size is not None,
            most=records.most,
            stages=self._rows(so_far),
            accountant="none" if found is None else _named(found),
            tempered=self.tempered,
            prepared=self.problem.prepared,
            not_private_because=self.request.not_private_because,
            notes=self.notes,
            version=version("dpmcmc"),
            **self._costs,
        )

    @cached_property
    def _costs(self) -> dict[str, Any]:
        """The cost beside (ε, δ)."""
        return {} if self.certificate is None else _in_currencies(self.events)

    def posterior(self, context: Context, so_far: SoFar) -> Posterior:
        """Make the posterior of what was released."""
        return self.collect(context, so_far, self.statement(so_far))

    def __str__(self) -> str:
        return str(self.statement({}))

    def _repr_html_(self) -> str:
        return self.statement({})._repr_html_()

    def _rows(self, so_far: SoFar) -> tuple[StageSummary, ...]:
        rows = zip(self.stages, _fractions(self.stages), strict=True)
        return tuple(
            replace(stage.describe(self.problem, so_far), fraction=fraction)
            for stage, fraction in rows
        )


def _fractions(stages: Sequence[Stage]) -> list[float]:
    """The fraction of the cost of each stage, by zero-concentrated privacy."""
    costly = [bool(stage.events) for stage in stages]
    if sum(costly) <= 1:
        return [float(is_costly) for is_costly in costly]
    costs = [zcdp_cost(stage.events) for stage in stages]
    return [cost / math.fsum(costs) for cost in costs]


def _together(stages: Sequence[Stage]) -> Events:
    total: Counter[Event] = Counter()
    for stage in stages:
        total.update(stage.events)
    return total


def make_plan(
    problem: Problem,
    request: Request,
    stages: Sequence[Stage],
    collect: Collect,
    *,
    tempered: float,
    notes: Sequence[str] = (),
) -> Plan:
    """Certify the stages together; no record is read.

    Raises
    ------
    InputError
        If no finite ε can be proven, or it is above what was asked.

    Guarantee
    ---------
    The certificate's (ε, δ) holds for the adaptive composition of the stages' events:
    each stage may depend on what was released before it.
    """
    certificate = None
    if request.is_private:
        certificate = certify_epsilon(_together(stages), request.delta)
        _require_within(certificate, request)
    return Plan(
        problem=problem,
        request=request,
        stages=tuple(stages),
        certificate=certificate,
        tempered=tempered,
        collect=collect,
        notes=(*_general_notes(problem, request), *notes),
    )


def _require_within(certificate: Certificate, request: Request) -> None:
    if not math.isfinite(certificate.epsilon):
        raise InputError(
            f"no ε can be proven for this run with δ = {request.delta:g}. Choose a "
            "smaller clip, fewer steps or chains, or a larger δ; for records that are "
            "not sensitive, sample_not_private needs no budget."
        )
    if request.epsilon is not None and certificate.epsilon > request.epsilon:
        raise InputError(
            f"this run costs ε = {certificate.epsilon:.6g} at δ = {request.delta:g}, "
            f"above the {request.epsilon:g} that was given. Choose a smaller clip or "
            "fewer steps, or give a larger budget."
        )


def _general_notes(problem: Problem, request: Request) -> list[str]:
    notes = []
    if request.is_private and request.delta >= 1 / problem.size:
        notes.append(
            f"δ = {request.delta:g} is not below 1/N = {1 / problem.size:.2g}. A "
            "mechanism that publishes one whole record at random can meet such a δ; "
            "choose a smaller one."
        )
    if type(problem.model.log_likelihood) is PythonFunction:
        notes.append(
            "the log-likelihood is a Python function, which nothing here can look "
            "into: the guarantee holds if it keeps and shows nothing of a record."
        )
    return notes


def _in_currencies(events: Events) -> dict[str, Any]:
    """The cost beside (ε, δ); without what is not known."""
    rho, mu = zcdp_cost(events), gdp_cost(events)
    return {
        "rho": rho if math.isfinite(rho) else None,
        "mu": mu if math.isfinite(mu) else None,
        "profile": tuple(map(tuple, privacy_profile(events))),
    }


def _named(certificate: Certificate) -> str:
    """The accountant that proved it, with its method."""
    methods = {name: method for name, _, method in certificate.alternatives}
    method = methods.get(certificate.accountant)
    return f"{certificate.accountant} ({method})" if method else certificate.accountant
