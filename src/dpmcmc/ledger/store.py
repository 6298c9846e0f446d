# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Where entries are kept: one SQLite file, or a PostgreSQL database."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import URL, Connection, Engine

from dpmcmc.ledger.entries import FIRST, FORMAT, Entry, Head
from dpmcmc.ledger.faults import explained
from dpmcmc.ledger.locking import locked, on_disk_at_commit, retry_while_locked
from dpmcmc.ledger.refusals import LedgerError

__all__ = ["Rows", "Store", "without_password"]

_TABLES = sql.MetaData()

_ENTRIES = sql.Table(
    "dpmcmc_entries",
    _TABLES,
    sql.Column("number", sql.BigInteger, primary_key=True, autoincrement=False),
    *(
        sql.Column(field.name, sql.Text, nullable=False)
        for field in fields(Entry)
        if field.name != "number"
    ),
)

_HEAD = sql.Table(
    "dpmcmc_head",
    _TABLES,
    sql.Column("one", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("format", sql.Integer, nullable=False),
    sql.Column("count", sql.BigInteger, nullable=False),
    sql.Column("hash", sql.Text, nullable=False),
    sql.CheckConstraint("one = 1"),
)

_CREATION_LOCK = 0x64706D63
"""Any number, the same for all: the process that holds it makes the tables."""


class Rows:
    """The rows, as one transaction sees them."""

    def __init__(self, connection: Connection, place: str) -> None:
        self._connection = connection
        self._place = place

    def head(self) -> Head:
        """Return the stored head, of a format that this version knows."""
        query = sql.select(_HEAD.c.format, _HEAD.c.count, _HEAD.c.hash)
        row = self._connection.execute(query).first()
        if row is None:
            raise LedgerError(
                f"the ledger {self._place} has lost the row that says where it ends. "
                "It was edited; put back the last copy of it, and verify that."
            )
        version, count, hash_ = row
        if version != FORMAT:
            raise LedgerError(
                f"the ledger {self._place} has format {version}; this version of "
                f"dpmcmc knows format {FORMAT}. Nothing was written. Install the "
                "version of dpmcmc that wrote it."
            )
        return Head(count, hash_)

    def after(self, number: int) -> list[Entry]:
        """Return all entries after a number, in order."""
        query = sql.select(_ENTRIES).where(_ENTRIES.c.number > number)
        rows = self._connection.execute(query.order_by(_ENTRIES.c.number))
        return [Entry(*row) for row in rows]

    def add(self, entry: Entry) -> None:
        """Store an entry, and move the head to it."""
        self._connection.execute(_ENTRIES.insert().values(asdict(entry)))
        self._connection.execute(
            _HEAD.update().values(count=entry.number, hash=entry.hash)
        )

    def damage(self) -> str:
        """Return what the database itself finds wrong with its file, if it can tell."""
        if self._connection.dialect.name != "sqlite":
            return ""
        found = self._connection.exec_driver_sql("PRAGMA integrity_check").scalar()
        return "" if found == "ok" else str(found)


class Store:
    """A database with the tables of a ledger; what is given is as in `Ledger.open`."""

    def __init__(self, where: str | Path, *, create: bool, timeout: float) -> None:
        url, path = _resolved(where)
        self.place = repr(
            str(path) if path else without_password(url).render_as_string()
        )
        if path is not None and not path.exists():
            if not create:
                raise LedgerError(
                    f"the ledger {self.place} does not exist. Check its name, or "
                    "register a data set to begin one."
                )
            with explained(self.place):
                _make_file(path, timeout)
        self._engine = _engine(url, timeout)
        if path is None and create and url.get_backend_name() == "postgresql":
            with explained(self.place), self._engine.begin() as connection:
                lock = sql.func.pg_advisory_xact_lock(_CREATION_LOCK)
                connection.execute(sql.select(lock))
                _make_tables(connection)
        with self.reading() as rows:
            rows.head()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Rows]:
        """Look at one state of the ledger, which others may meanwhile move on from."""
        with explained(self.place), self._engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield Rows(connection, self.place)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Rows]:
        """Hold the lock, and store what was added when all went well."""
        with explained(self.place), locked(self._engine, _HEAD) as connection:
            yield Rows(connection, self.place)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()


def without_password(url: URL) -> URL:
    """The same URL without what may be secret in it.

    That is the password, and what a query says of one or of where it is.
    """
    secret = [name for name in url.query if "pass" in name.lower()]
    return url._replace(password=None).difference_update_query(secret)


def _resolved(where: str | Path) -> tuple[URL, Path | None]:
    """Return the URL to use, and the path if it is a plain file."""
    text = str(where)
    if "://" not in text:
        path = Path(where).expanduser().absolute()
        query = {"mode": "rw", "uri": "true"}
        return URL.create("sqlite", database=path.as_uri(), query=query), path
    try:
        url = sql.make_url(text)
    except sql.exc.ArgumentError:
        url = None
    known = ("sqlite", "postgresql", "postgres")
    if url is None or url.get_backend_name() not in known:
        shown = text.partition("://")[0]
        raise LedgerError(
            f"the ledger's address begins with {shown!r}; it must be the path of a "
            "file, or a URL that begins with postgresql:// or sqlite://."
        )
    if url.get_backend_name() != "sqlite":
        return url.set(drivername="postgresql+psycopg"), None
    return url, None


def _engine(url: URL, timeout: float) -> Engine:
    options: dict[str, Any] = {"poolclass": sql.pool.NullPool}
    if url.get_backend_name() != "sqlite":
        options["isolation_level"] = "READ COMMITTED"
        options["connect_args"] = {"connect_timeout": max(2, round(timeout))}
    try:
        engine = sql.create_engine(url, **options)
    except ModuleNotFoundError:
        raise LedgerError(
            "a ledger in PostgreSQL needs psycopg, which is not installed. Install it "
            "with: pip install 'dpmcmc[postgres]'."
        ) from None
    retry_while_locked(engine, timeout)
    if engine.dialect.name == "sqlite":
        on_disk_at_commit(engine)
    return engine


def _make_tables(connection: Connection) -> None:
    if sql.inspect(connection).has_table(_HEAD.name):
        return
    _TABLES.create_all(connection)
    first = {"one": 1, "format": FORMAT, "count": 0, "hash": FIRST}
    connection.execute(_HEAD.insert().values(first))


def _make_file(path: Path, timeout: float) -> None:
    """Make the file whole under another name, so that nobody sees half of it."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".ledger-") as folder:
        new = Path(folder) / "new.db"
        engine = _engine(URL.create("sqlite", database=str(new)), timeout)
        with engine.begin() as connection:
            _make_tables(connection)
        engine.dispose()
        # A process that comes second finds the file of the first.
        with contextlib.suppress(FileExistsError):
            os.link(new, path)
