# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The ledger: how much may be spent on which records, and what was spent."""

import secrets
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpmcmc import errors
from dpmcmc.accounting.currencies import one_currency
from dpmcmc.ledger.accounts import Account, Books
from dpmcmc.ledger.capacity import Capacity, settle, settle_in
from dpmcmc.ledger.codec import JSON, Events, decode, encode
from dpmcmc.ledger.entries import FIRST, Entry, Head, sealed, time_text
from dpmcmc.ledger.overview import Overview, overview_of
from dpmcmc.ledger.prices import prices_for
from dpmcmc.ledger.refusals import LedgerError
from dpmcmc.ledger.room import require_alone
from dpmcmc.ledger.rules import apply, prices_text
from dpmcmc.ledger.tally import tally_of
from dpmcmc.ledger.texts import analyst_or_user, one_line, rounded
from dpmcmc.ledger.verify import Verification, follow, verdict_of

if TYPE_CHECKING:
    from dpmcmc.ledger.store import Rows, Store

__all__ = ["Ledger", "Reservation"]


class Ledger:
    """A list of entries that only grows, in one SQLite file or in PostgreSQL.

    Open it with `Ledger.open`. Every method that changes it is one transaction, and
    takes an ``analyst``: a note of who asked, by default the user of the operating
    system. Who may write is decided by the operating system or the database.

    Guarantee
    ---------
    All that is ever released from a registered data set, and was charged here before
    it was read, is (ε, δ)-differentially private together, with the ε and δ of its
    registration, however later runs were chosen from what earlier ones released.
    """

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._lock = threading.Lock()
        self._head = Head(0, FIRST)
        self._books = Books()

    @classmethod
    def open(
        cls,
        where: str | Path,
        *,
        create: bool = True,
        timeout: float = 30.0,
    ) -> "Ledger":
        """Open a ledger, or begin one.

        Parameters
        ----------
        where
            The path of a file, or a URL such as ``postgresql://host/study``.
        create
            Whether to begin a ledger where there is none.
        timeout
            For how many seconds to retry while another process holds the lock.
        """
        try:
            from dpmcmc.ledger.store import Store  # noqa: PLC0415 - an extra
        except ModuleNotFoundError:
            raise LedgerError(
                "a ledger needs SQLAlchemy, which is not installed. Install it with: "
                "pip install 'dpmcmc[ledger]'."
            ) from None
        return cls(Store(where, create=create, timeout=timeout))

    @property
    def place(self) -> str:
        """Where the ledger is kept, without a password."""
        return self._store.place

    def register(
        self,
        dataset: str,
        *,
        records: int,
        delta: float,
        epsilon: float | None = None,
        rho: float | None = None,
        mu: float | None = None,
        unit: str = "",
        note: str = "",
        analyst: str | None = None,
    ) -> None:
        """Register a data set with the budget of everything ever released from it.

        Parameters
        ----------
        dataset, records
            Its name, and its number of records or units, which is public.
        epsilon, delta
            The budget.
        rho, mu
            The budget in place of ε: ρ of zero-concentrated, or μ of Gaussian
            differential privacy. The sum of ρ, or of μ², of all runs stays within it;
            δ is that at which its ε is stated.
        unit
            The column of ids, if the budget is for all records of one unit, such as a
            person; for one record unless given. Every run must protect the same.
        note, analyst
            Anything worth keeping, such as who decided; and who registers it.
        """
        count = errors.require_count("records", records, "Give the number of records.")
        values = {
            "records": count,
            "unit": one_line("unit", unit),
            "delta": float(delta),
            **_capacity(delta, epsilon=epsilon, rho=rho, mu=mu)._asdict(),
            "note": one_line("note", note),
        }
        name = one_line("dataset", dataset, empty=False)
        self._append("register", name, "", analyst, values)

    def reserve(
        self,
        dataset: str,
        total: Events,
        *,
        analyst: str | None = None,
        purpose: str = "",
        only: bool = False,
        claims: tuple[float, float] | None = None,
        unit: str = "",
    ) -> "Reservation":
        """Set aside what a run may cost, before it reads anything.

        Parameters
        ----------
        dataset, total
            The name of the data set, and all events that the run may release, each with
            its count.
        analyst, purpose
            Who asks, and what for.
        only
            Whether it is to be the only run ever on these records. Then its own
            certificate must be within the budget, and the ledger prices nothing.
        claims
            The (ε, δ) of the run's own statement, as a note.
        unit
            What the run protects, as in `register`.

        Raises
        ------
        OverBudgetError
            If the run does not fit; nothing was written.
        """
        values = _request(self._account(dataset), total, only, claims, unit)
        values["purpose"], run = one_line("purpose", purpose), secrets.token_hex(4)
        entry = self._append("reserve", dataset, run, analyst, values)
        return Reservation(self, dataset, run, entry.analyst, entry.number)

    def quote(
        self,
        dataset: str,
        total: Events,
        *,
        only: bool = False,
        claims: tuple[float, float] | None = None,
        unit: str = "",
    ) -> float:
        """Return the fraction of the budget that `reserve` would set aside, rounded up.

        Nothing is written. What is given is as in `reserve`, and is refused as there.
        """
        values = _request(self._account(dataset), total, only, claims, unit)
        values["purpose"], run = "", secrets.token_hex(4)
        entry = sealed(self._head, "", "reserve", dataset, run, "", values)
        account = apply(self._books, entry).account(dataset)
        return rounded(account.fraction(account.runs[run].held), up=True)

    def resume(self, run: str, analyst: str | None = None) -> "Reservation":
        """Go on with a run; what it has left is reserved anew if it was given back."""
        dataset = self._current().run(run).dataset
        entry = self._append("resume", dataset, run, analyst, {})
        return Reservation(self, dataset, run, entry.analyst, entry.number)

    def release(self, run: str, analyst: str | None = None) -> None:
        """Give back what a dead run holds; if it lives, its next charge fails."""
        dataset = self._current().run(run).dataset
        self._append("release", dataset, run, analyst, {})

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all registered data sets."""
        return tuple(self._current().accounts)

    def overview(self, dataset: str, delta: float | None = None) -> Overview:
        """Return what was registered, spent and reserved, what is left, what fits.

        The ε that still fits is stated at a δ, which is by default the budget's.
        """
        account = self._account(dataset)
        at = account.delta if delta is None else delta
        at = errors.require_probability("delta", at, "1e-6 is common.")
        return overview_of(account, at)

    def entries(self, dataset: str | None = None) -> tuple[Entry, ...]:
        """Return all entries, or those of one data set."""
        with self._store.reading() as rows:
            found = rows.after(0)
        return tuple(e for e in found if dataset is None or e.dataset == dataset)

    def charges(self, run: str) -> tuple[tuple[str, Events], ...]:
        """Return what a run was charged for: the name of each part, and its events."""
        mine = (e for e in self.entries() if e.run == run and e.kind == "charge")
        return tuple((e.values["part"], decode(e.values["events"])) for e in mine)

    def verify(self, expected_head: str | None = None) -> Verification:
        """Check every entry, hash and sum again, and a head of an earlier time."""
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
        return self._current().account(dataset)

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
        self._books = follow(self._books, self._head, new, self.place)
        self._head = head

    def _append(
        self, kind: str, dataset: str, run: str, analyst: str | None, values: JSON
    ) -> Entry:
        """Write one entry, if the rules allow it.

        Guarantee
        ---------
        The rules are applied to all entries before it, and between that and the
        storing of the entry nobody else writes.
        """
        who, now = analyst_or_user(analyst), time_text(time.time())
        with self._lock:
            with self._store.writing() as rows:
                self._catch_up(rows)
                entry = sealed(self._head, now, kind, dataset, run, who, values)
                books = apply(self._books, entry)
                rows.add(entry)
            self._books, self._head = books, entry.head
        return entry


@dataclass(frozen=True)
class Reservation:
    """What a run may still charge. Nothing may be read before its charge returns.

    Attributes
    ----------
    ledger, dataset, run, analyst
        Where, on which records, under which id, and who asked.
    opened_by
        The number of the entry that opened the run; a run opened anew has another.
    """

    ledger: Ledger
    dataset: str
    run: str
    analyst: str
    opened_by: int

    def charge(self, events: Events, part: str = "") -> None:
        """Charge for events, before anything is read for them.

        A part of the run that is named is charged once.

        Guarantee
        ---------
        If this returns, the events are on disk as charged, within what was reserved.
        """
        if tally_of(events):
            values = {"events": encode(events), "part": one_line("part", part)}
            self._write("charge", values)

    def close(self) -> None:
        """Give the rest back. The run can be resumed while there is room for it."""
        self._write("close", {})

    def _write(self, kind: str, values: JSON) -> None:
        values = {**values, "opened_by": self.opened_by}
        self.ledger._append(kind, self.dataset, self.run, self.analyst, values)


def _capacity(delta: float, **given: float | None) -> Capacity:
    """What a budget holds, in whatever currency it was given."""
    budget = one_currency(**given)
    if budget is None:
        raise LedgerError("there is no budget. Give epsilon, rho or mu.")
    currency, amount = budget
    if currency == "epsilon":
        return settle(amount, delta)
    return settle_in(currency, amount, delta)


def _request(
    account: Account,
    total: Events,
    only: bool,
    claims: tuple[float, float] | None,
    unit: str,
) -> JSON:
    """Return what an entry says of a run that is to be reserved, but its purpose."""
    tally = tally_of(total)
    if only and account.capacity.currency != "epsilon":
        raise LedgerError(
            f"the budget of {account.name!r} is in {account.capacity.currency}, which "
            "adds up exactly: an only run has nothing to gain. Take only=False."
        )
    if only:
        require_alone(account, total)
    if claims is not None and not (
        0 <= claims[0] < float("inf") and 0 <= claims[1] < 1
    ):
        raise LedgerError(
            f"claims is {claims!r}; it must be the (ε, δ) of the run's own statement, "
            "with a finite ε of at least 0 and a δ from 0 to 1. Leave it out if there "
            "is none."
        )
    return {
        "total": encode(total),
        "unit": unit,
        "prices": [] if only else prices_text(prices_for(tally, account.capacity)),
        "only": bool(only),
        "claims": None if claims is None else [float(part) for part in claims],
    }
