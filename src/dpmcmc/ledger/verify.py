# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a ledger is what was written: hashes, order, rules and prices, once more."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dp_accounting.dp_event import DpEvent

from dpmcmc.errors import InputError
from dpmcmc.ledger.accounts import Books, Prices
from dpmcmc.ledger.capacity import Capacity
from dpmcmc.ledger.entries import FIRST, Entry, Head
from dpmcmc.ledger.errors import LedgerError
from dpmcmc.ledger.rules import apply, prices_of

__all__ = ["Verdict", "follow", "verdict_of"]

Pricing = Callable[[Capacity, Iterable[DpEvent]], Prices]

_CLOSE = Fraction(1, 10**6)
"""Versions and machines may round prices differently by this part."""


@dataclass(frozen=True)
class Verdict:
    """What verification found.

    Attributes
    ----------
    problems
        One sentence each; none if all is well.
    head
        The hash of the last entry. Note it down where the ledger's writers cannot
        change it, and give it to a later verification.
    count
        How many entries there are.
    """

    problems: tuple[str, ...]
    head: str
    count: int

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems

    def __str__(self) -> str:
        if self.ok:
            return (
                f"{self.count:,} entries, all hashes and sums right.\n"
                f"Head: {self.head}\nNote it down, for the next verification."
            )
        lines = "\n".join(f"- {problem}" for problem in self.problems)
        return f"{self.count:,} entries; NOT as they were written:\n{lines}"


def follow(
    books: Books, head: Head, entries: Sequence[Entry], place: str
) -> tuple[Books, Entry]:
    """Return the books after more entries, each checked against its hash."""
    last = None
    for entry in entries:
        wrong = _link(head, last, entry)
        if wrong:
            raise LedgerError(
                f"the ledger {place} was edited: {wrong[0]} Nothing was written. "
                "Verify it, and put back the last copy that verifies."
            )
        books = apply(books, entry)
        head, last = entry.head, entry
    assert last is not None
    return books, last


def verdict_of(
    head: Head,
    entries: Sequence[Entry],
    damage: str,
    expected: str | None,
    pricing: Pricing,
) -> Verdict:
    """Judge all entries of a ledger."""
    problems = [f"The database file is damaged: {damage}."] if damage else []
    books, before, last = Books(), Head(0, FIRST), None
    for entry in entries:
        problems += _link(before, last, entry)
        try:
            books = apply(books, entry)
            problems += _underpriced(books, entry, pricing)
        except InputError as error:
            problems.append(f"Entry {entry.number} breaks a rule: {error}")
        before, last = entry.head, entry
    if before != head:
        problems.append(
            f"The head says {head.count} entries ending in {head.hash[:12]}…, but "
            f"there are {before.count} ending in {before.hash[:12]}…: entries were "
            "removed or added at the end."
        )
    known = {FIRST, *(entry.hash for entry in entries)}
    if expected is not None and expected not in known:
        problems.append(
            f"The head that was noted down, {expected[:12]}…, is not in the ledger: "
            "what was written up to then was rewritten or removed."
        )
    return Verdict(tuple(problems), before.hash, len(entries))


def _link(head: Head, last: Entry | None, entry: Entry) -> list[str]:
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
    if last is not None and entry.time < last.time:
        found.append(f"Entry {entry.number} is older than the entry before it.")
    return found


def _underpriced(books: Books, entry: Entry, pricing: Pricing) -> list[str]:
    """Return which events were charged for less than they cost."""
    stored = prices_of(entry.values.get("prices", []))
    now = pricing(books.accounts[entry.dataset].capacity, stored)
    whole = books.accounts[entry.dataset].capacity.cost
    return [
        f"Entry {entry.number} prices {event!r} below its cost."
        for event, cost in stored.items()
        if cost.share(whole) < now[event].share(whole) * (1 - _CLOSE)
    ]
