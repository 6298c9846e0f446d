# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""ρ, μ and the profile agree with each other, with attacks, and with dp-accounting."""

import math

import numpy as np
import pytest
from scipy import special, stats

from dpmcmc.accounting import (
    BarkerBit,
    GaussianBarkerBit,
    GaussianRelease,
    MinibatchBit,
    certify_delta,
    certify_epsilon,
    gdp_cost,
    privacy_profile,
    zcdp_cost,
)
from dpmcmc.accounting.currencies import (
    bounded_range_mu,
    cost_in,
    epsilon_of,
    one_currency,
)
from dpmcmc.errors import InputError

RUN = {
    GaussianRelease(0.22): 1,
    GaussianRelease(0.02): 1,
    BarkerBit(0.0009, 3000): 4000,
}


@pytest.mark.parametrize("eta", [1e-4, 0.02, 0.5, 2.0, 6.0])
def test_no_test_on_a_bit_beats_normal_noise_of_its_mu(eta):
    logits = np.linspace(-20, 20, 40_001)
    level, power = special.expit(logits), special.expit(logits + eta)
    shift = stats.norm.ppf(power) - stats.norm.ppf(level)
    inside = np.abs(logits + eta / 2) < 15  # where float64 can tell p from 1
    mu = bounded_range_mu(eta)
    assert np.all(shift[inside] <= mu * (1 + 1e-6))
    assert shift[inside].max() == pytest.approx(mu, rel=1e-3)


def test_costs_of_normal_noise_are_what_they_are_by_definition():
    released = {GaussianRelease(0.3): 1, GaussianRelease(0.4): 1}
    assert gdp_cost(released) == pytest.approx(0.5)
    assert zcdp_cost(released) == pytest.approx(0.125)
    assert gdp_cost(released) >= 0.5


@pytest.mark.parametrize("currency", ["rho", "mu"])
def test_a_profile_is_below_what_each_currency_implies(currency):
    amount = cost_in(currency, RUN)
    for epsilon, delta in privacy_profile(RUN):
        assert epsilon <= epsilon_of(currency, amount, delta)
        assert certify_delta(RUN, epsilon).delta <= delta * (1 + 1e-9)


def test_a_profile_is_the_certificates_and_falls():
    pairs = privacy_profile(RUN, [1e-3, 1e-6, 1e-9, 1e-300])
    assert [pair.delta for pair in pairs] == [1e-3, 1e-6, 1e-9]  # none without an ε
    assert pairs[1].epsilon == certify_epsilon(RUN, 1e-6).epsilon
    assert pairs[0].epsilon < pairs[1].epsilon < pairs[2].epsilon


def test_the_currencies_of_normal_noise_agree_with_dp_accounting():
    accounting = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    multiplier, count = 20.0, 10
    event = accounting.SelfComposedDpEvent(
        accounting.GaussianDpEvent(multiplier), count
    )
    one_more = accounting.NeighboringRelation.REPLACE_ONE
    tight = PLDAccountant(one_more).compose(event).get_epsilon(1e-6)
    # of which one substitution moves the mean by one sensitivity
    halved = accounting.GaussianDpEvent(multiplier / 2)
    renyi = RdpAccountant().compose(halved, count)
    mu, rho = gdp_cost(event), zcdp_cost(event)
    assert mu == pytest.approx(2 / multiplier * math.sqrt(count))
    assert epsilon_of("mu", mu, 1e-6) == pytest.approx(tight, rel=1e-3)
    assert epsilon_of("rho", rho, 1e-6) == pytest.approx(
        renyi.get_epsilon(1e-6), rel=0.02
    )
    assert certify_epsilon(event, 1e-6).epsilon == pytest.approx(tight, rel=1e-3)


def test_what_has_no_known_cost_is_infinite():
    bit = MinibatchBit(batch=100, records=10_000)
    assert gdp_cost({bit: 10}) == math.inf
    assert math.isfinite(gdp_cost({GaussianBarkerBit(clip=0.01, records=100): 3}))


def test_costs_grow_as_the_currencies_say():
    bit = BarkerBit(0.01, 1000)
    assert zcdp_cost({bit: 400}) == pytest.approx(400 * zcdp_cost(bit))
    assert gdp_cost({bit: 400}) == pytest.approx(20 * gdp_cost(bit))


def test_a_budget_is_given_in_one_currency():
    assert one_currency(epsilon=None, rho=0.5, mu=None) == ("rho", 0.5)
    assert one_currency(epsilon=None, rho=None) is None
    for wrong in (
        {"epsilon": 1.0, "mu": 1.0},
        {"rho": 0.0},
        {"mu": math.nan},
        {"rho": "1"},
    ):
        with pytest.raises(InputError):
            one_currency(**wrong)
