# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The rules of a ledger: what each kind of entry does, and when it is refused.

The writer applies an entry before it is stored, and verification applies all of them
again; so there is one set of rules, and it looks at nothing but entries.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpmcmc.accounting import Event
from dpmcmc.ledger.accounts import Account, Books, Run
from dpmcmc.ledger.capacity import Capacity, Cost
from dpmcmc.ledger.codec import JSON, decode, encode
from dpmcmc.ledger.entries import Entry
from dpmcmc.ledger.prices import Prices, cost_of
from dpmcmc.ledger.refusals import LedgerError
from dpmcmc.ledger.room import require_room
from dpmcmc.ledger.tally import tally_of

__all__ = ["apply", "prices_of", "prices_text"]


def apply(books: Books, entry: Entry) -> Books:
    """Return the books after an entry; refuse one that a rule forbids.

    Guarantee
    ---------
    In all books that this returns, for every data set: what all runs hold sums to at
    most the capacity, of which an only run holds all. What a run was charged for is
    within what it reserved. A charge is of an open run, by the process that opened it
    last.
    """
    if entry.kind not in _RULES:
        raise LedgerError(
            f"entry {entry.number} is of kind {entry.kind!r}, which this version does "
            "not know. Install a newer dpmcmc, or verify the ledger."
        )
    try:
        account = _RULES[entry.kind](books, entry)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, LedgerError):
            raise
        raise LedgerError(
            f"entry {entry.number} of the ledger cannot be read ({error!s:.60}). It "
            "was edited, or written by another version; verify the ledger."
        ) from None
    if not account.held().fits(account.capacity.cost):  # whatever the rules did
        raise LedgerError(
            f"more would be reserved of {account.name!r} than its budget holds. This "
            "is a fault of dpmcmc or of the ledger; verify it."
        )
    return Books({**books.accounts, account.name: account})


def prices_text(prices: Prices) -> list[list[Any]]:
    """Return prices as JSON values; every float of them is kept exactly."""
    return [
        [encode({event: 1}), float(cost.divergence), float(cost.slack)]
        for event, cost in prices.items()
    ]


def prices_of(values: list[list[Any]]) -> dict[Event, Cost]:
    """Return the prices that `prices_text` wrote."""
    prices = {}
    for event, divergence, slack in values:
        cost = Cost(Fraction(divergence), Fraction(slack))
        if cost.divergence <= 0 or cost.slack < 0:
            raise LedgerError(
                "an event has no price. The ledger was edited; verify it."
            )
        (priced,) = decode(event)
        prices[priced] = cost
    return prices


def _register(books: Books, entry: Entry) -> Account:
    values = entry.values
    if entry.dataset in books.accounts:
        raise LedgerError(
            f"the data set {entry.dataset!r} is registered already, since "
            f"{books.accounts[entry.dataset].time[:10]}; a budget is settled once and "
            "for all. Other records need another name."
        )
    capacity = Capacity(*(values[name] for name in Capacity._fields if name in values))
    if not capacity.holds(values["delta"]):
        raise LedgerError(
            f"entry {entry.number} gives {entry.dataset!r} more than its ε and δ hold. "
            "The ledger was edited; verify it."
        )
    return Account(
        entry.dataset,
        values["records"],
        _unit(values),
        values["delta"],
        values["note"],
        entry.analyst,
        entry.time,
        capacity,
    )


