# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A row that was changed is found, on both stores."""

import dataclasses
import json
from collections.abc import Callable

import pytest
import sqlalchemy as sql
from ledger_cases import COUNTED, bits, opened, reserve

from dpmcmc.accounting import Event
from dpmcmc.ledger import Ledger, LedgerError
from dpmcmc.ledger.codec import encode
from dpmcmc.ledger.entries import Entry, sealed
from dpmcmc.ledger.prices import offers
from dpmcmc.ledger.store import _ENTRIES, _HEAD, _resolved


def tamper(place: str, *statements: object) -> None:
    """Change the database behind the ledger's back."""
    engine = sql.create_engine(_resolved(place)[0], poolclass=sql.pool.NullPool)
    with engine.begin() as connection:
        for statement in statements:
            if isinstance(statement, str):
                connection.exec_driver_sql(statement)
            else:
                connection.execute(statement)


@pytest.fixture
def written(place: str) -> str:
    """A ledger with seven entries: one run that is closed, and one that is open."""
    with opened(place) as ledger:
        run = reserve(ledger, 30)
        run.charge(bits(10))
        run.charge(bits(20))
        run.close()
        reserve(ledger, 5).charge(bits(5))
        assert len(ledger.entries()) == 7
    return place


def entries(place: str) -> tuple[Entry, ...]:
    with Ledger.open(place, create=False) as ledger:
        return ledger.entries()


def problems(place: str, head: str | None = None) -> tuple[str, ...]:
    with Ledger.open(place, create=False) as ledger:
        return ledger.verify(head).problems


def assert_no_write(place: str) -> None:
    """A ledger that was tampered with takes no entry, and says which it is."""
    with Ledger.open(place, create=False) as ledger:
        with pytest.raises(LedgerError, match=r"[Vv]erify") as caught:
            reserve(ledger, 1)
        assert ledger.place in str(caught.value)


SWAP = (
    "UPDATE dpmcmc_entries SET number = 100 WHERE number = 3",
    "UPDATE dpmcmc_entries SET number = 3 WHERE number = 4",
    "UPDATE dpmcmc_entries SET number = 4 WHERE number = 100",
)
INSERT = (
    "INSERT INTO dpmcmc_entries SELECT 8, time, kind, dataset, run, analyst, payload, "
    "previous, hash FROM dpmcmc_entries WHERE number = 3"
)


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (
            ("UPDATE dpmcmc_entries SET analyst = 'eve' WHERE number = 2",),
            "Entry 2 was edited",
        ),
        (
            ("UPDATE dpmcmc_entries SET time = '2020' WHERE number = 4",),
            "Entry 4 was edited",
        ),
        (
            (
                "UPDATE dpmcmc_entries SET payload = "
                "replace(payload, '\"count\":20', '\"count\":2') WHERE number = 4",
            ),
            "Entry 4 was edited",
        ),
        (
            ("UPDATE dpmcmc_entries SET hash = 'x' WHERE number = 7",),
            "Entry 7 was edited",
        ),
        (
            ("DELETE FROM dpmcmc_entries WHERE number = 4",),
            "Entry 5 follows entry 3",
        ),
        (
            ("DELETE FROM dpmcmc_entries WHERE number = 1",),
            "Entry 2 follows entry 0",
        ),
        (
            ("DELETE FROM dpmcmc_entries WHERE number = 7",),
            "The head says 7 entries",
        ),
        (("DELETE FROM dpmcmc_entries",), "The head says 7 entries"),
        ((INSERT,), "Entry 8 does not follow"),
        (SWAP, "Entry 3 was edited"),
        (("UPDATE dpmcmc_head SET count = 6",), "The head says 6 entries"),
        (("UPDATE dpmcmc_head SET hash = 'x'",), "The head says 7 entries ending in x"),
    ],
)
def test_a_changed_row_is_found(
    written: str, statements: tuple[str, ...], words: str
) -> None:
    assert problems(written) == ()
    tamper(written, *statements)
    assert any(words in problem for problem in problems(written))
    assert_no_write(written)


def test_a_head_that_is_gone_is_found(written: str) -> None:
    tamper(written, "DELETE FROM dpmcmc_head")
    with pytest.raises(LedgerError, match="has lost the row that says where it ends"):
        Ledger.open(written)


def rewrite(place: str, change: Callable[[list[Entry]], list[Entry]]) -> None:
    """Rewrite all entries with hashes that fit, and the head too."""
    found = change(list(entries(place)))
    tamper(place, _ENTRIES.delete())
    last = None
    for number, entry in enumerate(found, 1):
        before = "0" * 64 if last is None else last.hash
        last = dataclasses.replace(entry, number=number, previous=before)
        last = dataclasses.replace(last, hash=last.digest())
        tamper(place, _ENTRIES.insert().values(dataclasses.asdict(last)))
    assert last is not None
    tamper(place, _HEAD.update().values(count=last.number, hash=last.hash))


def test_a_ledger_written_anew_is_found_by_a_head_kept_before(written: str) -> None:
    with Ledger.open(written) as ledger:
        kept = ledger.verify().head
    rewrite(written, lambda found: found[:5])
    assert problems(written) == (), "hashes alone cannot find this"
    (problem,) = problems(written, kept)
    assert problem.startswith("The expected head")


