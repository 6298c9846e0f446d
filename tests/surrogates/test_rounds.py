# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Rounds of control variates: what they cost, and how they save a bad start."""

import math
import warnings

import numpy as np
import pytest
from settings_of_tests import logistic_model, logistic_records

from dpmcmc import InputError, Variational, sample_not_private
from dpmcmc.accounting import certify_epsilon
from dpmcmc.private import Records, Tape
from dpmcmc.surrogates import ControlVariates, release
from dpmcmc.variational import Start

COUNT, DELTA = 20_000, 1e-6


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_rounds_together_cost_what_one_may(rounds):
    plan = ControlVariates(epsilon=1.0, rounds=rounds).plan(COUNT, 3, DELTA)
    cost = certify_epsilon(plan.event, DELTA).epsilon
    assert 0.98 < cost <= 1.001
    noises = [stage.noise_multiplier for stage in plan.stages]
    assert noises == [
        plan.noise_multiplier * 2.0**number for number in reversed(range(rounds))
    ]
    for stage in plan.stages:
        assert stage.gradient_bound == pytest.approx(plan.gradient_bound)
        assert stage.hessian_bound == pytest.approx(plan.hessian_bound)
        assert len(stage.stages) == 1


def test_a_plan_of_rounds_says_so():
    said = ControlVariates(epsilon=1.0, rounds=3).plan(COUNT, 3, DELTA).description
    assert said.startswith("3 noisy sums, each over all 20,000 records")
    assert "at the top that the sum before it says" in said
    one = ControlVariates(epsilon=1.0).plan(COUNT, 3, DELTA).description
    assert one.startswith("one noisy sum over all 20,000 records")


@pytest.mark.parametrize("rounds", [0, -1, 1.5])
def test_rounds_must_be_a_count(rounds):
    with pytest.raises(InputError, match="rounds is"):
        ControlVariates(rounds=rounds)


def test_rounds_lead_to_the_top_from_a_start_that_is_far_off():
    """A unit off in each coordinate, where deviations are about 0.015.

    From there a parabola leaps to the other side, and on; part of the way does not.
    """
    data, model = logistic_records(COUNT), logistic_model(listed=True)
    control = ControlVariates(epsilon=50.0, rounds=5, gradient_bound=6.0)
    centre = {"b": np.array([0.5, 1.0, -0.5])}
    covariance = 8 * np.eye(3) / COUNT
    distances = []
    for number, stage in enumerate(control.plan(COUNT, 3, DELTA).stages):
        surrogate = release(
            model,
            Records(data),
            stage,
            Tape.seeded(number),
            centre=centre,
            covariance=covariance,
        )
        centre = surrogate.part_way(0.7 * COUNT**0.5)
        covariance = surrogate.covariance
        distances.append(surrogate.distance)
    assert distances[0] > 50
    assert distances[-1] < 2
    top, near = surrogate.mean["b"], surrogate.part_way(0.5 * surrogate.distance)["b"]
    middle = (np.asarray(top) + surrogate.centre) / 2
    np.testing.assert_allclose(near, middle, atol=1e-5)


def test_each_round_reads_words_of_its_own_and_the_last_is_used():
    """Without noise to speak of, rounds find the same posterior as one."""
    data, model = logistic_records(4000), logistic_model(listed=True)
    start = Variational(epsilon=100.0, steps=300)
    means = []
    for rounds in (1, 2):
        control = ControlVariates(epsilon=1000.0, rounds=rounds)
        posterior = sample_not_private(
            model,
            data,
            steps=400,
            clip=0.05,
            start=start,
            control=control,
            seed=3,
            progress=False,
        )
        assert len(posterior.statement.released_first) == 2
        means.append(posterior.draws["b"][0].mean(axis=0))
    # 300 draws after warm-up, of which at least 30 are effective: 7 of their errors
    assert np.abs(means[0] - means[1]).max() < 7 * 0.04 / np.sqrt(30)


@pytest.mark.parametrize(("off", "warns"), [(1.0, True), (0.05, False)])
def test_a_posterior_far_from_the_centre_is_warned_of(off, warns):
    data, model = logistic_records(COUNT), logistic_model(listed=True)
    mean = {"b": np.array([-0.5, 0.0, 0.5]) + off * np.array([1, 1, -1])}
    start = Start(mean, 8 * np.eye(3) / COUNT, math.inf, DELTA, "a start")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        sample_not_private(
            model,
            data,
            steps=5,
            clip=0.05,
            start=start,
            control=ControlVariates(epsilon=50.0),
            seed=3,
            progress=False,
        )
    said = [str(one.message) for one in caught if one.category is UserWarning]
    assert any("of its deviations from where they were" in one for one in said) == warns
