# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What is asked of a ledger, priced and checked before it is written."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from dp_accounting.dp_event import DpEvent

from dpmcmc.accounting import certify_delta
from dpmcmc.ledger.accounts import Account, Prices, within
from dpmcmc.ledger.capacity import Capacity, Cost
from dpmcmc.ledger.codec import encode
from dpmcmc.ledger.errors import LedgerError
from dpmcmc.ledger.prices import price
from dpmcmc.ledger.rules import leaves_of, prices_text

__all__ = ["prices_at", "require_alone", "wanted"]


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
        require_alone(account, totals, claims)
    singles = {event: None for each in leaves for event in each}
    prices = {} if only else prices_at(account.capacity, singles)
    return {
        "totals": [encode(total) for total in totals],
        "prices": prices_text(prices),
        "only": bool(only),
        "claims": None if claims is None else [float(part) for part in claims],
    }


def require_alone(
    account: Account,
    totals: Sequence[DpEvent],
    claims: tuple[float, float] | None,
    *,
    tolerance: Fraction = Fraction(0),
) -> None:
    """Refuse an only run whose own statement is not within the budget.

    Parameters
    ----------
    account
        The data set.
    totals
        All that the run may release, for each way that it may go.
    claims
        The (ε, δ) of its statement.
    tolerance
        By which part of δ the totals may pass it: for a ledger that another machine
        wrote, which may have rounded differently.

    Guarantee
    ---------
    If this returns, and tolerance is 0, a run whose charges stay within one of the
    totals is (ε, δ)-differentially private, with the ε and δ of the data set.
    """
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
    deltas = [_delta(total, account.epsilon) for total in _ways(totals)]
    if sum(map(Fraction, deltas)) > Fraction(account.delta) * (1 + tolerance):
        several = "all ways of the run together are" if len(deltas) > 1 else "it is"
        raise LedgerError(
            f"what the run may release is not proven to be within {budget}, whatever "
            f"its statement says: {several} proven for δ = {sum(deltas):.3g}. Give the "
            "totals and claims of one and the same run, or fewer totals."
        )


def _ways(totals: Sequence[DpEvent]) -> list[DpEvent]:
    """Leave out each total that is within another: it is no way of its own."""
    kept: list[DpEvent] = []
    for total in totals:
        leaves = leaves_of(total)
        if not any(within(leaves, leaves_of(other)) for other in kept):
            others = [each for each in kept if not within(leaves_of(each), leaves)]
            kept = [*others, total]
    return kept


def _delta(total: DpEvent, epsilon: float) -> float:
    try:
        return certify_delta(total, epsilon).delta
    except OverflowError:  # hardly any noise
        return 1.0