def test_a_kept_head_stays_good_as_the_ledger_grows(written: str) -> None:
    with Ledger.open(written) as ledger:
        kept = ledger.verify().head
        reserve(ledger, 1)
        assert ledger.verify(kept).ok
        assert ledger.verify(kept).head != kept
        assert not ledger.verify("0" * 63 + "1").ok


def test_prices_and_budgets_are_computed_again(written: str) -> None:
    def cheaper(found: list[Entry]) -> list[Entry]:
        values = found[1].values
        values["prices"][0][1] /= 2
        return [found[0], with_values(found[1], values), *found[2:]]

    rewrite(written, cheaper)
    (problem,) = problems(written)
    assert "Entry 2 prices BarkerBit" in problem

    def richer(found: list[Entry]) -> list[Entry]:
        values = found[0].values
        values["divergence"] *= 2
        return [with_values(found[0], values), *found[1:]]

    rewrite(written, richer)
    assert "more than its ε and δ hold" in problems(written)[0]


def test_a_price_is_a_valid_offer_in_both_numbers(written: str) -> None:
    """A fraction that is moved from divergence to slack is no price."""

    def moved(found: list[Entry]) -> list[Entry]:
        capacity, values = found[0].values, found[1].values
        ((_, divergence, _),) = values["prices"]
        slack = divergence / capacity["divergence"] * capacity["slack"]
        values["prices"][0][1:] = [1e-30, 1.001 * slack]
        return [found[0], with_values(found[1], values), *found[2:]]

    rewrite(written, moved)
    assert "Entry 2 prices BarkerBit" in problems(written)[0]


@pytest.mark.parametrize("event", COUNTED, ids=lambda e: str(e)[:30])
def test_every_offer_passes_and_nothing_below_it(event: Event, sqlite: str) -> None:
    with opened(sqlite, epsilon=5.0) as ledger:
        ledger.reserve("people", {event: 1})
        capacity = ledger._account("people").capacity
    for divergence, slack in offers(event, capacity):
        for parts, good in (
            ((1.0, 1.0), True),
            ((0.99, 0.99), False),
            ((1e-9, 1.0), False),
        ):
            priced = [float(divergence) * parts[0], float(slack) * parts[1]]

            def change(found: list[Entry], priced: list[float] = priced) -> list[Entry]:
                values = found[1].values
                values["prices"][0][1:] = priced
                return [found[0], with_values(found[1], values)]

            rewrite(sqlite, change)
            others = (
                other
                for other in offers(event, capacity)
                if other[0] <= priced[0] and other[1] <= priced[1]
            )
            assert (problems(sqlite) == ()) == (good or any(others))


def test_the_certificate_of_an_only_run_is_checked_again(sqlite: str) -> None:
    with opened(sqlite) as ledger:
        reserve(ledger, 10, only=True, claims=(0.5, 1e-6))
    assert problems(sqlite) == ()

    def changed(found: list[Entry]) -> list[Entry]:
        values = {**found[1].values, "total": encode(bits(10**6))}
        return [found[0], with_values(found[1], values)]

    rewrite(sqlite, changed)
    (problem,) = problems(sqlite)
    assert problem.startswith("Entry 2 breaks a rule")


@pytest.mark.parametrize("claims", [[0.5], ["a", "b"], 3])
def test_claims_that_are_no_two_numbers_are_found(sqlite: str, claims: object) -> None:
    with opened(sqlite) as ledger:
        reserve(ledger, 10)

    def changed(found: list[Entry]) -> list[Entry]:
        values = {**found[1].values, "claims": claims}
        return [found[0], with_values(found[1], values)]

    rewrite(sqlite, changed)
    assert problems(sqlite)[0].startswith("Entry 2 breaks a rule")


def test_rules_are_applied_again(written: str) -> None:
    def overspent(found: list[Entry]) -> list[Entry]:
        values = found[3].values
        values["events"][0]["count"] = 21
        return [*found[:3], with_values(found[3], values), *found[4:]]

    rewrite(written, overspent)
    assert "Entry 4 breaks a rule" in problems(written)[0]
    assert "reserved less than this charge" in problems(written)[0]


def test_a_long_lived_ledger_notices_a_rewritten_end(written: str) -> None:
    with Ledger.open(written) as ledger:
        ledger.overview("people")
        rewrite(written, lambda found: found[:6])
        with pytest.raises(LedgerError, match="does not end where its head says"):
            ledger.overview("people")


def with_values(entry: Entry, values: dict) -> Entry:
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return dataclasses.replace(entry, payload=text)


def test_an_entry_is_sealed_with_all_of_itself(sqlite: str) -> None:
    with opened(sqlite) as ledger:
        (entry,) = ledger.entries()
    for field in dataclasses.fields(Entry):
        if field.name != "hash":
            changed = 5 if field.name == "number" else "other"
            other = dataclasses.replace(entry, **{field.name: changed})
            assert other.digest() != entry.digest()
    again = sealed(entry.head, "t", "charge", "people", "r", "ana", {"a": 0.1})
    assert again.hash == again.digest()
    assert again.number == 2
