# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Profiles of one bit: no bit beats them, and points become convex profiles."""

import itertools
import math

import numpy as np
import pytest
from accounting_attacks import bounded_range_profile
from dp_accounting.pld import pld_pmf
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from dpmcmc.accounting import MinibatchBit
from dpmcmc.accounting.bit_profile import BitGrid, bit_profile
from dpmcmc.accounting.noise_mixture import POSITIONS, VARIANCE, WEIGHTS, NoiseMixture
from dpmcmc.accounting.profiles import (
    Profile,
    likely_copies,
    lower_hull,
    with_replacement,
    without_replacement,
)

MIXTURE = NoiseMixture(POSITIONS, (0.0,) * 5, WEIGHTS)
GRIDS = {
    batch: BitGrid(MIXTURE, 1.0, 2.0, 2 / math.sqrt(batch), 4 * (batch - 1) / batch**2)
    for batch in (1000, 100)
}


def accept(m, v):
    return sum(
        w * ndtr((m - a) / np.sqrt(v)) for a, w in zip(POSITIONS, WEIGHTS, strict=True)
    )


def test_the_default_correction_has_the_least_sup_error():
    """The error reaches its largest size with alternating signs: none is better."""
    at = np.linspace(-30, 30, 600001)
    error = accept(at, VARIANCE) - 1 / (1 + np.exp(-at))
    assert np.abs(error).max() == pytest.approx(5.87299e-4, rel=2e-5)
    peaks = error[np.abs(error) > 0.999 * np.abs(error).max()]
    signs = [sign for sign, _ in itertools.groupby(np.sign(peaks))]
    # Two free positions and two free weights on each side of a symmetric V_cor.
    assert len(signs) >= 10
    assert sum(WEIGHTS) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("batch", GRIDS)
@pytest.mark.parametrize("epsilon", [0.0, 0.03, 0.1, 0.3])
def test_no_mean_and_variances_beat_the_grid(batch, epsilon):
    random = np.random.default_rng(3)
    m = np.concatenate([random.uniform(-25, 25, 40000), random.normal(0, 2, 40000)])
    v = 2 - np.sqrt(random.random(m.size))
    change = 4 * (batch - 1) / batch**2
    other = np.clip(v + change * random.choice([-1, -0.5, 0, 1], m.size), 1, 2)
    shift = 2 / math.sqrt(batch)
    found = np.max(accept(m, v) - math.exp(epsilon) * accept(m - shift, other))
    grid = GRIDS[batch]
    assert found <= grid.delta(epsilon)
    assert grid.delta(epsilon) <= grid.delta(epsilon, curvature=False) + 2e-5


@pytest.mark.parametrize("batch", [30, 1000])
def test_real_batches_never_beat_the_grid(batch):
    """Substitute one of b scaled ratios, with mean and variance as computed."""
    random = np.random.default_rng(4)
    bit_grid = GRIDS.get(batch) or BitGrid(
        MIXTURE, 1.0, 2.0, 2 / math.sqrt(batch), 4 * (batch - 1) / batch**2
    )
    worst = {0.0: 0.0, 0.05: 0.0, 0.2: 0.0}
    for _ in range(3000):
        ratios = np.where(random.random(batch) < random.random(), 1.0, -1.0)
        ratios *= random.choice([1.0, random.random()])
        ratios[0] = 1.0
        other = ratios.copy()
        other[0] = -1.0
        public = random.normal(0, 4) - ratios.sum() / math.sqrt(batch)
        p, q = (
            accept(r.sum() / math.sqrt(batch) + public, 2 - r.var())
            for r in (ratios, other)
        )
        pairs = ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p))
        for epsilon, known in worst.items():
            gain = max(a - math.exp(epsilon) * b for a, b in pairs)
            worst[epsilon] = max(known, gain)
    for epsilon, gain in worst.items():
        assert gain <= bit_grid.delta(epsilon)
    assert worst[0.0] > 0.8 * bit_grid.delta(0.0)


def test_wide_components_are_covered():
    mixture = NoiseMixture((-3.0, 0.0, 3.0), (0.4, 0.1, 0.4), (0.1, 0.8, 0.1))
    grid = BitGrid(mixture, 1.5, 1.5, 0.2, 0.0)
    m = np.linspace(-15, 15, 20001)
    for epsilon in (0.0, 0.1):
        found = np.max(
            mixture.cdf(m, 1.5) - math.exp(epsilon) * mixture.cdf(m - 0.2, 1.5)
        )
        assert found <= grid.delta(epsilon) <= found * 1.01 + 1e-9


