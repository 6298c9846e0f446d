# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the entries of a ledger add up to: data sets, and the runs on them."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from dp_accounting.dp_event import DpEvent

from dpmcmc.accounting.registry import Leaves
from dpmcmc.ledger.capacity import NOTHING, Capacity, Cost

__all__ = ["Account", "Books", "Prices", "Run", "cost_of", "percent", "within"]

Prices = Mapping[DpEvent, Cost]
"""What single events cost, as it was settled for a run."""


@dataclass(frozen=True)
class Run:
    """One run: what it may release, and what it was charged.

    Attributes
    ----------
    name, dataset, spender, purpose, time
        Its public id, on which records, whose it is, what for, and since when.
    totals
        All that it may release, for each way that it may go.
    only
        Whether it is the only run ever on its records.
    claims
        The (ε, δ) of its own statement, if it was given.
    prices
        What its events cost; none for an only run.
    reserved, charged
        The most that it may cost, and what it has cost.
    leaves
        The events that it was charged for.
    parts
        The names of the parts of the run that they were charged for.
    holding
        The number of the entry by which it is open, or None.
    state
        "open", "closed" or "released".
    """

    name: str
    dataset: str
    spender: str
    purpose: str
    time: str
    totals: tuple[Leaves, ...]
    only: bool
    claims: tuple[float, float] | None
    prices: Prices
    reserved: Cost
    holding: int | None
    state: str = "open"
    charged: Cost = NOTHING
    leaves: Leaves = field(default_factory=Counter)
    parts: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether it may charge."""
        return self.holding is not None

    @property
    def counts(self) -> bool:
        """Whether it holds or has cost anything."""
        return self.is_open or bool(self.leaves)


@dataclass(frozen=True)
class Account:
    """A registered data set, and all runs on it.

    Attributes
    ----------
    name, records, epsilon, delta, spenders, note, registrar, time
        As it was registered, by whom, and when; the spenders as they are now.
    capacity
        What the budget holds.
    runs
        Every run by its id, in the order of their reservations.
    """

    name: str
    records: int
    epsilon: float
    delta: float
    spenders: tuple[str, ...]
    note: str
    registrar: str
    time: str
    capacity: Capacity
    runs: Mapping[str, Run] = field(default_factory=dict)

    @property
    def only(self) -> Run | None:
        """The run that has the whole budget for itself, if there is one."""
        return next((r for r in self.runs.values() if r.only and r.counts), None)

    def held(self, run: Run) -> Cost:
        """Return what a run keeps from others: all it may cost, or what it has."""
        if run.only:
            return self.capacity.cost if run.counts else NOTHING
        return run.reserved if run.is_open else run.charged

    def spent(self, run: Run) -> Cost:
        """Return what a run was charged; the only run takes everything."""
        if run.only:
            return self.capacity.cost if run.leaves else NOTHING
        return run.charged

    def held_by_all(self, *, but: str = "") -> Cost:
        """Return what all runs keep together, leaving one out."""
        return _sum(self.held(r) for r in self.runs.values() if r.name != but)

    def spent_by_all(self) -> Cost:
        """Return what all runs were charged together."""
        return _sum(self.spent(r) for r in self.runs.values())

    def share(self, cost: Cost) -> Fraction:
        """Return the share of the budget that a cost takes."""
        return cost.share(self.capacity.cost)


@dataclass(frozen=True)
class Books:
    """Every data set by its name."""

    accounts: Mapping[str, Account] = field(default_factory=dict)

    def run(self, name: str) -> Run | None:
        """Return the run with this id, on whatever data set."""
        for account in self.accounts.values():
            if name in account.runs:
                return account.runs[name]
        return None


def cost_of(leaves: Leaves, prices: Prices) -> Cost:
    """Return what events cost together, exactly.

    Guarantee
    ---------
    The sums are exact: no order of adding them, and no splitting of them into
    chunks, changes the result.
    """
    divergence = sum((n * prices[e].divergence for e, n in leaves.items()), Fraction(0))
    slack = sum((n * prices[e].slack for e, n in leaves.items()), Fraction(0))
    return Cost(divergence, slack)


def within(leaves: Leaves, total: Leaves) -> bool:
    """Say whether no event occurs more often than in the total."""
    return all(count <= total.get(event, 0) for event, count in leaves.items())


def percent(share: Fraction, *, up: bool) -> str:
    """Show a share in percent, with two digits, rounded up or down."""
    if share > 1000:  # may be more than a float holds
        return "more than 100,000%"
    hundredths = share * 10_000
    whole = math.ceil(hundredths) if up else math.floor(hundredths)
    return f"{whole / 100:.2f}".rstrip("0").rstrip(".") + "%"


def _sum(costs: Iterable[Cost]) -> Cost:
    total = NOTHING
    for cost in costs:
        total = total.plus(cost)
    return total
