# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a ledger does, the same in SQLite and in PostgreSQL."""

import getpass
import json

import pytest
from ledger_cases import (
    BIT,
    SINGLES,
    SUM,
    bits,
    most_steps,
    noise,
    opened,
    register,
    reserve,
    whole_run,
)

from dpmcmc.accounting import BarkerBit, Event, certify_epsilon
from dpmcmc.ledger import Ledger, LedgerError, OverBudgetError


def test_a_run_from_registration_to_its_end(place: str) -> None:
    with opened(place, note="board decision 12/2026") as ledger:
        run = reserve(ledger, total=whole_run(400), purpose="income")
        run.charge(bits(100, SUM))
        for _ in range(4):
            run.charge(bits(100))
        before = ledger.overview("people")
        run.close()
        after = ledger.overview("people")
        assert ledger.verify().problems == ()
    assert before.reserved == 0
    assert before.spent == after.spent > 0
    assert [view.state for view in (*before.runs, *after.runs)] == ["open", "closed"]
    with Ledger.open(place, create=False) as again:
        assert again.datasets() == ("people",)
        assert again.overview("people") == after
        kinds = [entry.kind for entry in again.entries("people")]
    assert kinds == ["register", "reserve", *["charge"] * 5, "close"]


@pytest.mark.parametrize("event", SINGLES, ids=lambda e: str(e)[:30])
def test_every_kind_of_event_can_be_reserved_and_charged(
    event: Event, sqlite: str
) -> None:
    with opened(sqlite, epsilon=5.0) as ledger:
        run = ledger.reserve("people", bits(3, event), analyst="bo")
        run.charge({event: 1})
        run.charge({event: 2})
        with pytest.raises(LedgerError, match="reserved less than this charge"):
            run.charge({event: 1})
        assert 0 < ledger.overview("people").spent < 1
        assert ledger.verify().ok


def test_exactly_what_was_reserved_can_be_charged_in_any_parts(place: str) -> None:
    with opened(place) as ledger:
        run = reserve(ledger, total=whole_run(97))
        for count in (1, 3, 50, 40, 3):
            run.charge(bits(count))
        run.charge(bits(100, SUM))
        with pytest.raises(LedgerError, match="reserved less than this charge"):
            run.charge(bits(1))


def test_normal_noise_is_charged_by_the_sum_of_its_squares(place: str) -> None:
    with opened(place) as ledger:
        run = reserve(ledger, total={**noise(0.125), **bits(10)})
        run.charge(noise(0.1))  # of 0.015625, 0.01
        run.charge(bits(10))
        with pytest.raises(LedgerError, match="reserved less than this charge"):
            run.charge(noise(0.0751))
        run.charge(noise(0.06), "round 2")
        run.charge(noise(0.04))
        charges = ledger.charges(run.run)
        assert [part for part, _ in charges] == ["", "", "round 2", ""]
        assert [events for _, events in charges][1:3] == [bits(10), noise(0.06)]
        spent = ledger.overview("people").spent
        run.close()
        after = ledger.overview("people")
        # What is left of the squares, 0.000425, is given back.
        assert after.reserved == 0
        assert after.spent == after.runs[0].held == spent
        assert ledger.verify().ok


def test_the_whole_budget_and_no_bit_more(place: str) -> None:
    with opened(place) as ledger:
        most = most_steps(ledger)
        assert most > 400
        with pytest.raises(OverBudgetError) as caught:
            reserve(ledger, most + 1)
        assert 1 < caught.value.asked < 1.01
        assert caught.value.left == 1
        run = reserve(ledger, most)
        run.charge(bits(most))
        run.close()
        with pytest.raises(OverBudgetError) as caught:
            reserve(ledger, 1)
        assert 0 <= caught.value.left < caught.value.asked < 0.01
        overview = ledger.overview("people")
    assert 0 <= overview.left < 1 / most
    assert 1 - 1 / most < overview.spent <= 1
    # The filter is valid for any choices, so a run fixed beforehand costs less.
    certified = certify_epsilon(bits(most), 1e-6).epsilon
    assert 0.9 < certified < 1


