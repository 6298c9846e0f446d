# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever people do in whatever order, a budget is never passed."""

import dataclasses
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from dp_accounting.dp_event import DpEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_cases import BIT, RECORDS, SUM, bits

from dpmcmc.ledger import LedgerError
from dpmcmc.ledger.accounts import Books, cost_of, percent
from dpmcmc.ledger.capacity import NOTHING, settle
from dpmcmc.ledger.codec import encode
from dpmcmc.ledger.entries import FIRST, Entry, Head, sealed
from dpmcmc.ledger.rules import apply, prices_text
from dpmcmc.ledger.wanted import prices_at

CAPACITY = settle(1.0, 1e-6)
EVENTS: tuple[DpEvent, ...] = (BIT, SUM)
PRICES = prices_at(CAPACITY, EVENTS)


class Desk:
    """Entries applied one by one, without a database; refused ones leave no trace."""

    def __init__(self) -> None:
        self.books, self.head, self.holdings = Books(), Head(0, FIRST), {}
        values = {
            "records": RECORDS,
            "delta": 1e-6,
            **CAPACITY._asdict(),
            "spenders": ["ana"],
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

    def reserve(self, run: str, totals: list[DpEvent], only: bool) -> bool:
        values = {
            "totals": [encode(total) for total in totals],
            "prices": [] if only else prices_text(PRICES),
            "purpose": "",
            "only": only,
            "claims": [0.5, 1e-6] if only else None,
        }
        return self.write("reserve", run, values)

    def charge(self, run: str, event: DpEvent) -> bool:
        values = {
            "event": encode(event),
            "prices": [],
            "part": "",
            "holding": self.held(run),
        }
        return self.write("charge", run, values)

    def held(self, run: str) -> int:
        return self.holdings.get(run, 0)


runs = st.sampled_from(["a", "b", "c", "d"])
some = st.builds(bits, st.integers(1, 300), st.sampled_from(EVENTS))
deeds = st.one_of(
    st.tuples(st.just("reserve"), runs, st.lists(some, min_size=1, max_size=3)),
    st.tuples(st.just("only"), runs, st.lists(some, min_size=1, max_size=2)),
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
    charged: dict[str, Counter] = {}
    open_runs: set[str] = set()
    readers: list[str] = []
    for deed, run, what in deeds:
        before = desk.books
        if deed in ("reserve", "only"):
            done = desk.reserve(run, what, deed == "only")
        elif deed == "charge":
            done = desk.charge(run, what)
        else:
            done = desk.write(deed, run, {"holding": desk.held(run)})
        if not done:
            assert desk.books is before
            continue
        if deed in ("reserve", "only", "resume"):
            open_runs.add(run)
        elif deed == "charge":
            assert run in open_runs, "charged without a reservation"
            charged.setdefault(run, Counter())[what.event] += what.count
            readers.append(run)
        else:
            open_runs.discard(run)
        # What was charged, counted here and not by the ledger, fits the capacity;
        # unless one only run was charged, and then no other.
        account = desk.books.accounts["people"]
        alone = {r for r in charged if account.runs[r].only}
        total = NOTHING
        for name in charged.keys() - alone:
            total = total.plus(cost_of(charged[name], PRICES))
        assert total.fits(CAPACITY.cost)
        assert not alone or set(readers) == alone
        assert len(alone) < 2
        for name, leaves in charged.items():
            assert account.runs[name].leaves == leaves


def test_a_part_of_a_run_is_charged_once() -> None:
    desk = Desk()
    desk.reserve("a", [bits(10)], only=False)
    values = {"event": encode(BIT), "prices": [], "holding": 2}
    assert desk.write("charge", "a", {**values, "part": "start"})
    assert desk.write("charge", "a", {**values, "part": ""})
    assert desk.write("charge", "a", {**values, "part": ""})
    assert not desk.write("charge", "a", {**values, "part": "start"})
    assert desk.books.run("a").parts == ("start",)


def test_a_charge_before_any_reservation_fails() -> None:
    desk = Desk()
    assert not desk.charge("a", BIT)
    assert desk.reserve("a", [BIT], only=False)
    assert desk.charge("a", BIT)
    assert not desk.charge("a", BIT)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_what_was_reserved_always_fits_in_any_chunks(chunks: list) -> None:
    desk = Desk()
    total = min(sum(chunks), 400)
    assert desk.reserve("a", [bits(total)], only=False)
    left = total
    for chunk in chunks:
        assert desk.charge("a", bits(min(chunk, left)))
        left = max(0, left - chunk)
    assert not desk.charge("a", BIT)


def test_entries_that_make_no_sense_are_refused_in_words() -> None:
    desk = Desk()
    desk.reserve("a", [BIT], only=False)
    good = sealed(desk.head, "2026", "charge", "people", "a", "ana", {"holding": 2})
    for changes in (
        {"kind": "forget"},
        {"payload": "{"},
        {"payload": "[]"},
        {"payload": '{"holding":2}'},
        {"payload": '{"holding":2,"event":3,"part":"","prices":[]}'},
        {"payload": '{"holding":2,"event":{"kind":"nothing"},"prices":[[1,2]]}'},
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
        "spenders": ["ana"],
        "note": "",
    }
    entry = sealed(Head(0, FIRST), "2026", "register", "people", "", "ana", values)
    with pytest.raises(LedgerError, match="more than its ε and δ hold"):
        apply(Books(), entry)


def test_negative_prices_are_refused() -> None:
    desk = Desk()
    values = {
        "totals": [encode(BIT)],
        "prices": [[encode(BIT), -1.0, 0.0]],
        "purpose": "",
        "only": False,
        "claims": None,
    }
    assert not desk.write("reserve", "a", values)


@given(st.fractions(0, 2))
def test_shares_are_shown_on_the_safe_side(share: Fraction) -> None:
    up, down = percent(share, up=True), percent(share, up=False)
    assert Fraction(down[:-1]) <= share * 100 <= Fraction(up[:-1])
    assert Fraction(up[:-1]) - Fraction(down[:-1]) <= Fraction(1, 100)
