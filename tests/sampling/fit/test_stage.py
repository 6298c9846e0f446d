# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The stage of the fit: what it charges, whatever was lost or kept before."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc
from dpmcmc import Model, StoppedError
from dpmcmc.accounting import GaussianRelease
from dpmcmc.sampling.check import Check
from dpmcmc.sampling.checkpoint import MemoryCheckpoint
from dpmcmc.sampling.fit import stage
from dpmcmc.sampling.fit.asking import Ask
from dpmcmc.sampling.fit.basis import basis_of
from dpmcmc.sampling.fit.prior import LogPrior
from dpmcmc.sampling.fit.stage import Fit
from dpmcmc.sampling.loop import run as run_plan
from dpmcmc.sampling.plan import Plan
from dpmcmc.sampling.problem import Problem, make_problem
from dpmcmc.sampling.sample import plan_run
from dpmcmc.sampling.stages import Charged, Context, Events, Part

RECORDS = 2000
PRIOR, BASIS = cache(LogPrior), cache(basis_of)


@cache
def problem() -> Problem:
    generator = np.random.default_rng(3)
    x = generator.normal(size=(RECORDS, 2)).astype("float32")
    chance = 1 / (1 + np.exp(-x @ np.array([1.0, -0.5])))
    y = (generator.random(RECORDS) < chance).astype("float32")

    def log_likelihood(theta: Any, record: Any) -> Any:
        eta = theta @ record["x"]
        return record["y"] * eta - jnp.logaddexp(0.0, eta)

    model = Model(log_likelihood, lambda t: -0.5 * jnp.sum(t**2), np.zeros(2))
    records = {"x": x, "y": y}
    return make_problem(model, records, start=None, precision=None, devices=None)


def planned(epsilon: float = 4.0, steps: int | None = None) -> Plan:
    return plan_run(
        problem(), dpmcmc.ControlVariates(), epsilon=epsilon, delta=1e-6, steps=steps
    )


@pytest.fixture(scope="module")
def fit() -> Fit:
    found = planned().stages[0]
    assert isinstance(found, Fit)
    return found


