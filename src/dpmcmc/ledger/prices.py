# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What events cost at the order of a data set: of valid bounds, the cheapest."""

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from dpmcmc.accounting import (
    BarkerBit,
    Event,
    GaussianBarkerBit,
    GaussianBatchSum,
    MinibatchBit,
    gdp_cost,
)
from dpmcmc.accounting.accountants import SHARPENED, ZCDP
from dpmcmc.accounting.batch_gaussian import batch_sum_part
from dpmcmc.accounting.gaussian_barker_bit import full_data_profile
from dpmcmc.accounting.minibatch_bit import drawn_profile
from dpmcmc.accounting.profiles import Profile
from dpmcmc.accounting.registry import (
    NotApplicableError,
    require_supported,
    total_slack,
)
from dpmcmc.accounting.renyi import Divergence, subsampled
from dpmcmc.ledger.capacity import Capacity, Cost
from dpmcmc.ledger.divergences import bit_divergence, lattice_divergence
from dpmcmc.ledger.refusals import LedgerError
from dpmcmc.ledger.tally import Tally

__all__ = ["Prices", "cost_of", "offers", "prices_for"]

Prices = Mapping[Event, Cost]
"""What single events cost, as it was settled for a run."""

_UPWARD = 1 + 1e-12
_OVERFLOWS = 1e300
_MOST_TERMS = 2**12
"""Orders above this are not tried where the bound sums over all smaller ones."""


def cost_of(tally: Tally, prices: Prices, order: int) -> Cost:
    """Return what events cost together at an order, exactly.

    Guarantee
    ---------
    The sums are exact: no order of adding them, and no splitting of them into parts,
    changes the result. What is within a tally costs at most as much as the tally.
    """
    divergence, slack = Fraction(order, 2) * tally.square, Fraction(0)
    for event, count in tally.counts.items():
        divergence += count * prices[event].divergence
        slack += count * prices[event].slack
    return Cost(divergence, slack)


def prices_for(tally: Tally, capacity: Capacity) -> dict[Event, Cost]:
    """Return a price for each counted event: the offer that is cheapest."""
    return {
        event: min(
            offers(event, capacity),
            key=lambda cost: cost.fraction_of(capacity.cost),
        )
        for event in tally.counts
    }


@functools.lru_cache(maxsize=512)
def offers(event: Event, capacity: Capacity) -> tuple[Cost, ...]:
    """Return all that one single event may be priced at: at least one, all above 0.

    Guarantee
    ---------
    For each of them, any ordered neighbours, and given all that was released before,
    there are a distribution within total variation ``slack`` of what the event releases
    for one, and a distribution within ``slack`` times e^−ε of what it releases for the
    other, whose Rényi divergence of the capacity's order is at most ``divergence``.
    """
    require_supported({event: 1})
    rounding = total_slack({event: 1}, capacity.epsilon)
    found = tuple(
        Cost(_above(bound.divergence), Fraction((bound.cut + rounding) * _UPWARD))
        for bound in _bounds(event, capacity)
        if bound.divergence < _OVERFLOWS
    )
    if not found:
        raise LedgerError(
            f"{event!r} has no known Rényi divergence of order {capacity.order}, which "
            "is the order of this budget; so the ledger cannot add it to other runs. "
            "Take more noise or a smaller clip, or make it the only run ever on these "
            "records (only=True)."
        )
    return found


class PriceBound(NamedTuple):
    """A valid bound on what one event costs, before finite arithmetic.

    Attributes
    ----------
    divergence, cut
        The divergence of the ideal event once its tails are cut, and their probability.
    """

    divergence: float
    cut: float = 0.0


def _above(divergence: float) -> Fraction:
    """Round up; to more than 0 where the bound is too small for a float."""
    return Fraction(math.nextafter(divergence * _UPWARD, math.inf))


def _bounds(event: Event, capacity: Capacity) -> Iterable[PriceBound]:
    tried = _IN_CURRENCY.get(
        capacity.currency, (_concentrated, _sharpened, *_OTHERS.get(type(event), ()))
    )
    for bounds in tried:
        try:
            yield from bounds(event, capacity.order)
        except (NotApplicableError, OverflowError):  # hardly any noise overflows
            continue


def _concentrated(event: Event, order: int) -> Iterable[PriceBound]:
    if ZCDP.supports({event: 1}):
        yield PriceBound(order * ZCDP.piece(event, 1))


def _gaussian(event: Event, order: int) -> Iterable[PriceBound]:
    mu = gdp_cost(event)
    if math.isfinite(mu):
        yield PriceBound(order * mu**2 / 2)


def _sharpened(event: Event, order: int) -> Iterable[PriceBound]:
    if order <= _MOST_TERMS and SHARPENED.supports({event: 1}):
        divergence = SHARPENED.piece(event, 1)
        if order <= divergence.largest:
            yield PriceBound(divergence.at(order))


def _bounded(bit: BarkerBit, order: int) -> Iterable[PriceBound]:
    # The loss itself is never more than the range of the log odds.
    yield PriceBound(min(order * ZCDP.piece(bit, 1), bit.log_odds_range))


def _profiled(profile: Profile, order: int) -> Iterable[PriceBound]:
    yield PriceBound(*bit_divergence(profile, order))


def _batch_sum(event: GaussianBatchSum, order: int) -> Iterable[PriceBound]:
    part = batch_sum_part(event)
    deltas = part.deltas(part.step) * (1 + part.error)
    yield PriceBound(*lattice_divergence(deltas, part.step, order))


def _batch_sum_by_orders(event: GaussianBatchSum, order: int) -> Iterable[PriceBound]:
    if order <= _MOST_TERMS:
        given_batch = Divergence(lambda each: each * event.mu**2 / 2 * _UPWARD)
        yield PriceBound(subsampled(given_batch, event.batch, event.records).at(order))


_Offer = Callable[[Any, int], Iterable[PriceBound]]

_IN_CURRENCY: dict[str, tuple[_Offer, ...]] = {
    "rho": (_concentrated,),
    "mu": (_gaussian,),
}
"""Where a budget is in ρ or μ, an event has that price alone: α ρ, or α μ²/2."""

_OTHERS: dict[type[Event], tuple[_Offer, ...]] = {
    BarkerBit: (_bounded,),
    GaussianBarkerBit: (lambda bit, order: _profiled(full_data_profile(bit), order),),
    GaussianBatchSum: (_batch_sum, _batch_sum_by_orders),
    MinibatchBit: (lambda bit, order: _profiled(drawn_profile(bit), order),),
}
