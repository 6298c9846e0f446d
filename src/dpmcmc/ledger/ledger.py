# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The ledger: who may spend how much on which records, and what was spent."""

import getpass
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp_accounting.dp_event import DpEvent

from dpmcmc import errors
from dpmcmc.ledger.accounts import Account, Books
from dpmcmc.ledger.capacity import settle
from dpmcmc.ledger.codec import JSON, encode
from dpmcmc.ledger.entries import FIRST, Entry, Head, sealed, time_text
from dpmcmc.ledger.errors import LedgerError
from dpmcmc.ledger.overview import Overview, overview_of
from dpmcmc.ledger.rules import account_of, apply, leaves_of, prices_text, run_of
from dpmcmc.ledger.texts import names, text
from dpmcmc.ledger.verify import Verdict, follow, verdict_of
from dpmcmc.ledger.wanted import prices_at, wanted

if TYPE_CHECKING:
    from dpmcmc.ledger.store import Rows, Store

__all__ = ["Ledger", "Reservation"]

_BACKWARDS = 60.0
"""Clocks of several machines may differ by so many seconds."""


class Ledger:
    """A list of entries that only grows, in one SQLite file or in PostgreSQL.

    Open it with `Ledger.open`. Every method that changes it is one transaction.

    Guarantee
    ---------
    All that is ever released from a registered data set, and was charged here before
    it was read, is (ε, δ)-differentially private together, with the ε and δ of its
    registration, however later runs were chosen from what earlier ones released.
    """

    def __init__(self, store: "Store", clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._head = Head(0, FIRST)
        self._time = ""
        self._books = Books()

    @classmethod
    def open(
        cls,
        where: str | Path,
        *,
        create: bool = True,
        timeout: float = 30.0,
        clock: Callable[[], float] = time.time,
    ) -> "Ledger":
        """Open a ledger, or begin one.

        Parameters
        ----------
        where
            The path of a file, or a URL such as ``postgresql://host/study``.
        create
            Whether to begin a ledger where there is none.
        timeout
            How many seconds to wait for another writer.
        clock
            Returns the time, in seconds since 1970.

        Returns
        -------
        Ledger
            To be closed, or used in a ``with`` block.
        """
        try:
            from dpmcmc.ledger.store import Store  # noqa: PLC0415 - an extra
        except ModuleNotFoundError:
            raise LedgerError(
                "a ledger needs SQLAlchemy, which is not installed. Install it with: "
                "pip install 'dpmcmc[ledger]'."
            ) from None
        return cls(Store(where, create=create, timeout=timeout), clock)

    @property
    def place(self) -> str:
        """Where the ledger is kept, without a password."""
        return self._store.place

    def register(
        self,
        dataset: str,
        *,
        records: int,
        epsilon: float,
        delta: float,
        spenders: Iterable[str],
        note: str = "",
        by: str | None = None,
    ) -> None:
        """Register a data set with the budget of everything ever released from it.

        Parameters
        ----------
        dataset
            Its name.
        records
            The number of records N, which is public.
        epsilon, delta
            The budget.
        spenders
            Who may spend it, by name.
        note
            Anything worth keeping, such as who decided.
        by
            Who registers it; the user of the operating system, if not given.
        """
        named = names("spenders", spenders)
        count = errors.require_count("records", records, "Give the number of records.")
        capacity = settle(epsilon, delta)
        values = {
            "records": count,
            "delta": float(delta),
            **capacity._asdict(),
            "spenders": named,
            "note": text("note", note),
        }
        name = text("dataset", dataset, empty=False)
        self._append("register", name, "", by or getpass.getuser(), values)

    def change_spenders(
        self,
        dataset: str,
        *,
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
        by: str | None = None,
    ) -> None:
        """Change who may spend the budget of a data set.

        Open runs of those who are removed go on; release them to stop them.

        Parameters
        ----------
        dataset
            Its name.
        add, remove
            Who may spend it from now on, and who may not any more, by name.
        by
            Who registered it; the user of the operating system, if not given.
        """
        values = {"add": names("add", add), "remove": names("remove", remove)}
        if not any(values.values()):
            raise LedgerError("nobody is added or removed. Name whom to add or remove.")
        self._append("spenders", dataset, "", by or getpass.getuser(), values)

    def reserve(
        self,
        dataset: str,
        totals: Sequence[DpEvent],
        *,
        spender: str,
        purpose: str = "",
        only: bool = False,
        claims: tuple[float, float] | None = None,
    ) -> "Reservation":
        """Set aside what a run may cost, before it reads anything.

        Parameters
        ----------
        dataset
            The name of the registered data set.
        totals
            All that the run may release, for each way that it may go.
        spender
            Whose run it is.
        purpose
            What it is for.
        only
            Whether it is to be the only run ever on these records. Then its own
            statement must be within the budget, and the ledger prices nothing.
        claims
            The (ε, δ) of the run's own statement; needed with ``only``.

        Returns
        -------
        Reservation
            With which the run charges each part before it reads for it.
        """
        values = wanted(self._account(dataset), totals, only, claims)
        values["purpose"] = text("purpose", purpose)
        run = secrets.token_hex(4)
        entry = self._append("reserve", dataset, run, spender, values)
        return Reservation(self, dataset, run, spender, entry.number)

    def quote(
        self,
        dataset: str,
        totals: Sequence[DpEvent],
        *,
        spender: str,
        only: bool = False,
        claims: tuple[float, float] | None = None,
    ) -> float:
        """Return the share of the budget that `reserve` would set aside, rounded up.

        Nothing is written. What is given is as in `reserve`, and is refused as there.
        """
        values = wanted(self._account(dataset), totals, only, claims)
        values["purpose"], run, now = "", secrets.token_hex(4), self._now()
        entry = sealed(self._head, now, "reserve", dataset, run, spender, values)
        account = apply(self._books, entry).accounts[dataset]
        return overview_of(account, self._head).runs[-1].held

    def resume(self, run: str, spender: str) -> "Reservation":
        """Go on with a run; what it has left is reserved anew if it was given back."""
        dataset = run_of(self._current(), run).dataset
        entry = self._append("resume", dataset, run, spender, {})
        return Reservation(self, dataset, run, spender, entry.number)

    def release(self, run: str, by: str) -> None:
        """Give back what a dead run holds; if it lives, its next charge fails."""
        dataset = run_of(self._current(), run).dataset
        self._append("release", dataset, run, by, {})

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all registered data sets."""
        return tuple(self._current().accounts)

    def overview(self, dataset: str) -> Overview:
        """Return what was registered, spent and reserved, and what is left."""
        return overview_of(self._account(dataset), self._head)

    def entries(self, dataset: str | None = None) -> tuple[Entry, ...]:
        """Return all entries, or those of one data set."""
        with self._store.reading() as rows:
            found = rows.after(0)
        return tuple(e for e in found if dataset is None or e.dataset == dataset)

    def verify(self, expected_head: str | None = None) -> Verdict:
        """Check every entry, every hash and every sum again, from nothing.

        Parameters
        ----------
        expected_head
            The hash of a head that was noted down at any time before.
        """
        with self._store.reading() as rows:
            damage, head, found = rows.damage(), rows.head(), rows.after(0)
        return verdict_of(head, found, damage, expected_head)

    def close(self) -> None:
        """Let go of the database; nothing is changed."""
        self._store.close()

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _account(self, dataset: str) -> Account:
        return account_of(self._current(), dataset)

    def _current(self) -> Books:
        with self._lock, self._store.reading() as rows:
            self._catch_up(rows)
            return self._books

    def _catch_up(self, rows: "Rows") -> None:
        """Follow what was written since this object last looked."""
        head = rows.head()
        if head == self._head:
            return
        new = rows.after(self._head.count)
        if not new or new[-1].head != head:
            raise LedgerError(
                f"the ledger {self.place} does not end where its head says: entries "
                "were removed or edited. Nothing was written. Verify it."
            )
        books, last = follow(self._books, self._head, new, self.place)
        self._books, self._head, self._time = books, last.head, last.time

    def _append(
        self, kind: str, dataset: str, run: str, who: str, values: JSON
    ) -> Entry:
        """Write one entry, if the rules allow it.

        Guarantee
        ---------
        The rules are applied to all entries before it, and between that and the
        storing of the entry nobody else writes.
        """
        spender = text("spender", who, empty=False)
        with self._lock:
            with self._store.writing() as rows:
                self._catch_up(rows)
                now = self._now()
                entry = sealed(self._head, now, kind, dataset, run, spender, values)
                books = apply(self._books, entry)
                rows.add(entry)
            self._books, self._head, self._time = books, entry.head, entry.time
        return entry

    def _now(self) -> str:
        now = self._clock()
        if time_text(now + _BACKWARDS) < self._time:
            raise LedgerError(
                f"the clock says {time_text(now)}, but the last entry of the ledger "
                f"{self.place} was written at {self._time}. Nothing was written. Set "
                "the clock right."
            )
        return max(time_text(now), self._time)


@dataclass(frozen=True)
class Reservation:
    """What a run may still charge. Nothing may be read before its charge returns.

    Attributes
    ----------
    ledger, dataset, run, spender
        Where, on which records, under which id, and whose it is.
    holding
        The entry that opened the run; a run opened anew has another.
    """

    ledger: Ledger
    dataset: str
    run: str
    spender: str
    holding: int

    def charge(self, event: DpEvent, part: str = "") -> None:
        """Charge for an event, before anything is read for it.

        Parameters
        ----------
        event
            What is going to be released.
        part
            The name of the part of the run that releases it, which is charged once.

        Guarantee
        ---------
        If this returns, the event is on disk as charged, within what was reserved.
        """
        leaves = leaves_of(event)
        if not leaves:
            return
        ledger = self.ledger
        run = run_of(ledger._books, self.run)
        account = account_of(ledger._books, self.dataset)
        unknown = [each for each in leaves if each not in run.prices]
        prices = {} if run.only else prices_at(account.capacity, unknown)
        values = {"event": encode(event), "prices": prices_text(prices)}
        self._write("charge", {**values, "part": text("part", part)})

    def parts(self) -> tuple[str, ...]:
        """The parts of the run that were ever charged, by name."""
        return run_of(self.ledger._books, self.run).parts

    def close(self) -> None:
        """Give the rest back. The run can be resumed while there is room for it."""
        self._write("close", {})

    def _write(self, kind: str, values: dict[str, Any]) -> None:
        values = {**values, "holding": self.holding}
        self.ledger._append(kind, self.dataset, self.run, self.spender, values)
