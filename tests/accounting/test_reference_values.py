# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Reference values, computed independently, to the digits that are known."""

import math

import numpy as np
import pytest
from dp_accounting.dp_event import SelfComposedDpEvent

from dpmcmc.accounting import (
    BarkerBit,
    GaussianBarkerBit,
    LogisticMinibatchBit,
    MinibatchBit,
    certify_delta,
    certify_epsilon,
)
from dpmcmc.accounting.accountants import BLOCKS, PAPER, SINGLES, ZCDP
from dpmcmc.accounting.bit_profile import BitGrid
from dpmcmc.accounting.blocks import bounded_range_table
from dpmcmc.accounting.bounded_range import bounded_range_profile, bounded_range_rho
from dpmcmc.accounting.chains import compose_blocks
from dpmcmc.accounting.default_correction import POSITIONS, WEIGHTS
from dpmcmc.accounting.gaussian import (
    gaussian_divergence,
    paper_minibatch,
    sharpened_minibatch,
    subsampled,
)
from dpmcmc.accounting.losses import LossCurve
from dpmcmc.accounting.mixture import Mixture
from dpmcmc.accounting.profiles import amplified_range
from dpmcmc.accounting.renyi import MIRONOV, Divergence, RenyiCurve
from dpmcmc.accounting.singles import singles_table
from dpmcmc.accounting.zcdp import ZcdpCurve

RECORDS = 10**6


def digits(value: float, expected: float, count: int) -> None:
    """Assert that a value rounds to the expected one at so many significant digits."""
    assert value == pytest.approx(expected, rel=0.51 * 10.0 ** (1 - count))


@pytest.mark.parametrize(
    ("eta", "epsilon", "delta"),
    [
        (0.02, 0.0, 0.004999958334),
        (0.02, 0.01, 0.001256247331),
        (0.02, -0.01, 0.01119391371),
        (1.0, 0.5, 0.07740468632),
    ],
)
def test_the_profile_of_a_bounded_range_bit(eta, epsilon, delta):
    digits(bounded_range_profile(eta, epsilon), delta, 10)


def test_the_zcdp_constant_of_a_bounded_range_bit():
    digits(bounded_range_rho(0.02), 4.999972222e-5, 10)
    digits(bounded_range_rho(1.0), 0.1233015615, 10)
    digits(bounded_range_rho(0.1) / (0.1**2 / 8), 0.99986, 5)
    digits(bounded_range_rho(2.0) / (2.0**2 / 8), 0.94895, 5)


def test_the_range_of_a_bit_after_drawing_a_batch():
    digits(amplified_range(2 / math.sqrt(1000), 1000, 10**6), 6.52862609e-5, 9)


def test_concentrated_privacy_converts():
    digits(ZcdpCurve(0.05).epsilon(1e-6), 1.47159, 6)


@pytest.mark.parametrize(
    ("eta", "steps", "epsilon", "low", "high", "coarse"),
    [
        (1.0, 2, 0.0, 0.3033655, 0.3033673, 0.30337259),
        (1.0, 2, 0.5, 0.1524519, 0.1524542, 0.15246102),
        (1.0, 2, 1.2, 0.0320957, 0.0320988, 0.03210422),
        (0.2, 3, 0.0, 0.0748752, 0.0748759, 0.07487778),
        (0.2, 3, 0.2, 0.0144951, 0.0144959, 0.01449772),
        (0.2, 3, 0.4, 9.49859e-4, 9.49907e-4, 0.00095005),
    ],
)
def test_the_optimum_of_few_bits(eta, steps, epsilon, low, high, coarse):
    def value(cells: int) -> float:
        table = bounded_range_table(eta, steps, cells)
        return LossCurve(compose_blocks(table, steps)).delta(epsilon)

    assert low <= value(128) <= high * (1 + 1e-6)
    digits(value(64), coarse, 5 if coarse < 1e-3 else 6)


FULL = [
    # clip, steps, δ, paper, zCDP with η²/8, single bits, blocks of 128 with 16 cells,
    # the same with finer grids, an explicit attack
    (0.01, 1000, 1e-6, 2.45129, 1.47159, 1.59887, 1.37438, 1.36895, 1.36750),
    (0.003, 5000, 1e-6, 1.62253, 0.95846, 1.03851, 0.89336, 0.88994, 0.88838),
    (0.001, 20000, 1e-6, 1.07137, 0.62169, 0.67160, 0.57809, 0.57591, 0.57500),
    (0.03, 200, 1e-6, 3.33506, 2.02266, 2.19480, 1.88924, 1.88303, 1.88125),
    (0.05, 100, 1e-6, 3.97364, 2.41909, 2.61471, 2.25483, 2.25191, 2.25000),
    (0.1, 50, 1e-5, 5.30259, 3.18897, 3.40213, 2.94275, 2.93835, 2.93333),
    (0.5, 10, 1e-5, 13.25646, 8.07836, 7.64086, 7.14347, 7.13318, 7.12500),
    (0.002, 1000, 1e-5, 0.43320, 0.22882, 0.24203, 0.20788, 0.20707, 0.20683),
]


