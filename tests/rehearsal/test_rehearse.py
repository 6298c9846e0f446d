# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Rehearsals: simulated records, the same stages, and honest numbers about them."""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy import stats
from terminals import Terminal
from tqdm.auto import tqdm

from dpmcmc import (
    Barker,
    InputError,
    Model,
    Posterior,
    RandomWalk,
    SufficientStatistics,
    models,
    rehearse,
)
from dpmcmc.accounting import BarkerBit, most_steps
from dpmcmc.influence.choices import Shrinking
from dpmcmc.rehearsal import rehearse as module
from dpmcmc.rehearsal.rehearse import Rehearsal, Trial
from dpmcmc.rehearsal.simulate import simulate_records

NORMAL = Model(
    lambda theta, record: -0.5 * (record["x"] - theta) ** 2,
    lambda theta: -0.5 * theta**2,
    0.3,
    simulate=lambda theta, key, record: {"x": theta + jax.random.normal(key)},
)
WALK = RandomWalk(0.1)
WIDE = Barker(clip=0.1, proposal=WALK)
NARROW = Barker(clip=0.02, proposal=WALK)
BUDGET: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-2, "progress": False}


class Tried(NamedTuple):
    """A rehearsal, what each run returned, and the bar that it showed."""

    rehearsal: Rehearsal
    made: list[Posterior]
    terminal: Terminal


def tried(model: Model, records: Any, **settings: Any) -> Tried:
    made: list[Posterior] = []
    run, terminal = module.sample_not_private, Terminal()

    def spy(*arguments: Any, **settings: Any) -> Posterior:
        made.append(run(*arguments, **settings))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "sample_not_private", spy)
        patch.setattr(module, "_REFERENCE_STEPS", 1000)
        patch.setattr("dpmcmc.progress.tqdm", partial(tqdm, file=terminal))
        found = rehearse(model, records, **{**BUDGET, "progress": True, **settings})
    return Tried(found, made, terminal)


@pytest.fixture(scope="module")
def barker() -> Tried:
    return tried(NORMAL, 500, methods={"wide": WIDE, "narrow": NARROW}, at=0.5, runs=2)


@pytest.fixture(scope="module")
def rehearsal(barker: Tried) -> Rehearsal:
    return barker.rehearsal


def test_each_method_is_tried_on_the_same_records(rehearsal: Rehearsal) -> None:
    names = [trial.method for trial in rehearsal.trials]
    assert names == ["wide", "wide", "narrow", "narrow"]
    assert len(rehearsal.of("narrow")) == 2
    assert rehearsal.records == 500
    assert not rehearsal.reference.statement.is_private
    # the reference is the posterior of the simulated records: mean within 5 errors
    table = simulate_records(NORMAL, 0.5, 500, None, 0)
    centre = table["x"].sum() / 501
    off = (rehearsal.reference.draws["theta"].mean() - centre) * 501**0.5
    ess = rehearsal.reference.summary()["ess_bulk"].iloc[0]
    assert abs(off) < 5 / ess**0.5


def test_noise_differs_from_run_to_run(rehearsal: Rehearsal) -> None:
    one, two = rehearsal.of("wide")
    assert one.error[0] != two.error[0]


def test_a_clip_in_effect_is_seen_by_its_width(rehearsal: Rehearsal) -> None:
    """A ratio has an sd of about 0.1 in a step: a clip of a fifth cuts most of them."""
    assert all(0.5 < trial.width[0] < 1.7 for trial in rehearsal.of("wide"))
    assert all(trial.width[0] > 2 for trial in rehearsal.of("narrow"))
    for trial in rehearsal.trials:
        assert trial.error.shape == trial.width.shape == (1,)
        assert 0 < trial.accepted < 1
        assert trial.rms_error == abs(trial.error[0])


def test_the_table_lines_up(rehearsal: Rehearsal) -> None:
    lines = str(rehearsal).splitlines()
    assert "500 simulated records" in lines[0]
    rows = lines[2:5]
    assert len({len(row) for row in rows}) == 1
    assert [row.split()[0] for row in rows[1:]] == ["wide", "narrow"]
    assert max(map(len, lines)) <= 88


def test_a_notebook_shows_a_table_with_escaped_names(rehearsal: Rehearsal) -> None:
    trials = [replace(one, method="<b>&") for one in rehearsal.trials]
    shown = replace(rehearsal, trials=tuple(trials))._repr_html_()
    assert shown.count("<tr>") == 2
    assert "&lt;b&gt;&amp;" in shown
    assert "<b>" not in shown
    assert "500 simulated records" in shown


def test_a_method_has_what_the_budget_buys(barker: Tried) -> None:
    """Steps, or the widest clip: those that `sample` would have had."""
    steps = [run.statement.stages[-1].numbers["steps"] for run in barker.made[1:]]
    wide, narrow = (
        most_steps(BarkerBit(method.clip, 500), 4.0, 1e-2) for method in (WIDE, NARROW)
    )
    assert steps == [wide, wide, narrow, narrow]


def test_the_bar_counts_runs(barker: Tried) -> None:
    assert barker.terminal.labels == ["Rehearsing"]
    assert "5/5" in barker.terminal.shown
    assert "steps" not in barker.terminal.shown


