# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Normal noise adds up by squares, all else by count, without rounding."""

from fractions import Fraction

import attrs
import pytest
from dp_accounting.dp_event import (
    ComposedDpEvent,
    DpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    NoOpDpEvent,
)
from hypothesis import given
from hypothesis import strategies as st
from ledger_cases import BIT, COUNTED, SUM, bits

from dpmcmc import InputError
from dpmcmc.accounting import certify_epsilon
from dpmcmc.ledger import LedgerError, Tally, codec, tally_of

multipliers = st.floats(0.1, 1e6)


@attrs.frozen
class Noise(DpEvent):  # type: ignore[misc]
    """A release with normal noise that states its μ."""

    mu: float


@pytest.fixture
def with_mu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the ledger know the event above, as if accounting had it."""
    monkeypatch.setitem(codec._KINDS, "Noise", Noise)


def test_noise_by_squares_and_the_rest_by_count() -> None:
    noise = [GaussianDpEvent(4.0), bits(3, GaussianDpEvent(8.0))]
    found = tally_of(ComposedDpEvent([*noise, bits(7), BIT, NoOpDpEvent()]))
    assert found.square == Fraction(1, 4) + 3 * Fraction(1, 16)
    assert found.counts == {BIT: 8}
    assert not tally_of(NoOpDpEvent())


def test_a_field_mu_is_normal_noise(with_mu: None) -> None:
    assert tally_of(bits(4, Noise(0.5))) == Tally(square=Fraction(1))
    assert tally_of(Noise(0.5)).within(tally_of(GaussianDpEvent(4.0)))
    assert not tally_of(Noise(0.5 + 2.0**-53)).within(tally_of(GaussianDpEvent(4.0)))


@pytest.mark.parametrize("event", COUNTED, ids=lambda e: str(e)[:30])
def test_other_events_are_counted(event: DpEvent) -> None:
    total = tally_of(bits(3, event))
    assert total == Tally(counts={event: 3})
    assert tally_of(bits(3, event)).within(total)
    assert not tally_of(bits(4, event)).within(total)
    assert not tally_of(bits(1, event)).within(tally_of(GaussianDpEvent(0.01)))


@given(st.lists(multipliers, min_size=1, max_size=20), st.data())
def test_a_total_admits_its_parts_in_any_order_and_no_more(
    noises: list[float], data: st.DataObject
) -> None:
    parts = [*map(GaussianDpEvent, noises), bits(5), SUM]
    total = tally_of(ComposedDpEvent(parts))
    charged = Tally()
    for part in data.draw(st.permutations(parts)):
        charged = charged.plus(tally_of(part))
        assert charged.within(total)
    assert charged == total
    for more in (BIT, SUM, GaussianDpEvent(1e9)):
        assert not charged.plus(tally_of(more)).within(total)


@given(st.lists(multipliers, min_size=1, max_size=20))
def test_one_event_covers_a_tally(noises: list[float]) -> None:
    total = tally_of(ComposedDpEvent([*map(GaussianDpEvent, noises), bits(5)]))
    covering = tally_of(total.event())
    assert total.within(covering)
    assert covering.square <= total.square * Fraction(1 + 1e-14)
    assert covering.counts == total.counts


def test_noise_chosen_along_the_way_costs_what_the_total_costs() -> None:
    """Releases of all sizes within one square are certified no higher than it."""
    total = GaussianDpEvent(4.0)
    parts = ComposedDpEvent([GaussianDpEvent(8.0), bits(192, GaussianDpEvent(64.0))])
    assert tally_of(parts) == tally_of(total)
    whole, split = (certify_epsilon(e, 1e-6).epsilon for e in (total, parts))
    assert split == pytest.approx(whole, rel=1e-9)


def test_a_part_of_a_tally() -> None:
    total = tally_of(ComposedDpEvent([GaussianDpEvent(2.0), bits(10), SUM]))
    half = total.scaled(Fraction(1, 2))
    assert half == Tally(Fraction(1, 2), {BIT: 5})
    assert not total.scaled(Fraction(0))


@pytest.mark.parametrize("noise", [0.0, -1.0, float("nan"), float("inf")])
def test_noise_that_is_no_noise_is_refused(noise: float) -> None:
    with pytest.raises(InputError, match="noise_multiplier is"):
        tally_of(GaussianDpEvent(noise))


def test_what_a_ledger_cannot_hold_has_no_tally() -> None:
    with pytest.raises(LedgerError, match="a ledger holds only"):
        tally_of(LaplaceDpEvent(1.0))