@pytest.mark.parametrize(
    ("clip", "steps", "delta", "paper", "zcdp", "single", "blocks", "fine", "attack"),
    FULL,
)
def test_full_data(clip, steps, delta, paper, zcdp, single, blocks, fine, attack):
    bit = BarkerBit(clip, RECORDS)
    leaves = {bit: steps}
    quoted = PAPER.curve({GaussianBarkerBit(clip, RECORDS): steps})
    digits(quoted.epsilon(delta), paper, 5)
    digits(ZcdpCurve(steps * (2 * clip) ** 2 / 8).epsilon(delta), zcdp, 5)
    # Never above the looser constant, and no more than 1% below it for narrow clips.
    assert ZCDP.curve(leaves).epsilon(delta) <= zcdp * (1 + 1e-5)
    table = bounded_range_table(bit.log_odds_range, 128, 16)
    # Rounding of the transforms is charged on top of the reference.
    plain = LossCurve(compose_blocks(singles_table(table), steps)).epsilon(delta)
    assert plain == pytest.approx(single, rel=2e-5)
    assert SINGLES.curve(leaves).epsilon(delta) <= plain
    coarse = LossCurve(compose_blocks(table, steps)).epsilon(delta)
    assert coarse == pytest.approx(blocks, rel=2.5e-5)
    certified = certify_epsilon(SelfComposedDpEvent(bit, steps), delta)
    assert certified.accountant == "blocks"
    assert attack <= certified.epsilon <= blocks * (1 + 2.5e-5)
    assert certified.epsilon >= fine * (1 - 1e-3)


def test_a_thousand_steps_at_a_clip_of_one_percent():
    event = SelfComposedDpEvent(BarkerBit(0.01, RECORDS), 1000)
    assert certify_epsilon(event, 1e-6).epsilon <= 1.375


@pytest.mark.parametrize(
    ("clip", "steps", "delta"),
    [(0.01, 1000, 1.16614e-4), (0.03, 200, 2.21399e-3), (0.1, 50, 0.0410045)],
)
def test_delta_at_epsilon_one(clip, steps, delta):
    table = bounded_range_table(BarkerBit(clip, RECORDS).log_odds_range, 128, 16)
    digits(LossCurve(compose_blocks(table, steps)).delta(1.0), delta, 6)
    event = SelfComposedDpEvent(BarkerBit(clip, RECORDS), steps)
    assert certify_delta(event, 1.0).delta <= delta * (1 + 1e-5)


def test_the_paper_s_theorems():
    digits(paper_minibatch(1000).at(2), 0.358139, 6)
    digits(paper_minibatch(1000).at(16), 0.0631669, 6)
    digits(paper_minibatch(1000).at(64), 0.199297, 6)
    digits(paper_minibatch(100).at(5), 0.280937, 6)


def test_the_divergence_of_two_normal_laws():
    # Equal variances: α Δ² / (2 v). Unequal: by numerical integration.
    assert gaussian_divergence(3.0, 0.5, 2.0, 2.0) == pytest.approx(3 * 0.25 / 4)
    x = np.linspace(-20, 20, 400001)
    p = np.exp(-((x - 0.3) ** 2) / 2.4) / math.sqrt(2.4 * math.pi)
    q = np.exp(-(x**2) / 3.0) / math.sqrt(3.0 * math.pi)
    exact = math.log(np.sum(p**4 * q**-3.0) * (x[1] - x[0])) / 3
    assert gaussian_divergence(4.0, 0.3, 1.2, 1.5) == pytest.approx(exact, rel=1e-9)
    assert math.isinf(gaussian_divergence(6.0, 0.3, 1.5, 1.2))


@pytest.mark.parametrize(
    ("batch", "order", "expected", "exact"),
    [
        (1000, 2, 0.00404035, 0.00401997),
        (1000, 16, 0.0342567, 0.0340703),
        (1000, 64, 0.172388, 0.171143),
        (100, 5, 0.127604, 0.120901),
    ],
)
def test_the_sharpened_divergence(batch, order, expected, exact):
    # The simple closed form for C = 2, which ours refines, and the exact supremum.
    closed = 2 * order / (batch - 4 * order) * (batch - 2) / (batch - 4)
    digits(closed, expected, 6)
    ours = sharpened_minibatch(batch, 1.0, 2.0).at(order)
    assert exact <= ours <= closed
    worst = max(
        gaussian_divergence(order, 2 / math.sqrt(batch), v, v + change)
        for v in np.linspace(1, 2, 201)
        for change in np.array([-1, 0, 1]) * 4 * (batch - 1) / batch**2
        if 1 <= v + change <= 2
    )
    digits(worst, exact, 4)
    assert worst <= ours