def _reserve(books: Books, entry: Entry) -> Account:
    account, values = books.account(entry.dataset), entry.values
    if any(entry.run in each.runs for each in books.accounts.values()):
        raise LedgerError(f"there is a run {entry.run!r} already. Reserve again.")
    unit = _unit(values)
    if unit != account.unit:
        raise LedgerError(
            f"the run protects {_protected(unit)}; the budget of "
            f"{account.name!r} is for {_protected(account.unit)}. Group the records as "
            "it was registered, or register them by another name."
        )
    total, prices = tally_of(decode(values["total"])), prices_of(values["prices"])
    for event in total.counts:
        records = getattr(event, "records", account.records)
        if records != account.records:
            raise LedgerError(
                f"the run reads {records:,} records; {account.name!r} is registered "
                f"with {account.records:,}. Name the data set that the records belong "
                "to."
            )
    whole = account.capacity
    run = Run(
        entry.run,
        entry.dataset,
        entry.analyst,
        values["purpose"],
        entry.time,
        total,
        values["only"],
        _claims(values["claims"]),
        prices,
        whole.cost if values["only"] else cost_of(total, prices, whole.order),
        entry.number,
    )
    require_room(account, run)
    return _with(account, run)


def _charge(books: Books, entry: Entry) -> Account:
    account, run = _opened(books, entry)
    part = entry.values["part"]
    if part and part in run.parts:
        raise LedgerError(
            f"run {run.name!r} was charged for its part {part!r} before; a part is "
            "made once. Leave it out, or begin another run."
        )
    charged = run.charged.plus(tally_of(decode(entry.values["events"])))
    if not charged.within(run.total):
        raise LedgerError(
            f"run {run.name!r} on {entry.dataset!r} reserved less than this charge and "
            "those before it come to; nothing may be read for it. Reserve another run "
            "for more."
        )
    whole = account.capacity
    cost = whole.cost if run.only else cost_of(charged, run.prices, whole.order)
    parts = (*run.parts, part) if part else run.parts
    return _with(account, replace(run, charged=charged, cost=cost, parts=parts))


def _close(books: Books, entry: Entry) -> Account:
    account, run = _opened(books, entry)
    return _with(account, replace(run, opened_by=None, state="closed"))


def _release(books: Books, entry: Entry) -> Account:
    account, run = _found(books, entry)
    if run.opened_by is None:
        raise LedgerError(f"run {run.name!r} is {run.state} already: it holds nothing.")
    return _with(account, replace(run, opened_by=None, state="released"))


def _resume(books: Books, entry: Entry) -> Account:
    account, run = _found(books, entry)
    opened = replace(run, opened_by=entry.number, state="open")
    require_room(account, opened)
    return _with(account, opened)


_RULES: dict[str, Callable[[Books, Entry], Account]] = {
    "register": _register,
    "reserve": _reserve,
    "charge": _charge,
    "close": _close,
    "release": _release,
    "resume": _resume,
}


def _unit(values: JSON) -> str:
    """The column of ids; without one, as in older entries, records are protected."""
    return str(values.get("unit", ""))


def _protected(unit: str) -> str:
    return f"units by {unit!r}" if unit else "single records"


def _claims(values: list[float] | None) -> tuple[float, float] | None:
    if values is None:
        return None
    epsilon, delta = values
    return float(epsilon), float(delta)


def _found(books: Books, entry: Entry) -> tuple[Account, Run]:
    run = books.run(entry.run)
    if run.dataset != entry.dataset:
        raise LedgerError(
            f"run {run.name!r} is on {run.dataset!r}, not on {entry.dataset!r}. Name "
            "the data set of the run."
        )
    return books.account(entry.dataset), run


def _opened(books: Books, entry: Entry) -> tuple[Account, Run]:
    """Return the run of an entry, if the writer is the process that opened it last."""
    account, run = _found(books, entry)
    if run.opened_by is None:
        raise LedgerError(
            f"run {run.name!r} is {run.state}: it holds no budget any more, and "
            "nothing may be read for it. Resume it to go on."
        )
    if entry.values["opened_by"] != run.opened_by:
        raise LedgerError(
            f"run {run.name!r} was resumed by another process, so that this one may "
            "read nothing more. Let the other finish, or resume the run again."
        )
    return account, run


def _with(account: Account, run: Run) -> Account:
    return replace(account, runs={**account.runs, run.name: run})
