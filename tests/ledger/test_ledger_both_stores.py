# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a ledger does, the same in SQLite and in PostgreSQL."""

import getpass
import json

import pytest
from dp_accounting.dp_event import ComposedDpEvent, GaussianDpEvent, NoOpDpEvent
from ledger_cases import (
    BIT,
    RECORDS,
    SINGLES,
    SUM,
    bits,
    most_steps,
    opened,
    register,
    reserve,
    whole_run,
)

from dpmcmc.accounting import BarkerBit, certify_delta, certify_epsilon
from dpmcmc.ledger import Ledger, LedgerError


def test_a_run_from_registration_to_its_end(place: str) -> None:
    with opened(place, note="board decision 12/2026") as ledger:
        run = reserve(ledger, totals=[whole_run(400)], purpose="income")
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
    event: object, sqlite: str
) -> None:
    with opened(sqlite, epsilon=5.0) as ledger:
        run = ledger.reserve("people", [bits(3, event)], spender="bo")
        run.charge(event)
        run.charge(bits(2, event))
        with pytest.raises(LedgerError, match="has used what it reserved"):
            run.charge(event)
        assert 0 < ledger.overview("people").spent < 1
        assert ledger.verify().ok


def test_exactly_what_was_reserved_can_be_charged_in_any_chunks(place: str) -> None:
    with opened(place) as ledger:
        run = reserve(ledger, totals=[whole_run(97)])
        for count in (1, 3, 50, 40, 3):
            run.charge(bits(count))
        run.charge(bits(100, SUM))
        with pytest.raises(LedgerError, match="has used what it reserved"):
            run.charge(BIT)


