# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Full disks, locks, wrong clocks, broken files: a clear error, and nothing lost."""

import errno
import os
import resource
import sqlite3
import sys
import time
from pathlib import Path

import psycopg
import pytest
from ledger_cases import bits, opened, register, reserve
from refusals import assert_refused
from sqlalchemy.exc import DBAPIError
from test_ledger_tampering import tamper

from dpmcmc.ledger import Ledger, LedgerError
from dpmcmc.ledger.entries import FORMAT
from dpmcmc.ledger.faults import explained


def test_a_full_disk_loses_nothing(sqlite: str) -> None:
    with opened(sqlite) as ledger:
        run = reserve(ledger, 200)
        run.charge(bits(1))
        unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = os.path.getsize(sqlite)
        stored = 1
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, unlimited[1]))
        try:
            for _ in range(100):
                run.charge(bits(1))
                stored += 1
        except LedgerError as error:
            message = str(error)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        assert sqlite in message
        assert "cannot grow" in message
        assert sum(e.kind == "charge" for e in ledger.entries()) == stored
        run.charge(bits(1))
        assert ledger.verify().ok


def test_a_ledger_that_may_only_be_read(sqlite: str) -> None:
    with opened(sqlite) as ledger:
        before = ledger.overview("people")
    url = f"sqlite:///{Path(sqlite).as_uri()}?mode=ro&uri=true"
    with Ledger.open(url) as ledger:
        assert ledger.overview("people") == before
        assert ledger.verify().ok
        assert_refused(lambda: reserve(ledger), "cannot be written", "Nothing was")
        assert len(ledger.entries()) == 1


def test_a_file_that_another_process_holds(sqlite: str) -> None:
    with opened(sqlite) as ledger:
        run = reserve(ledger)
    holder = sqlite3.connect(sqlite, isolation_level=None)
    with Ledger.open(sqlite, timeout=0.1) as ledger:
        again = ledger.resume(run.run, "ana")
        holder.execute("BEGIN IMMEDIATE")
        ledger.overview("people")  # reading goes on
        message = assert_refused(lambda: again.charge(bits(1)), "is locked by another")
        assert sqlite in message
        holder.execute("COMMIT")
        holder.execute("BEGIN EXCLUSIVE")
        assert_refused(lambda: ledger.overview("people"), "is locked by another")
        holder.execute("COMMIT")
        again.charge(bits(1))
    holder.close()


def test_a_database_that_another_process_holds(postgres: str) -> None:
    with opened(postgres):
        pass
    with (
        psycopg.connect(postgres) as holder,
        Ledger.open(postgres, timeout=0.1) as ledger,
    ):
        holder.execute("SELECT * FROM dpmcmc_head FOR UPDATE")
        ledger.overview("people")
        assert_refused(lambda: reserve(ledger), "is locked by another")
        holder.rollback()
        reserve(ledger)


def test_a_server_that_cannot_be_reached() -> None:
    url = "postgresql://ana:secret@127.0.0.1:1/study"
    message = assert_refused(lambda: Ledger.open(url, timeout=1), "cannot be opened")
    assert "secret" not in message


def test_a_role_that_may_only_read(postgres: str) -> None:
    with opened(postgres), psycopg.connect(postgres, autocommit=True) as connection:
        schema = connection.execute("SELECT current_schema()").fetchone()[0]
        role = f"reader_{schema}"
        for statement in (
            f"CREATE ROLE {role} LOGIN",
            f"GRANT USAGE ON SCHEMA {schema} TO {role}",
            f"GRANT SELECT ON dpmcmc_entries, dpmcmc_head TO {role}",
        ):
            connection.execute(statement)
    with Ledger.open(postgres.replace("//postgres:", f"//{role}:")) as ledger:
        assert ledger.verify().ok
        assert_refused(lambda: reserve(ledger), "cannot be written", "Nothing was")


class DriverError(Exception):
    """What a driver of PostgreSQL raises: a code, and words in any language."""

    def __init__(self, sqlstate: str | None) -> None:
        super().__init__("la base est verrouillée, pleine et en lecture seule")
        self.sqlstate = sqlstate


def sqlite_fault(code: int) -> sqlite3.Error:
    fault = sqlite3.OperationalError("quelque chose ne va pas: locked, full, readonly")
    fault.sqlite_errorcode = code
    return fault


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (sqlite_fault(sqlite3.SQLITE_BUSY), "is locked"),
        (sqlite_fault(sqlite3.SQLITE_BUSY_TIMEOUT), "is locked"),
        (sqlite_fault(sqlite3.SQLITE_READONLY_DIRECTORY), "cannot be written"),
        (sqlite_fault(sqlite3.SQLITE_FULL), "cannot grow"),
        (sqlite_fault(sqlite3.SQLITE_IOERR_WRITE), "cannot grow"),
        (sqlite_fault(sqlite3.SQLITE_NOTADB), "is damaged"),
        (sqlite_fault(sqlite3.SQLITE_CANTOPEN), "cannot be opened"),
        (sqlite3.OperationalError("Could not decode to UTF-8"), "is damaged"),
        (DriverError("55P03"), "is locked"),
        (DriverError("25006"), "cannot be written"),
        (DriverError("53100"), "cannot grow"),
        (DriverError("XX001"), "is damaged"),
        (DriverError("57P01"), "cannot be opened"),
        (DriverError(None), "cannot be opened"),
        (OSError(errno.ENOSPC, "voll"), "cannot grow"),
        (OSError(errno.EROFS, "voll"), "cannot be written"),
        (OSError(errno.ENOENT, "voll"), "cannot be opened"),
    ],
    ids=str,
)
def test_a_fault_is_known_by_its_code(fault: Exception, words: str) -> None:
    """The words of a driver, which are of its language and version, decide nothing."""
    is_wrapped = isinstance(fault, DriverError | sqlite3.Error)
    raised = DBAPIError("SELECT 1", None, fault) if is_wrapped else fault
    with pytest.raises(LedgerError, match=words), explained("'study.db'"):
        raise raised


