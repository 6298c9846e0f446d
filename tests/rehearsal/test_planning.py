# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Plans: whichever number is missing is found, on the safe side."""

import dataclasses
import json
import math

import numpy as np
import pytest
from refusals import assert_refused

from dpmcmc.accounting import certify_delta
from dpmcmc.rehearsal.planning import plan


@pytest.fixture(autouse=True, scope="module")
def profile_folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPMCMC_CACHE", str(tmp_path_factory.mktemp("profiles")))
        yield


def test_the_cost_of_given_steps():
    planned = plan(10**6, clip=0.01, steps=1000, delta=1e-6)
    assert planned.method == "barker"
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
    more = {planned.decision: planned.steps + 1}
    assert certify_delta(more, 1.0).delta > 1e-6
    assert 0 < planned.paper_steps < planned.steps


def test_the_clip_of_given_steps_and_budget():
    planned = plan(10**6, steps=50, epsilon=1.0, delta=1e-6)
    assert planned.epsilon <= 1.0
    assert planned.epsilon == pytest.approx(1.0, rel=1e-4)
    assert plan(10**6, clip=planned.clip, epsilon=1.0, delta=1e-6).steps >= 50


def test_the_headline_case():
    planned = plan(10**6, batch=1000, steps=20000, delta=1e-6)
    assert planned.method == "minibatch-barker"
    assert planned.clip == 1000**0.5 / 10**6
    rows = {row.accountant: row.epsilon for row in planned.rows}
    assert rows["paper"] == pytest.approx(1.00042, rel=1e-5)
    assert planned.epsilon <= 0.0204


METHODS = ("barker", "gaussian-barker", "minibatch-barker")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_planned(method):
    batch, clip = (100, 0.0005) if method == "minibatch-barker" else (None, 0.5)
    planned = plan(10**4, method=method, batch=batch, clip=clip, steps=20, delta=1e-5)
    assert 0 < planned.epsilon < math.inf
    assert planned.method == method
    assert planned.rows[0].accountant == "paper"


@pytest.mark.parametrize("clip", [None, 0.0004])
def test_a_clip_means_what_it_means_to_the_sampler(clip):
    """Planned and run with the same numbers, a chain costs the same."""
    from dpmcmc import MinibatchBarker, RandomWalk
    from dpmcmc.models import normal
    from dpmcmc.sampling.problem import make_problem
    from dpmcmc.sampling.sample import plan_run

    model = normal((0, 1), sd=1.0)
    problem = make_problem(
        model, {"x": np.zeros(2000)}, start=None, precision=None, devices=None
    )
    method = MinibatchBarker(100, clip=clip, proposal=RandomWalk(1.0))
    run = plan_run(problem, method, epsilon=None, delta=1e-5, steps=30)
    planned = plan(2000, batch=100, clip=clip, steps=30, delta=1e-5)
    assert planned.epsilon == pytest.approx(run.certificate.epsilon, rel=1e-6)


def test_all_three_given_are_compared():
    fits = plan(1000, clip=0.01, steps=10, epsilon=1.0, delta=1e-6)
    assert fits.fits
    not_fitting = plan(1000, clip=0.1, steps=100, epsilon=1.0, delta=1e-6)
    assert not not_fitting.fits
    assert "DO NOT FIT" in str(not_fitting)


def test_no_step_may_fit():
    planned = plan(1000, clip=2.0, epsilon=0.1, delta=1e-6)
    assert planned.steps == 0
    assert planned.epsilon == 0
    assert "0 steps" in str(planned)


def test_zero_steps_cost_nothing():
    assert plan(1000, clip=0.1, steps=0, delta=1e-6).epsilon == 0


@pytest.mark.slow
def test_a_wide_scaled_clip_has_no_answer_by_the_paper():
    planned = plan(10**4, batch=100, clip=0.0012, steps=10, delta=1e-5)
    assert planned.rows[0].accountant == "paper"
    assert planned.rows[0].epsilon == math.inf
    assert planned.to_dict()["accountants"][0]["epsilon"] is None
    assert "Theorem 3" in str(planned)


def test_a_plan_is_frozen_and_json():
    planned = plan(1000, clip=0.01, steps=10, delta=1e-6)
    with pytest.raises(dataclasses.FrozenInstanceError):
        planned.steps = 5
    content = json.loads(json.dumps(planned.to_dict(), allow_nan=False))
    assert content["steps"] == 10
    assert content["epsilon"] == planned.epsilon
    assert "substitution" in content["adjacency"]


def test_a_notebook_shows_the_same_as_tables():
    """What a plan of a chain says, and what one of the default method says."""
    chain = plan(10**5, clip=0.1, steps=100, epsilon=1.0, delta=1e-6)
    shown = chain._repr_html_()
    assert shown.count("<tr>") == 2 + len(chain.rows)
    assert "100 steps of" in shown
    assert f"a budget of ε = {chain.budget:g}" in shown
    outlook = plan(10**5, epsilon=1.0, delta=1e-6)
    assert outlook._repr_html_().count("<p>") == 2


def test_the_table_is_aligned():
    lines = str(plan(1000, clip=0.01, steps=10, delta=1e-6)).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("accountant"))
    column = lines[start].index("ε")
    for line in lines[start + 1 : start + 5]:
        assert line[column] != " "
        assert line[column + 1 : column + 3] == "  "
    assert lines[start + 4].startswith("certified")


@pytest.mark.parametrize(
    "asked",
    [
        {"steps": 10, "delta": 1e-6},
        {"clip": 0.1, "delta": 1e-6},
        {"batch": 10, "delta": 1e-6},
        {"clip": 0.1, "steps": -1, "delta": 1e-6},
        {"clip": 0.1, "steps": 2.5, "delta": 1e-6},
        {"clip": 0.1, "steps": 10, "delta": 0.0},
        {"clip": 0.1, "steps": 10, "delta": 1.0},
        {"clip": 0.1, "epsilon": -1.0, "delta": 0.1},
        {"clip": -0.1, "steps": 10, "delta": 1e-6},
        {"batch": 1001, "steps": 10, "delta": 1e-6},
        {"batch": 0, "steps": 10, "delta": 1e-6},
        {"method": "metropolis", "delta": 1e-6},
        {"method": "barker", "batch": 5, "clip": 0.1, "steps": 1, "delta": 1e-6},
        {"method": "minibatch-barker", "clip": 0.1, "steps": 1, "delta": 1e-6},
        {"clip": 0.1, "steps": 1000, "delta": 1e-13},
    ],
    ids=str,
)
def test_bad_input_is_refused(asked):
    assert_refused(lambda: plan(1000, **asked))
