# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Noisy sums over a batch: what they cost, against references and attacks."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal, stats

from dpmcmc.accounting import (
    BarkerBit,
    GaussianBarkerBit,
    GaussianBatchSum,
    GaussianRelease,
    MinibatchBit,
    certify_delta,
    certify_epsilon,
    least_noise,
)
from dpmcmc.accounting.batch_gaussian import batch_sum_part
from dpmcmc.accounting.curves import GaussianCurve
from dpmcmc.accounting.registry import ACCOUNTANTS, flatten
from dpmcmc.errors import InputError


def times(event, count):
    return dp_event.SelfComposedDpEvent(event, count)


def blocks_epsilon(event, delta):
    return ACCOUNTANTS["blocks"].curve(flatten(event)).epsilon(delta)


@pytest.mark.parametrize(("noise", "count"), [(20.0, 1), (50.0, 30), (300.0, 1000)])
def test_a_batch_of_everyone_is_plain_normal_noise(noise, count):
    event = times(GaussianBatchSum(noise, 500, 500), count)
    exact = GaussianCurve(2 / noise * math.sqrt(count)).epsilon(1e-6)
    assert certify_epsilon(event, 1e-6).epsilon == pytest.approx(exact, rel=1e-9)
    assert exact <= blocks_epsilon(event, 1e-6) <= exact * 1.01
    reference = pld.from_gaussian_mechanism(noise / 2).self_compose(count)
    theirs = reference.get_epsilon_for_delta(1e-6)
    assert exact == pytest.approx(theirs, rel=1e-3)
    plain = certify_epsilon({GaussianRelease(2 / noise): count}, 1e-6).epsilon
    assert certify_epsilon(event, 1e-6).epsilon == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize(
    ("noise", "batch", "records", "count"),
    [(2.0, 10, 1000, 100), (6.0, 4000, 10**6, 1000), (30.0, 2000, 10**4, 300)],
)
def test_it_costs_less_than_by_renyi_divergences(noise, batch, records, count):
    """dp-accounting's own bound for batches without replacement, substitution.

    Its event counts noise in units of the change under substitution.
    """
    inner = dp_event.GaussianDpEvent(noise / 2)
    sampled = dp_event.SampledWithoutReplacementDpEvent(records, batch, inner)
    accountant = RdpAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
    accountant.compose(sampled, count)
    ours = certify_epsilon(times(GaussianBatchSum(noise, batch, records), count), 1e-6)
    assert ours.epsilon < accountant.get_epsilon(1e-6)


def attack(noise, batch, records, count, epsilon):
    """What someone achieves who knows all records but one: a lower bound on δ.

    The others' vectors are 0, and the one record's is 1 or −1, in units of the clip.
    Then a sum is N(±1, noise²) where the record is in the batch, else N(0, noise²).
    The loss of many sums is convolved on a lattice, rounded down.
    """
    drawn, step = batch / records, 1e-3
    y = np.linspace(-9 * noise, 9 * noise, 40_001)
    width = y[1] - y[0]

    def density(place):
        return (1 - drawn) * stats.norm.pdf(y, 0, noise) + drawn * stats.norm.pdf(
            y, place, noise
        )

    p, q = density(1.0), density(-1.0)
    losses = np.floor(np.log(p / q) / step).astype(int)
    low = losses.min()
    one = np.bincount(losses - low, weights=p * width)
    total, start = one, low
    for _ in range(count - 1):
        total, start = signal.fftconvolve(total, one), start + low
    values = step * (start + np.arange(len(total)))
    return float(np.sum(total * np.maximum(0.0, -np.expm1(epsilon - values))))


@pytest.mark.parametrize(
    ("noise", "batch", "records", "count", "epsilon"),
    [(1.0, 1, 2, 1, 0.5), (1.5, 3, 10, 3, 0.4), (4.0, 1, 2, 4, 0.3), (0.7, 1, 4, 2, 1)],
)
def test_no_attack_does_better(noise, batch, records, count, epsilon):
    lower = attack(noise, batch, records, count, epsilon)
    event = times(GaussianBatchSum(noise, batch, records), count)
    upper = certify_delta(event, epsilon).delta
    assert 0 < lower <= upper
    assert upper < 3 * lower  # the bound is not far off


def test_the_attack_is_as_good_as_the_bound_for_a_batch_of_everyone():
    lower = attack(8.0, 5, 5, 2, 0.2)
    upper = certify_delta(times(GaussianBatchSum(8.0, 5, 5), 2), 0.2).delta
    assert lower <= upper <= lower * 1.02


