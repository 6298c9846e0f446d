# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Events of very different sizes together: no overflow, and an honest answer."""

import math

from dp_accounting import ComposedDpEvent, SelfComposedDpEvent

from dpmcmc.accounting import (
    BarkerBit,
    GaussianBatchSum,
    certify_delta,
    certify_epsilon,
)


def test_losses_beyond_what_an_exponential_holds_have_no_epsilon():
    """A thousand bits of log-odds range 2, beside a release on another lattice."""
    small = SelfComposedDpEvent(GaussianBatchSum(5.0, 200, 2000), 10)
    large = SelfComposedDpEvent(BarkerBit(1.0, 2000), 1000)
    certificate = certify_epsilon(ComposedDpEvent([small, large]), 1e-6)
    assert math.isinf(certificate.epsilon)


def test_a_release_never_costs_less_beside_another():
    """Read off a common lattice, the pair costs at least what each does alone."""
    small = SelfComposedDpEvent(GaussianBatchSum(30.0, 200, 2000), 10)
    bits = SelfComposedDpEvent(BarkerBit(0.01, 2000), 500)
    for epsilon in (0.1, 0.5, 1.0):
        both = certify_delta(ComposedDpEvent([small, bits]), epsilon).delta
        assert both >= certify_delta(small, epsilon).delta
        assert both >= certify_delta(bits, epsilon).delta
