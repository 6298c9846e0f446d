# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a ledger is what was written: hashes, order, rules and prices, once more."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from dpmcmc.errors import InputError
from dpmcmc.ledger.accounts import Account, Books
from dpmcmc.ledger.codec import decode
from dpmcmc.ledger.entries import FIRST, Entry, Head
from dpmcmc.ledger.prices import offers
from dpmcmc.ledger.refusals import LedgerError
from dpmcmc.ledger.room import require_alone
from dpmcmc.ledger.rules import apply, prices_of

__all__ = ["Verification", "follow", "verdict_of"]

_CLOSE = Fraction(1, 10**6)
"""Versions and machines may round prices differently by this part."""


@dataclass(frozen=True)
class Verification:
    """What verification found.

    Attributes
    ----------
    problems
        One sentence each; none if every entry is as it was written.
    notes
        What is odd and no sign of editing: times that run backwards.
    head
        The hash of the last entry. Keep it where the ledger's writers cannot change
        it, and give it to a later verification.
    count
        How many entries there are.
    """

    problems: tuple[str, ...]
    notes: tuple[str, ...]
    head: str
    count: int

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def __str__(self) -> str:
        if self.ok:
            verdict = f"{self.count:,} entries; all hashes, rules and sums are right."
        else:
            verdict = f"{self.count:,} entries; NOT as they were written:"
        lines = [f"- {each}" for each in (*self.problems, *self.notes)]
        return "\n".join([verdict, *lines, f"Head, to keep elsewhere: {self.head}"])


def follow(books: Books, head: Head, entries: Sequence[Entry], place: str) -> Books:
    """Return the books after more entries, each checked against its hash."""
    for entry in entries:
        wrong = _link(head, entry)
        if wrong:
            raise LedgerError(
                f"the ledger {place} was edited: {wrong[0]} Nothing was written. "
                "Verify it, and put back the last copy that verifies."
            )
        books, head = apply(books, entry), entry.head
    return books


def verdict_of(
    head: Head, entries: Sequence[Entry], damage: str, expected: str | None
) -> Verification:
    """Judge all entries of a ledger."""
    problems = [f"The database file is damaged: {damage}."] if damage else []
    books, before = Books(), Head(0, FIRST)
    for entry in entries:
        problems += _link(before, entry)
        try:
            books = apply(books, entry)
            if entry.kind == "reserve":
                problems += _underpriced(books.accounts[entry.dataset], entry)
        except InputError as error:
            problems.append(f"Entry {entry.number} breaks a rule: {error}")
        before = entry.head
    if before != head:
        problems.append(
            f"The head says {head.count} entries ending in {head.hash[:12]}…, but "
            f"there are {before.count} ending in {before.hash[:12]}…: entries were "
            "removed or added at the end."
        )
    known = {FIRST, *(entry.hash for entry in entries)}
    if expected is not None and expected not in known:
        problems.append(
            f"The expected head, {expected[:12]}…, is not in the ledger: what was "
            "written up to then was rewritten or removed."
        )
    return Verification(tuple(problems), _backwards(entries), before.hash, len(entries))


def _link(head: Head, entry: Entry) -> list[str]:
    """Return what is wrong with an entry in its place."""
    found = []
    if entry.number != head.count + 1:
        found.append(
            f"Entry {entry.number} follows entry {head.count}: entries were removed or "
            "moved."
        )
    if entry.previous != head.hash:
        found.append(f"Entry {entry.number} does not follow the entry before it.")
    if entry.hash != entry.digest():
        found.append(f"Entry {entry.number} was edited: its hash does not fit it.")
    return found


def _backwards(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Say where times run backwards. They are notes: order is by number and hash."""
    return tuple(
        f"Entry {entry.number} was written at {entry.time}, before the entry that it "
        f"follows ({last.time}): a clock was wrong."
        for last, entry in pairwise(entries)
        if entry.time < last.time
    )


def _underpriced(account: Account, entry: Entry) -> list[str]:
    """Return what was reserved for less than it costs."""
    if entry.values["only"]:
        require_alone(account, decode(entry.values["total"]), tolerance=_CLOSE)
        return []
    least = 1 - _CLOSE
    return [
        f"Entry {entry.number} prices {event!r} below its cost."
        for event, stored in prices_of(entry.values["prices"]).items()
        if not any(
            offer.divergence * least <= stored.divergence
            and offer.slack * least <= stored.slack
            for offer in offers(event, account.capacity)
        )
    ]
