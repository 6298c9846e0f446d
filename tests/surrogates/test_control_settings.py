# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of control variates, and what a plan says before any record is read."""

import math

import numpy as np
import pytest

from dpmcmc import InputError
from dpmcmc.accounting import certify_delta, certify_epsilon
from dpmcmc.surrogates import ControlVariates


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 1.0, "share": 0.5}, "give one of the two"),
        ({"epsilon": 0.0}, "epsilon is 0.0"),
        ({"share": 1.0}, "share is 1.0"),
        ({"delta": 2.0}, "delta is 2.0"),
        ({"gradient_bound": -1.0}, "gradient_bound is -1.0"),
        ({"hessian_bound": np.inf}, "hessian_bound is inf"),
        ({"hessian_part": 0.0}, "strictly between 0 and 1. 0.4 is usual"),
        ({"hessian_part": 1.0}, "hessian_part is 1.0"),
        ({"hessian_part": "half"}, "hessian_part is 'half'"),
        ({"hessian_part": 1e-9}, "at least 0.001 and at most 0.999"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        ControlVariates(**settings)


def test_a_share_needs_the_epsilon_of_the_run():
    with pytest.raises(InputError, match="the run has none"):
        ControlVariates(share=0.5).plan(1000, 3, 1e-6)


@pytest.mark.parametrize("records", [0, 2.5])
def test_a_plan_needs_records(records):
    with pytest.raises(InputError, match="records is"):
        ControlVariates(epsilon=1.0).plan(records, 3, 1e-6)


def test_a_plan_costs_what_it_says():
    plan = ControlVariates(share=0.5).plan(1000, 4, 1e-6, 2.0)
    assert certify_delta(plan.event, 1.0).delta <= 1e-6
    assert certify_epsilon(plan.event, 1e-6).epsilon > 0.99
    own = ControlVariates(epsilon=1.0).plan(1000, 4, 1e-6)
    assert own.noise_multiplier == plan.noise_multiplier
    assert (plan.gradient_bound, plan.hessian_bound) == (4 * 2, 4 * 4)
    assert "14 numbers" in plan.description
    assert "1,000 records" in plan.description


def test_bounds_are_wide_where_there_are_many_records():
    few, many, told = (
        ControlVariates(epsilon=1.0, **given).plan(records, 4, 1e-6)
        for records, given in [
            (10_000, {}),
            (10_000_000, {}),
            (10_000_000, {"gradient_bound": 3.0, "hessian_bound": 2.0}),
        ]
    )
    assert (few.gradient_bound, few.hessian_bound) == (4 * 2, 4 * 4)
    assert (many.gradient_bound, many.hessian_bound) == (12 * 2, 40 * 4)
    assert (told.gradient_bound, told.hessian_bound) == (3 * 2, 2 * 4)


@pytest.mark.parametrize(
    ("size", "gradient", "hessian"), [(10, 4.0, 4.0), (40, 3.0, 2.5), (1000, 2.2, 1.3)]
)
def test_bounds_are_tighter_where_there_are_many_coordinates(size, gradient, hessian):
    plan = ControlVariates(epsilon=1.0).plan(1000, size, 1e-6)
    assert plan.gradient_bound == pytest.approx(gradient * math.sqrt(size))
    assert plan.hessian_bound == pytest.approx(hessian * size)


@pytest.mark.parametrize("part", [0.2, 0.4, 0.7])
def test_wide_bounds_let_the_same_noise_through_whatever_the_part(part):
    """Where noise sets the bounds: 0.164 deviations of shift, 1.25% of curvature."""
    control = ControlVariates(epsilon=1.0, hessian_part=part)
    some, more = (control.plan(count, 4, 1e-6) for count in (100_000, 1_000_000))
    bend = some.noise_multiplier * some.hessian_bound / part / 1e5
    assert bend == pytest.approx(0.0125)
    shift = more.noise_multiplier * more.gradient_bound / math.sqrt(1 - part**2) / 1e3
    assert shift == pytest.approx(0.164)
