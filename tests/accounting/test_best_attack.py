# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The dynamic programmes: exact where they must be, and on the safe side elsewhere."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.accounting.blocks import STEP_ROUNDING, bounded_range_table
from dpmcmc.accounting.bounded_range import bounded_range_profile, bounded_range_rho
from dpmcmc.accounting.chains import compose_blocks, fineness
from dpmcmc.accounting.lens import lens_table
from dpmcmc.accounting.losses import LossCurve, profile_losses, profile_masses
from dpmcmc.accounting.profiles import Profile, bounded_range_points
from dpmcmc.accounting.singles import singles_table

ETAS = st.floats(1e-5, 4.0)


@given(eta=ETAS, share=st.floats(-1.2, 1.2))
def test_the_profile_is_the_largest_over_all_bits(eta, share):
    epsilon = share * eta
    t = np.linspace(-30, 30, 4001)
    p, q = 1 / (1 + np.exp(-(t + eta / 2))), 1 / (1 + np.exp(-(t - eta / 2)))
    found = max(0.0, np.max(p - math.exp(epsilon) * q), -math.expm1(epsilon))
    bound = bounded_range_profile(eta, epsilon)
    assert found <= bound * (1 + 1e-12) + 1e-15
    assert bound <= found + 1e-4 * eta


@given(eta=ETAS, t=st.floats(-20, 20), order=st.floats(1.01, 60))
def test_no_bit_exceeds_its_zcdp_constant(eta, t, order):
    p, q = (1 / (1 + math.exp(-x)) for x in (t + eta / 2, t - eta / 2))
    logs = [
        order * math.log(a) + (1 - order) * math.log(b)
        for a, b in ((p, q), (1 - p, 1 - q))
        if a > 0 and b > 0
    ]
    divergence = float(np.logaddexp.reduce(logs)) / (order - 1)
    assert divergence <= order * bounded_range_rho(eta) * (1 + 1e-9) + 1e-13


@given(eta=st.floats(1e-6, 30.0))
def test_the_zcdp_constant_against_many_digits(eta):
    with mpmath.workdps(40):
        x = mpmath.mpf(eta) / mpmath.expm1(mpmath.mpf(eta))
        exact = x - 1 - mpmath.log(x)
    assert exact <= bounded_range_rho(eta) <= float(exact) * (1 + 1e-8)
    assert bounded_range_rho(eta) <= eta**2 / 8 * (1 + 1e-11)


