# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of a database, explained as what a person can do about them.

A fault is known by the code that the database gives it: SQLite's result code, the
SQLSTATE of PostgreSQL, or the error number of the operating system.
"""

import contextlib
import errno
import sqlite3
from collections.abc import Iterator

from sqlalchemy.exc import SQLAlchemyError

from dpmcmc.ledger.refusals import LedgerError

__all__ = ["explained"]

_LOCKED = (
    "is locked by another process for longer than was waited. Nothing was written. Try "
    "again, or stop the process that holds it"
)
_READ_ONLY = (
    "cannot be written by this user, or is on a disk that is read-only. Nothing was "
    "written. Get permission to write it, or work where it can be written"
)
_FULL = (
    "cannot grow: the disk is full, or failed. Nothing was written, and what was there "
    "is kept. Make room and try again"
)
_DAMAGED = (
    "is damaged, or is no ledger. Nothing was written. Put back the last copy of it, "
    "and verify that; never start a new ledger for the same records"
)
_UNREACHABLE = (
    "cannot be opened. Nothing may be read until it can; an entry that was being "
    "written may stay. Check the path or the address, and that the server runs"
)

_SQLITE = {
    **dict.fromkeys((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED), _LOCKED),
    **dict.fromkeys((sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM), _READ_ONLY),
    **dict.fromkeys((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR), _FULL),
    **dict.fromkeys((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB), _DAMAGED),
    sqlite3.SQLITE_ERROR: _DAMAGED,  # a statement names a table that is not there
}
"""By SQLite's primary result code."""

_POSTGRESQL = {
    "55P03": _LOCKED,  # lock_not_available
    "40P01": _LOCKED,  # deadlock_detected
    "42501": _READ_ONLY,  # insufficient_privilege
    "25006": _READ_ONLY,  # read_only_sql_transaction
    "53100": _FULL,  # disk_full
    "58030": _FULL,  # io_error
    "XX001": _DAMAGED,  # data_corrupted
    "42P01": _DAMAGED,  # undefined_table
    "42703": _DAMAGED,  # undefined_column
}
"""By SQLSTATE. A server that is not reached, or closes the connection, gives none."""

_SYSTEM = {
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _READ_ONLY),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _FULL),
}
"""By the error number of the operating system."""


@contextlib.contextmanager
def explained(place: str) -> Iterator[None]:
    """Turn every fault of the database inside into a `LedgerError` about a place."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError, UnicodeError) as error:
        cause = getattr(error, "orig", None) or error
        said = (str(cause).strip().splitlines() or [type(cause).__name__])[0]
        words = f"{_explanation(cause)} ({said.rstrip('.')})"
        raise LedgerError(f"the ledger {place} {words}.") from None


def _explanation(cause: BaseException) -> str:
    if isinstance(cause, sqlite3.Error):
        # A text that is no UTF-8 is found by Python, which gives it no code.
        code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        return _SQLITE.get(code & 0xFF, _UNREACHABLE)
    if isinstance(cause, UnicodeError):
        return _DAMAGED
    if isinstance(cause, OSError):
        return _SYSTEM.get(cause.errno or 0, _UNREACHABLE)
    return _POSTGRESQL.get(getattr(cause, "sqlstate", None) or "", _UNREACHABLE)