def test_reservations_of_open_runs_are_not_left_for_others(place: str) -> None:
    with opened(place) as ledger:
        most = most_steps(ledger)
        first = reserve(ledger, most * 2 // 3)
        with pytest.raises(OverBudgetError, match="release runs"):
            reserve(ledger, most // 2, analyst="bo")
        first.charge(bits(most // 3))
        first.close()
        reserve(ledger, most // 2, analyst="bo").charge(bits(most // 2))
        assert ledger.overview("people").spent > 0.8


def test_a_resumed_run_goes_on_and_its_old_process_does_not(place: str) -> None:
    with opened(place) as ledger, Ledger.open(place) as other:
        old = reserve(ledger, 100)
        old.charge(bits(60))
        new = other.resume(old.run, "bo")
        with pytest.raises(LedgerError, match="was resumed by another process"):
            old.charge(bits(1))
        with pytest.raises(LedgerError, match="was resumed by another process"):
            old.close()
        new.charge(bits(40))
        with pytest.raises(LedgerError, match="reserved less than this charge"):
            new.charge(bits(1))


def test_a_closed_run_is_reserved_anew_when_resumed(place: str) -> None:
    with opened(place) as ledger:
        most = most_steps(ledger)
        run = reserve(ledger, most)
        run.charge(bits(most // 2))
        run.close()
        with pytest.raises(LedgerError, match="is closed: it holds no budget"):
            run.charge(bits(1))
        again = ledger.resume(run.run)
        again.charge(bits(most // 2))
        again.close()
        with pytest.raises(OverBudgetError):
            reserve(ledger, 2)


def test_a_closed_run_cannot_take_back_what_others_hold(place: str) -> None:
    with opened(place) as ledger:
        most = most_steps(ledger)
        run = reserve(ledger, most)
        run.close()
        reserve(ledger, most // 2)
        with pytest.raises(OverBudgetError) as caught:
            ledger.resume(run.run)
        assert caught.value.asked > 0.99
        assert 0.49 < caught.value.left < 0.51


def test_a_released_run_charges_no_more(place: str) -> None:
    with opened(place) as ledger:
        most = most_steps(ledger)
        dead = reserve(ledger, most)
        dead.charge(bits(10))
        ledger.release(dead.run, "bo")
        with pytest.raises(LedgerError, match="is released: it holds no budget"):
            dead.charge(bits(1))
        with pytest.raises(LedgerError, match="is released already"):
            ledger.release(dead.run)
        reserve(ledger, most - 10)
        assert ledger.verify().ok


def test_who_asked_is_a_note(place: str) -> None:
    """Anybody who can write may ask; the ledger keeps the name that was given."""
    with opened(place) as ledger:
        run = reserve(ledger, analyst="eve")
        run.close()
        ledger.resume(run.run)
        ledger.release(run.run, "Ana Ösp, 3rd floor")
        names = [entry.analyst for entry in ledger.entries()]
        assert ledger.overview("people").registrar == "steward"
    assert names == ["steward", "eve", "eve", getpass.getuser(), "Ana Ösp, 3rd floor"]


def test_a_user_without_a_name(sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 1234")

    monkeypatch.setattr(getpass, "getuser", nobody)
    with opened(sqlite, analyst=None) as ledger:
        assert ledger.overview("people").registrar == "unknown"


def test_what_is_not_there_is_refused(place: str) -> None:
    with opened(place) as ledger:
        with pytest.raises(LedgerError, match=r"reads 500 records; .* with 10,000"):
            reserve(ledger, total={BarkerBit(0.1, 500): 1})
        with pytest.raises(LedgerError, match=r"no such name \(it has 'people'\)"):
            ledger.reserve("persons", bits(1))
        with pytest.raises(LedgerError, match="is registered already"):
            register(ledger, epsilon=100.0)
        with pytest.raises(LedgerError, match="no run of that id"):
            ledger.resume("12345678")
        with pytest.raises(LedgerError, match="no run of that id"):
            ledger.release("12345678")
        with pytest.raises(LedgerError, match="claims is"):
            reserve(ledger, claims=(float("nan"), 1e-6))
        run = reserve(ledger)
        with pytest.raises(LedgerError, match="reserved less than this charge"):
            run.charge({BarkerBit(1e-9, 500): 1})
        assert len(ledger.entries()) == 2


def test_data_sets_do_not_share_budgets(place: str) -> None:
    with opened(place) as ledger:
        register(ledger, "beasts", analyst=None)
        most = most_steps(ledger)
        reserve(ledger, most)
        ledger.reserve("beasts", bits(most))
        assert ledger.datasets() == ("people", "beasts")
        assert ledger.overview("beasts").registrar == getpass.getuser()
        assert len(ledger.entries("beasts")) == 2


def test_nothing_released_needs_no_charge(sqlite: str) -> None:
    with opened(sqlite) as ledger:
        run = reserve(ledger, total={BIT: 1, SUM: 0})
        run.charge({})
        run.charge({SUM: 0})
        assert len(ledger.entries()) == 2


def test_an_overview_is_for_people_and_for_machines(sqlite: str) -> None:
    with opened(sqlite, note="board decision 12/2026") as ledger:
        assert "No run yet." in str(ledger.overview("people"))
        run = reserve(ledger, 200, purpose="income")
        run.charge(bits(100))
        overview = ledger.overview("people")
    text = str(overview)
    assert "people: 10,000 records, ε = 1, δ = 1e-06" in text
    assert "board decision 12/2026" in text
    assert "all together stays (ε = 1, δ = 1e-06)-private." in text
    columns = {line.index("ana") for line in text.splitlines() if run.run in line}
    header = next(line for line in text.splitlines() if line.startswith("run"))
    assert columns == {header.index("analyst")}
    values = json.loads(json.dumps(overview.to_dict()))
    assert values["runs"][0]["run"] == run.run
    assert values["spent"] + values["reserved"] + values["left"] == pytest.approx(
        1, abs=2e-4
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": 0.0}, "epsilon is 0.0"),
        ({"epsilon": 1000.0}, "a budget above 100"),
        ({"epsilon": 1e-6}, "no release at all fits"),
        ({"delta": 1.0}, "delta is 1.0"),
        ({"records": 0}, "records is 0"),
        ({"analyst": ""}, "analyst is ''; it must be text"),
        ({"analyst": "two\nlines"}, "must be one line"),
        ({"note": "two\nlines"}, "must be one line"),
        ({"dataset": " "}, "dataset is ' '"),
        ({"analyst": 3}, "analyst is 3"),
    ],
)
def test_what_cannot_be_registered(sqlite: str, changes: dict, words: str) -> None:
    from dpmcmc import InputError

    with Ledger.open(sqlite) as ledger:
        with pytest.raises(InputError, match=words):
            register(ledger, **changes)
        assert ledger.entries() == ()


def test_a_role_that_may_only_add(postgres: str, server: str) -> None:
    """The grants that the page on the ledger names are enough, and no more."""
    import psycopg

    with opened(postgres), psycopg.connect(postgres, autocommit=True) as connection:
        schema = connection.execute("SELECT current_schema()").fetchone()[0]
        role = f"role_{schema}"
        for statement in (
            f"CREATE ROLE {role} LOGIN",
            f"GRANT USAGE ON SCHEMA {schema} TO {role}",
            f"GRANT SELECT, INSERT ON dpmcmc_entries TO {role}",
            f"GRANT SELECT, UPDATE ON dpmcmc_head TO {role}",
        ):
            connection.execute(statement)
    as_role = postgres.replace("//postgres:", f"//{role}:")
    with Ledger.open(as_role) as ledger:
        reserve(ledger).charge(bits(1))
        assert ledger.verify().ok
    with psycopg.connect(as_role) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("UPDATE dpmcmc_entries SET analyst = 'eve'")
        connection.rollback()
