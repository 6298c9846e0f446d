# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Data sets, events and runs that the ledger's tests share."""

from typing import Any

from dp_accounting.dp_event import (
    ComposedDpEvent,
    DpEvent,
    SelfComposedDpEvent,
)

from dpmcmc.accounting import (
    BarkerBit,
    GaussianBarkerBit,
    GaussianBatchSum,
    GaussianRelease,
    MinibatchBit,
)
from dpmcmc.ledger import Ledger, Reservation
from dpmcmc.ledger.accounts import cost_of
from dpmcmc.ledger.wanted import prices_at

RECORDS = 10_000
BIT = BarkerBit(0.01, RECORDS)
SUM = GaussianBatchSum(60.0, 1000, RECORDS)

SINGLES: tuple[DpEvent, ...] = (
    BIT,
    GaussianBarkerBit(0.01, RECORDS),
    GaussianBatchSum(20.0, RECORDS, RECORDS),
    SUM,
    GaussianRelease(0.07),
    MinibatchBit(1000, RECORDS),
    MinibatchBit(1000, RECORDS, replacement=True),
)
"""One event of every kind that a run may release."""


def bits(count: int, bit: DpEvent = BIT) -> DpEvent:
    return SelfComposedDpEvent(bit, count)


def whole_run(steps: int) -> DpEvent:
    return ComposedDpEvent([bits(100, SUM), bits(steps)])


def opened(place: str, **changes: Any) -> Ledger:
    """A ledger with one registered data set."""
    ledger = Ledger.open(place, timeout=5.0)
    register(ledger, **changes)
    return ledger


def register(ledger: Ledger, dataset: str = "people", **changes: Any) -> None:
    settings: dict[str, Any] = {
        "records": RECORDS,
        "epsilon": 1.0,
        "delta": 1e-6,
        "spenders": ("ana", "bo"),
        "by": "steward",
        **changes,
    }
    ledger.register(dataset, **settings)


def reserve(ledger: Ledger, steps: int = 100, **changes: Any) -> Reservation:
    settings: dict[str, Any] = {"totals": [bits(steps)], "spender": "ana", **changes}
    return ledger.reserve("people", **settings)


def most_steps(ledger: Ledger) -> int:
    """How many bits fit the whole budget, found by trying."""
    fits, too_many = 0, 2**24
    capacity = ledger._current().accounts["people"].capacity
    prices = prices_at(capacity, [BIT])
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if cost_of({BIT: middle}, prices).fits(capacity.cost):
            fits = middle
        else:
            too_many = middle
    return fits