# A method with stages, one of whose runs is of no use.


class Objects:
    """A stage with an objection to whatever comes after."""

    def __init__(self, stage: Any) -> None:
        self._stage = stage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage, name)

    def objection(self, *_: Any) -> str:
        return "too noisy"


@dataclass(frozen=True)
class Objecting(SufficientStatistics):
    """Releases a sum that it then finds of no use."""

    def plan(self, problem: Any, request: Any) -> Any:
        plan = super().plan(problem, request)
        first, chain = plan.stages
        return replace(plan, stages=(Objects(first), chain))


def counted() -> Tried:
    """Records are given, for their number and shapes: values are not even numbers."""
    values = {"x": np.full(300, math.nan)}
    methods = {"sum": SufficientStatistics(), "bad": Objecting()}
    return tried(models.poisson(20.0), values, methods=methods, runs=1, steps=50)


@pytest.fixture(scope="module")
def by_sum() -> Rehearsal:
    return counted().rehearsal


def test_records_may_be_given_for_their_number_and_shapes(by_sum: Rehearsal) -> None:
    assert by_sum.records == 300
    (trial,) = by_sum.of("sum")
    assert np.isfinite(trial.error).all()
    assert trial.width[0] > 0.8


def test_a_run_that_stops_as_not_usable_is_a_row(by_sum: Rehearsal) -> None:
    (trial,) = by_sum.of("bad")
    assert np.isinf(trial.rms_error)
    assert "too noisy" in trial.verdict
    assert "0 of 1" in str(by_sum)


def test_a_rehearsal_can_be_made_again(by_sum: Rehearsal) -> None:
    again = counted().rehearsal
    np.testing.assert_array_equal(again.trials[0].error, by_sum.trials[0].error)


# The table, whatever methods are called and whatever came of them.

WILD = some.floats(0, 1e9) | some.sampled_from([math.nan, math.inf])


@given(
    some.lists(
        some.builds(
            Trial,
            method=some.text(max_size=200),
            error=some.lists(WILD, min_size=1, max_size=3).map(np.array),
            width=some.lists(WILD, min_size=1, max_size=3).map(np.array),
            ess=some.floats(0, 1e6),
            accepted=some.floats(0, 1),
            verdict=some.sampled_from(["", "usable", "not usable: noise"]),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_no_line_is_too_wide(trials: list[Trial]) -> None:
    nothing: Any = None
    text = str(Rehearsal(10**12, 1.0, 1e-6, tuple(trials), nothing))
    assert max(map(len, text.split("\n"))) <= 88


# Simulated records.


def test_simulated_records_have_the_distribution_of_the_model() -> None:
    """False-alarm rate 10⁻⁶, at a fixed seed."""
    table = simulate_records(NORMAL, 2.0, 20_000, None, 3)
    assert stats.kstest(table["x"] - 2.0, "norm").pvalue > 1e-6
    again = simulate_records(NORMAL, 2.0, 20_000, None, 3)
    np.testing.assert_array_equal(table["x"], again["x"])
    other = simulate_records(NORMAL, 2.0, 20_000, None, 4)
    assert not np.array_equal(table["x"], other["x"])


def test_covariates_come_from_a_public_sample_or_a_function() -> None:
    model = models.logistic_regression(2, norm=5.0)
    theta = model.initial
    public = {"x": np.array([[1.0, 2.0], [3.0, 4.0]]), "y": np.zeros(2)}
    table = simulate_records(model, theta, 500, public, 0)
    assert set(map(tuple, table["x"].tolist())) == {(1.0, 2.0), (3.0, 4.0)}
    assert set(table["y"].tolist()) == {0.0, 1.0}

    def draw(key: jax.Array) -> dict[str, Any]:
        return {"x": jax.random.normal(key, (2,)), "y": jnp.zeros(())}

    table = simulate_records(model, theta, 500, draw, 0)
    assert len(np.unique(table["x"])) > 900


# Refusals.


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": Model(NORMAL.log_likelihood, NORMAL.log_prior, 0.0)}, "simulator"),
        ({"methods": {}}, "methods"),
        ({"methods": {"a": "barker"}}, "method is a str"),
        ({"methods": {"a": Barker(clip=0.1)}}, "proposal"),
        ({"records": 0}, "records is 0"),
        ({"records": True}, "records"),
        ({"runs": 0}, "runs is 0"),
        ({"epsilon": -1.0}, "epsilon is -1.0"),
        ({"model": models.logistic_regression(2, norm=5.0)}, "covariates"),
        (
            {"methods": {"a": Barker(clip=0.1, proposal=WALK, clipping=Shrinking())}},
            "responses",
        ),
    ],
)
def test_what_cannot_be_rehearsed(change: dict[str, Any], words: str) -> None:
    settings = {
        "model": NORMAL,
        "records": 50,
        "methods": {"wide": WIDE},
        "runs": 1,
        "steps": 20,
        **BUDGET,
        **change,
    }
    with pytest.raises(InputError, match=words):
        rehearse(settings.pop("model"), settings.pop("records"), **settings)
