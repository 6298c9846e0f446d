# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What cannot be priced is refused, with what was wrong and what to do."""

import math
from dataclasses import dataclass

import pytest
from dp_accounting import dp_event
from dp_accounting.dp_event import ComposedDpEvent, SelfComposedDpEvent

from dpmcmc.accounting import (
    BarkerBit,
    GaussianBarkerBit,
    GaussianRelease,
    MinibatchBit,
    UnsupportedEventError,
    certify_delta,
    certify_epsilon,
    most_steps,
)
from dpmcmc.accounting.minibatch_bit import sharpened_minibatch
from dpmcmc.accounting.paper import paper_epsilon, paper_minibatch, paper_steps
from dpmcmc.errors import InputError


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: BarkerBit(0.0, 10), "clip is 0.0"),
        (lambda: BarkerBit(math.nan, 10), "clip is nan"),
        (lambda: BarkerBit(0.1, 0), "records is 0"),
        (lambda: BarkerBit(0.1, 10.5), "records is 10.5"),
        (lambda: MinibatchBit(20, 10), "between 1 and the 10 records"),
        (lambda: MinibatchBit(0, 10), "batch is 0"),
        (lambda: MinibatchBit(5, 10, -1.0), "clip is -1.0"),
        (lambda: GaussianRelease(0.0), "mu is 0.0"),
        (lambda: GaussianRelease(math.inf), "mu is inf"),
        (lambda: MinibatchBit(5, 10, 1.5), "below the variance 2.0"),
        (lambda: MinibatchBit(5, 10, math.sqrt(2 - 1e-15)), "below the variance 2.0"),
        (lambda: MinibatchBit(5, 10, variance=-2.0), "variance is -2.0"),
        (lambda: GaussianBarkerBit(0.1, 10, 0.0), "variance is 0.0"),
        (lambda: GaussianBarkerBit(0.1, 10, weights=(1.0,)), "5 positions, 1 weights"),
        (
            lambda: GaussianBarkerBit(0.1, 10, positions=(1.0,), weights=(1.0,)),
            "symmetric about 0",
        ),
        (
            lambda: GaussianBarkerBit(0.1, 10, positions=(0.0,), weights=(0.9,)),
            "weights sum to 0.9",
        ),
        (
            lambda: MinibatchBit(5, 10, positions=(0.0,), weights=(math.inf,)),
            "negative or infinite",
        ),
    ],
)
def test_events_refuse_what_no_test_can_have(make, words):
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6, 2.0, math.nan, "small"])
def test_delta_must_be_a_probability(delta):
    with pytest.raises(InputError, match="strictly between 0 and 1"):
        certify_epsilon(BarkerBit(0.1, 10), delta)
    with pytest.raises(InputError, match="strictly between 0 and 1"):
        most_steps(BarkerBit(0.1, 10), 1.0, delta)


@pytest.mark.parametrize("epsilon", [-1.0, math.nan, math.inf])
def test_epsilon_must_be_a_number(epsilon):
    with pytest.raises(InputError, match="epsilon is"):
        certify_delta(BarkerBit(0.1, 10), epsilon)


def test_a_negative_count_is_refused():
    for count in (-1, 1.5, "many"):
        for released in (
            SelfComposedDpEvent(BarkerBit(0.1, 10), count),
            {BarkerBit(0.1, 10): count},
        ):
            with pytest.raises(InputError, match="count is"):
                certify_epsilon(released, 1e-6)


@dataclass(frozen=True)
class Unknown(dp_event.DpEvent):
    size: int


@pytest.mark.parametrize(
    "event", [Unknown(3), dp_event.UnsupportedDpEvent(), dp_event.LaplaceDpEvent(2.0)]
)
def test_an_unknown_event_is_refused_by_name(event):
    for whole in (event, ComposedDpEvent([BarkerBit(0.1, 10), event])):
        for ask in (
            lambda whole=whole: certify_epsilon(whole, 1e-6),
            lambda whole=whole: certify_delta(whole, 1.0),
            lambda whole=whole: most_steps(whole, 1.0, 1e-6),
        ):
            with pytest.raises(UnsupportedEventError, match=type(event).__name__):
                ask()


def test_what_is_no_event_is_refused():
    with pytest.raises(UnsupportedEventError, match="event is 'a bit'"):
        certify_epsilon("a bit", 1e-6)


def test_a_subclass_is_another_event():
    """A rule is for one type: what extends an event may release more."""

    @dataclass(frozen=True)
    class Chatty(BarkerBit):
        extra: float = 1.0

    with pytest.raises(UnsupportedEventError, match="Chatty"):
        certify_epsilon(Chatty(0.1, 10), 1e-6)


def test_a_stage_without_privacy_costs_everything():
    event = ComposedDpEvent([BarkerBit(0.1, 10), dp_event.NonPrivateDpEvent()])
    assert certify_epsilon(event, 1e-6).epsilon == math.inf
    assert certify_delta(event, 5.0).delta == 1.0
    assert most_steps(dp_event.NonPrivateDpEvent(), 1.0, 1e-6) == 0


