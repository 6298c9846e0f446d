# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What rounding may add to δ: bits that are off by much more than float64's."""

import itertools
import math

import numpy as np
import pytest
from accounting_attacks import hockey_stick
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.accounting import (
    BarkerBit,
    GaussianBarkerBit,
    GaussianRelease,
    MinibatchBit,
    certify_epsilon,
    largest_clip,
)
from dpmcmc.accounting.gaussian_barker_bit import full_data_profile
from dpmcmc.accounting.minibatch_bit import drawn_profile
from dpmcmc.accounting.noise_mixture import gaussian_bit_distance
from dpmcmc.accounting.registry import bit_slack, total_slack
from dpmcmc.arithmetic import BIT_SLACK

ODDS = st.floats(-6, 6)
SIGNS = st.tuples(*[st.sampled_from([-1.0, 0.0, 1.0])] * 2)


def ideal(odds, eta):
    return tuple(1 / (1 + math.exp(-x)) for x in (odds + eta, odds))


def both(p):
    return np.array([p, 1 - p])


@given(eta=st.floats(0.01, 2), odds=ODDS, u=st.floats(1e-6, 0.02), signs=SIGNS)
@settings(max_examples=200)
def test_a_rounded_bit_can_be_moved_to_one_that_is_dominated(eta, odds, u, signs):
    p, q = ideal(odds, eta)
    computed, other = (
        min(max(x + s * u, 0.0), 1.0) for x, s in zip((p, q), signs, strict=True)
    )
    slack = bit_slack(u, math.inf, eta)
    if computed >= other:
        moved = max(other, computed - slack)
    else:
        moved = min(other, computed + slack)
    for alpha in (0.2, 0.7, 1.0, 1.1, math.exp(eta / 2), math.exp(eta), 9.0):
        for pairs in (((moved, other), (p, q)), ((other, moved), (q, p))):
            ours, theirs = (
                hockey_stick(both(x), both(y), math.log(alpha)) for x, y in pairs
            )
            assert ours <= theirs + 1e-12


@given(
    eta=st.floats(0.05, 1),
    u=st.floats(1e-5, 0.02),
    odds=st.tuples(ODDS, ODDS, ODDS),
    signs=st.tuples(SIGNS, SIGNS, SIGNS),
    epsilon=st.floats(0, 6),
)
@settings(max_examples=100)
def test_two_rounded_bits_cost_no_more_than_the_slack(eta, u, odds, signs, epsilon):
    """The second bit depends on the first; all four outcomes, rounded and exact."""
    exact, rounded = [], []
    for side in (0, 1):
        p = [ideal(o, eta)[side] for o in odds]
        r = [min(max(x + s[side] * u, 0), 1) for x, s in zip(p, signs, strict=True)]
        for kept, (first, accepted, rejected) in ((exact, p), (rounded, r)):
            after = (1 - rejected, rejected), (1 - accepted, accepted)
            kept.append(
                [
                    (first if i else 1 - first) * after[i][j]
                    for i, j in itertools.product((0, 1), repeat=2)
                ]
            )
    achieved = hockey_stick(*np.array(rounded), epsilon)
    allowed = hockey_stick(*np.array(exact), epsilon) + 2 * bit_slack(u, epsilon, eta)
    assert achieved <= allowed + 1e-12


def test_the_slack_does_not_grow_with_epsilon():
    """At ε = 10, δ = 10⁻⁸ and 4,000 steps nearly all of the budget is used."""
    clip = largest_clip(lambda c: BarkerBit(c, 10**5), 4000, 10.0, 1e-8)
    chain = {BarkerBit(clip, 10**5): 4000}
    assert certify_epsilon(chain, 1e-8).epsilon > 9.99
    # A factor e^ε on both bits would have taken 8 · 10⁻⁸.
    assert 4000 * BIT_SLACK * (1 + math.exp(10)) > 3e-8
    assert total_slack(chain, 10.0) < 1e-11


@pytest.mark.parametrize(
    ("bit", "profile"),
    [
        (GaussianBarkerBit(0.02, 1000), full_data_profile),
        (GaussianBarkerBit(0.5, 1000), full_data_profile),
        (MinibatchBit(1000, 10**5), drawn_profile),
        (MinibatchBit(100, 10**4, replacement=True), drawn_profile),
        (MinibatchBit(30, 1000, 0.5), drawn_profile),
    ],
    ids=lambda given: getattr(given, "__name__", None) or repr(given),
)
def test_losses_of_gaussian_tests_are_as_bounded_as_their_slack_says(bit, profile):
    """Where the slack has no e^ε, the profile vanishes at the reach it rests on."""
    distance = gaussian_bit_distance(5)
    slack = bit.slack(600.0)
    reach = math.log(slack / distance - 1)
    found = profile(bit)
    beyond = found.deltas[found.epsilons >= reach]
    assert beyond.size == 0 or beyond[0] < 1e-11
    assert bit.slack(0.0) == pytest.approx(2 * distance)


def test_exact_noise_has_no_slack():
    assert total_slack({GaussianRelease(1.0): 100}, 5.0) == 0
