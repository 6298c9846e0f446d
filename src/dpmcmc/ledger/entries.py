# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One row of a ledger, and the hash that ties it to all rows before it."""

import hashlib
import json
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime

from dpmcmc.ledger.codec import JSON, canonical
from dpmcmc.ledger.refusals import LedgerError

__all__ = ["FIRST", "FORMAT", "Entry", "Head", "sealed", "time_text"]

FORMAT = 3
"""The version of everything that a ledger stores."""

FIRST = "0" * 64
"""What stands for the hash before the first entry."""


@dataclass(frozen=True)
class Head:
    """How many entries there are, and the hash of the last."""

    count: int
    hash: str


@dataclass(frozen=True)
class Entry:
    """One row, as it is stored.

    Attributes
    ----------
    number, kind
        Its place, from 1, and which of the ``rules`` it is for.
    time
        When it was written, in UTC, by the clock of the writer: a note, which decides
        nothing.
    dataset, run, analyst
        What it is about, and a note of who asked; what is of no run has none.
    payload
        Everything else, as canonical JSON text.
    previous, hash
        The hash of the entry before, and of this one with it.
    """

    number: int
    time: str
    kind: str
    dataset: str
    run: str
    analyst: str
    payload: str
    previous: str
    hash: str

    @property
    def values(self) -> JSON:
        """The payload, read."""
        try:
            values = json.loads(self.payload)
        except ValueError:
            values = None
        if not isinstance(values, dict):
            raise LedgerError(
                f"entry {self.number} of the ledger cannot be read: its payload is no "
                "JSON object. The ledger was edited; verify it, and go back to a copy."
            )
        return values

    @property
    def head(self) -> Head:
        """The head of a ledger that ends with this entry."""
        return Head(self.number, self.hash)

    def digest(self) -> str:
        """Return the hash that this entry ought to have: of all else in it."""
        text = json.dumps(astuple(self)[:-1], separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def sealed(
    head: Head, time: str, kind: str, dataset: str, run: str, analyst: str, values: JSON
) -> Entry:
    """Return the entry that follows a head, with its hash."""
    number, payload = head.count + 1, canonical(values)
    entry = Entry(number, time, kind, dataset, run, analyst, payload, head.hash, "")
    return replace(entry, hash=entry.digest())


def time_text(seconds: float) -> str:
    """Return a time as text that sorts as it passes."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
