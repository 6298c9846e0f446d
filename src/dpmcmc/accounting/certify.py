# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The certified cost: the smallest bound among all valid accountants."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from dp_accounting import dp_event

from dpmcmc import errors
from dpmcmc.accounting.registry import (
    ACCOUNTANTS,
    Accountant,
    Curve,
    Leaves,
    NotApplicableError,
    flatten,
    require_supported,
    total_slack,
)

__all__ = ["Certificate", "certify_delta", "certify_epsilon", "least_delta"]

_SMALLEST = 1e-15
_NOTABLE = 0.01
_LATTICE = tuple(k / 4 for k in range(161))
_CLOSE = 1e-10
_NOTHING = "nothing was released"
_NOT_PRIVATE = "a stage released records without any privacy"


@dataclass(frozen=True)
class Certificate:
    """A proven (ε, δ) for released events, and what each accountant would say.

    Attributes
    ----------
    epsilon, delta
        The guarantee: substitution of one record, the number of records public.
    accountant
        The name of the accountant with the smallest bound.
    alternatives
        Name, ε (or δ, when δ was asked for) and a note for each accountant.
    """

    epsilon: float
    delta: float
    accountant: str
    alternatives: tuple[tuple[str, float, str], ...]


def certify_epsilon(event: dp_event.DpEvent, delta: float) -> Certificate:
    """Return the smallest proven ε of the released events for this δ.

    Parameters
    ----------
    event
        What was released, composed of any stages.
    delta
        The δ of the statement, strictly between 0 and 1.

    Returns
    -------
    Certificate
        With ε = inf if a stage is not private, or if δ is below what finite
        arithmetic alone may leak.

    Guarantee
    ---------
    The release is (ε, δ)-differentially private under substitution of one record.
    Costs are rounded up and finite arithmetic is charged to δ.
    """
    delta = errors.require_probability("delta", delta, "1e-6 is a common choice.")
    leaves = flatten(event)
    if not leaves:
        return Certificate(0.0, delta, _NOTHING, ())
    if dp_event.NonPrivateDpEvent() in leaves:
        return Certificate(math.inf, delta, _NOT_PRIVATE, ())
    require_supported(leaves)
    epsilon, name, found = _smallest(
        leaves, lambda curve, slack: _epsilon(curve, delta, slack)
    )
    return Certificate(epsilon, delta, name, found)


def certify_delta(event: dp_event.DpEvent, epsilon: float) -> Certificate:
    """Return the smallest proven δ of the released events for this ε.

    Guarantee
    ---------
    As ``certify_epsilon``, with ε given and δ found; δ = 1 if nothing better is
    proved.
    """
    if epsilon != 0:
        errors.require_positive("epsilon", epsilon, "Give the ε of the statement.")
    leaves = flatten(event)
    if not leaves:
        return Certificate(float(epsilon), 0.0, _NOTHING, ())
    if dp_event.NonPrivateDpEvent() in leaves:
        return Certificate(float(epsilon), 1.0, _NOT_PRIVATE, ())
    require_supported(leaves)
    delta, name, found = _smallest(
        leaves, lambda curve, slack: _delta(curve, epsilon, slack)
    )
    return Certificate(float(epsilon), min(1.0, delta), name, found)


def least_delta(event: dp_event.DpEvent, epsilon: float) -> float:
    """Return the δ of ``certify_delta``, without asking who is never the smallest.

    Guarantee
    ---------
    The release is (ε, δ)-differentially private with the returned δ.
    """
    leaves = flatten(event)
    if dp_event.NonPrivateDpEvent() in leaves:
        return 1.0
    if not leaves:
        return 0.0
    require_supported(leaves)
    slack = total_slack(leaves)
    return min(
        1.0 if curve is None else _delta(curve, epsilon, slack)
        for _, curve, _ in _offers(leaves, sharp=True)
    )


def _smallest(
    leaves: Leaves, cost: Callable[[Curve, float], float]
) -> tuple[float, str, tuple[tuple[str, float, str], ...]]:
    """Return the smallest cost that certifies, whose it is, and all costs."""
    found, certifying = [], []
    for accountant, curve, note in _offers(leaves):
        slack = total_slack(leaves) if accountant.charged else 0.0
        value = math.inf if curve is None else cost(curve, slack)
        found.append((accountant.name, value, note))
        if accountant.charged:
            certifying.append((value, accountant.name))
    return *min(certifying), tuple(found)


def _offers(
    leaves: Leaves, *, sharp: bool = False
) -> Iterable[tuple[Accountant[Any], Curve | None, str]]:
    """Ask every accountant that knows all events; a curve, or why there is none."""
    for accountant in ACCOUNTANTS.values():
        if accountant.supports(leaves) and (accountant.sharp or not sharp):
            try:
                yield accountant, accountant.curve(leaves), accountant.note
            except NotApplicableError as reason:
                yield accountant, None, str(reason)


def _delta(curve: Curve, epsilon: float, slack: float) -> float:
    """Add the finite-arithmetic slack: the least δ(ε′) + τ (1 + e^ε′) for ε′ ≤ ε.

    A guarantee at ε′ is one at every larger ε. Where the slack is not small, which is
    for large ε alone, smaller ε′ are tried.
    """

    def at(tried: float) -> float:
        return curve.delta(tried) + slack * (1 + math.exp(min(tried, 700)))

    found = at(epsilon)
    if slack * math.exp(min(epsilon, 700)) > _NOTABLE * found:
        # A lattice that does not depend on ε, so that more ε never costs more δ.
        found = min(found, *(at(tried) for tried in _LATTICE if tried < epsilon))
    return min(1.0, found)


def _epsilon(curve: Curve, delta: float, slack: float) -> float:
    """Find the smallest ε with δ(ε) + τ (1 + e^ε) ≤ δ, rounded up.

    The curve alone, with the least slack, gives a lower end. From there the search
    widens until the slack fits as well, and then narrows from the valid side.
    """
    low = curve.epsilon(delta - 2 * slack)
    if math.isinf(low) or _delta(curve, low, slack) <= delta:
        return low
    width = _SMALLEST * (1 + low)
    while _delta(curve, low + width, slack) > delta:
        width *= 4
        if width > 1 + low:
            return math.inf
    high = low + width
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        if _delta(curve, middle, slack) > delta:
            low = middle
        else:
            high = middle
    return high
