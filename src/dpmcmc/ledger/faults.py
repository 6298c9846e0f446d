# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of a database, told as what a person can do about them."""

import contextlib
import sqlite3
from collections.abc import Iterator

from sqlalchemy.exc import SQLAlchemyError

from dpmcmc.ledger.errors import LedgerError

__all__ = ["told"]

_FAULTS = (
    (
        ("locked", "lock timeout", "deadlock"),
        "is held by another process for longer than was waited. Nothing was written. "
        "Try again, or stop the process that holds it",
    ),
    (
        ("readonly", "read-only", "permission denied"),
        "cannot be written by this user, or is on a disk that is read-only. Nothing "
        "was written. Get leave to write it, or work where it can be written",
    ),
    (
        ("is full", "no space", "disk i/o error", "file too large"),
        "cannot grow: the disk is full, or failed. Nothing was written, and what was "
        "there is kept. Make room and try again",
    ),
    (
        ("not a database", "malformed", "corrupt", "decode", "encrypted"),
        "is damaged, or is no ledger. Nothing was written. Put back the last copy of "
        "it, and verify that; never start a new ledger for the same records",
    ),
    (
        ("unable to open", "no such file", "not a directory"),
        "cannot be opened. Check that the file is where it should be and that its "
        "folder can be written",
    ),
    (
        ("no such table", "does not exist", "no such column"),
        "is a database, but its tables are not those of a ledger. Name another file or "
        "database, or put back the last copy",
    ),
    (
        ("connection", "server closed", "could not connect", "resolve host"),
        "cannot be reached. Nothing may be read until it can; an entry that was being "
        "written may stay. Check the address and that the server runs",
    ),
)


@contextlib.contextmanager
def told(place: str) -> Iterator[None]:
    """Turn every fault of the database inside into a `LedgerError` about a place."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError, UnicodeError) as error:
        raise LedgerError(f"the ledger {place} {_words(error)}.") from None


def _words(error: BaseException) -> str:
    original = getattr(error, "orig", None) or error
    said = str(original).strip().splitlines() or [type(original).__name__]
    lowered = " ".join(said).lower()
    for signs, words in _FAULTS:
        if any(sign in lowered for sign in signs):
            return f"{words} ({said[0].rstrip('.')})"
    return f"cannot be used ({said[0].rstrip('.')}). Nothing may be read until it can"
