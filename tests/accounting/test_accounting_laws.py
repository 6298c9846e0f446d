# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Rules that hold for every event and every accountant."""

import math

import pytest
from dp_accounting import dp_event
from dp_accounting.dp_event import ComposedDpEvent, SelfComposedDpEvent
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.accounting import (
    BarkerBit,
    GaussianBarkerBit,
    GaussianBatchSum,
    GaussianRelease,
    LaplaceRelease,
    MinibatchBit,
    certify_delta,
    certify_epsilon,
)
from dpmcmc.accounting.accountants import PAPER, SHARPENED
from dpmcmc.accounting.registry import ACCOUNTANTS, total_slack

EVENTS = [
    BarkerBit(0.02, 1000),
    GaussianBarkerBit(0.02, 1000),
    GaussianBatchSum(10.0, 100, 10**4),
    GaussianRelease(0.05),
    LaplaceRelease(1, 0.05),
    LaplaceRelease(5, 0.1),
    MinibatchBit(100, 10**4),
    MinibatchBit(100, 10**4, replacement=True),
]
WIDER = [
    (BarkerBit(0.02, 1000), BarkerBit(0.021, 1000)),
    (GaussianBarkerBit(0.02, 1000), GaussianBarkerBit(0.021, 1000)),
    (GaussianBatchSum(10.0, 100, 10**4), GaussianBatchSum(9.9, 100, 10**4)),
    (GaussianBatchSum(10.0, 100, 10**4), GaussianBatchSum(10.0, 100, 9000)),
    (GaussianRelease(0.05), GaussianRelease(0.051)),
    (LaplaceRelease(1, 0.05), LaplaceRelease(1, 0.051)),
    (LaplaceRelease(5, 0.1), LaplaceRelease(5, 0.102)),
    (LaplaceRelease(6, 0.1), LaplaceRelease(5, 0.1)),
    (MinibatchBit(100, 10**4, 0.9), MinibatchBit(100, 10**4, 1.0)),
    (MinibatchBit(100, 10**4), MinibatchBit(100, 9000)),
]
EACH = pytest.mark.parametrize("event", EVENTS, ids=repr)


def repeat(event, count):
    return SelfComposedDpEvent(event, count)


def costs(event, delta):
    found = certify_epsilon(event, delta)
    return {name: epsilon for name, epsilon, _ in found.alternatives}


@EACH
def test_zero_steps_cost_nothing(event):
    assert certify_epsilon(repeat(event, 0), 1e-6).epsilon == 0
    assert certify_delta(repeat(event, 0), 0.0).delta == 0


@EACH
@given(few=st.integers(1, 400), more=st.integers(1, 300), digits=st.floats(2, 8))
@settings(max_examples=5)
def test_more_steps_never_cost_less(event, few, more, digits):
    delta = 10.0**-digits
    before = costs(repeat(event, few), delta)
    after = costs(repeat(event, few + more), delta)
    for name in before:
        assert after[name] >= before[name] * (1 - 1e-9)


@pytest.mark.parametrize(("narrow", "wide"), WIDER, ids=repr)
@pytest.mark.parametrize("steps", [1, 30, 500])
def test_a_wider_clip_never_costs_less(narrow, wide, steps):
    before, after = (costs(repeat(bit, steps), 1e-5) for bit in (narrow, wide))
    for name in before:
        assert after[name] >= before[name] * (1 - 1e-9)


@EACH
@given(steps=st.integers(1, 400), digits=st.floats(2, 7), fewer=st.floats(0.01, 3))
@settings(max_examples=5)
def test_a_smaller_delta_never_costs_less(event, steps, digits, fewer):
    before = costs(repeat(event, steps), 10.0**-digits)
    after = costs(repeat(event, steps), 10.0 ** -(digits + fewer))
    for name in before:
        assert after[name] >= before[name]


@EACH
def test_delta_falls_with_epsilon(event):
    found = [certify_delta(repeat(event, 200), e).delta for e in (0, 0.02, 0.05, 0.1)]
    assert found == sorted(found, reverse=True)
    assert all(0 <= delta <= 1 for delta in found)
    # Where nothing but finite arithmetic is left, it does not grow without end.
    for epsilon in (1.0, 3.0, 30.0):
        after = certify_delta(repeat(event, 200), epsilon).delta
        assert after <= found[-1] + total_slack({event: 200}, epsilon)
    assert total_slack({event: 200}, 600.0) < 1e-4


@EACH
@given(steps=st.integers(1, 500), digits=st.floats(2, 8))
@settings(max_examples=5)
def test_epsilon_and_delta_are_inverse(event, steps, digits):
    delta = 10.0**-digits
    certificate = certify_epsilon(repeat(event, steps), delta)
    if certificate.epsilon == 0:
        assert certify_delta(repeat(event, steps), 0.0).delta <= delta
        return
    back = certify_delta(repeat(event, steps), certificate.epsilon).delta
    assert back <= delta
    # An ε that is smaller by one part in a million is not enough.
    less = certify_delta(repeat(event, steps), certificate.epsilon * (1 - 1e-6)).delta
    assert less > delta * (1 - 1e-12)


