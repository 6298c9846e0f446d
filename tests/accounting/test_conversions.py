# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""From divergences and normal noise to (ε, δ): checked where the truth is known."""

import math

import numpy as np
import pytest
from dp_accounting.dp_event import GaussianDpEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from dpmcmc.accounting import GaussianRelease, certify_delta
from dpmcmc.accounting.curves import GaussianCurve, ZcdpCurve
from dpmcmc.accounting.renyi import Divergence, RenyiCurve, improved, mironov


@pytest.mark.parametrize("kind", [GaussianDpEvent, lambda m: GaussianRelease(2 / m)])
@pytest.mark.parametrize(
    ("multiplier", "epsilon"), [(4.0, 0.3), (10.0, 0.0), (1.0, 2.0)]
)
def test_normal_noise_under_substitution(kind, multiplier, epsilon):
    """Records of length 1 sum to +1 or −1: the means are 2 apart."""

    def density(x, mean):
        z = (x - mean) / multiplier
        return math.exp(-z * z / 2) / (multiplier * math.sqrt(2 * math.pi))

    reach = 12 * multiplier
    exact, _ = integrate.quad(
        lambda x: max(0.0, density(x, 1.0) - math.exp(epsilon) * density(x, -1.0)),
        -reach,
        reach,
        points=[epsilon * multiplier**2 / 2],
        limit=200,
    )
    certified = certify_delta(kind(multiplier), epsilon).delta
    assert certified == pytest.approx(exact, rel=1e-6)
    assert certified >= exact * (1 - 1e-9)


@given(mu=st.floats(0.01, 3.0), digits=st.floats(1, 9))
@settings(max_examples=40)
def test_conversions_are_above_the_truth_for_normal_noise(mu, digits):
    """Normal noise has divergence α μ²/2 of every order and a known curve."""
    delta, rho = 10.0**-digits, mu**2 / 2
    exact = GaussianCurve(mu).epsilon(delta)
    orders = Divergence(lambda order: rho * order)
    published, sharper = (
        RenyiCurve(orders, conversion).epsilon(delta)
        for conversion in (mironov, improved)
    )
    continuous = ZcdpCurve(rho).epsilon(delta)
    assert exact <= continuous * (1 + 1e-9)
    assert continuous <= sharper * (1 + 1e-9)
    assert sharper <= published


@given(rho=st.floats(1e-6, 3.0), digits=st.floats(1, 12))
@settings(max_examples=40)
def test_conversions_invert(rho, digits):
    delta = 10.0**-digits
    for curve in (
        ZcdpCurve(rho),
        RenyiCurve(Divergence(lambda order: rho * order), mironov),
        RenyiCurve(Divergence(lambda order: rho * order), improved),
        GaussianCurve(math.sqrt(2 * rho)),
    ):
        epsilon = curve.epsilon(delta)
        if 0 < epsilon < math.inf:
            assert curve.delta(epsilon) == pytest.approx(delta, rel=1e-6)


def test_no_delta_leaves_no_epsilon():
    for curve in (ZcdpCurve(0.1), RenyiCurve(Divergence(lambda order: order), mironov)):
        assert curve.epsilon(0.0) == math.inf
    assert ZcdpCurve(0.0).epsilon(0.0) == 0
    assert ZcdpCurve(0.0).delta(0.0) == 0
    assert GaussianCurve(5.0).epsilon(0.0) == math.inf


def test_the_search_over_orders_finds_the_best_one():
    for largest, best in ((10, 10), (1000, 139), (10**5, 139)):
        curve = RenyiCurve(Divergence(lambda order: 0.0, largest), mironov)
        assert curve.best(lambda order: abs(order - 139.2)) == (
            best,
            pytest.approx(abs(best - 139.2)),
        )
    values = np.random.default_rng(2).random(60)
    curve = RenyiCurve(Divergence(lambda order: 0.0, 61), mironov)
    assert curve.best(lambda order: values[order - 2])[1] == values.min()
