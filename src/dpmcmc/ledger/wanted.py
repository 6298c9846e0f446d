# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What is asked of a ledger, priced and checked before it is written."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from dp_accounting.dp_event import DpEvent

from dpmcmc.accounting.certify import least_delta
from dpmcmc.ledger.accounts import Account, Prices
from dpmcmc.ledger.capacity import Capacity, Cost
from dpmcmc.ledger.codec import encode
from dpmcmc.ledger.errors import LedgerError
from dpmcmc.ledger.prices import price
from dpmcmc.ledger.rules import leaves_of, prices_text

__all__ = ["prices_at", "wanted"]


def prices_at(capacity: Capacity, events: Iterable[DpEvent]) -> Prices:
    """Return what single events cost of a capacity."""
    found = {}
    for event in events:
        divergence, slack = price(event, capacity)
        found[event] = Cost(Fraction(divergence), Fraction(slack))
    return found


def wanted(
    account: Account,
    totals: Sequence[DpEvent],
    only: bool,
    claims: tuple[float, float] | None,
) -> dict[str, Any]:
    """What an entry says of a run that is to be reserved, but for its purpose."""
    if not totals:
        raise LedgerError("totals is empty; give all that the run may release.")
    leaves = [leaves_of(total) for total in totals]
    if only:
        _require_alone(account, totals, claims)
    singles = {event: None for each in leaves for event in each}
    prices = {} if only else prices_at(account.capacity, singles)
    return {
        "totals": [encode(total) for total in totals],
        "prices": prices_text(prices),
        "only": bool(only),
        "claims": None if claims is None else [float(part) for part in claims],
    }


def _require_alone(
    account: Account, totals: Sequence[DpEvent], claims: tuple[float, float] | None
) -> None:
    """Refuse an only run whose own statement is not within the budget."""
    if claims is None:
        raise LedgerError(
            "only=True needs claims, the (ε, δ) of the run's own statement. Give both."
        )
    epsilon, delta = claims
    budget = f"(ε = {account.epsilon:g}, δ = {account.delta:g})"
    if not (0 <= epsilon <= account.epsilon and 0 <= delta <= account.delta):
        raise LedgerError(
            f"the run's own statement is (ε = {epsilon:g}, δ = {delta:g}), and the "
            f"budget of {account.name!r} is {budget}. Take a smaller epsilon or delta."
        )
    if any(least_delta(total, account.epsilon) > account.delta for total in totals):
        raise LedgerError(
            f"what the run may release is not proven to be within {budget}, whatever "
            "its statement says. Give the totals and claims of one and the same run."
        )
