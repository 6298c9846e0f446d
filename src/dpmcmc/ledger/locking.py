# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One writer at a time: how a ledger is locked, and how a locked one is retried.

There is one lock: SQLite's own on the file, PostgreSQL's on the one row of the table of
the head. So writers wait in a queue, and each sees all that was written before it.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Engine

__all__ = ["locked", "on_disk_at_commit", "retry_while_locked"]


def retry_while_locked(engine: Engine, seconds: float) -> None:
    """Have a statement that finds the ledger locked tried again, for some time.

    The database does it: SQLite tries again every few milliseconds, PostgreSQL lets
    writers wait in a queue. When the time is over the statement fails, and ``faults``
    says that the ledger is locked.
    """
    is_sqlite = engine.dialect.name == "sqlite"
    setting = "PRAGMA busy_timeout" if is_sqlite else "SET lock_timeout"

    @sql.event.listens_for(engine, "connect")
    def limit(connection: Any, _: object) -> None:
        connection.execute(f"{setting} = {max(1, round(1000 * seconds))}")
        connection.commit()


def on_disk_at_commit(engine: Engine) -> None:
    """Have SQLite begin transactions when asked, and sync file, journal and folder."""

    @sql.event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA synchronous = EXTRA")

    @sql.event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        locks = connection.get_execution_options().get("dpmcmc_locks")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if locks else "BEGIN")


@contextlib.contextmanager
def locked(engine: Engine, head: sql.Table) -> Iterator[Connection]:
    """Hold the lock for one transaction, which is stored when all went well.

    Guarantee
    ---------
    Between any two writers one has stored all, or nothing, before the other sees a row.
    When the block has ended without an error, what was added is on disk.
    """
    with engine.connect() as connection:
        connection.execution_options(dpmcmc_locks=True)
        with connection.begin():
            if connection.dialect.name == "postgresql":
                connection.execute(sql.select(head).with_for_update())
            yield connection