BATCHES = [
    # b, N, T, δ, paper, sharpened (orders to 150), single bits, blocks, and for the
    # logistic test zCDP, single bits, blocks
    (
        1000,
        10**6,
        1000,
        1e-6,
        0.22578,
        0.10171,
        4.636e-3,
        3.949e-3,
        3.187e-3,
        3.230e-3,
        2.739e-3,
    ),
    (
        1000,
        10**6,
        5000,
        1e-6,
        0.49943,
        0.13765,
        0.011203,
        9.554e-3,
        7.660e-3,
        7.840e-3,
        6.660e-3,
    ),
    (
        1000,
        10**6,
        20000,
        1e-6,
        1.00042,
        0.22330,
        0.023777,
        0.020301,
        0.016194,
        0.016688,
        0.014195,
    ),
    (
        1000,
        10**6,
        100000,
        1e-6,
        2.27664,
        0.39995,
        0.056599,
        0.048376,
        0.038386,
        0.039827,
        0.033919,
    ),
    (
        1000,
        10**5,
        5000,
        1e-5,
        4.94152,
        1.22205,
        0.112512,
        0.095915,
        0.076798,
        0.078650,
        0.066788,
    ),
    (
        100,
        10**5,
        5000,
        1e-5,
        0.78573,
        0.53468,
        0.034256,
        0.027663,
        0.023541,
        0.022644,
        0.018712,
    ),
    (
        100,
        10**4,
        1000,
        1e-5,
        2.51871,
        0.92476,
        0.177047,
        0.144041,
        0.120557,
        0.118212,
        0.098211,
    ),
]


@pytest.mark.parametrize("case", BATCHES)
def test_the_paper_s_minibatch_test(case):
    batch, records, steps, delta, paper, sharp, single, blocks = case[:8]
    bit = MinibatchBit(batch, records)
    leaves = {bit: steps}
    digits(PAPER.curve(leaves).epsilon(delta), paper, 5)
    closed = Divergence(
        lambda a: 2 * a / (batch - 4 * a) * (batch - 2) / (batch - 4),
        min(150, math.ceil(batch / 4) - 1),
    )
    rough = RenyiCurve(subsampled(closed, batch, records).repeated(steps), MIRONOV)
    digits(rough.epsilon(delta), sharp, 5)
    # Our grids are at least as fine as those of the reference.
    assert SINGLES.curve(leaves).epsilon(delta) == pytest.approx(single, rel=1e-2)
    assert SINGLES.curve(leaves).epsilon(delta) <= single * (1 + 1.5e-3)
    assert BLOCKS.curve(leaves).epsilon(delta) == pytest.approx(blocks, rel=1e-2)
    assert BLOCKS.curve(leaves).epsilon(delta) <= blocks
    certified = certify_epsilon(SelfComposedDpEvent(bit, steps), delta)
    assert certified.accountant == "blocks"
    assert certified.epsilon <= blocks
    by_name = {name: epsilon for name, epsilon, _ in certified.alternatives}
    assert by_name["sharpened Rényi"] <= sharp


@pytest.mark.parametrize("case", BATCHES)
def test_the_logistic_minibatch_test(case):
    batch, records, steps, delta = case[:4]
    zcdp, single, blocks = case[8:]
    leaves = {LogisticMinibatchBit(batch, records): steps}
    digits(ZCDP.curve(leaves).epsilon(delta), zcdp, 4)
    assert SINGLES.curve(leaves).epsilon(delta) == pytest.approx(single, rel=2e-3)
    digits(BLOCKS.curve(leaves).epsilon(delta), blocks, 4)


def test_the_headline_case():
    bit = MinibatchBit(1000, 10**6)
    curve = PAPER.curve({bit: 20000})
    digits(curve.epsilon(1e-6), 1.00042, 6)
    assert curve.order(1e-6) == 29
    certified = certify_epsilon(SelfComposedDpEvent(bit, 20000), 1e-6)
    # Below the certificate that is asked for, above what an attack achieves.
    assert 0.014096 <= certified.epsilon <= 0.0204


def test_the_sharpened_bound_finds_its_order():
    one = subsampled(sharpened_minibatch(1000, 1.0, 2.0), 1000, 10**6)
    assert RenyiCurve(one.repeated(20000), MIRONOV).order(1e-6) == 97


@pytest.mark.parametrize(
    ("epsilon", "plain", "bound"),
    [
        (0.0, 0.0218884, 0.0218904),
        (0.02, 0.0133223, 0.0133247),
        (0.05, 0.00403992, 0.00404274),
        (0.1, 1.4597e-5, 1.6546e-5),
    ],
)
def test_the_profile_of_the_paper_s_bit(epsilon, plain, bound):
    mixture = Mixture(POSITIONS, (0.0,) * 5, WEIGHTS)
    grid = BitGrid(mixture, 1.0, 2.0, 2 / math.sqrt(1000), 4 * 999 / 1000**2)
    on_grid = grid.delta(epsilon, curvature=False)
    assert on_grid == pytest.approx(plain, rel=5e-4)
    assert on_grid < grid.delta(epsilon) <= bound + 2.5e-6
