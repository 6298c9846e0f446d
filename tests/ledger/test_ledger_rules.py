# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever people do in whatever order, a budget is never passed."""

import dataclasses
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_cases import BIT, RECORDS, SUM, bits

from dpmcmc.accounting import Event, GaussianRelease
from dpmcmc.ledger import LedgerError, Tally, tally_of
from dpmcmc.ledger.accounts import Books
from dpmcmc.ledger.capacity import NOTHING, settle
from dpmcmc.ledger.codec import Events, encode
from dpmcmc.ledger.entries import FIRST, Entry, Head, sealed
from dpmcmc.ledger.prices import cost_of, prices_for
from dpmcmc.ledger.rules import apply, prices_text
from dpmcmc.ledger.texts import percent, rounded

CAPACITY = settle(1.0, 1e-6)
EVENTS: tuple[Event, ...] = (BIT, SUM, GaussianRelease(0.01))
PRICES = prices_for(tally_of(dict.fromkeys(EVENTS, 1)), CAPACITY)


class Desk:
    """Entries applied one by one, without a database; refused ones leave no trace."""

    def __init__(self) -> None:
        self.books, self.head, self.holdings = Books(), Head(0, FIRST), {}
        values = {
            "records": RECORDS,
            "delta": 1e-6,
            **CAPACITY._asdict(),
            "note": "",
        }
        self.write("register", "", values)

    def write(self, kind: str, run: str, values: dict[str, Any]) -> bool:
        entry = sealed(self.head, "2026", kind, "people", run, "ana", values)
        try:
            self.books = apply(self.books, entry)
        except LedgerError:
            return False
        self.head = entry.head
        if kind in ("reserve", "resume"):
            self.holdings[run] = entry.number
        return True

    def reserve(self, run: str, total: Events, only: bool) -> bool:
        values = {
            "total": encode(total),
            "prices": [] if only else prices_text(PRICES),
            "purpose": "",
            "only": only,
            "claims": [0.5, 1e-6] if only else None,
        }
        return self.write("reserve", run, values)

    def charge(self, run: str, events: Events) -> bool:
        values = {"events": encode(events), "part": "", "opened_by": self.held(run)}
        return self.write("charge", run, values)

    def held(self, run: str) -> int:
        return self.holdings.get(run, 0)


runs = st.sampled_from(["a", "b", "c", "d"])
some = st.builds(bits, st.integers(1, 300), st.sampled_from(EVENTS))
whole = st.dictionaries(st.sampled_from(EVENTS), st.integers(1, 300), min_size=1)
deeds = st.one_of(
    st.tuples(st.just("reserve"), runs, whole),
    st.tuples(st.just("only"), runs, whole),
    st.tuples(st.just("charge"), runs, some),
    st.tuples(st.just("charge"), runs, some),
    st.tuples(st.just("close"), runs, st.none()),
    st.tuples(st.just("release"), runs, st.none()),
    st.tuples(st.just("resume"), runs, st.none()),
)


@settings(max_examples=200)
@given(st.lists(deeds, max_size=30))
def test_no_order_of_deeds_passes_the_capacity(deeds: list) -> None:
    desk = Desk()
    charged: dict[str, Tally] = {}
    open_runs: set[str] = set()
    readers: list[str] = []
    for deed, run, what in deeds:
        before = desk.books
        if deed in ("reserve", "only"):
            done = desk.reserve(run, what, deed == "only")
        elif deed == "charge":
            done = desk.charge(run, what)
        else:
            done = desk.write(deed, run, {"opened_by": desk.held(run)})
        if not done:
            assert desk.books is before
            continue
        if deed in ("reserve", "only", "resume"):
            open_runs.add(run)
        elif deed == "charge":
            assert run in open_runs, "charged without a reservation"
            charged[run] = charged.get(run, Tally()).plus(tally_of(what))
            readers.append(run)
        else:
            open_runs.discard(run)
        # What was charged, counted here and not by the ledger, fits the capacity;
        # unless one only run was charged, and then no other.
        account = desk.books.accounts["people"]
        alone = {r for r in charged if account.runs[r].only}
        total = NOTHING
        for name in charged.keys() - alone:
            cost = cost_of(charged[name], PRICES, CAPACITY.order)
            total = total.plus(cost)
        assert total.fits(CAPACITY.cost)
        assert not alone or set(readers) == alone
        assert len(alone) < 2
        for name, tally in charged.items():
            assert account.runs[name].charged == tally


def test_a_part_of_a_run_is_charged_once() -> None:
    desk = Desk()
    desk.reserve("a", bits(10), only=False)
    values = {"events": encode(bits(1)), "opened_by": 2}
    assert desk.write("charge", "a", {**values, "part": "start"})
    assert desk.write("charge", "a", {**values, "part": ""})
    assert desk.write("charge", "a", {**values, "part": ""})
    assert not desk.write("charge", "a", {**values, "part": "start"})
    assert desk.books.run("a").parts == ("start",)


def test_a_charge_before_any_reservation_fails() -> None:
    desk = Desk()
    assert not desk.charge("a", bits(1))
    assert desk.reserve("a", bits(1), only=False)
    assert desk.charge("a", bits(1))
    assert not desk.charge("a", bits(1))


@given(st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_what_was_reserved_always_fits_in_any_chunks(chunks: list) -> None:
    desk = Desk()
    total = min(sum(chunks), 400)
    assert desk.reserve("a", bits(total), only=False)
    left = total
    for chunk in chunks:
        assert desk.charge("a", bits(min(chunk, left)))
        left = max(0, left - chunk)
    assert not desk.charge("a", bits(1))


def test_entries_that_make_no_sense_are_refused_in_words() -> None:
    desk = Desk()
    desk.reserve("a", bits(1), only=False)
    good = sealed(desk.head, "2026", "charge", "people", "a", "ana", {"opened_by": 2})
    for changes in (
        {"kind": "forget"},
        {"payload": "{"},
        {"payload": "[]"},
        {"payload": '{"opened_by":2}'},
        {"payload": '{"opened_by":2,"events":3,"part":""}'},
        {"payload": '{"opened_by":2,"events":[]}'},
        {"dataset": "beasts"},
        {"run": "z"},
    ):
        entry: Entry = dataclasses.replace(good, **changes)
        with pytest.raises(LedgerError, match=r"\.$"):
            apply(desk.books, entry)


def test_a_budget_that_was_edited_upwards_is_refused() -> None:
    values = {
        "records": RECORDS,
        "epsilon": 1.0,
        "delta": 1e-6,
        "order": CAPACITY.order,
        "divergence": CAPACITY.divergence * 1.001,
        "slack": CAPACITY.slack,
        "note": "",
    }
    entry = sealed(Head(0, FIRST), "2026", "register", "people", "", "ana", values)
    with pytest.raises(LedgerError, match="more than its ε and δ hold"):
        apply(Books(), entry)


@pytest.mark.parametrize("price", [-1.0, 0.0])
def test_what_costs_nothing_is_refused(price: float) -> None:
    desk = Desk()
    values = {
        "total": encode(bits(1)),
        "prices": [[encode(bits(1)), price, 0.0]],
        "purpose": "",
        "only": False,
        "claims": None,
    }
    assert not desk.write("reserve", "a", values)


@given(st.fractions(0, 2))
def test_fractions_are_shown_on_the_safe_side(part: Fraction) -> None:
    up, down = (percent(rounded(part, up=side)) for side in (True, False))
    assert Fraction(down[:-1]) <= part * 100 <= Fraction(up[:-1])
    assert Fraction(up[:-1]) - Fraction(down[:-1]) <= Fraction(1, 100)