@given(
    st.floats(0.3, 100), st.integers(1, 50), st.integers(50, 5000), st.integers(0, 2)
)
def test_the_values_of_one_release_bound_every_pair_in_closed_form(
    noise, batch, records, sign
):
    """P = (1−q)A + qB against Q = (1−q)A + qB′, at every ε of the lattice.

    A, B, B′ are normal with means 0, a, b with |a|, |b|, |a − b| ≤ 2: all that the
    neighbours of one step can be, up to mixtures.
    """
    event = GaussianBatchSum(noise, batch, records)
    drawn = batch / records
    part = batch_sum_part(event)
    values, step = part.deltas(part.step), part.step
    place, other = ((2.0, 0.0), (0.0, 2.0), (1.0, -1.0))[sign]
    y = np.linspace(-9 * noise - 2, 9 * noise + 2, 4001)

    def density(at):
        with_it = stats.norm.pdf(y, at, noise)
        return (1 - drawn) * stats.norm.pdf(y, 0, noise) + drawn * with_it

    p, q = density(place), density(other)
    for index in np.linspace(0, len(values) - 1, 41).astype(int):
        epsilon = step * index
        achieved = np.sum(np.maximum(0, p - math.exp(epsilon) * q)) * (y[1] - y[0])
        assert achieved <= values[index] + 1e-5 * (1 + math.exp(epsilon)) * drawn


@given(st.floats(0.2, 300), st.integers(1, 10**4))
def test_the_values_are_convex_and_fall(noise, batch):
    part = batch_sum_part(GaussianBatchSum(noise, batch, 10**4))
    values = part.deltas(part.step)
    places = np.exp(part.step * np.arange(len(values)))
    slopes = np.diff(values) / np.diff(places)
    assert np.all(np.diff(values) <= 0)
    # Values are accurate relative to their size, so that slopes are nearly monotone.
    rounding = 1e-9 * values[:-1] / np.diff(places)
    assert np.all(np.diff(slopes) >= -rounding[:-1])


def test_more_costs_more():
    """In the number of sums, in the batch, and with less noise."""

    def cost(noise=6.0, batch=4000, count=100):
        return certify_epsilon(
            times(GaussianBatchSum(noise, batch, 10**6), count), 1e-6
        ).epsilon

    for grid in (
        [cost(count=count) for count in (1, 2, 10, 100, 101, 1000)],
        [cost(batch=batch) for batch in (1, 100, 4000, 5000, 500_000, 10**6)],
        [cost(noise=noise) for noise in (100.0, 6.0, 5.9, 2.0, 1.0, 0.5)],
    ):
        assert all(first < second for first, second in itertools.pairwise(grid))


@pytest.mark.parametrize(
    "bit",
    [
        BarkerBit(0.01, 10**6),
        GaussianBarkerBit(0.01, 10**6),
        MinibatchBit(1000, 10**6),
        GaussianRelease(0.02),
    ],
    ids=lambda bit: type(bit).__name__,
)
def test_it_is_priced_together_with_every_other_event(bit):
    start, chain = times(GaussianBatchSum(6.0, 4000, 10**6), 1000), times(bit, 200)
    alone = [certify_epsilon(event, 1e-6).epsilon for event in (start, chain)]
    both = dp_event.ComposedDpEvent([start, chain])
    together = certify_epsilon(both, 1e-6).epsilon
    # Beside another, a release may be composed on a finer lattice.
    assert max(alone) * (1 - 1e-4) < together < sum(alone) * 1.05
    assert certify_delta(both, together).delta <= 1e-6 * (1 + 1e-6)


@pytest.mark.parametrize(
    ("steps", "batch", "records", "epsilon"),
    [(1000, 4000, 10**6, 0.2), (200, 500, 500, 1.0), (100, 10, 2000, 1.0)],
)
def test_the_least_noise_fits_and_less_does_not(steps, batch, records, epsilon):
    noise = least_noise(steps, batch, records, epsilon, 1e-6)
    event = times(GaussianBatchSum(noise, batch, records), steps)
    assert certify_epsilon(event, 1e-6).epsilon <= epsilon
    less = times(GaussianBatchSum(noise * 0.9998, batch, records), steps)
    assert certify_epsilon(less, 1e-6).epsilon > epsilon


def test_the_least_noise_of_a_large_budget_is_small_and_fits():
    noise = least_noise(1, 5, 5, 200.0, 1e-6)
    assert noise < 0.2
    assert certify_epsilon(GaussianBatchSum(noise, 5, 5), 1e-6).epsilon <= 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 10, 100), r"noise_multiplier is 0.0; .* above 0"),
        ((math.nan, 10, 100), r"noise_multiplier is nan"),
        ((1.0, 0, 100), r"batch is 0; it must be a whole number of at least 1"),
        ((1.0, 101, 100), r"batch is 101; it must be between 1 and the 100 records"),
    ],
)
def test_what_cannot_be_released_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        GaussianBatchSum(*arguments)


def test_a_budget_that_cannot_be_is_refused():
    with pytest.raises(InputError, match="steps is 0"):
        least_noise(0, 10, 100, 1.0, 1e-6)
    with pytest.raises(InputError, match="batch is 11"):
        least_noise(10, 11, 10, 1.0, 1e-6)
