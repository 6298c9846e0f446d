# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Plans: whichever number is missing is found, on the safe side."""

import dataclasses
import json
import math

import pytest
from dp_accounting.dp_event import SelfComposedDpEvent

from dpmcmc.accounting import certify_delta
from dpmcmc.errors import InputError
from dpmcmc.planning import TESTS, plan


@pytest.fixture(autouse=True, scope="module")
def profile_folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPMCMC_CACHE", str(tmp_path_factory.mktemp("profiles")))
        yield


def test_the_cost_of_given_steps():
    planned = plan(10**6, clip=0.01, steps=1000, delta=1e-6)
    assert planned.test == "barker"
    assert 1.3675 <= planned.epsilon <= 1.375
    assert planned.accountant == "blocks"
    rows = {row.accountant: row.epsilon for row in planned.rows}
    assert rows["paper"] == pytest.approx(2.45129, rel=1e-5)
    assert rows["blocks"] == planned.epsilon
    assert planned.budget is None
    assert planned.paper_steps is None


def test_the_steps_of_a_given_budget():
    planned = plan(10**6, clip=0.02, epsilon=1.0, delta=1e-6)
    assert planned.epsilon <= 1.0
    more = SelfComposedDpEvent(planned.bit, planned.steps + 1)
    assert certify_delta(more, 1.0).delta > 1e-6
    assert 0 < planned.paper_steps < planned.steps


def test_the_clip_of_given_steps_and_budget():
    planned = plan(10**6, steps=50, epsilon=1.0, delta=1e-6)
    assert planned.epsilon <= 1.0
    assert planned.epsilon == pytest.approx(1.0, rel=1e-4)
    assert plan(10**6, clip=planned.clip, epsilon=1.0, delta=1e-6).steps >= 50


def test_the_headline_case():
    planned = plan(10**6, batch=1000, steps=20000, delta=1e-6)
    assert planned.test == "minibatch"
    assert planned.clip == 1.0
    rows = {row.accountant: row.epsilon for row in planned.rows}
    assert rows["paper"] == pytest.approx(1.00042, rel=1e-5)
    assert planned.epsilon <= 0.0204


@pytest.mark.parametrize("test", TESTS)
def test_every_test_can_be_planned(test):
    batch = 100 if test == "minibatch" else None
    planned = plan(10**4, test=test, batch=batch, clip=0.5, steps=20, delta=1e-5)
    assert 0 < planned.epsilon < math.inf
    assert planned.test == test
    assert planned.rows[0].accountant == "paper"


def test_all_three_given_are_compared():
    fits = plan(1000, clip=0.01, steps=10, epsilon=1.0, delta=1e-6)
    assert "10 steps fit a budget of ε = 1" in fits.table()
    not_fitting = plan(1000, clip=0.1, steps=100, epsilon=1.0, delta=1e-6)
    assert "DO NOT FIT" in not_fitting.table()


def test_no_step_may_fit():
    planned = plan(1000, clip=2.0, epsilon=0.1, delta=1e-6)
    assert planned.steps == 0
    assert planned.epsilon == 0
    assert "0 steps" in planned.table()


def test_zero_steps_cost_nothing():
    assert plan(1000, clip=0.1, steps=0, delta=1e-6).epsilon == 0


def test_a_wide_scaled_clip_has_no_answer_by_the_paper():
    planned = plan(10**4, batch=100, clip=1.2, steps=10, delta=1e-5)
    assert planned.rows[0].accountant == "paper"
    assert planned.rows[0].epsilon == math.inf
    assert planned.to_dict()["accountants"][0]["epsilon"] is None
    assert "Theorem 3" in planned.table()


def test_a_plan_is_frozen_and_json():
    planned = plan(1000, clip=0.01, steps=10, delta=1e-6)
    with pytest.raises(dataclasses.FrozenInstanceError):
        planned.steps = 5
    content = json.loads(json.dumps(planned.to_dict(), allow_nan=False))
    assert content["steps"] == 10
    assert content["epsilon"] == planned.epsilon
    assert "substitution" in content["adjacency"]


def test_the_table_is_aligned():
    lines = plan(1000, clip=0.01, steps=10, delta=1e-6).table().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("accountant"))
    column = lines[start].index("ε")
    for line in lines[start + 1 : start + 5]:
        assert line[column] != " "
        assert line[column + 1 : column + 3] == "  "
    assert lines[start + 4].startswith("certified")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"steps": 10, "delta": 1e-6}, "clip is missing"),
        ({"epsilon": 1.0, "delta": 1e-6}, "clip is missing"),
        ({"clip": 0.1, "delta": 1e-6}, "steps and epsilon are both missing"),
        ({"batch": 10, "delta": 1e-6}, "steps and epsilon are both missing"),
        ({"clip": 0.1, "steps": -1, "delta": 1e-6}, "steps is -1"),
        ({"clip": 0.1, "steps": 2.5, "delta": 1e-6}, "steps is 2.5"),
        ({"clip": 0.1, "steps": 10, "delta": 0.0}, "delta is 0.0"),
        ({"clip": 0.1, "steps": 10, "delta": 1.0}, "delta is 1.0"),
        ({"clip": 0.1, "epsilon": -1.0, "delta": 0.1}, "epsilon is -1.0"),
        ({"clip": -0.1, "steps": 10, "delta": 1e-6}, "clip is -0.1"),
        ({"batch": 1001, "steps": 10, "delta": 1e-6}, "between 1 and the 1000 records"),
        ({"batch": 0, "steps": 10, "delta": 1e-6}, "batch is 0"),
        (
            {"test": "metropolis", "delta": 1e-6},
            "barker, gaussian, minibatch",
        ),
        (
            {"test": "barker", "batch": 5, "clip": 0.1, "steps": 1, "delta": 1e-6},
            "reads all records",
        ),
        (
            {"test": "minibatch", "clip": 0.1, "steps": 1, "delta": 1e-6},
            "batch is missing",
        ),
        ({"clip": 0.1, "steps": 1000, "delta": 1e-13}, "finite arithmetic"),
    ],
)
def test_bad_input_says_what_and_how(asked, words):
    with pytest.raises(InputError, match=words):
        plan(1000, **asked)


def test_the_curve_of_a_plan_rises():
    planned = plan(1000, clip=0.02, steps=100, delta=1e-6)
    curve = planned.curve([1, 10, 100])
    assert [steps for steps, _, _ in curve] == [1, 10, 100]
    for _, certified, paper in curve:
        assert certified < paper
    assert curve[0][1] < curve[1][1] < curve[2][1] == planned.epsilon
