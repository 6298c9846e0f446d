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
from dpmcmc.accounting import GaussianRelease, LaplaceRelease
from dpmcmc.sampling import control_variates
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
    monkeypatch.setattr(control_variates, "basis_of", BASIS)


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
    """The exact sum of the squares of all that was charged but the final sum."""
    mus = []
    for name, events in charged.items():
        ((event, count),) = events.items()
        assert count == 1
        assert isinstance(event, LaplaceRelease) == (name == "final")
        if isinstance(event, GaussianRelease):
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
        assert charged["final"] == {fit.final: 1}


def test_noise_is_what_was_charged(whole: Any) -> None:
    parts, charged = whole
    for part in parts[:-1]:
        ((event, _),) = charged[part.name].items()
        values, noise = part.arrays["values"], float(part.arrays["noise"])
        moved = np.sqrt(2 * len(values)) if values.ndim == 2 else 2.0
        if isinstance(event, LaplaceRelease):
            size, noise = event.shift, noise / np.sqrt(event.dimension + 1)
            assert len(values) == event.dimension
        else:
            size = event.mu
        assert noise * size >= moved * (1 - 2**-52)
        assert noise * size == pytest.approx(moved, rel=1e-12)


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
@pytest.mark.parametrize("lost", ["answer-005", "final"])
def test_a_run_goes_on_after_a_part_was_lost(lost: str) -> None:
    """It cannot be kept: it is charged and lost; an answer is then asked again."""

    class Full(MemoryCheckpoint):
        is_full = True

        def keep(self, stage: str, part: Part) -> None:
            if self.is_full and part.name == lost:
                raise OSError
            super().keep(stage, part)

    plan, checkpoint = planned(steps=40), Full()
    context = Context(problem(), 0, progress=False)
    with pytest.raises(StoppedError):
        run_plan(plan, context, checkpoint)
    checkpoint.is_full = False
    posterior = run_plan(plan, context, checkpoint)
    names = [part.name for part in checkpoint.kept("fit")]
    assert ("answer-005" in names) == (lost == "final")
    assert names[-1] == "found"
    assert names.count("final") == 1
    final = next(part for part in checkpoint.kept("fit") if part.name == "final")
    assert np.isinf(final.arrays["noise"]) == (lost == "final")
    fit = plan.stages[0]
    assert isinstance(fit, Fit)
    assert checkpoint.charged("fit")["final"] == {fit.final: 1}
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
    with pytest.raises(ValueError, match="3 were released, but 2 were paid for"):
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
    final = LaplaceRelease(2, fit.shift)
    assert fit.events == {GaussianRelease(fit.mu): 1, final: 1}
    assert replace(fit, mu=0.5).events == {GaussianRelease(0.5): 1, final: 1}
    other = LaplaceRelease(2, 0.25)
    assert replace(fit, shift=0.25).events == {GaussianRelease(fit.mu): 1, other: 1}


# The final sum.