@pytest.fixture(autouse=True)
def compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The prior and the basis are the same in all runs of the stage."""
    monkeypatch.setattr(stage, "LogPrior", PRIOR)
    monkeypatch.setattr(stage, "basis_of", BASIS)


def run(
    fit: Fit, kept: Sequence[Part] = (), charged: Charged | None = None, seed: int = 0
) -> tuple[list[Part], dict[str, Events]]:
    """Parts that the stage makes, and all that was ever charged."""
    every = dict(charged or {})

    def charge(name: str, events: Events) -> None:
        assert name not in every
        every[name] = events

    context = Context(problem(), seed, progress=False)
    before = dict(every)
    return list(fit.run(context, {"fit": kept}, before, charge)), every


def squares(charged: Charged) -> Fraction:
    """The exact sum of the squares of all that was charged."""
    mus = []
    for events in charged.values():
        ((event, count),) = events.items()
        assert isinstance(event, GaussianRelease)
        assert count == 1
        mus.append(event.mu)
    return sum((Fraction(mu) ** 2 for mu in mus), Fraction(0))


def same(ours: Part, theirs: Part) -> bool:
    return ours.name == theirs.name and all(
        np.array_equal(ours.arrays[name], theirs.arrays[name], equal_nan=True)
        for name in theirs.arrays
    )


@pytest.fixture(scope="module")
def whole(fit: Fit) -> tuple[list[Part], dict[str, Events]]:
    return run(fit)


def test_squares_of_what_is_charged_come_to_the_budget(fit: Fit, whole: Any) -> None:
    _, charged = whole
    spent = squares(charged)
    assert spent <= Fraction(fit.mu) ** 2
    assert float(spent) == pytest.approx(fit.mu**2, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 7.0])
def test_no_noise_makes_the_squares_exceed_it(epsilon: float) -> None:
    """Rounds are more or fewer, by what was released."""
    fit = planned(epsilon).stages[0]
    assert isinstance(fit, Fit)
    for seed in range(3):
        parts, charged = run(fit, seed=seed)
        assert parts[-1].name == "found"
        assert squares(charged) <= Fraction(fit.mu) ** 2


def test_noise_is_what_was_charged(whole: Any) -> None:
    parts, charged = whole
    for part in parts[:-1]:
        ((event, _),) = charged[part.name].items()
        values, noise = part.arrays["values"], float(part.arrays["noise"])
        moved = np.sqrt(2 * len(values)) if values.ndim == 2 else 2.0
        assert noise * event.mu >= moved
        assert noise * event.mu == pytest.approx(moved, rel=1e-12)


def test_a_fit_goes_on_as_it_would_have(fit: Fit, whole: Any) -> None:
    """From every number of kept parts: the same questions, charges and result."""
    parts, charged = whole
    names = list(charged)
    for kept in range(len(names) + 1):
        before = {name: charged[name] for name in names[:kept]}
        again, every = run(fit, parts[:kept], before)
        assert every == charged
        assert len(again) == len(parts) - kept
        assert all(map(same, again, parts[kept:]))


def test_a_fit_that_was_found_asks_nothing(fit: Fit, whole: Any) -> None:
    parts, charged = whole
    again, every = run(fit, parts, charged)
    assert again == []
    assert every == charged


def test_lost_parts_are_paid_for(fit: Fit, whole: Any) -> None:
    """Whichever is lost, the sum stays within; the fit goes on with what is left."""
    parts, charged = whole
    names = list(charged)
    for lost in range(len(names)):
        before = {name: charged[name] for name in names[: lost + 1]}
        again, every = run(fit, parts[:lost], before)
        assert squares(every) <= Fraction(fit.mu) ** 2
        is_last = lost == len(names) - 1
        assert (not again) == is_last
        if not is_last:
            assert again[-1].name == "found"


def test_where_nothing_is_left_nothing_is_asked(fit: Fit, whole: Any) -> None:
    """The last question was lost, and had all of the rest: the run ends there."""
    parts, charged = whole
    again, every = run(fit, parts[:-2], charged)
    assert again == []
    assert every == charged
    assert fit.objection(problem(), {"fit": parts[:-2]}) is not None


def test_parts_that_are_lost_again_and_again_stay_within(fit: Fit) -> None:
    """A process that dies at the first question, time after time."""
    charged: dict[str, Events] = {}

    class DiedError(Exception):
        pass

    def charge(name: str, events: Events) -> None:
        assert name not in charged
        charged[name] = events
        raise DiedError

    context = Context(problem(), 0, progress=False)
    for _ in range(300):
        with pytest.raises(DiedError):
            list(fit.run(context, {"fit": []}, dict(charged), charge))
    assert squares(charged) <= Fraction(fit.mu) ** 2


@pytest.mark.usefixtures("deciding")
def test_a_run_goes_on_after_a_part_was_lost() -> None:
    """The sixth answer cannot be kept: it is charged, lost, and asked again."""

    class Full(MemoryCheckpoint):
        is_full = True

        def keep(self, stage: str, part: Part) -> None:
            if self.is_full and part.name == "answer-005":
                raise OSError
            super().keep(stage, part)

    plan, checkpoint = planned(steps=40), Full()
    context = Context(problem(), 0, progress=False)
    with pytest.raises(StoppedError):
        run_plan(plan, context, checkpoint)
    checkpoint.is_full = False
    posterior = run_plan(plan, context, checkpoint)
    names = [part.name for part in checkpoint.kept("fit")]
    assert "answer-005" not in names
    assert names[-1] == "found"
    fit = plan.stages[0]
    assert isinstance(fit, Fit)
    assert squares(checkpoint.charged("fit")) <= Fraction(fit.mu) ** 2
    assert posterior.statement.epsilon == plan.statement({}).epsilon
    assert posterior.accepted.shape == (4, 30)


def test_more_than_the_budget_is_not_asked(
    fit: Fit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Fit, "_asking", lambda self, problem: iter([Ask(None, None, 1.5)])
    )
    with pytest.raises(ValueError, match="budget"):
        run(fit)


def test_other_histograms_than_were_paid_for_are_not_released(
    fit: Fit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        stage, "release_counts", lambda *_args, **_settings: np.zeros((3, 5))
    )
    with pytest.raises(ValueError, match="histograms"):
        run(fit)


def test_a_check_is_made_once(fit: Fit, whole: Any) -> None:
    check = planned().stages[2]
    assert isinstance(check, Check)
    context = Context(problem(), 0, progress=False)

    def never(name: str, events: Events) -> None:
        raise AssertionError(name)

    before: Charged = {"check": check.events}
    assert list(check.run(context, {"check": []}, before, never)) == []


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("steps", [7, 50, 100, 250, 1000])
def test_a_plan_costs_what_was_given(epsilon: float, steps: int) -> None:
    """Of μ found for other releases than those made, some cost a little more."""
    plan = planned(epsilon, steps)
    assert plan.certificate is not None
    assert 0.999 * epsilon < plan.certificate.epsilon <= epsilon


def test_a_stage_is_its_event(fit: Fit) -> None:
    assert fit.events == {GaussianRelease(fit.mu): 1}
    assert replace(fit, mu=0.5).events == {GaussianRelease(0.5): 1}