@pytest.mark.parametrize("url", ["mysql://host/study", "http://host", "://"])
def test_other_addresses_are_refused(url: str) -> None:
    assert_refused(lambda: Ledger.open(url), "begins with postgresql:// or sqlite://")


def test_a_clock_far_ahead_stops_nobody(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times are notes: a wrong one is kept, and said, and nothing is refused."""
    monkeypatch.setattr(time, "time", lambda: 4e9)
    opened(place).close()
    monkeypatch.undo()
    with Ledger.open(place) as ledger:
        run = reserve(ledger)
        run.charge(bits(1))
        run.close()
        verdict = ledger.verify()
        times = [entry.time for entry in ledger.entries()]
    assert times[0] > times[1] <= times[2] <= times[3]
    assert verdict.ok
    (note,) = verdict.notes
    assert times[0] in note
    assert times[1] in note
    assert note in str(verdict)


def test_a_ledger_of_another_version(place: str) -> None:
    with opened(place) as ledger:
        run = reserve(ledger)
        tamper(place, f"UPDATE dpmcmc_head SET format = {FORMAT + 1}")
        for deed in (
            lambda: Ledger.open(place),
            lambda: ledger.overview("people"),
            lambda: run.charge(bits(1)),
        ):
            assert_refused(deed, f"has format {FORMAT + 1}", "Install the version")
        tamper(place, f"UPDATE dpmcmc_head SET format = {FORMAT}")
        run.charge(bits(1))


def test_an_entry_of_a_newer_version(sqlite: str) -> None:
    with opened(sqlite) as ledger:
        with pytest.raises(LedgerError, match="of kind 'forget', which this version"):
            ledger._append("forget", "people", "", "ana", {})
        assert len(ledger.entries()) == 1


def _truncated(path: Path, part: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * part)])


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\x00" * 5000),
        lambda path: path.write_bytes(os.urandom(5000)),
        lambda path: path.write_text("date,amount\n2026-01-01,3\n"),
        lambda path: _truncated(path, 0.5),
        lambda path: _truncated(path, 0.02),
    ],
    ids=["empty", "zeros", "noise", "text", "half", "start"],
)
def test_a_damaged_file_is_named(sqlite: str, damage: object) -> None:
    with opened(sqlite) as ledger:
        run = reserve(ledger, 200)
        for _ in range(20):
            run.charge(bits(1))
    damage(Path(sqlite))  # type: ignore[operator]
    kept = Path(sqlite).read_bytes()

    def use() -> None:
        with Ledger.open(sqlite) as ledger:
            ledger.overview("people")

    assert_refused(use, sqlite, "is damaged, or is no ledger")
    assert Path(sqlite).read_bytes() == kept, "what is left is kept as it is"


def test_damage_inside_the_file_is_found(sqlite: str) -> None:
    with opened(sqlite) as ledger:
        run = reserve(ledger, 400)
        for _ in range(60):
            run.charge(bits(1))
    path = Path(sqlite)
    data = bytearray(path.read_bytes())
    place = data.rindex(b'"opened_by"')
    data[place + 1] ^= 1
    path.write_bytes(data)
    with Ledger.open(sqlite) as ledger:
        assert any("was edited" in problem for problem in ledger.verify().problems)


def test_another_database_is_no_ledger(sqlite: str, postgres: str) -> None:
    other = sqlite3.connect(sqlite)
    other.execute("CREATE TABLE people (age INTEGER)")
    other.commit()
    other.close()
    for place in (sqlite, postgres):
        assert_refused(lambda: Ledger.open(place, create=False), "or is no ledger")  # noqa: B023


def test_places_where_no_ledger_can_be(tmp_path: Path) -> None:
    assert_refused(lambda: Ledger.open(tmp_path), "cannot be opened")
    lost = tmp_path / "no" / "folder" / "study.db"
    assert_refused(lambda: Ledger.open(lost), "cannot be opened", str(lost))
    absent = tmp_path / "absent.db"
    assert_refused(lambda: Ledger.open(absent, create=False), "does not exist")
    assert not absent.exists()


def test_a_file_that_vanishes_is_not_begun_anew(sqlite: str) -> None:
    with opened(sqlite) as ledger:
        run = reserve(ledger)
        os.remove(sqlite)
        assert_refused(lambda: run.charge(bits(1)), "cannot be opened", sqlite)
        assert not os.path.exists(sqlite)


def test_names_with_odd_letters(tmp_path: Path) -> None:
    path = tmp_path / "Budget? 100% (ä) #1.db"
    with Ledger.open(path) as ledger:
        register(ledger, "Leute & Söhne; DROP TABLE dpmcmc_entries")
    assert path.exists()
    with Ledger.open(path, create=False) as ledger:
        assert len(ledger.datasets()) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, sqlite: str
) -> None:
    monkeypatch.delitem(sys.modules, "dpmcmc.ledger.store", raising=False)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    assert_refused(lambda: Ledger.open(sqlite), "pip install 'dpmcmc[ledger]'")
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "psycopg", None)
    url = "postgresql://localhost/study"
    assert_refused(lambda: Ledger.open(url), "pip install 'dpmcmc[postgres]'")