@pytest.fixture
def sums(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The settings of each sum that is released."""
    seen: list[dict[str, Any]] = []
    release_sum = stage.release_sum

    def release(*given: Any, **settings: Any) -> np.ndarray:
        seen.append(settings)
        return release_sum(*given, **settings)

    monkeypatch.setattr(stage, "release_sum", release)
    return seen


def test_the_final_sum_is_charged_once_with_its_event(fit: Fit, whole: Any) -> None:
    """One number for each direction; other answers have normal noise."""
    parts, charged = whole
    assert charged["final"] == {LaplaceRelease(2, fit.shift): 1}
    events = [event for events in charged.values() for event in events]
    assert sum(isinstance(event, LaplaceRelease) for event in events) == 1
    assert [part.name for part in parts].count("final") == 1
    assert [part.name for part in parts[:-1]] == list(charged)


def test_the_final_sum_has_laplace_noise_of_the_scale_that_is_paid(
    fit: Fit, sums: list[dict[str, Any]]
) -> None:
    """The scale is 2/shift, rounded up; in the answer is the sd, √(d + 1) of them."""
    parts, _ = run(fit)
    (final,) = (settings for settings in sums if settings.get("laplace"))
    assert Fraction(final["noise"]) * Fraction(fit.shift) > 2
    assert final["noise"] == np.nextafter(2 / fit.shift, np.inf)
    (part,) = (part for part in parts if part.name == "final")
    expected = 2 / fit.shift * np.sqrt(3)
    assert float(part.arrays["noise"]) == pytest.approx(expected, rel=1e-15)
    assert fit.final_noise == pytest.approx(expected, rel=1e-15)
    assert part.arrays["values"].shape == (2,)


@pytest.fixture(scope="module")
def without_final(fit: Fit, whole: Any) -> tuple[list[Part], dict[str, Events]]:
    """A fit that was interrupted when the final sum was charged, and went on."""
    parts, charged = whole
    names = list(charged)
    before = names.index("final")
    kept = parts[:before]
    again, every = run(fit, kept, {name: charged[name] for name in names[: before + 1]})
    return [*kept, *again], every


def test_a_final_sum_that_was_lost_is_not_asked_again(
    fit: Fit, whole: Any, sums: list[dict[str, Any]]
) -> None:
    """Neither charged nor released: in its place is a part that says so."""
    parts, charged = whole
    names = list(charged)
    before = names.index("final")
    known = {name: charged[name] for name in names[: before + 1]}
    again, every = run(fit, parts[:before], known)
    assert not any(settings.get("laplace") for settings in sums)
    assert again[0].name == "final"
    assert np.isinf(again[0].arrays["noise"])
    assert every["final"] == {fit.final: 1}
    assert list(every) == [part.name for part in parts[:before] + again[:-1]]
    assert squares(every) <= Fraction(fit.mu) ** 2


def test_without_its_final_sum_a_fit_finds_something(
    fit: Fit, whole: Any, without_final: Any
) -> None:
    """By the first sum alone: within five sd of what is known, which is less."""
    found, other = fit.found(whole[0]), fit.found(without_final[0])
    assert found is not None
    assert other is not None
    noise, more = found.covariance + found.shift, other.covariance + other.shift
    assert np.all(np.diag(other.noise) > np.diag(found.noise))
    away = other.mode - np.array([1.0, -0.5])
    assert away @ np.linalg.solve(more, away) < 25
    assert np.linalg.slogdet(more)[1] > np.linalg.slogdet(noise)[1]
    assert fit.objection(problem(), {"fit": without_final[0]}) is None


def test_a_fit_that_lost_its_final_sum_goes_on_as_it_would_have(
    fit: Fit, without_final: Any
) -> None:
    """After a second interruption, wherever: the same parts in the same order."""
    parts, charged = without_final
    names = list(charged)
    for kept in range(names.index("final") + 1, len(parts) + 1):
        before = {name: charged[name] for name in names[:kept]}
        again, every = run(fit, parts[:kept], before)
        assert every == charged
        assert len(again) == len(parts) - kept
        assert all(map(same, again, parts[kept:]))


@pytest.mark.parametrize("length", [1, 3])
def test_a_final_sum_of_other_length_than_was_paid_for_is_not_released(
    fit: Fit, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    release_sum = stage.release_sum

    def release(*given: Any, laplace: bool = False, **settings: Any) -> np.ndarray:
        if laplace:
            return np.zeros(length)
        return release_sum(*given, **settings)

    monkeypatch.setattr(stage, "release_sum", release)
    released: list[str] = []
    context = Context(problem(), 0, progress=False)
    with pytest.raises(ValueError, match=f"{length} were released, but 2 were paid"):
        released.extend(
            part.name
            for part in fit.run(context, {"fit": []}, {}, lambda name, events: None)
        )
    assert "final" not in released
