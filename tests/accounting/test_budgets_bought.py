# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Steps and clips that a budget buys: never too many, never many too few."""

import math

import pytest
from dp_accounting.dp_event import SelfComposedDpEvent
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.accounting import (
    BarkerBit,
    LogisticMinibatchBit,
    MinibatchBit,
    ZcdpFilter,
    certify_delta,
    certify_epsilon,
    largest_clip,
    most_steps,
)
from dpmcmc.accounting.bounded_range import bounded_range_rho
from dpmcmc.accounting.zcdp import ZcdpCurve
from dpmcmc.arithmetic import BIT_SLACK
from dpmcmc.errors import InputError

BITS = [
    BarkerBit(0.02, 1000),
    LogisticMinibatchBit(100, 10**4),
    MinibatchBit(100, 10**4),
]


def cost(bit, steps, epsilon):
    return certify_delta(SelfComposedDpEvent(bit, steps), epsilon).delta


@pytest.mark.parametrize("bit", BITS, ids=repr)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.02, 1e-4), (0.2, 1e-6)])
def test_one_step_more_would_not_fit(bit, epsilon, delta):
    steps = most_steps(bit, epsilon, delta)
    if steps:
        assert cost(bit, steps, epsilon) <= delta
        assert certify_epsilon(SelfComposedDpEvent(bit, steps), delta).epsilon <= (
            epsilon * (1 + 1e-9)
        )
    assert cost(bit, steps + 1, epsilon) > delta


def test_a_budget_too_small_for_one_step_buys_none():
    assert most_steps(BarkerBit(0.5, 10), 0.1, 1e-6) == 0


@given(
    clip=st.floats(0.005, 0.3),
    epsilon=st.floats(0.1, 3.0),
    more=st.floats(1.0, 2.0),
    digits=st.floats(3, 8),
)
@settings(max_examples=6)
def test_more_budget_never_buys_fewer_steps(clip, epsilon, more, digits):
    bit, delta = BarkerBit(clip, 1000), 10.0**-digits
    steps = most_steps(bit, epsilon, delta)
    assert most_steps(bit, epsilon * more, delta) >= steps
    assert most_steps(bit, epsilon, min(delta * more, 0.9)) >= steps
    assert most_steps(BarkerBit(clip * more, 1000), epsilon, delta) <= steps


@pytest.mark.parametrize(
    ("steps", "epsilon", "delta"), [(20, 1.0, 1e-6), (500, 1.0, 1e-6), (50, 4.0, 1e-9)]
)
def test_a_clip_for_a_budget_fits_and_a_wider_one_does_not(steps, epsilon, delta):
    def bit(clip):
        return BarkerBit(clip, 1000)

    clip = largest_clip(bit, steps, epsilon, delta)
    assert cost(bit(clip), steps, epsilon) <= delta
    assert cost(bit(clip * (1 + 3e-6)), steps, epsilon) > delta
    # Asking back for the steps gives at least these, and not many more.
    assert steps <= most_steps(bit(clip), epsilon, delta) <= steps * 1.01 + 1


def test_the_rule_of_thumb_for_planning():
    for steps in (200, 2000):
        clip = largest_clip(lambda c: BarkerBit(c, 1000), steps, 1.0, 1e-6)
        assert clip * math.sqrt(steps) == pytest.approx(0.2339, rel=0.012)
        assert clip * math.sqrt(steps) > 0.2339


def test_no_clip_fits_a_delta_below_finite_arithmetic():
    with pytest.raises(InputError, match="finite arithmetic of 100 steps"):
        largest_clip(lambda c: BarkerBit(c, 1000), 100, 1.0, 1e-14)


def test_a_filter_passes_what_its_budget_holds():
    budget = ZcdpFilter.for_budget(1.0, 1e-6)
    assert ZcdpCurve(budget.rho).delta(1.0) + budget.slack * (1 + math.e) <= 1e-6
    wide, narrow = BarkerBit(0.02, 1000), BarkerBit(0.005, 1000)
    state, steps = budget, 0
    while state.allows(wide) and steps < 50:
        state, steps = state.spend(wide), steps + 1
    while state.allows(narrow, 100):
        state, steps = state.spend(narrow, 100), steps + 100
    spent = 50 * bounded_range_rho(wide.log_odds_range)
    spent += (steps - 50) * bounded_range_rho(narrow.log_odds_range)
    assert state.spent == pytest.approx(spent, rel=1e-12)
    assert spent <= budget.rho < spent + 100 * bounded_range_rho(narrow.log_odds_range)
    assert state.used == pytest.approx(steps * BIT_SLACK)
    with pytest.raises(InputError, match="zCDP budget"):
        state.spend(narrow, 100)


def test_a_filter_costs_more_than_a_fixed_plan_and_no_less_than_its_conversion():
    bit = BarkerBit(0.01, 1000)
    budget = ZcdpFilter.for_budget(1.0, 1e-6)
    fits = max(n for n in range(1, 700) if budget.allows(bit, n))
    assert fits < most_steps(bit, 1.0, 1e-6)
    assert ZcdpCurve(fits * 0.02**2 / 8).epsilon(1e-6) <= 1.0 + 1e-3


def test_a_filter_sets_arithmetic_aside():
    with pytest.raises(InputError, match="set aside for finite arithmetic"):
        ZcdpFilter.for_budget(1.0, 1e-10)
    short = ZcdpFilter.for_budget(1.0, 1e-6, slack=10 * BIT_SLACK)
    assert short.allows(BarkerBit(1e-6, 10), 10)
    assert not short.allows(BarkerBit(1e-6, 10), 11)


def test_a_filter_refuses_what_has_no_concentrated_cost():
    assert not ZcdpFilter.for_budget(1.0, 1e-6).allows(MinibatchBit(100, 10**4))


def test_adaptive_clips_can_beat_every_equal_plan():
    """Why the filter is zCDP: equal plans do not cover clips chosen along the way."""
    four = certify_delta(SelfComposedDpEvent(BarkerBit(0.05, 10), 4), 0.2).delta
    one = certify_delta(BarkerBit(0.1, 10), 0.2).delta
    assert one < 1e-9
    assert four == pytest.approx(1.18e-3, rel=0.01)
    # The filter's curve for the same Σ η²/8 is above both, and above the adaptive play.
    assert ZcdpCurve(4 * 0.1**2 / 8).delta(0.2) > 1.357e-3


def test_more_epsilon_never_buys_fewer_steps():
    """Where finite arithmetic is no longer small against δ, as for very large ε."""
    bit = BarkerBit(clip=0.05, records=100)
    bought = [most_steps(bit, epsilon, 1e-6) for epsilon in (5, 10, 15, 18, 20, 30, 99)]
    assert bought == sorted(bought)
    assert bought[-1] > 1000
