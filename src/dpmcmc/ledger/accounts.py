# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the entries of a ledger add up to: data sets, and the runs on them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from dpmcmc.ledger.capacity import NOTHING, Capacity, Cost
from dpmcmc.ledger.prices import Prices
from dpmcmc.ledger.refusals import LedgerError
from dpmcmc.ledger.tally import Tally

__all__ = ["Account", "Books", "Run"]


@dataclass(frozen=True)
class Run:
    """One run: what it may release, and what it was charged.

    Attributes
    ----------
    name, dataset, analyst, purpose, time
        Its public id, on which records, who asked, what for, and when.
    total, reserved
        All that it may release, and what that costs.
    only
        Whether it is the only run ever on its records. Then it costs the whole budget.
    claims
        The (ε, δ) of its own statement, if it was given.
    prices
        What its counted events cost; none for an only run.
    opened_by, state
        The number of the entry by which it is open, or None; "open", "closed" or
        "released".
    charged, cost, parts
        What it was charged for, what that costs, and the names of those parts.
    """

    name: str
    dataset: str
    analyst: str
    purpose: str
    time: str
    total: Tally
    only: bool
    claims: tuple[float, float] | None
    prices: Prices
    reserved: Cost
    opened_by: int | None
    state: str = "open"
    charged: Tally = field(default_factory=Tally)
    cost: Cost = NOTHING
    parts: tuple[str, ...] = ()

    @property
    def held(self) -> Cost:
        """What the run keeps from others: all it may cost, or what it has cost."""
        return self.cost if self.opened_by is None else self.reserved


@dataclass(frozen=True)
class Account:
    """A registered data set, and all runs on it.

    Attributes
    ----------
    name, records, unit, delta, note, registrar, time
        As it was registered, by whom, and when. The budget is for one of the records;
        or, where ``unit`` names a column of ids, for all records of one unit.
    capacity
        What the budget holds, and its ε.
    runs
        Every run by its id, in the order of their reservations.
    """

    name: str
    records: int
    unit: str
    delta: float
    note: str
    registrar: str
    time: str
    capacity: Capacity
    runs: Mapping[str, Run] = field(default_factory=dict)

    @property
    def epsilon(self) -> float:
        """The ε of the budget."""
        return self.capacity.epsilon

    def held(self, *, but: str = "") -> Cost:
        """Return what all runs keep together, leaving one out."""
        return _sum(run.held for run in self.runs.values() if run.name != but)

    def spent(self) -> Cost:
        """Return what all runs have cost together."""
        return _sum(run.cost for run in self.runs.values())

    def fraction(self, cost: Cost) -> Fraction:
        """Return the fraction of the budget that a cost takes."""
        return cost.fraction_of(self.capacity.cost)


@dataclass(frozen=True)
class Books:
    """Every data set by its name."""

    accounts: Mapping[str, Account] = field(default_factory=dict)

    def account(self, name: str) -> Account:
        """Return a data set by its name, or say which there are."""
        if name not in self.accounts:
            known = ", ".join(map(repr, self.accounts)) or "none"
            raise LedgerError(
                f"the data set is {name!r}; the ledger has no such name (it has "
                f"{known}). Register it first, or correct the name."
            )
        return self.accounts[name]

    def run(self, name: str) -> Run:
        """Return the run with this id, on whatever data set."""
        for account in self.accounts.values():
            if name in account.runs:
                return account.runs[name]
        raise LedgerError(
            f"the run is {name!r}; the ledger has no run of that id. Look it up in the "
            "overview of its data set."
        )


def _sum(costs: Iterable[Cost]) -> Cost:
    total = NOTHING
    for cost in costs:
        total = total.plus(cost)
    return total
