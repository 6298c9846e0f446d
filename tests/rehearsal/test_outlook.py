# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How wide intervals will be: by the default method's own events, and back again."""

import json

import numpy as np
import pytest

import dpmcmc
from dpmcmc.accounting import BarkerBit, GaussianRelease, certify_epsilon
from dpmcmc.rehearsal.outlook import Outlook, outlook
from dpmcmc.sampling.gaussian_budget import USUAL_SPLIT, Splitting
from dpmcmc.sampling.problem import make_problem
from dpmcmc.sampling.sample import plan_run


@pytest.mark.parametrize("records", [2000, 10**5, 10**6])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_a_width_needs_the_epsilon_that_buys_it(records, epsilon):
    bought = outlook(records, delta=1e-6, epsilon=epsilon)
    needed = outlook(records, delta=1e-6, width=bought.width)
    assert needed.epsilon == pytest.approx(epsilon, rel=1e-3)


def test_more_of_anything_makes_intervals_narrower():
    few = outlook(10**4, delta=1e-6, epsilon=1.0)
    assert outlook(10**5, delta=1e-6, epsilon=1.0).width < few.width
    assert outlook(10**4, delta=1e-6, epsilon=2.0).width < few.width
    assert outlook(10**4, delta=1e-4, epsilon=1.0).width < few.width


def test_the_budget_is_that_of_the_default_method(model, records):
    """Decisions and check are those of the split; the fit has what it has there.

    In place of one release with normal noise the fit has a smaller one, and another
    with Laplace noise, for which the rest has room. Sizes are rounded down by at most
    one part in ten thousand, and ε rises as their square at most: so both are within
    two such parts of what was given.
    """
    planned = plan_run(
        make_problem(model, records, start=None, precision=None, devices=None),
        None,
        epsilon=1.0,
        delta=1e-6,
    )
    fit, _, check = planned.stages
    mu = check.mu / np.sqrt(USUAL_SPLIT.releases[1] * (1 - USUAL_SPLIT.fraction))
    events = USUAL_SPLIT.events(mu, len(records))
    assert sum(events.values()) + 1 == sum(planned.events.values())
    (clip,) = (event.clip for event in events if isinstance(event, BarkerBit))
    assert clip == pytest.approx(check.clip, rel=1e-9)
    assert planned.events[BarkerBit(check.clip, len(records))] == USUAL_SPLIT.decisions
    whole, _ = sorted(
        (event.mu for event in events if isinstance(event, GaussianRelease)),
        reverse=True,
    )
    assert fit.mu < whole
    assert planned.events[fit.final] == 1
    for epsilon in (
        certify_epsilon(events, 1e-6).epsilon,
        planned.certificate.epsilon,
    ):
        assert 1 - 2e-4 < epsilon <= 1


@pytest.mark.parametrize("decisions", [0, 1, 4000])
def test_parts_of_a_budget_make_the_whole(decisions):
    splitting = Splitting(decisions, 0.3, (0.9, 0.1))
    releases, clip = splitting.at(2.0)
    assert sum(one**2 for one in releases) + decisions * clip**2 == pytest.approx(4.0)


def test_plan_answers_for_the_default_method():
    found = dpmcmc.plan(100_000, delta=1e-6, epsilon=1.0)
    assert isinstance(found, Outlook)
    assert json.loads(json.dumps(found.to_dict()))["width"] == found.width
    assert "100,000" in str(found)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"epsilon": 1.0, "width": 1.1},
        {"width": 1.0},
        {"width": -2.0},
        {"epsilon": 0.0},
        {"width": 1.1, "clip": 0.1},
    ],
)
def test_what_cannot_be_asked_is_refused(given):
    with pytest.raises(dpmcmc.InputError):
        dpmcmc.plan(1000, delta=1e-6, **given)
