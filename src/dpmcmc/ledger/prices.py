# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What one event costs at the order of a data set: the cheapest of valid bounds."""

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from dp_accounting.dp_event import DpEvent

from dpmcmc.accounting import (
    BarkerBit,
    GaussianBarkerBit,
    GaussianBatchSum,
    MinibatchBit,
)
from dpmcmc.accounting.accountants import SHARPENED, ZCDP
from dpmcmc.accounting.batch_gaussian import batch_sum_part
from dpmcmc.accounting.gaussian_barker import full_data_profile
from dpmcmc.accounting.minibatch import drawn_profile
from dpmcmc.accounting.profiles import Profile
from dpmcmc.accounting.registry import (
    NotApplicableError,
    require_supported,
    total_slack,
)
from dpmcmc.accounting.renyi import Divergence, subsampled
from dpmcmc.ledger.capacity import Capacity
from dpmcmc.ledger.divergences import bit_divergence, lattice_divergence
from dpmcmc.ledger.errors import LedgerError

__all__ = ["offers", "price"]

_UPWARD = 1 + 1e-12
_MOST_TERMS = 2**12
"""Orders above this are not tried where the bound sums over all smaller ones."""


class Offer(NamedTuple):
    """A valid bound on what one event costs.

    Attributes
    ----------
    divergence
        The divergence of the ideal event once its tails are cut.
    cut
        The probability of the tails.
    """

    divergence: float
    cut: float = 0.0


def price(event: DpEvent, capacity: Capacity) -> tuple[float, float]:
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
        Of all `offers` the one that takes the smallest share.

    Guarantee
    ---------
    As of `offers`.
    """

    def share(cost: tuple[float, float]) -> float:
        return max(cost[0] / capacity.divergence, cost[1] / capacity.slack)

    return min(offers(event, capacity), key=share)


@functools.lru_cache(maxsize=512)
def offers(event: DpEvent, capacity: Capacity) -> tuple[tuple[float, float], ...]:
    """Return all that one single event may be priced at, at the least.

    Parameters
    ----------
    event
        One event, not a composed one.
    capacity
        The capacity of the data set.

    Returns
    -------
    tuple
        Pairs of a divergence and a slack, both rounded up; at least one.

    Guarantee
    ---------
    For each pair, any ordered neighbours, and given all that was released before, there
    is a distribution within total variation ``slack`` of what the event releases for
    one, and one within ``slack`` times e^−ε of what it releases for the other, whose
    Rényi divergence of the capacity's order is at most ``divergence``.
    """
    require_supported({event: 1})
    rounding = total_slack({event: 1}, capacity.epsilon)
    found = tuple(
        (offer.divergence * _UPWARD, (offer.cut + rounding) * _UPWARD)
        for offer in _offers(event, capacity.order)
        if math.isfinite(offer.divergence)
    )
    if not found:
        raise LedgerError(
            f"{event!r} has no known Rényi divergence of order {capacity.order}, which "
            "is the order of this budget; so the ledger cannot add it to other runs. "
            "Take more noise or a smaller clip, or make it the only run ever on these "
            "records (only=True)."
        )
    return found


def _offers(event: DpEvent, order: int) -> Iterable[Offer]:
    for offer in (_concentrated, _sharpened, *_OTHERS.get(type(event), ())):
        try:
            yield from offer(event, order)
        except (NotApplicableError, OverflowError):  # hardly any noise overflows
            continue


def _concentrated(event: DpEvent, order: int) -> Iterable[Offer]:
    if ZCDP.supports({event: 1}):
        yield Offer(order * ZCDP.piece(event, 1))


def _sharpened(event: DpEvent, order: int) -> Iterable[Offer]:
    if order <= _MOST_TERMS and SHARPENED.supports({event: 1}):
        divergence = SHARPENED.piece(event, 1)
        if order <= divergence.largest:
            yield Offer(divergence.at(order))


def _bounded(bit: BarkerBit, order: int) -> Iterable[Offer]:
    # The loss itself is never more than the range of the log odds.
    yield Offer(min(order * ZCDP.piece(bit, 1), bit.log_odds_range))


def _profiled(profile: Profile, order: int) -> Iterable[Offer]:
    yield Offer(*bit_divergence(profile, order))


def _full_data(bit: GaussianBarkerBit, order: int) -> Iterable[Offer]:
    return _profiled(full_data_profile(bit), order)


def _minibatch(bit: MinibatchBit, order: int) -> Iterable[Offer]:
    return _profiled(drawn_profile(bit), order)


def _batch_sum(event: GaussianBatchSum, order: int) -> Iterable[Offer]:
    part = batch_sum_part(event)
    deltas = part.deltas(part.step) * (1 + part.error)
    yield Offer(*lattice_divergence(deltas, part.step, order))


def _batch_sum_by_orders(event: GaussianBatchSum, order: int) -> Iterable[Offer]:
    if order <= _MOST_TERMS:
        given_batch = Divergence(lambda each: each * event.mu**2 / 2 * _UPWARD)
        yield Offer(subsampled(given_batch, event.batch, event.records).at(order))


_OTHERS: dict[type[DpEvent], tuple[Callable[[Any, int], Iterable[Offer]], ...]] = {
    BarkerBit: (_bounded,),
    GaussianBarkerBit: (_full_data,),
    GaussianBatchSum: (_batch_sum, _batch_sum_by_orders),
    MinibatchBit: (_minibatch,),
}