def test_one_bit_of_the_table_is_the_profile():
    for eta in (0.01, 0.5, 3.0):
        table = bounded_range_table(eta, 1, 16)
        losses = table.step * np.arange(-16, 17)
        expected = [bounded_range_profile(eta, -loss) for loss in losses]
        np.testing.assert_allclose(table.values[1], expected, rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize("eta", [1e-5, 0.02, 1.0])
def test_rounding_of_the_programme_is_within_its_allowance(eta):
    """The same recursion with 40 digits, question by question."""
    cells, steps = 3, 4
    table = bounded_range_table(eta, steps, cells)
    with mpmath.workdps(40):
        h = mpmath.mpf(table.step)
        exact = {0: mpmath.mpf(0)}
        for k in range(steps):
            exact = exact_step(exact, h, cells, k)
        for i, value in exact.items():
            ours = table.values[steps][i + steps * cells]
            assert abs(ours - float(value)) <= steps * STEP_ROUNDING
            assert ours + steps * STEP_ROUNDING >= value


def exact_step(values, h, cells, k):
    def value(i):
        if i <= -k * cells:
            return mpmath.mpf(0)
        return values[i] if i <= k * cells else -mpmath.expm1(-i * h)

    eta, width = cells * h, -mpmath.expm1(-h)
    reach = (k + 1) * cells
    after = {}
    for i in range(-reach, reach + 1):
        best = value(i)
        for j in range(cells):
            up, up1 = value(i + j), value(i + j + 1)
            down, down1 = value(i + j - cells), value(i + j + 1 - cells)

            def objective(y, j=j, up=up, up1=up1, down=down, down1=down1):
                x = j * h - mpmath.log(1 - y)
                p = mpmath.expm1(x - eta) / mpmath.expm1(-eta)
                above = up + y / width * (up1 - up)
                below = down + y / width * (down1 - down)
                return p * above + (1 - p) * below

            low, high = mpmath.mpf(0), width
            for _ in range(45):
                third = (high - low) / 3
                if objective(low + third) < objective(high - third):
                    low += third
                else:
                    high -= third
            best = max(best, objective((low + high) / 2))
        after[i] = best
    return after


@given(eta=st.floats(0.001, 2.0), steps=st.integers(1, 20))
@settings(max_examples=25)
def test_longer_blocks_and_finer_lattices_are_tighter(eta, steps):
    def delta(longest: int, cells: int, epsilon: float) -> float:
        table = bounded_range_table(eta, longest, cells)
        return LossCurve(compose_blocks(table, steps)).delta(epsilon)

    for epsilon in (0.0, eta / 2, eta * math.sqrt(steps)):
        whole = delta(steps, 8, epsilon)
        assert whole <= delta(max(1, steps // 3), 8, epsilon) + 1e-12
        assert delta(max(1, steps // 3), 8, epsilon) <= delta(1, 8, epsilon) + 1e-12
        assert delta(steps, 16, epsilon) <= whole + 1e-12


@given(eta=st.floats(0.01, 1.0), steps=st.integers(1, 40))
@settings(max_examples=15)
def test_blocks_of_one_are_single_bits(eta, steps):
    blocks = bounded_range_table(eta, 1, 8)
    singles = singles_table(bounded_range_table(eta, 10, 8))
    for epsilon in (0.0, eta, 3 * eta):
        one = LossCurve(compose_blocks(blocks, steps)).delta(epsilon)
        many = LossCurve(compose_blocks(singles, steps)).delta(epsilon)
        assert many == pytest.approx(one, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("eta", [0.01, 0.3, 1.0])
def test_the_lens_of_a_bounded_range_bit_is_its_table(eta):
    epsilons = eta * np.linspace(0, 1, 65)
    profile = Profile(epsilons, bounded_range_points(eta, epsilons))
    for steps in (1, 5, 30):
        lens = LossCurve(compose_blocks(lens_table(profile, 30, 16), steps))
        table = LossCurve(compose_blocks(bounded_range_table(eta, 30, 16), steps))
        for epsilon in (0.0, eta * math.sqrt(steps) / 2):
            expected = table.delta(epsilon)
            assert lens.delta(epsilon) == pytest.approx(expected, rel=2e-3)
            assert lens.delta(epsilon) >= expected * (1 - 2e-3)


def test_masses_give_back_their_profile():
    table = bounded_range_table(0.3, 7, 8)
    values = table.values[7]
    losses = profile_losses(values, table.step, 0.0)
    half = len(values) // 2
    for i in range(-half, half + 1, 5):
        delta = losses.pmf.get_delta_for_epsilon(-i * table.step)
        assert delta == pytest.approx(values[i + half], rel=1e-9, abs=1e-15)
    assert profile_masses(values, table.step).sum() == pytest.approx(1)


def test_the_error_of_transforms_is_within_its_allowance():
    """Composition by exact rational-like arithmetic: 50 digits, direct sums."""
    table = bounded_range_table(0.05, 4, 4)
    values, times = table.values[4], 40
    losses = profile_losses(values, table.step, 0.0, times)
    masses = profile_masses(values, table.step)
    with mpmath.workdps(50):
        exact = [mpmath.mpf(1)]
        for _ in range(times):
            exact = convolve(exact, [mpmath.mpf(float(m)) for m in masses])
        half = times * (len(masses) // 2)
        for epsilon in (0.0, 0.1, 0.3, 0.6):
            delta = sum(
                mass * -mpmath.expm1(mpmath.mpf(epsilon) - (i - half) * table.step)
                for i, mass in enumerate(exact)
                if (i - half) * table.step > epsilon
            )
            # At ε = 0.6 next to nothing but rounding is left.
            raw = losses.pmf.get_delta_for_epsilon(epsilon)
            assert abs(raw - delta) <= losses.slack + 1e-16
            ours = LossCurve(losses).delta(epsilon)
            assert delta <= ours <= float(delta) * (1 + 1e-8) + 2 * losses.slack
    assert 1e-16 < losses.slack < 1e-11


def convolve(first, second):
    out = [mpmath.mpf(0)] * (len(first) + len(second) - 1)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            out[i + j] += a * b
    return out


def test_short_chains_get_finer_lattices_that_refine_each_other():
    chosen = [fineness(count) for count in (1, 16, 17, 32, 64, 65, 10**6)]
    assert chosen == [(16, 128)] * 2 + [(32, 64)] * 2 + [(64, 32)] + [(128, 16)] * 2
