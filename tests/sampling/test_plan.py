# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Plans: events fixed beforehand, their certificate, and the fractions of the cost."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from refusals import MODEL, Sealed
from toys import Log, Toy, planned

from dpmcmc import (
    Barker,
    ControlVariates,
    GaussianBarker,
    InputError,
    MinibatchBarker,
    RandomWalk,
    SufficientStatistics,
    models,
    sample,
)
from dpmcmc.accounting import (
    BarkerBit,
    GaussianRelease,
    certify_epsilon,
    zcdp_cost,
)
from dpmcmc.accounting.currencies import cost_in, epsilon_of
from dpmcmc.sampling.gaussian_budget import Splitting, split_budget
from dpmcmc.sampling.plan import Plan, Request
from dpmcmc.sampling.problem import make_problem
from dpmcmc.sampling.sample import plan_run

WALK = RandomWalk(0.1)
METHODS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "barker": (MODEL, Barker(clip=0.01, proposal=WALK), {"epsilon": 1.0}),
    "gaussian": (MODEL, GaussianBarker(clip=0.1, proposal=WALK), {"steps": 20}),
    "batch": (MODEL, MinibatchBarker(batch=100, proposal=WALK), {"steps": 20}),
    "statistics": (models.poisson(20.0), SufficientStatistics(), {"epsilon": 1.0}),
}


def plan_of(name: str, **changes: Any) -> Plan:
    model, method, budget = METHODS[name]
    records = Sealed() if model is MODEL else {"x": Sealed()}
    problem = make_problem(model, records, start=None, precision=None, devices=None)
    settings = {"epsilon": None, "delta": 1e-5, "chains": 2, **budget, **changes}
    return plan_run(problem, method, **settings)


@pytest.mark.parametrize("name", METHODS)
def test_a_certificate_is_that_of_all_events_together(name: str) -> None:
    """No record is read: the records shout when they are."""
    plan = plan_of(name)
    assert plan.certificate is not None
    expected = certify_epsilon(plan.events, 1e-5)
    assert plan.certificate.epsilon == expected.epsilon
    assert plan.certificate.delta == expected.delta == 1e-5
    statement = plan.statement({})
    assert (statement.epsilon, statement.delta) == (expected.epsilon, 1e-5)
    assert statement.accountant.startswith(expected.accountant)
    assert len(statement.stages) == len(plan.stages)
    assert math.fsum(row.fraction for row in statement.stages) == pytest.approx(1)


@pytest.mark.parametrize("name", METHODS)
def test_a_run_that_is_not_private_has_no_certificate(name: str) -> None:
    plan = plan_of(name, not_private_because=("a test",), steps=20)
    assert plan.certificate is None
    assert plan.statement({}).epsilon == math.inf
    assert not plan.statement({}).is_private


@given(
    some.lists(
        some.tuples(some.integers(1, 5), some.floats(0.01, 0.3)), min_size=1, max_size=4
    )
)
def test_fractions_are_of_the_cost(sizes: list[tuple[int, float]]) -> None:
    """By zero-concentrated privacy, in which releases of μ cost μ²/2 each."""
    stages = [Toy(str(k), Log(), n, mu=mu) for k, (n, mu) in enumerate(sizes)]
    plan = planned(stages, delta=1e-3)
    costs = [count * mu**2 / 2 for count, mu in sizes]
    rows = plan.statement({}).stages
    for row, cost in zip(rows, costs, strict=True):
        assert row.fraction == pytest.approx(cost / math.fsum(costs))
    assert sum(plan.events.values()) == sum(count for count, _ in sizes)
    assert zcdp_cost(plan.events) == pytest.approx(math.fsum(costs))


def test_equal_events_of_two_stages_are_added() -> None:
    plan = planned([Toy("one", Log(), 2), Toy("two", Log(), 3)])
    assert plan.events == {GaussianRelease(0.1): 5}


def test_stages_that_cost_more_than_was_given_are_refused() -> None:
    stages = [Toy("one", Log(), mu=1.0)]
    (cost,) = [planned(stages).certificate.epsilon]
    assert planned(stages, epsilon=cost).certificate.epsilon == cost
    with pytest.raises(InputError, match="ε = "):
        planned(stages, epsilon=math.nextafter(cost, 0))


def test_a_plan_shows_itself_as_the_statement_to_come() -> None:
    plan = plan_of("barker")
    assert str(plan) == str(plan.statement({}))
    assert plan._repr_html_() == plan.statement({})._repr_html_()


# One budget for releases with noise and for decisions.


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize(
    ("decisions", "fraction"), [(0, 0.5), (100, 0.06), (4000, 0.06), (4000, 0.9)]
)
def test_a_split_uses_the_budget(
    epsilon: float, decisions: int, fraction: float
) -> None:
    request = Request(epsilon, 1e-5)
    splitting = Splitting(decisions, fraction)
    (release,), clip = split_budget(request, 1000, splitting)
    events: dict[Any, int] = {GaussianRelease(release): 1}
    if decisions:
        events[BarkerBit(clip, 1000)] = decisions
        # squares of μ: that of the release, and clip² for each decision
        parts = release**2, decisions * clip**2
        assert parts[1] / sum(parts) == pytest.approx(fraction)
    else:
        assert clip == 0
    assert 0.995 * epsilon < certify_epsilon(events, 1e-5).epsilon <= epsilon


@pytest.mark.parametrize("currency", ["rho", "mu"])
@pytest.mark.parametrize(
    "method", [ControlVariates(), Barker(clip=0.01, proposal=RandomWalk(0.1))], ids=repr
)
def test_a_budget_of_rho_or_mu_is_nearly_spent(currency: str, method: Any) -> None:
    problem = make_problem(
        models.normal(bounds=(0.0, 1.0), sd=1.0),
        {"x": np.zeros(500)},
        start=None,
        precision=None,
        devices=None,
    )
    budget = {"rho": 0.05, "mu": 0.3}[currency]
    plan = plan_run(problem, method, epsilon=None, delta=1e-6, **{currency: budget})
    cost = cost_in(currency, plan.events)
    assert 0.98 * budget < cost <= budget
    statement = plan.statement({})
    assert getattr(statement, currency) == cost
    assert statement.epsilon <= epsilon_of(currency, budget, 1e-6)
    assert min(statement.profile)[0] < statement.epsilon
    assert type(statement).from_json(statement.to_json()) == statement


def test_a_budget_in_two_currencies_is_refused() -> None:
    with pytest.raises(InputError):
        sample(
            models.normal(bounds=(0.0, 1.0), sd=1.0),
            {"x": np.zeros(500)},
            epsilon=1.0,
            rho=0.1,
            delta=1e-6,
        )
