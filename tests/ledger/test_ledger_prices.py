# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Prices are at least what events can cost, and not much more."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_cases import COUNTED

from dpmcmc.accounting import (
    BarkerBit,
    Event,
    GaussianBatchSum,
    GaussianRelease,
    MinibatchBit,
    certify_epsilon,
)
from dpmcmc.accounting.barker_bit import bounded_range_rho
from dpmcmc.accounting.curves import ZcdpCurve
from dpmcmc.accounting.minibatch_bit import drawn_profile
from dpmcmc.accounting.profiles import Profile
from dpmcmc.ledger import LedgerError, tally_of
from dpmcmc.ledger.capacity import Capacity, settle
from dpmcmc.ledger.divergences import bit_divergence, lattice_divergence
from dpmcmc.ledger.prices import cost_of, prices_for

BUDGETS = [(0.05, 1e-6), (0.3, 1e-5), (1.0, 1e-6), (3.0, 1e-8), (10.0, 1e-6)]


def price(event: Event, capacity: Capacity) -> tuple[float, float]:
    """What one event costs, as floats."""
    tally = tally_of({event: 1})
    cost = cost_of(tally, prices_for(tally, capacity), capacity.order)
    return float(cost.divergence), float(cost.slack)


def renyi(p: float, q: float, order: int) -> float:
    """The divergence of two bits, with 40 digits."""
    with mpmath.workdps(40):
        p, q = mpmath.mpf(p), mpmath.mpf(q)
        power = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
        return float(mpmath.log(power) / (order - 1))


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_capacity_converts_to_its_budget_and_no_more(
    epsilon: float, delta: float
) -> None:
    found = settle(epsilon, delta)
    assert found.holds(delta)
    assert not found._replace(divergence=found.divergence * 1.0001).holds(delta)
    assert not found._replace(slack=found.slack * 9).holds(delta)
    with mpmath.workdps(40):
        a, r = mpmath.mpf(found.order), mpmath.mpf(found.divergence)
        converted = mpmath.exp((a - 1) * (r - epsilon)) * (1 - 1 / a) ** (a - 1) / a
        whole = converted + 2 * mpmath.mpf(found.slack)
        assert 0.99 * delta < whole <= delta


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_one_order_loses_little_against_all_orders(
    epsilon: float, delta: float
) -> None:
    """The largest ρ of concentrated privacy, by the best order, is hardly larger."""
    found = settle(epsilon, delta)
    rho = found.divergence / found.order
    assert (
        ZcdpCurve(rho).epsilon(delta) <= epsilon < ZcdpCurve(rho / 0.97).epsilon(delta)
    )


@settings(max_examples=150)
@given(
    st.floats(0.001, 3.0),
    st.floats(-6, 6),
    st.floats(-1, 1),
    st.sampled_from([2, 3, 9, 22, 300]),
)
def test_no_bit_of_a_range_has_more_divergence(
    eta: float, place: float, part: float, order: int
) -> None:
    epsilons = eta * np.linspace(0, 1, 97)
    deltas = np.expm1((epsilons - eta) / 2) ** 2 / -math.expm1(-eta)
    profile = Profile(epsilons, deltas)
    found, slack = bit_divergence(profile, order)
    assert slack == 0
    p, q = (1 / (1 + math.exp(-x)) for x in (place + part * eta, place))
    assert renyi(p, q, order) <= found
    # A range of log odds is concentrated; what is found is hardly above that.
    if order * eta < 600:
        assert found <= order * bounded_range_rho(eta) * 1.001


@settings(max_examples=100)
@given(
    st.sampled_from(
        [
            MinibatchBit(1000, 10_000),
            MinibatchBit(1000, 10_000, replacement=True),
        ]
    ),
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from([2, 9, 22, 300]),
    st.booleans(),
)
def test_no_bit_below_a_profile_has_more_divergence(
    event: MinibatchBit, place: float, part: float, order: int, turned: bool
) -> None:
    profile = drawn_profile(event)
    found, slack = bit_divergence(profile, order)
    # The largest p that the profile allows beside this p′.
    lower = 10 ** (-15 * place) / 2
    t = np.exp(profile.epsilons)
    upper = min(
        np.min(profile.deltas + t * lower),
        1 - np.max((1 - lower - profile.deltas) / t),
    )
    p = lower + part * max(0.0, upper - lower)
    cut = max(lower, p - slack)
    assert cut < 1
    pair = (1 - cut, 1 - lower) if turned else (cut, lower)
    assert renyi(*pair, order) <= found * (1 + 1e-9)


