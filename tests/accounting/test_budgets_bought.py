# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Scales, steps and clips that a budget buys: never too many, never many too few."""

import math

import pytest
from dp_accounting.dp_event import NonPrivateDpEvent, SelfComposedDpEvent
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.accounting import (
    BarkerBit,
    GaussianBatchSum,
    GaussianRelease,
    MinibatchBit,
    certify_delta,
    certify_epsilon,
    inversions,
    largest,
    largest_clip,
    most_steps,
)
from dpmcmc.accounting.curves import GaussianCurve
from dpmcmc.errors import InputError

BITS = [
    BarkerBit(0.02, 1000),
    GaussianBatchSum(20.0, 100, 10**4),
    MinibatchBit(100, 10**4),
]
STEPS, RECORDS = 4000, 10**5


def cost(bit, steps, epsilon):
    return certify_delta({bit: steps}, epsilon).delta


def planned(fraction):
    """A release with normal noise and a chain, in fixed fractions of μ²."""

    def event_of(mu):
        clip = math.sqrt((1 - fraction) / STEPS) * mu
        return {
            GaussianRelease(math.sqrt(fraction) * mu): 1,
            BarkerBit(clip, RECORDS): STEPS,
        }

    return event_of


@pytest.mark.parametrize(
    ("epsilon", "delta", "fraction"),
    [(0.1, 1e-5, 0.3), (1.0, 1e-6, 0.8), (3.0, 1e-10, 0.05), (10.0, 1e-8, 0.5)],
)
def test_the_largest_scale_of_a_plan_fits_and_a_larger_one_does_not(
    epsilon, delta, fraction, monkeypatch
):
    asked = []
    monkeypatch.setattr(
        inversions,
        "certify_delta",
        lambda *what: asked.append(1) or certify_delta(*what),
    )
    event_of = planned(fraction)
    scale = largest(event_of, epsilon, delta)
    assert certify_delta(event_of(scale), epsilon).delta <= delta
    assert certify_delta(event_of(scale * (1 + 1e-4)), epsilon).delta > delta
    # Nearly all of the budget is used, at a large ε and a small δ too.
    assert epsilon * (1 - 1e-4) < certify_epsilon(event_of(scale), delta).epsilon
    assert len(asked) <= 5


@given(
    epsilon=st.floats(0.05, 20.0),
    digits=st.floats(2, 12),
    guess=st.one_of(st.none(), st.floats(1e-6, 1e6)),
)
@settings(max_examples=30)
def test_the_largest_scale_of_normal_noise_is_known(epsilon, digits, guess):
    delta = 10.0**-digits
    scale = largest(GaussianRelease, epsilon, delta, guess=guess)
    exact = GaussianCurve.within(epsilon, delta).mu
    assert exact * (1 - 1e-4) <= scale <= exact


def test_the_scale_may_mean_anything_that_costs_more():
    """A cost that jumps, and one that grows with a power of the scale."""
    count = largest(lambda x: {GaussianRelease(0.01): 1 + int(x)}, 1.0, 1e-6)
    steps = most_steps(GaussianRelease(0.01), 1.0, 1e-6)
    assert 1 + int(count) == pytest.approx(steps, rel=2e-4)
    cubed = largest(lambda x: GaussianRelease(x**3), 1.0, 1e-6)
    assert cubed**3 == pytest.approx(largest(GaussianRelease, 1.0, 1e-6), rel=3e-4)


def test_no_scale_and_every_scale_are_refused():
    too_much = GaussianRelease(1.0)
    with pytest.raises(InputError, match="no scale of the release fits"):
        largest(lambda x: {too_much: 1, GaussianRelease(x): 1}, 0.5, 1e-6)
    with pytest.raises(InputError, match="no scale of the release fits"):
        largest(lambda x: NonPrivateDpEvent(), 0.5, 1e-6)
    with pytest.raises(InputError, match="every scale of the release fits"):
        largest(lambda x: GaussianRelease(0.01), 0.5, 1e-6)
    with pytest.raises(InputError, match="epsilon is 0"):
        largest(GaussianRelease, 0, 1e-6)


@pytest.mark.parametrize("bit", BITS, ids=repr)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.02, 1e-4), (0.2, 1e-6)])
def test_one_step_more_would_not_fit(bit, epsilon, delta):
    steps = most_steps(bit, epsilon, delta)
    if steps:
        assert cost(bit, steps, epsilon) <= delta
        assert certify_epsilon({bit: steps}, delta).epsilon <= epsilon * (1 + 1e-9)
    assert cost(bit, steps + 1, epsilon) > delta


def test_a_budget_too_small_for_one_step_buys_none():
    assert most_steps(BarkerBit(0.5, 10), 0.1, 1e-6) == 0


def test_other_releases_leave_fewer_steps():
    bit = BarkerBit(0.02, 1000)
    other = SelfComposedDpEvent(GaussianRelease(0.05), 4)
    fewer = most_steps(bit, 1.0, 1e-6, other)
    assert 0 < fewer < most_steps(bit, 1.0, 1e-6)
    together = {bit: fewer, GaussianRelease(0.05): 4}
    assert certify_delta(together, 1.0).delta <= 1e-6
    clip = largest_clip(lambda c: BarkerBit(c, 1000), fewer, 1.0, 1e-6, other)
    assert 0.02 * (1 - 1e-4) <= clip < 0.021


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
    assert cost(bit(clip * (1 + 1e-4)), steps, epsilon) > delta
    # Asking back for the steps gives at least these, and not many more.
    assert steps <= most_steps(bit(clip), epsilon, delta) <= steps * 1.01 + 1


def test_the_rule_of_thumb_for_planning():
    for steps in (200, 2000):
        clip = largest_clip(lambda c: BarkerBit(c, 1000), steps, 1.0, 1e-6)
        assert clip * math.sqrt(steps) == pytest.approx(0.2339, rel=0.012)
        assert clip * math.sqrt(steps) > 0.2339


def test_no_clip_fits_a_delta_below_finite_arithmetic():
    with pytest.raises(InputError, match="no scale of the release fits"):
        largest_clip(lambda c: BarkerBit(c, 1000), 100, 1.0, 1e-14)


def test_adaptive_clips_can_beat_every_equal_plan():
    """Why every clip must be fixed beforehand: Σ η² is no measure of the cost."""
    four = certify_delta({BarkerBit(0.05, 10): 4}, 0.2).delta
    one = certify_delta(BarkerBit(0.1, 10), 0.2).delta
    assert one < 1e-9
    assert four == pytest.approx(1.18e-3, rel=0.01)


def test_more_epsilon_never_buys_fewer_steps():
    """Where finite arithmetic is no longer small against δ, as for very large ε."""
    bit = BarkerBit(clip=0.05, records=100)
    bought = [most_steps(bit, epsilon, 1e-6) for epsilon in (5, 10, 15, 18, 20, 30, 99)]
    assert bought == sorted(bought)
    assert bought[-1] > 10_000