@pytest.mark.parametrize(
    "released",
    [
        {GaussianRelease(1e-9): 1},
        {GaussianRelease(1e-9): 1, BarkerBit(1e-9, 10): 3},
        {BarkerBit(1e-6, 10): 5},
        {GaussianBarkerBit(1e-6, 10): 5},
    ],
    ids=repr,
)
def test_a_delta_that_covers_everything_leaves_an_epsilon_of_zero(released):
    certificate = certify_epsilon(released, 0.01)
    assert certificate.epsilon == 0
    assert certify_delta(released, 0.0).delta <= 0.01


def test_nothing_costs_nothing():
    assert certify_epsilon(dp_event.NoOpDpEvent(), 1e-6).epsilon == 0
    assert certify_epsilon(ComposedDpEvent([]), 1e-6).epsilon == 0


def test_orders_that_do_not_exist_are_named():
    with pytest.raises(InputError, match=r"2 ≤ α < b/5, so a batch of at least 11"):
        paper_minibatch(10)
    assert paper_minibatch(11).largest == 2
    with pytest.raises(InputError, match="order of at least 2"):
        sharpened_minibatch(MinibatchBit(6, 10))
    bit = MinibatchBit(10, 1000)
    assert paper_epsilon(bit, 5, 1e-6) == (math.inf, paper_epsilon(bit, 9, 1e-6)[1])
    assert "at least 11" in paper_epsilon(bit, 5, 1e-6)[1]
    assert paper_steps(bit, 10.0, 1e-6) == 0
    certificate = certify_epsilon(SelfComposedDpEvent(bit, 5), 1e-4)
    assert math.isfinite(certificate.epsilon)
    notes = {name: note for name, _, note in certificate.alternatives}
    assert "at least 11" in notes["paper"]


def test_the_paper_s_theorem_is_not_stretched():
    for bit in (
        MinibatchBit(100, 1000, variance=2.5),
        MinibatchBit(100, 1000, 1.2),
        MinibatchBit(100, 1000, replacement=True),
    ):
        epsilon, note = paper_epsilon(bit, 5, 1e-6)
        assert math.isinf(epsilon)
        assert "Theorem 3" in note or "without replacement" in note


def test_a_delta_below_finite_arithmetic_has_no_epsilon():
    event = SelfComposedDpEvent(BarkerBit(0.01, 10), 1000)
    assert certify_epsilon(event, 8e-13).epsilon == math.inf
    assert certify_epsilon(event, 1e-12).epsilon < 2.3
    slack = 1000 * 2.0**-51
    # Even when nearly nothing is revealed, the rounding of both bits remains.
    quiet = {BarkerBit(1e-14, 1): 1000}
    assert certify_delta(quiet, 0.0).delta >= 2 * slack


def test_arithmetic_is_charged_to_delta():
    """The certificate at δ is the bound at δ less the slack, not at δ."""
    from dpmcmc.accounting.accountants import BLOCKS

    bit, steps = BarkerBit(0.05, 10), 20
    ideal = BLOCKS.curve({bit: steps})
    epsilon = 1.0
    charged = certify_delta(SelfComposedDpEvent(bit, steps), epsilon).delta
    slack = steps * 2.0**-51 * (1 + math.exp(0.1))
    assert charged == pytest.approx(ideal.delta(epsilon) + slack, rel=1e-12)
    assert charged > ideal.delta(epsilon)


def test_ten_repeats_cost_more_than_one():
    """A rule that forgets its count, as one of dp-accounting's once did, fails here.

    The exponential mechanism is not in the release that we build on; where a later one
    has it, our accountants refuse it.
    """
    kind = getattr(dp_event, "ExponentialMechanismDpEvent", None)
    if kind is not None:
        with pytest.raises(UnsupportedEventError):
            certify_epsilon(kind(0.5), 1e-6)
    for bit in (
        BarkerBit(0.25, 10),
        GaussianBarkerBit(0.25, 10),
        GaussianRelease(0.25),
        MinibatchBit(100, 1000),
    ):
        single = certify_epsilon(bit, 1e-6).alternatives
        tenfold = certify_epsilon(SelfComposedDpEvent(bit, 10), 1e-6).alternatives
        for (name, few, _), (same, many, _) in zip(single, tenfold, strict=True):
            assert name == same
            assert few < many


@pytest.mark.parametrize(
    "bit",
    [
        BarkerBit(1e8, 10),
        BarkerBit(1000.0, 10**9),
        GaussianBarkerBit(50.0, 10),
        GaussianRelease(2e3),
    ],
    ids=repr,
)
def test_a_record_that_decides_leaves_no_useful_epsilon(bit):
    for steps in (1, 20, 1000):
        assert certify_epsilon(SelfComposedDpEvent(bit, steps), 1e-5).epsilon > 40
    assert certify_delta(bit, 1.0).delta > 0.9


@pytest.mark.parametrize(
    "bit",
    [
        BarkerBit(1e-300, 1),
        MinibatchBit(1, 100),
        MinibatchBit(10, 10, 0.01),
        GaussianRelease(2e-6),
    ],
    ids=repr,
)
def test_the_ends_of_every_range_can_be_priced(bit):
    assert 0 <= certify_epsilon(bit, 1e-5).epsilon < 3


def test_a_batch_that_may_have_all_the_variance_has_no_profile():
    certificate = certify_epsilon(MinibatchBit(3000, 10**6, 1.41), 1e-5)
    notes = {name: note for name, _, note in certificate.alternatives}
    assert "Take a smaller clip" in notes["blocks"]
    assert certificate.accountant == "sharpened Rényi"