@pytest.mark.parametrize(
    ("order", "mu"),
    # Beyond eight standard deviations cut tails matter to the uncut divergence.
    [(a, m) for a in (2, 7, 22, 168) for m in (0.02, 0.1, 0.4) if a * m < 8],
)
@pytest.mark.parametrize("drawn", [0.01, 0.1, 0.5])
def test_a_noisy_sum_over_a_batch_costs_no_more(
    order: int, mu: float, drawn: float
) -> None:
    """Normal noise without the record, with it, and with its substitute."""
    capacity = Capacity(1.0, order, 1.0, 1e-7)
    records = 100_000
    event = GaussianBatchSum(2 / mu, round(drawn * records), records)
    divergence, slack = price(event, capacity)
    assert slack < 1e-14 or slack == 0
    x = np.linspace(-12, 12, 200_001) * max(1, order * mu / 6)

    def density(centre: float) -> np.ndarray:
        return np.exp(-((x - centre) ** 2) / 2) / math.sqrt(2 * math.pi)

    worst = 0.0
    for other in (-1.0, 0.0, 1.0):
        left = (1 - drawn) * density(other * mu / 2) + drawn * density(mu / 2)
        right = (1 - drawn) * density(other * mu / 2) + drawn * density(-mu / 2)
        good = right > 1e-280
        ratio = left[good] / right[good]
        power = np.sum(right[good] * (ratio**order - 1 - order * (ratio - 1)))
        worst = max(worst, math.log1p(power * (x[1] - x[0])) / (order - 1))
    assert worst <= divergence
    if order * mu < 1:
        assert divergence < 2.2 * worst


def test_a_lattice_is_priced_as_its_integral() -> None:
    """A pair with finitely many losses, whose profile and divergence are known."""
    losses, step = np.array([0.3, 0.1, -0.1, -0.3]), 0.05
    p = np.array([0.1, 0.3, 0.4, 0.2])
    q = p * np.exp(-losses) / np.sum(p * np.exp(-losses))
    ratios = p / q
    places = np.exp(step * np.arange(12))
    both = [
        max(np.sum(np.maximum(a - t * b, 0)) for a, b in ((p, q), (q, p)))
        for t in places
    ]
    found, slack = lattice_divergence(np.array(both), step, 5)
    exact = math.log(np.sum(q * ratios**5)) / 4
    assert slack == 0
    assert exact <= found <= 2 * exact


@pytest.mark.parametrize(
    "event", [*COUNTED, GaussianRelease(0.05)], ids=lambda e: str(e)[:30]
)
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS[:4])
def test_a_run_fixed_beforehand_is_certified_within_the_budget(
    event: Event, epsilon: float, delta: float
) -> None:
    """Events that fill the capacity are (ε, δ)-private by the tight accountants."""
    capacity = settle(epsilon, delta)
    divergence, slack = price(event, capacity)
    count = int(capacity.divergence / divergence)
    if slack:
        count = min(count, int(capacity.slack / slack), 30_000)
    assert count > 0 or epsilon < 1
    if count:
        assert certify_epsilon({event: count}, delta).epsilon <= epsilon


def test_the_cost_of_one_order_for_the_paper_s_chain() -> None:
    """The filter asks for at most a quarter more ε than the best attack."""
    bit = MinibatchBit(1000, 10**6)
    low, high = 0.02, 0.05
    for _ in range(20):
        middle = (low + high) / 2
        capacity = settle(middle, 1e-6)
        fits = 20_000 * price(bit, capacity)[0] <= capacity.divergence
        low, high = (low, middle) if fits else (middle, high)
    assert 0.0203 < high < 0.0254


def test_wide_clips_cost_no_more_than_their_range() -> None:
    capacity = settle(10.0, 1e-6)
    bit = BarkerBit(2.0, 100)
    assert price(bit, capacity)[0] <= bit.log_odds_range * (1 + 1e-9)


def test_what_cannot_be_priced_is_refused_with_advice() -> None:
    capacity = settle(0.05, 1e-6)._replace(order=2**15)
    with pytest.raises(LedgerError, match=r"of order 32768, .* \(only=True\)"):
        price(MinibatchBit(2, 10, clip=1.4), capacity)


def test_a_gaussian_release_costs_its_closed_form() -> None:
    capacity = settle(1.0, 1e-6)
    divergence, slack = price(GaussianRelease(0.04), capacity)
    assert divergence == pytest.approx(capacity.order * 0.04**2 / 2, rel=1e-14)
    assert slack == 0


def test_an_event_that_is_too_cheap_for_a_float_costs_something() -> None:
    """So that a run that was charged anything is never taken for one that was not."""
    capacity = settle(1.0, 1e-6)
    assert price(BarkerBit(1e-200, 10), capacity)[0] > 0