def test_a_profile_falls_and_ends_near_zero():
    profile = bit_profile(GRIDS[100], 33)
    assert np.all(np.diff(profile.deltas) <= 0)
    assert profile.deltas[-1] < 1e-10
    assert profile.epsilons[0] == 0


heights = st.lists(st.floats(0, 0.4), min_size=2, max_size=12)


@given(heights=heights, reach=st.floats(1e-5, 3.0))
@settings(max_examples=60)
def test_the_hull_is_convex_and_never_above_its_points(heights, reach):
    deltas = np.sort(np.array(heights))[::-1]
    x = np.expm1(np.linspace(0, reach, len(deltas)))
    kept = lower_hull(x, deltas)
    slopes = np.diff(deltas[kept]) / np.diff(x[kept])
    assert np.all(np.diff(slopes) >= -1e-9 * (1 + np.abs(slopes[1:])))
    assert np.all(np.interp(x, x[kept], deltas[kept]) <= deltas + 1e-12)


@given(heights=heights, reach=st.floats(1e-5, 3.0))
@settings(max_examples=60)
def test_the_corners_are_pairs_that_the_profile_allows(heights, reach):
    deltas = np.sort(np.array(heights))[::-1]
    epsilons = np.linspace(0, reach, len(deltas))
    lower, gap = Profile(epsilons, deltas).corners()
    upper = lower + gap
    assert np.all((lower >= -1e-12) & (upper <= 1 + 1e-9))
    for epsilon, delta in zip(epsilons, deltas, strict=True):
        assert np.all(upper - math.exp(epsilon) * lower <= delta + 1e-9)
        turned = (1 - lower) - math.exp(epsilon) * (1 - upper)
        assert np.all(turned <= delta + 1e-9 * math.exp(epsilon))


def test_points_that_are_not_convex_would_be_misread_downstream():
    """Second differences must not be negative; the hull keeps us from producing any."""
    epsilons = np.array([0.0, 0.1, 0.2, 0.3])
    deltas = np.array([0.20, 0.19, 0.02, 0.0])
    raw = pld_pmf.create_pmf_pessimistic_connect_dots(0.1, [0, 1, 2, 3], deltas)
    assert raw.get_delta_for_epsilon(0.0) > 0.201
    kept = lower_hull(np.expm1(epsilons), deltas)
    assert kept == [0, 2, 3]


def test_amplification_without_replacement():
    epsilons = np.array([0.0, 0.5, 1.0])
    profile = without_replacement(
        Profile(epsilons, bounded_range_profile(1.0, epsilons)), 30, 100
    )
    np.testing.assert_allclose(profile.epsilons, np.log(1 + 0.3 * np.expm1(epsilons)))
    assert profile.deltas[1] == pytest.approx(0.3 * bounded_range_profile(1.0, 0.5))


def test_amplification_with_replacement_counts_copies():
    epsilons = np.linspace(0, 3, 30)
    drawn = with_replacement(
        lambda copies: bounded_range_profile(0.5 * copies, epsilons), epsilons, 5, 8
    )
    odds = [math.comb(5, k) * (1 / 8) ** k * (7 / 8) ** (5 - k) for k in range(6)]
    for place in (0, 7, 20):
        expected = sum(
            odds[k] * bounded_range_profile(0.5 * k, epsilons[place])
            for k in range(1, 6)
        )
        assert drawn.deltas[place] == pytest.approx(expected, rel=1e-8)
    assert drawn.epsilons[-1] == pytest.approx(
        math.log(1 + (1 - odds[0]) * math.expm1(3))
    )
    assert likely_copies(5, 8) == 5
    assert likely_copies(1000, 10**6) <= 6


def test_replacement_costs_about_the_same_for_small_batches():
    from dpmcmc.accounting.accountants import BLOCKS

    once, again = (
        BLOCKS.curve({MinibatchBit(1000, 10**6, replacement=r): 2000}).epsilon(1e-6)
        for r in (False, True)
    )
    assert once < again < 1.01 * once