def test_the_whole_budget_and_no_bit_more(place: str) -> None:
    with opened(place) as ledger:
        most = most_steps(ledger)
        assert most > 400
        with pytest.raises(LedgerError, match=r"needs 100\.\d+% .* at most 100% is"):
            reserve(ledger, most + 1)
        run = reserve(ledger, most)
        run.charge(bits(most))
        run.close()
        with pytest.raises(LedgerError, match=r"at most 0(\.\d+)?% is left"):
            reserve(ledger, 1)
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
        with pytest.raises(LedgerError, match="reserved by open runs"):
            reserve(ledger, most // 2, spender="bo")
        first.charge(bits(most // 3))
        first.close()
        reserve(ledger, most // 2, spender="bo").charge(bits(most // 2))
        assert ledger.overview("people").spent > 0.8


def test_several_ways_hold_the_largest(place: str) -> None:
    with opened(place) as ledger:
        ways = [bits(100), bits(1, SUM), ComposedDpEvent([bits(10), bits(2, SUM)])]
        run = reserve(ledger, totals=ways)
        held = ledger.overview("people").reserved
        one = reserve(ledger, totals=[bits(100)])
        assert ledger.overview("people").reserved <= 2 * held + 1e-4
        one.close()
        # What is charged may be of no one way, as long as it costs no more.
        run.charge(bits(50))
        run.charge(BarkerBit(0.001, RECORDS))
        with pytest.raises(LedgerError, match="has used what it reserved"):
            run.charge(bits(100))


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
        with pytest.raises(LedgerError, match="has used what it reserved"):
            new.charge(bits(1))


def test_a_closed_run_is_reserved_anew_when_resumed(place: str) -> None:
    with opened(place) as ledger:
        most = most_steps(ledger)
        run = reserve(ledger, most)
        run.charge(bits(most // 2))
        run.close()
        with pytest.raises(LedgerError, match="is closed: it holds no budget"):
            run.charge(bits(1))
        again = ledger.resume(run.run, "ana")
        again.charge(bits(most // 2))
        again.close()
        with pytest.raises(LedgerError, match="at most"):
            reserve(ledger, 2)


def test_a_closed_run_cannot_take_back_what_others_hold(place: str) -> None:
    with opened(place) as ledger:
        most = most_steps(ledger)
        run = reserve(ledger, most)
        run.close()
        reserve(ledger, most // 2)
        with pytest.raises(LedgerError, match="of the budget of 'people', and at most"):
            ledger.resume(run.run, "ana")


def test_a_released_run_charges_no_more(place: str) -> None:
    with opened(place) as ledger:
        most = most_steps(ledger)
        dead = reserve(ledger, most)
        dead.charge(bits(10))
        with pytest.raises(LedgerError, match="'eve'; only ana, bo may spend"):
            ledger.release(dead.run, "eve")
        ledger.release(dead.run, "steward")
        with pytest.raises(LedgerError, match="is released: it holds no budget"):
            dead.charge(bits(1))
        with pytest.raises(LedgerError, match="is released already"):
            ledger.release(dead.run, "bo")
        reserve(ledger, most - 10)
        assert ledger.verify().ok


def test_an_only_run_has_the_budget_for_itself(place: str) -> None:
    with opened(place) as ledger:
        most = most_steps(ledger)
        steps = most + most // 20
        claims = (certify_epsilon(bits(steps), 1e-6).epsilon, 1e-6)
        with pytest.raises(LedgerError, match="reserve it with only=True"):
            reserve(ledger, steps, claims=claims)
        run = reserve(ledger, steps, claims=claims, only=True)
        for act in (lambda: reserve(ledger, 1), lambda: reserve(ledger, 1, only=True)):
            with pytest.raises(LedgerError):
                act()
        run.charge(bits(steps - 1))
        run.close()
        with pytest.raises(LedgerError, match="was reserved as the only run ever"):
            reserve(ledger, 1)
        again = ledger.resume(run.run, "bo")
        again.charge(bits(1))
        with pytest.raises(LedgerError, match="has used what it reserved"):
            again.charge(bits(1))
        again.close()
        overview = ledger.overview("people")
        assert (overview.spent, overview.left) == (1, 0)
        assert ledger.verify().ok


def test_an_only_run_must_be_the_first_to_read(place: str) -> None:
    with opened(place) as ledger:
        first = reserve(ledger, 10)
        alone = {"only": True, "claims": (0.5, 1e-6)}
        with pytest.raises(LedgerError, match="has other runs already"):
            reserve(ledger, 20, **alone)
        first.close()  # nothing was charged, so nothing was read
        only = reserve(ledger, 20, **alone)
        with pytest.raises(LedgerError, match="was reserved as the only run ever"):
            ledger.resume(first.run, "ana")
        only.close()
        first = ledger.resume(first.run, "ana")
        first.charge(BIT)
        first.close()
        with pytest.raises(LedgerError, match="has other runs already"):
            ledger.resume(only.run, "ana")


def test_an_only_run_needs_a_statement_within_the_budget(sqlite: str) -> None:
    with opened(sqlite) as ledger:
        with pytest.raises(LedgerError, match="only=True needs claims"):
            reserve(ledger, 10, only=True)
        for claims in ((1.1, 1e-6), (0.5, 1e-5), (float("nan"), 1e-6)):
            with pytest.raises(LedgerError, match="the run's own statement is"):
                reserve(ledger, 10, only=True, claims=claims)
        with pytest.raises(LedgerError, match="is not proven to be within"):
            reserve(ledger, 10**6, only=True, claims=(0.5, 1e-6))
        with pytest.raises(LedgerError, match="the run needs"):
            reserve(ledger, 10**6, claims=(0.5, 1e-6))


def test_the_ways_of_an_only_run_share_its_delta(sqlite: str) -> None:
    """A run that chooses among its ways may fail in each of them."""
    with opened(sqlite) as ledger:
        most = most_steps(ledger)
        low, high = most, 2 * most
        while high - low > 1:
            middle = (low + high) // 2
            fits = certify_delta(bits(middle), 1.0).delta <= 1e-6
            low, high = (middle, high) if fits else (low, middle)
        other = bits(low, BarkerBit(0.01 * (1 - 1e-9), RECORDS))
        assert certify_delta(other, 1.0).delta <= 1e-6
        alone = {"only": True, "claims": (1.0, 1e-6)}
        with pytest.raises(LedgerError, match=r"all ways of the run together are pro"):
            reserve(ledger, totals=[bits(low), other], **alone)
        # What is within another way is no way of its own.
        within = [bits(low), bits(low), bits(3), NoOpDpEvent()]
        for totals in (within, within[::-1], [bits(most // 2), other]):
            reserve(ledger, totals=totals, **alone).close()
        assert ledger.verify().ok


@pytest.mark.parametrize("noise", [1e-300, 1e-200, 1e-150])
def test_hardly_any_noise_is_refused_in_words(sqlite: str, noise: float) -> None:
    event = bits(10**6, GaussianDpEvent(noise))
    with opened(sqlite) as ledger:
        with pytest.raises(
            LedgerError, match=r"no known Rényi|needs more than 100,000%"
        ):
            reserve(ledger, totals=[event])
        with pytest.raises(LedgerError, match="is not proven to be within"):
            reserve(ledger, totals=[event], only=True, claims=(1.0, 1e-6))


def test_who_may_spend_and_on_what(place: str) -> None:
    with opened(place) as ledger:
        with pytest.raises(LedgerError, match="the spender is 'eve'; only ana, bo"):
            reserve(ledger, spender="eve")
        with pytest.raises(LedgerError, match=r"reads 500 records; .* with 10,000"):
            reserve(ledger, totals=[BarkerBit(0.1, 500)])
        with pytest.raises(LedgerError, match=r"no such name \(it has 'people'\)"):
            ledger.reserve("persons", [BIT], spender="ana")
        with pytest.raises(LedgerError, match="is registered already"):
            register(ledger, epsilon=100.0)
        with pytest.raises(LedgerError, match="no run of that id"):
            ledger.resume("12345678", "ana")
        with pytest.raises(LedgerError, match="no run of that id"):
            ledger.release("12345678", "ana")
        with pytest.raises(LedgerError, match="totals is empty"):
            ledger.reserve("people", [], spender="ana")
        run = reserve(ledger)
        with pytest.raises(LedgerError, match="reads 500 records"):
            run.charge(BarkerBit(1e-9, 500))
        assert len(ledger.entries()) == 2


def test_spenders_are_changed_by_who_registered(place: str) -> None:
    with opened(place) as ledger:
        for by in ("ana", "eve"):
            with pytest.raises(LedgerError, match="by 'steward' alone"):
                ledger.change_spenders("people", add=["eve"], by=by)
        run = reserve(ledger, 10)
        ledger.change_spenders("people", add=["eve", "bo"], remove="ana", by="steward")
        assert ledger.overview("people").spenders == ("bo", "eve")
        with pytest.raises(LedgerError, match="the spender is 'ana'; only bo, eve may"):
            reserve(ledger)
        run.charge(BIT)  # what is open goes on
        run.close()
        with pytest.raises(LedgerError, match="the spender is 'ana'"):
            ledger.resume(run.run, "ana")
        reserve(ledger, spender="eve")
        with pytest.raises(LedgerError, match="the spender is 'ana'"):
            ledger.change_spenders("people", remove=["ana"], by="steward")
        with pytest.raises(LedgerError, match="at least one name"):
            ledger.change_spenders("people", remove=["bo", "eve"], by="steward")
        with pytest.raises(LedgerError, match="no such name"):
            ledger.change_spenders("persons", add=["bo"], by="steward")
        with pytest.raises(LedgerError, match="nobody is added or removed"):
            ledger.change_spenders("people", by="steward")
        with pytest.raises(LedgerError, match="add is ''; it must be text"):
            ledger.change_spenders("people", add=[""], by="steward")
        assert ledger.verify().ok
    with Ledger.open(place, create=False) as again:
        assert again.overview("people").spenders == ("bo", "eve")


def test_data_sets_do_not_share_budgets(place: str) -> None:
    with opened(place) as ledger:
        register(ledger, "beasts", spenders="ana", by=None)
        most = most_steps(ledger)
        reserve(ledger, most)
        ledger.reserve("beasts", [bits(most)], spender="ana")
        assert ledger.datasets() == ("people", "beasts")
        assert ledger.overview("beasts").registrar == getpass.getuser()
        assert len(ledger.entries("beasts")) == 2


def test_nothing_released_needs_no_charge(sqlite: str) -> None:
    with opened(sqlite) as ledger:
        run = reserve(ledger, totals=[ComposedDpEvent([NoOpDpEvent(), BIT])])
        run.charge(NoOpDpEvent())
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
    assert "everything together stays (ε = 1, δ = 1e-06)-private." in text
    columns = {line.index("ana") for line in text.splitlines() if run.run in line}
    header = next(line for line in text.splitlines() if line.startswith("run"))
    assert columns == {header.index("who")}
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
        ({"spenders": ()}, "at least one name"),
        ({"spenders": ("ana", "")}, "spenders is ''; it must be text"),
        ({"spenders": ("ana", "two\nlines")}, "must be one line"),
        ({"note": "two\nlines"}, "must be one line"),
        ({"dataset": " "}, "dataset is ' '"),
        ({"by": 3}, "spender is 3"),
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
        reserve(ledger).charge(BIT)
        assert ledger.verify().ok
    with psycopg.connect(as_role) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("UPDATE dpmcmc_entries SET spender = 'eve'")
        connection.rollback()
