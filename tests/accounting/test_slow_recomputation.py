# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Fast certificates against the same costs computed slowly, by other code."""

import math

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from slow_accounting import slow_pld, with_normal_noise

from dpmcmc.accounting import (
    BarkerBit,
    GaussianBatchSum,
    GaussianRelease,
    certify_delta,
    certify_epsilon,
)
from dpmcmc.accounting.decision_blocks import fineness

RECORDS = 1000


@pytest.mark.parametrize(
    ("clip", "steps", "delta"),
    [(0.004, 4000, 1e-6), (0.02, 333, 1e-5), (0.1, 60, 1e-8), (0.8, 7, 1e-5)],
)
def test_a_chain(clip, steps, delta):
    bit = BarkerBit(clip, RECORDS)
    slow = slow_pld(bit.log_odds_range, steps, *fineness(steps))
    certified = certify_epsilon({bit: steps}, delta).epsilon
    expected = slow.get_epsilon_for_delta(delta)
    assert certified == pytest.approx(expected, rel=1e-4)
    assert certified >= expected * (1 - 1e-7)
    for epsilon in (0.0, expected / 3, expected):
        fast = certify_delta({bit: steps}, epsilon).delta
        assert fast == pytest.approx(slow.get_delta_for_epsilon(epsilon), rel=1e-3)


@pytest.mark.parametrize(
    ("mu", "clip", "steps", "delta"),
    [(0.3, 0.004, 2000, 1e-6), (0.05, 0.004, 500, 1e-5), (1.5, 0.01, 2000, 1e-7)],
)
def test_a_chain_beside_normal_noise(mu, clip, steps, delta):
    bit = BarkerBit(clip, RECORDS)
    longest, cells = fineness(steps)
    chain = slow_pld(bit.log_odds_range, steps, longest, cells)
    step = math.nextafter(bit.log_odds_range / cells, math.inf)
    slow = with_normal_noise(chain, step, mu)
    released = {GaussianRelease(mu): 1, bit: steps}
    certified = certify_epsilon(released, delta).epsilon
    assert certified == pytest.approx(slow.get_epsilon_for_delta(delta), rel=1e-3)


@pytest.mark.parametrize("mu", [0.01, 0.5, 3.0])
def test_normal_noise_by_transforms(mu):
    """A bit of next to no range puts normal noise on the numerical accountant."""
    released = {GaussianRelease(mu): 3, BarkerBit(1e-9, 10): 1}
    alone = certify_epsilon({GaussianRelease(mu): 3}, 1e-6).epsilon
    numerically = certify_epsilon(released, 1e-6).epsilon
    assert alone * (1 - 1e-9) <= numerically <= alone * (1 + 1e-3)


def test_sums_over_batches_beside_each_other():
    """Two kinds on two lattices cost about what twice as many of one kind do."""
    one = GaussianBatchSum(5.0, 100, 10**4)
    other = GaussianBatchSum(5.0 * (1 + 1e-9), 100, 10**4)
    whole = certify_epsilon({one: 200}, 1e-6).epsilon
    halves = certify_epsilon({one: 100, other: 100}, 1e-6).epsilon
    assert halves == pytest.approx(whole, rel=1e-4)


def test_a_dominating_pair_of_dp_accounting_is_cheaper_and_not_by_much():
    """For a batch of all records dp-accounting's own distribution is the same."""
    event = GaussianBatchSum(40.0, 10**4, 10**4)
    theirs = pld.from_gaussian_mechanism(20.0).self_compose(50)
    ours = certify_epsilon({event: 50}, 1e-6).epsilon
    assert ours == pytest.approx(theirs.get_epsilon_for_delta(1e-6), rel=1e-3)