@EACH
def test_a_mapping_is_a_composed_event(event):
    composed = ComposedDpEvent([repeat(event, 7), BarkerBit(0.03, 1000)])
    mapping = {event: 7, BarkerBit(0.03, 1000): 1}
    assert certify_epsilon(composed, 1e-5) == certify_epsilon(mapping, 1e-5)
    assert certify_epsilon(event, 1e-5) == certify_epsilon({event: 1}, 1e-5)


def test_normal_noise_of_dp_accounting_is_read_under_substitution():
    theirs = certify_epsilon(repeat(dp_event.GaussianDpEvent(40.0), 3), 1e-6)
    ours = certify_epsilon({GaussianRelease(2 / 40.0): 3}, 1e-6)
    assert theirs.epsilon == pytest.approx(ours.epsilon, rel=1e-12)
    assert theirs.epsilon >= ours.epsilon


@EACH
def test_composing_in_parts_is_composing_at_once(event):
    parts = ComposedDpEvent(
        [repeat(event, 3), repeat(repeat(event, 4), 5), event, dp_event.NoOpDpEvent()]
    )
    assert certify_epsilon(parts, 1e-5) == certify_epsilon(repeat(event, 24), 1e-5)


@pytest.mark.parametrize("accountant", [PAPER, SHARPENED])
@given(count=st.integers(1, 10**6), order=st.integers(2, 19))
@settings(max_examples=15)
def test_divergences_add(accountant, count, order):
    bit = MinibatchBit(100, 10**4)
    one, many = accountant.piece(bit, 1), accountant.piece(bit, count)
    assert many.at(order) == pytest.approx(count * one.at(order), rel=1e-12)


@EACH
@pytest.mark.parametrize("steps", [1, 10, 100, 1000])
def test_a_tight_bound_is_never_above_the_loose_one(event, steps):
    found = costs(repeat(event, steps), 1e-5)
    pairs = [
        ("sharpened Rényi", "paper"),
        ("Gaussian noise", "zCDP"),
        ("zCDP", "paper"),
        ("blocks", "zCDP"),
        ("blocks", "sharpened Rényi"),
    ]
    if isinstance(event, LaplaceRelease):
        # as normal noise it costs more than it is, in the tails most
        pairs.remove(("Gaussian noise", "zCDP"))
    for tight, loose in pairs:
        if math.isfinite(found.get(tight, math.inf)) and loose in found:
            assert found[tight] <= found[loose] * (1 + 2e-4), (tight, loose)


@EACH
def test_the_certificate_is_the_smallest_that_certifies(event):
    certificate = certify_epsilon(repeat(event, 50), 1e-5)
    certifying = [
        epsilon
        for name, epsilon, _ in certificate.alternatives
        if ACCOUNTANTS[name].certifies
    ]
    assert certificate.epsilon == min(certifying)
    assert certificate.delta == 1e-5


def test_stages_of_different_kinds_compose():
    stages = [
        repeat(BarkerBit(0.02, 1000), 100),
        GaussianRelease(0.1),
        repeat(MinibatchBit(100, 10**4), 1000),
    ]
    together = certify_epsilon(ComposedDpEvent(stages), 1e-5).epsilon
    each = [certify_epsilon(stage, 1e-5 / 3).epsilon for stage in stages]
    assert max(each) < together < sum(each)
    swapped = certify_epsilon(ComposedDpEvent(stages[::-1]), 1e-5).epsilon
    assert swapped == pytest.approx(together, rel=1e-6)


def test_stages_on_two_lattices_cost_at_most_a_little_more_than_on_one():
    """Two halves of one chain, with clips that differ by nothing that matters."""
    one = repeat(BarkerBit(0.02, 1000), 200)
    half = repeat(BarkerBit(0.02, 1000), 100)
    other = repeat(BarkerBit(0.02 * (1 + 1e-9), 1000), 100)
    joined = certify_epsilon(ComposedDpEvent([half, other]), 1e-5).epsilon
    alone = certify_epsilon(one, 1e-5).epsilon
    assert alone < joined < alone * 1.02


def test_gaussian_stages_compose_exactly():
    stages = {GaussianRelease(0.06): 1, GaussianRelease(0.05): 4}
    merged = GaussianRelease(math.sqrt(0.06**2 + 4 * 0.05**2))
    for delta in (1e-3, 1e-6):
        expected = certify_epsilon(merged, delta).epsilon
        assert certify_epsilon(stages, delta).epsilon == pytest.approx(
            expected, rel=1e-6
        )
