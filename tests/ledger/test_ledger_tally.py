# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Normal noise adds up by squares, all else by count, without rounding."""

import math
from fractions import Fraction

import pytest
from dp_accounting.dp_event import LaplaceDpEvent
from hypothesis import given
from hypothesis import strategies as st
from ledger_cases import BIT, COUNTED, SUM, bits, noise

from dpmcmc.accounting import Event, GaussianRelease, certify_epsilon
from dpmcmc.ledger import LedgerError, Tally, tally_of

sizes = st.floats(1e-6, 10.0)


def test_noise_by_squares_and_the_rest_by_count() -> None:
    found = tally_of({GaussianRelease(0.5): 1, GaussianRelease(0.25): 3, BIT: 8})
    assert found.square == Fraction(1, 4) + 3 * Fraction(1, 16)
    assert found.counts == {BIT: 8}
    assert not tally_of({})
    assert not tally_of({BIT: 0})


def test_squares_are_compared_exactly() -> None:
    assert tally_of({GaussianRelease(0.5): 4}) == Tally(square=Fraction(1))
    assert tally_of(noise(0.5)).within(tally_of(noise(0.5)))
    assert not tally_of(noise(0.5 + 2.0**-53)).within(tally_of(noise(0.5)))


@pytest.mark.parametrize("event", COUNTED, ids=lambda e: str(e)[:30])
def test_other_events_are_counted(event: Event) -> None:
    total = tally_of({event: 3})
    assert total == Tally(counts={event: 3})
    assert tally_of({event: 3}).within(total)
    assert not tally_of({event: 4}).within(total)
    assert not tally_of({event: 1}).within(tally_of(noise(100.0)))


@given(st.lists(sizes, min_size=1, max_size=20), st.data())
def test_a_total_admits_its_parts_in_any_order_and_no_more(
    noises: list[float], data: st.DataObject
) -> None:
    parts = [*map(noise, noises), bits(5), {SUM: 1}]
    total = Tally()
    for part in parts:
        total = total.plus(tally_of(part))
    charged = Tally()
    for part in data.draw(st.permutations(parts)):
        charged = charged.plus(tally_of(part))
        assert charged.within(total)
    assert charged == total
    for more in (bits(1), {SUM: 1}, noise(1e-9)):
        assert not charged.plus(tally_of(more)).within(total)


@given(st.lists(sizes, min_size=1, max_size=20))
def test_events_that_come_to_a_tally(noises: list[float]) -> None:
    total = tally_of(bits(5))
    for mu in noises:
        total = total.plus(tally_of(noise(mu)))
    again = tally_of(total.events)
    assert again.counts == total.counts
    assert math.isclose(again.square, total.square, rel_tol=1e-14)
    assert tally_of(bits(5)).events == bits(5)


def test_noise_chosen_along_the_way_costs_what_the_total_costs() -> None:
    """Releases of all sizes within one square are certified no higher than it."""
    total = noise(0.5)
    parts = {GaussianRelease(0.25): 1, GaussianRelease(2.0**-5): 192}
    assert tally_of(parts) == tally_of(total)
    whole, split = (certify_epsilon(each, 1e-6).epsilon for each in (total, parts))
    assert split == pytest.approx(whole, rel=1e-9)


def test_a_part_of_a_tally() -> None:
    total = tally_of({GaussianRelease(1.0): 1, BIT: 10, SUM: 1})
    half = total.scaled(Fraction(1, 2))
    assert half == Tally(Fraction(1, 2), {BIT: 5})
    assert not total.scaled(Fraction(0))


def test_what_a_ledger_cannot_hold_has_no_tally() -> None:
    with pytest.raises(LedgerError):
        tally_of({LaplaceDpEvent(1.0): 1})
