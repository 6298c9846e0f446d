# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Where entries are kept: one SQLite file, or a PostgreSQL database.

Every write is one transaction that begins by taking the only lock there is: SQLite's
own on the file, PostgreSQL's on the one row of the table of the head. So writers stand
in a queue, and each sees all that was written before it.
"""

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
from dpmcmc.ledger.errors import LedgerError
from dpmcmc.ledger.faults import told

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
"""Any number, the same for all: who holds it in PostgreSQL makes the tables."""


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
        if version > FORMAT:
            raise LedgerError(
                f"the ledger {self._place} has format {version}; this version of "
                f"dpmcmc knows formats up to {FORMAT}. Nothing was written. Install a "
                "newer dpmcmc."
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
    """A database with the tables of a ledger.

    Parameters
    ----------
    where
        A file, or a URL of SQLite or PostgreSQL.
    create
        Whether to make a ledger where there is none.
    timeout
        How long to wait for another writer, in seconds.
    """

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
            with told(self.place):
                _make_file(path, timeout)
        self._engine = _engine(url, timeout)
        if path is None and create and url.get_backend_name() == "postgresql":
            with told(self.place), self._engine.begin() as connection:
                lock = sql.func.pg_advisory_xact_lock(_CREATION_LOCK)
                connection.execute(sql.select(lock))
                _make_tables(connection)
        with self.reading() as rows:
            rows.head()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Rows]:
        """Look at one state of the ledger, which others may meanwhile move on from."""
        with told(self.place), self._engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield Rows(connection, self.place)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Rows]:
        """Hold the lock, and store what was added when all went well.

        Guarantee
        ---------
        Between any two writers one has stored all, or nothing, before the other sees
        a row. When the block has ended without an error, what was added is on disk.
        """
        with told(self.place), self._engine.connect() as connection:
            connection.execution_options(dpmcmc_writes=True)
            with connection.begin():
                if connection.dialect.name == "postgresql":
                    connection.execute(sql.select(_HEAD.c.one).with_for_update())
                yield Rows(connection, self.place)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()


def without_password(url: URL) -> URL:
    """The same URL without what may be secret in it.

    That is the password, and what a query says of one or of where it is.
    """
    return URL.create(
        url.drivername,
        username=url.username,
        host=url.host,
        port=url.port,
        database=url.database,
        query={
            name: value
            for name, value in url.query.items()
            if "pass" not in name.lower()
        },
    )


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
    if url is None or url.get_backend_name() not in (
        "sqlite",
        "postgresql",
        "postgres",
    ):
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
    if url.get_backend_name() == "sqlite":
        engine = sql.create_engine(url, connect_args={"timeout": timeout}, **options)
        sql.event.listen(engine, "connect", _prepare_sqlite)
        sql.event.listen(engine, "begin", _begin_sqlite)
        return engine
    waits = {"connect_timeout": max(2, round(timeout))}
    try:
        engine = sql.create_engine(
            url, connect_args=waits, isolation_level="READ COMMITTED", **options
        )
    except ModuleNotFoundError:
        raise LedgerError(
            "a ledger in PostgreSQL needs psycopg, which is not installed. Install it "
            "with: pip install 'dpmcmc[postgres]'."
        ) from None

    @sql.event.listens_for(engine, "connect")
    def limit(connection: Any, _: object) -> None:
        connection.execute(f"SET lock_timeout = {max(1, round(1000 * timeout))}")
        connection.commit()

    return engine


def _prepare_sqlite(connection: Any, _: object) -> None:
    # Transactions begin when we say so, and are on disk, journal and folder too, when
    # they end.
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous = EXTRA")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("dpmcmc_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


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
        # Whoever comes second finds the first one's file.
        with contextlib.suppress(FileExistsError):
            os.link(new, path)
