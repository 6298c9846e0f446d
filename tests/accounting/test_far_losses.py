# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Events of very different sizes together: no overflow, and an honest answer."""

from dp_accounting import ComposedDpEvent, SelfComposedDpEvent

from dpmcmc.accounting import (
    BarkerBit,
    GaussianBatchSum,
    certify_delta,
    certify_epsilon,
)
from dpmcmc.accounting.barker_bit import bounded_range_rho
from dpmcmc.accounting.curves import ZcdpCurve


def test_losses_near_what_an_exponential_holds_are_summed_without_overflow():
    """A thousand bits of log-odds range 2, beside a release on another lattice."""
    small = SelfComposedDpEvent(GaussianBatchSum(5.0, 200, 2000), 10)
    large = SelfComposedDpEvent(BarkerBit(1.0, 2000), 1000)
    certificate = certify_epsilon(ComposedDpEvent([small, large]), 1e-6)
    few = certify_epsilon(small, 1e-6).epsilon
    rho = 1000 * bounded_range_rho(2.0)
    assert rho < certificate.epsilon < ZcdpCurve(rho).epsilon(1e-6) + few


def test_a_release_never_costs_less_beside_another():
    """Read off a common lattice, the pair costs at least what each does alone."""
    small = SelfComposedDpEvent(GaussianBatchSum(30.0, 200, 2000), 10)
    bits = SelfComposedDpEvent(BarkerBit(0.01, 2000), 500)
    for epsilon in (0.1, 0.5, 1.0):
        both = certify_delta(ComposedDpEvent([small, bits]), epsilon).delta
        assert both >= certify_delta(small, epsilon).delta
        assert both >= certify_delta(bits, epsilon).delta


def test_very_many_very_cheap_bits_are_certified_in_closed_form():
    """Rounding of so narrow a lattice adds up to more than float64 holds."""
    bit, count = BarkerBit(1e-9, 10_000), 7 * 10**7
    certificate = certify_epsilon({bit: count}, 1e-6)
    assert certificate.accountant == "zCDP"
    rho = count * bounded_range_rho(bit.log_odds_range)
    assert certificate.epsilon >= ZcdpCurve(rho).epsilon(1e-6) > 0
    assert certificate.epsilon < 1e-4
