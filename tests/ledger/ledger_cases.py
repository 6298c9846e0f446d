# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Data sets, events and runs that the ledger's tests share."""

from typing import Any

from dpmcmc.accounting import (
    BarkerBit,
    Event,
    GaussianBarkerBit,
    GaussianBatchSum,
    GaussianRelease,
    LaplaceRelease,
    MinibatchBit,
)
from dpmcmc.ledger import Ledger, Reservation, tally_of
from dpmcmc.ledger.codec import Events
from dpmcmc.ledger.prices import cost_of, prices_for

RECORDS = 10_000
BIT = BarkerBit(0.01, RECORDS)
SUM = GaussianBatchSum(60.0, 1000, RECORDS)

COUNTED: tuple[Event, ...] = (
    BIT,
    GaussianBarkerBit(0.01, RECORDS),
    GaussianBatchSum(20.0, RECORDS, RECORDS),
    SUM,
    MinibatchBit(1000, RECORDS),
    MinibatchBit(1000, RECORDS, replacement=True),
)
"""One event of every kind that is priced by itself."""

SINGLES: tuple[Event, ...] = (*COUNTED, GaussianRelease(0.07), LaplaceRelease(3, 0.2))
"""One event of every kind that a run may release."""


def bits(count: int, bit: Event = BIT) -> Events:
    return {bit: count}


def noise(mu: float) -> Events:
    """A release with normal noise."""
    return {GaussianRelease(mu): 1}


def whole_run(steps: int) -> Events:
    return {SUM: 100, BIT: steps}


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
        "analyst": "steward",
        **changes,
    }
    ledger.register(dataset, **settings)


def reserve(ledger: Ledger, steps: int = 100, **changes: Any) -> Reservation:
    settings: dict[str, Any] = {"total": bits(steps), "analyst": "ana", **changes}
    return ledger.reserve("people", **settings)


def most_steps(ledger: Ledger) -> int:
    """How many bits fit the whole budget, found by trying."""
    fits, too_many = 0, 2**24
    capacity = ledger._account("people").capacity
    prices = prices_for(tally_of(bits(1)), capacity)
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        cost = cost_of(tally_of(bits(middle)), prices, capacity.order)
        if cost.fits(capacity.cost):
            fits = middle
        else:
            too_many = middle
    return fits
