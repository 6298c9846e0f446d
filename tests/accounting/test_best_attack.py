# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The dynamic programmes: exact where they must be, and on the safe side elsewhere."""

import math

import mpmath
import numpy as np
import pytest
from accounting_attacks import bounded_range_profile
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_accounting import whole_values

from dpmcmc.accounting.barker_bit import bounded_range_blocks, bounded_range_rho
from dpmcmc.accounting.decision_blocks import (
    DecisionBlocks,
    chain_parts,
    fineness,
    lens,
)
from dpmcmc.accounting.losses import (
    LossCurve,
    LossPart,
    compose,
    loss_masses,
    resampled,
)
from dpmcmc.accounting.profiles import Profile

ETAS = st.floats(1e-5, 4.0)


def composed(blocks: DecisionBlocks, steps: int) -> LossCurve:
    return compose([chain_parts(blocks, steps)])


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
        blocks = bounded_range_blocks(eta, 1, 16)
        expected = bounded_range_profile(eta, blocks.step * np.arange(17))
        np.testing.assert_allclose(blocks.values[1], expected, rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize("eta", [3e-10, 1e-5, 0.02, 1.0])
def test_rounding_of_the_programme_is_within_its_allowance(eta):
    """The same recursion with 50 digits, question by question, relative to its size."""
    cells, steps = 3, 4
    blocks = bounded_range_blocks(eta, steps, cells)
    with mpmath.workdps(50):
        h = mpmath.mpf(blocks.step)
        exact = {0: mpmath.mpf(0)}
        for k in range(steps):
            exact = exact_step(exact, h, cells, k)
        for i, ours in enumerate(blocks.values[steps]):
            assert abs(ours - exact[-i]) <= steps * blocks.error * exact[-i]


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
            for _ in range(60):
                third = (high - low) / 3
                if objective(low + third) < objective(high - third):
                    low += third
                else:
                    high -= third
            best = max(best, objective((low + high) / 2))
        after[i] = best
    return after


def test_far_losses_that_are_left_out_do_not_show():
    """A block whose lattice ends early, against one that reaches to the very end."""
    eta, steps, cells = 0.05, 128, 8
    blocks = bounded_range_blocks(eta, steps, cells)
    assert len(blocks.values[steps]) < steps * cells + 1
    assert 0 < blocks.values[steps][-1] < 1e-17
    whole = whole_values(eta, steps, cells)[steps][steps * cells :: -1]
    seen = len(blocks.values[steps]) // 2
    np.testing.assert_allclose(blocks.values[steps][:seen], whole[:seen], rtol=1e-10)


@given(eta=st.floats(0.001, 2.0), steps=st.integers(1, 20))
@settings(max_examples=25)
def test_longer_blocks_and_finer_lattices_are_tighter(eta, steps):
    def delta(longest: int, cells: int, epsilon: float) -> float:
        return composed(bounded_range_blocks(eta, longest, cells), steps).delta(epsilon)

    for epsilon in (0.0, eta / 2, eta * math.sqrt(steps)):
        whole = delta(steps, 8, epsilon) * (1 - 1e-6)
        assert whole <= delta(max(1, steps // 3), 8, epsilon) + 1e-12
        assert whole * (1 - 1e-6) <= delta(1, 8, epsilon) + 1e-12
        assert (
            delta(steps, 16, epsilon) * (1 - 1e-6) <= delta(steps, 8, epsilon) + 1e-12
        )


@pytest.mark.parametrize("eta", [0.01, 0.3, 1.0])
def test_the_lens_of_a_bounded_range_bit_is_its_table(eta):
    epsilons = eta * np.linspace(0, 1, 65)
    deltas = bounded_range_profile(eta, epsilons)
    by_corners = lens(Profile(epsilons, deltas), 30, 16)
    for steps in (1, 5, 30):
        curve = composed(by_corners, steps)
        table = composed(bounded_range_blocks(eta, 30, 16), steps)
        for epsilon in (0.0, eta * math.sqrt(steps) / 2):
            expected = table.delta(epsilon)
            assert curve.delta(epsilon) == pytest.approx(expected, rel=2e-3)
            assert curve.delta(epsilon) >= expected * (1 - 2e-3)


def profile_of(masses, step, epsilon):
    losses = step * (np.arange(len(masses)) - len(masses) // 2)
    return float(np.sum(masses * np.maximum(0.0, -np.expm1(epsilon - losses))))


def test_masses_give_back_their_profile():
    blocks = bounded_range_blocks(0.3, 7, 8)
    values, step = blocks.values[7], blocks.step
    masses = loss_masses(values, step)
    assert masses.sum() + values[-1] == pytest.approx(1, abs=1e-15)
    for i in range(0, len(values), 5):
        delta = profile_of(masses, step, i * step) + values[-1]
        assert delta == pytest.approx(values[i], rel=1e-9, abs=1e-18)
        mirrored = -math.expm1(-i * step) + math.exp(-i * step) * values[i]
        delta = profile_of(masses, step, -i * step) + values[-1]
        assert delta == pytest.approx(mirrored, rel=1e-9)


@given(ratio=st.floats(0.05, 30), longest=st.integers(1, 9))
@settings(max_examples=25)
def test_another_lattice_never_shows_less(ratio, longest):
    blocks = bounded_range_blocks(0.3, longest, 8)
    values, step = blocks.values[longest], blocks.step
    other = resampled(values, step, ratio * step)
    masses = loss_masses(other, ratio * step)
    for i in range(len(values)):
        delta = profile_of(masses, ratio * step, i * step) + other[-1]
        assert delta >= values[i] * (1 - 1e-12)


@pytest.mark.parametrize("beside", [False, True])
def test_the_error_of_transforms_is_within_its_allowance(beside):
    """Composition by direct sums with 50 digits, far into the tail."""
    blocks = bounded_range_blocks(0.05, 4, 4)
    parts = [(blocks.values[4], 40)] + ([(blocks.values[3], 1)] if beside else [])
    curve = compose(
        [[LossPart(lambda _, v=v: v, blocks.step, 1.0, n) for v, n in parts]]
    )
    with mpmath.workdps(50):
        exact = [mpmath.mpf(1)]
        for values, times in parts:
            masses = [mpmath.mpf(float(m)) for m in loss_masses(values, blocks.step)]
            for _ in range(times):
                exact = convolve(exact, masses)
        half = len(exact) // 2
        for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0, 2.5):
            delta = sum(
                mass * -mpmath.expm1(mpmath.mpf(epsilon) - (i - half) * blocks.step)
                for i, mass in enumerate(exact)
                if (i - half) * blocks.step > epsilon
            )
            assert delta <= curve.delta(epsilon) <= float(delta) * (1 + 2e-5)
    assert curve.delta(2.5) < 1e-13


def convolve(first, second):
    out = [mpmath.mpf(0)] * (len(first) + len(second) - 1)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            out[i + j] += a * b
    return out


def test_short_chains_get_finer_lattices_that_refine_each_other():
    chosen = [fineness(count) for count in (1, 16, 17, 32, 64, 65, 10**6)]
    assert chosen == [(16, 128)] * 2 + [(32, 64)] * 2 + [(64, 32)] + [(128, 16)] * 2
