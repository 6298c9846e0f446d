# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What one event costs at the order of a data set: the cheapest of valid bounds."""

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

from dp_accounting.dp_event import DpEvent

from dpmcmc.accounting import (
    BarkerBit,
    GaussianBatchSum,
    LogisticMinibatchBit,
    MinibatchBit,
)
from dpmcmc.accounting.accountants import SHARPENED, ZCDP
from dpmcmc.accounting.batch_gaussian import amplified_values
from dpmcmc.accounting.gaussian import subsampled
from dpmcmc.accounting.logistic_minibatch import logistic_profile
from dpmcmc.accounting.minibatch import drawn_profile
from dpmcmc.accounting.registry import (
    NotApplicableError,
    require_supported,
    total_slack,
)
from dpmcmc.accounting.renyi import Divergence
from dpmcmc.ledger.capacity import Capacity
from dpmcmc.ledger.divergences import bit_divergence, lattice_divergence
from dpmcmc.ledger.errors import LedgerError

__all__ = ["price"]

_UPWARD = 1 + 1e-12
_LATTICE_SLACK = 2.0**-50
_MOST_TERMS = 2**12
"""Orders above this are not tried where the bound sums over all smaller ones."""

Offer = tuple[float, float]
"""A divergence, and the slack that comes with it."""


@functools.lru_cache(maxsize=512)
def price(event: DpEvent, capacity: Capacity) -> Offer:
    """Return what one single event costs of a capacity.

    Parameters
    ----------
    event
        One event, not a composed one.
    capacity
        The capacity of the data set.

    Returns
    -------
    divergence, slack
        Both rounded up; of all valid bounds the one that takes the smallest share.

    Guarantee
    ---------
    For any ordered neighbours, and given all that was released before, there is a law
    within total variation ``slack`` of what the event releases for one whose Rényi
    divergence of the capacity's order from the other's ideal law is at most
    ``divergence``; and the other's law is within ``slack`` of its ideal.
    """
    require_supported({event: 1})
    rounding = total_slack({event: 1})

    def share(offer: Offer) -> float:
        return max(offer[0] / capacity.divergence, offer[1] / capacity.slack)

    offers = [
        (divergence * _UPWARD, (slack + rounding) * _UPWARD)
        for divergence, slack in _offers(event, capacity.order)
        if math.isfinite(divergence)
    ]
    if not offers:
        raise LedgerError(
            f"{event!r} has no known Rényi divergence of order {capacity.order}, which "
            "is the order of this budget; so the ledger cannot add it to other runs. "
            "Take more noise or a smaller clip, or make it the only run ever on these "
            "records (only=True)."
        )
    return min(offers, key=share)


def _offers(event: DpEvent, order: int) -> Iterable[Offer]:
    for offer in (_concentrated, _sharpened, *_OTHERS.get(type(event), ())):
        try:
            yield from offer(event, order)
        except NotApplicableError:
            continue


def _concentrated(event: DpEvent, order: int) -> Iterable[Offer]:
    if ZCDP.supports({event: 1}):
        yield order * ZCDP.piece(event, 1), 0.0


def _sharpened(event: DpEvent, order: int) -> Iterable[Offer]:
    if order <= _MOST_TERMS and SHARPENED.supports({event: 1}):
        divergence = SHARPENED.piece(event, 1)
        if order <= divergence.largest:
            yield divergence.at(order), 0.0


def _bounded(bit: BarkerBit, _: int) -> Iterable[Offer]:
    # The loss itself is never more than the range of the log odds.
    yield bit.log_odds_range, 0.0


def _minibatch(bit: MinibatchBit, order: int) -> Iterable[Offer]:
    yield bit_divergence(drawn_profile(bit), order)


def _logistic(bit: LogisticMinibatchBit, order: int) -> Iterable[Offer]:
    yield bit_divergence(logistic_profile(bit), order)


def _batch_sum(event: GaussianBatchSum, order: int) -> Iterable[Offer]:
    values, step = amplified_values(event.batch / event.records, event.mu)
    from_zero = values[len(values) // 2 :: -1] + _LATTICE_SLACK
    yield lattice_divergence(from_zero, step, order)


def _batch_sum_by_orders(event: GaussianBatchSum, order: int) -> Iterable[Offer]:
    if order <= _MOST_TERMS:
        given_batch = Divergence(lambda each: each * event.mu**2 / 2 * _UPWARD)
        yield subsampled(given_batch, event.batch, event.records).at(order), 0.0


_OTHERS: dict[type[DpEvent], tuple[Callable[[Any, int], Iterable[Offer]], ...]] = {
    BarkerBit: (_bounded,),
    GaussianBatchSum: (_batch_sum, _batch_sum_by_orders),
    LogisticMinibatchBit: (_logistic,),
    MinibatchBit: (_minibatch,),
}
