# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The rules of a ledger: what each kind of entry does, and when it is refused.

The writer applies an entry before it is stored, and verification applies all of them
again; so there is one set of rules, and it looks at nothing but entries.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dp_accounting.dp_event import DpEvent

from dpmcmc.accounting.registry import Leaves, flatten
from dpmcmc.ledger.accounts import (
    Account,
    Books,
    Prices,
    Run,
    cost_of,
    percent,
    within,
)
from dpmcmc.ledger.capacity import NOTHING, Capacity, Cost
from dpmcmc.ledger.codec import decode, encode
from dpmcmc.ledger.entries import Entry
from dpmcmc.ledger.errors import LedgerError

__all__ = ["account_of", "apply", "leaves_of", "prices_of", "prices_text", "run_of"]


def apply(books: Books, entry: Entry) -> Books:
    """Return the books after an entry; refuse one that a rule forbids.

    Guarantee
    ---------
    In all books that this returns, for every data set: either no only run holds or
    has cost anything, and what all runs hold sums to at most the capacity; or one
    only run does, and no other run holds or has cost anything. What a run was charged
    is at most what it reserved. A charge is of an open run, by whoever opened it last.
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
    _require_within(account)
    return Books({**books.accounts, account.name: account})


def account_of(books: Books, name: str) -> Account:
    """Return a data set by its name, or say which there are."""
    if name not in books.accounts:
        known = ", ".join(map(repr, books.accounts)) or "none"
        raise LedgerError(
            f"the data set is {name!r}; the ledger has no such name (it has {known}). "
            "Register it first, or correct the name."
        )
    return books.accounts[name]


def run_of(books: Books, name: str) -> Run:
    """Return a run by its id, or say that there is none."""
    run = books.run(name)
    if run is None:
        raise LedgerError(
            f"the run is {name!r}; the ledger has no run of that id. Look it up in the "
            "overview of its data set."
        )
    return run


def leaves_of(event: DpEvent) -> Leaves:
    """Count the single events of an event, after checking that a ledger can hold it."""
    encode(event)
    return flatten(event)


def prices_text(prices: Prices) -> list[list[Any]]:
    """Return prices as JSON values; every float of them is kept exactly."""
    return [
        [encode(event), float(cost.divergence), float(cost.slack)]
        for event, cost in prices.items()
    ]


def prices_of(values: list[list[Any]]) -> dict[DpEvent, Cost]:
    """Return the prices that `prices_text` wrote."""
    prices = {}
    for event, divergence, slack in values:
        cost = Cost(Fraction(divergence), Fraction(slack))
        if min(cost) < 0:
            raise LedgerError("a price is below 0. The ledger was edited; verify it.")
        prices[decode(event)] = cost
    return prices


def _register(books: Books, entry: Entry) -> Account:
    values = entry.values
    if entry.dataset in books.accounts:
        raise LedgerError(
            f"the data set {entry.dataset!r} is registered already, since "
            f"{books.accounts[entry.dataset].time[:10]}; a budget is settled once and "
            "for all. Other records need another name."
        )
    capacity = Capacity(*(values[name] for name in Capacity._fields))
    if not capacity.holds(values["delta"]):
        raise LedgerError(
            f"entry {entry.number} gives {entry.dataset!r} more than its ε and δ hold. "
            "The ledger was edited; verify it."
        )
    _require_somebody(values["spenders"])
    return Account(
        entry.dataset,
        values["records"],
        values["epsilon"],
        values["delta"],
        tuple(values["spenders"]),
        values["note"],
        entry.spender,
        entry.time,
        capacity,
    )


def _spenders(books: Books, entry: Entry) -> Account:
    account = account_of(books, entry.dataset)
    if entry.spender != account.registrar:
        raise LedgerError(
            f"the spenders of {account.name!r} are changed by {account.registrar!r} "
            f"alone, who registered it, and not by {entry.spender!r}. Ask them."
        )
    add, remove = entry.values["add"], entry.values["remove"]
    for name in remove:
        _require_spender(account, name)
    kept = [name for name in account.spenders if name not in remove]
    spenders = tuple(dict.fromkeys([*kept, *add]))
    _require_somebody(spenders)
    return replace(account, spenders=spenders)


def _reserve(books: Books, entry: Entry) -> Account:
    account = account_of(books, entry.dataset)
    values = entry.values
    _require_spender(account, entry.spender)
    if books.run(entry.run) is not None:
        raise LedgerError(f"there is a run {entry.run!r} already. Reserve again.")
    totals = tuple(flatten(decode(total)) for total in values["totals"])
    prices = prices_of(values["prices"])
    for event in {event for total in totals for event in total}:
        _require_records(account, event)
    costs = [NOTHING if values["only"] else cost_of(t, prices) for t in totals]
    run = Run(
        entry.run,
        entry.dataset,
        entry.spender,
        values["purpose"],
        entry.time,
        totals,
        values["only"],
        tuple(values["claims"]) if values["claims"] else None,
        prices,
        Cost(max(c.divergence for c in costs), max(c.slack for c in costs)),
        entry.number,
    )
    _require_room(account, run)
    return _with(account, run)


def _charge(books: Books, entry: Entry) -> Account:
    account, run = _opened(books, entry)
    values = entry.values
    prices = {**prices_of(values["prices"]), **run.prices}
    new = flatten(decode(values["event"]))
    leaves = Counter(run.leaves) + Counter(new)
    if values["part"] and values["part"] in run.parts:
        raise LedgerError(
            f"run {run.name!r} was charged for its part {values['part']!r} before; a "
            "part is made once. Leave it out, or begin another run."
        )
    parts = (*run.parts, values["part"]) if values["part"] else run.parts
    if run.only:
        if not any(within(leaves, total) for total in run.totals):
            raise LedgerError(_too_much(run, entry.dataset))
        return _with(account, replace(run, leaves=leaves, parts=parts))
    for event in new:
        _require_records(account, event)
    charged = cost_of(leaves, prices)
    if not charged.fits(run.reserved):
        raise LedgerError(_too_much(run, entry.dataset))
    return _with(
        account,
        replace(run, leaves=leaves, charged=charged, prices=prices, parts=parts),
    )


def _close(books: Books, entry: Entry) -> Account:
    account, run = _opened(books, entry)
    return _with(account, replace(run, holding=None, state="closed"))


def _release(books: Books, entry: Entry) -> Account:
    account, run = _found(books, entry)
    if entry.spender not in (*account.spenders, account.registrar):
        _require_spender(account, entry.spender)
    if not run.is_open:
        raise LedgerError(
            f"run {run.name!r} is {run.state} already and holds nothing back."
        )
    return _with(account, replace(run, holding=None, state="released"))


def _resume(books: Books, entry: Entry) -> Account:
    account, run = _found(books, entry)
    _require_spender(account, entry.spender)
    opened = replace(run, holding=entry.number, state="open")
    _require_room(account, opened)
    return _with(account, opened)


_RULES = {
    "register": _register,
    "spenders": _spenders,
    "reserve": _reserve,
    "charge": _charge,
    "close": _close,
    "release": _release,
    "resume": _resume,
}


def _found(books: Books, entry: Entry) -> tuple[Account, Run]:
    run = run_of(books, entry.run)
    if run.dataset != entry.dataset:
        raise LedgerError(
            f"run {run.name!r} is on {run.dataset!r}, not on {entry.dataset!r}. Name "
            "the data set of the run."
        )
    return account_of(books, entry.dataset), run


def _opened(books: Books, entry: Entry) -> tuple[Account, Run]:
    """Return the run of an entry, if whoever writes it is who opened it last."""
    account, run = _found(books, entry)
    if not run.is_open:
        raise LedgerError(
            f"run {run.name!r} is {run.state}: it holds no budget any more, and "
            "nothing may be read for it. Resume it to go on."
        )
    if entry.values["holding"] != run.holding:
        raise LedgerError(
            f"run {run.name!r} was resumed by another process, so that this one may "
            "read nothing more. Let the other finish, or resume the run again."
        )
    return account, run


def _with(account: Account, run: Run) -> Account:
    return replace(account, runs={**account.runs, run.name: run})


def _require_somebody(spenders: Sequence[str]) -> None:
    if not spenders:
        raise LedgerError(
            "there is no spender; at least one name must be given. Name who may spend "
            "the budget."
        )


def _require_spender(account: Account, spender: str) -> None:
    if spender not in account.spenders:
        named = ", ".join(account.spenders)
        raise LedgerError(
            f"the spender is {spender!r}; only {named} may spend the budget of "
            f"{account.name!r}. Ask one of them."
        )


def _require_records(account: Account, event: DpEvent) -> None:
    records = getattr(event, "records", account.records)
    if records != account.records:
        raise LedgerError(
            f"the run reads {records:,} records; {account.name!r} is registered with "
            f"{account.records:,}. Name the data set that the records belong to."
        )


def _require_room(account: Account, run: Run) -> None:
    """Refuse a run for which there is no room beside what others hold."""
    others = [r for r in account.runs.values() if r.name != run.name and r.counts]
    alone = account.only
    if alone is not None and alone.name != run.name:
        raise LedgerError(
            f"the whole budget of {account.name!r} belongs to run {alone.name!r}, "
            "which was reserved as the only run ever on these records. Nothing else "
            "can be run on them."
        )
    if run.only:
        if others:
            raise LedgerError(
                f"{account.name!r} has other runs already, such as {others[0].name!r}; "
                "an only run must be the first and the last on its records. Reserve "
                "it with only=False, as a share of what is left."
            )
        return
    whole, held = account.capacity.cost, account.held_by_all(but=run.name)
    if run.reserved.plus(held).fits(whole):
        return
    need, left = account.share(run.reserved), 1 - account.share(held)
    arithmetic = run.reserved.divergence + held.divergence <= whole.divergence
    raise LedgerError(
        f"the run needs {percent(need, up=True)} of the budget of {account.name!r}"
        f"{' (for the rounding of its many steps)' if arithmetic else ''}, and at most "
        f"{percent(left, up=False)} is left ({_standing(account)}). "
        f"{_advice(account, run, bool(others))}"
    )


def _standing(account: Account) -> str:
    spent = account.share(account.spent_by_all())
    held = account.share(account.held_by_all())
    return (
        f"{percent(spent, up=True)} spent, {percent(held - spent, up=True)} reserved "
        "by open runs"
    )


def _advice(account: Account, run: Run, others: bool) -> str:
    fits = run.claims is not None and (
        run.claims[0] <= account.epsilon and run.claims[1] <= account.delta
    )
    if fits and not others:
        return (
            "By its own statement it fits alone: reserve it with only=True, and "
            "nothing else can ever be run on these records; or take a smaller "
            "epsilon, which leaves room for others."
        )
    if any(each.is_open for each in account.runs.values()):
        return "Take a smaller epsilon or fewer steps, or release runs that are dead."
    return "Take a smaller epsilon or fewer steps."


def _too_much(run: Run, dataset: str) -> str:
    return (
        f"run {run.name!r} on {dataset!r} has used what it reserved, and this charge "
        "would pass it; nothing may be read for it. Reserve another run for more."
    )


def _require_within(account: Account) -> None:
    """Check the invariant itself, whatever the rules above did."""
    if account.only is None:
        if account.held_by_all().fits(account.capacity.cost):
            return
    elif sum(run.counts for run in account.runs.values()) == 1:
        return
    raise LedgerError(
        f"more would be reserved of {account.name!r} than its budget holds. This is a "
        "fault of dpmcmc or of the ledger; verify it."
    )
