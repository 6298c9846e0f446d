# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a ledger is what was written: hashes, order, rules and prices, once more."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpmcmc.errors import InputError
from dpmcmc.ledger.accounts import Account, Books
from dpmcmc.ledger.capacity import Cost
from dpmcmc.ledger.codec import decode
from dpmcmc.ledger.entries import FIRST, Entry, Head
from dpmcmc.ledger.errors import LedgerError
from dpmcmc.ledger.prices import offers
from dpmcmc.ledger.rules import apply, prices_of
from dpmcmc.ledger.wanted import require_alone

__all__ = ["Verdict", "follow", "verdict_of"]

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
    head: Head, entries: Sequence[Entry], damage: str, expected: str | None
) -> Verdict:
    """Judge all entries of a ledger."""
    problems = [f"The database file is damaged: {damage}."] if damage else []
    books, before, last = Books(), Head(0, FIRST), None
    for entry in entries:
        problems += _link(before, last, entry)
        try:
            books = apply(books, entry)
            account = books.accounts[entry.dataset]
            problems += _underpriced(account, entry)
            _require_statement(account, entry)
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


def _underpriced(account: Account, entry: Entry) -> list[str]:
    """Return which events were charged for less than they cost."""
    prices = prices_of(entry.values.get("prices", []))
    return [
        f"Entry {entry.number} prices {event!r} below its cost."
        for event, stored in prices.items()
        if not any(
            _scaled(offer).fits(stored) for offer in offers(event, account.capacity)
        )
    ]


def _scaled(offer: tuple[float, float]) -> Cost:
    """The least price that may pass for an offer."""
    divergence, slack = (Fraction(part) * (1 - _CLOSE) for part in offer)
    return Cost(divergence, slack)


def _require_statement(account: Account, entry: Entry) -> None:
    """Refuse an only run whose totals are not within the budget."""
    if entry.kind != "reserve" or not entry.values["only"]:
        return
    totals = [decode(total) for total in entry.values["totals"]]
    claims = account.runs[entry.run].claims
    try:
        require_alone(account, totals, claims, tolerance=_CLOSE)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise LedgerError("its claims are no two numbers.") from None
