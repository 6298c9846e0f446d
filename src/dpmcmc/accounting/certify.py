# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The certified cost: the smallest bound among all valid accountants."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

from dpmcmc import errors
from dpmcmc.accounting.registry import (
    ACCOUNTANTS,
    Curve,
    Leaves,
    NotApplicableError,
    Released,
    flatten,
    is_not_private,
    require_supported,
    total_slack,
)

__all__ = ["Certificate", "certify_delta", "certify_epsilon"]

Slack = Callable[[float], float]

_TRIALS = 40
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
    alternatives: tuple[tuple[str, float, str], ...] = ()


def certify_epsilon(released: Released, delta: float) -> Certificate:
    """Return the smallest proven ε of what was released for this δ.

    Parameters
    ----------
    released
        An event, a mapping of events to how often each happened, or a composed event
        of dp-accounting.
    delta
        The δ of the statement, strictly between 0 and 1.

    Returns
    -------
    Certificate
        With ε = inf if a stage is not private, or if δ is below what finite
        arithmetic alone may cost.

    Guarantee
    ---------
    The release is (ε, δ)-differentially private under substitution of one record.
    Costs are rounded up and finite arithmetic is charged to δ.
    """
    delta = errors.require_probability("delta", delta, "1e-6 is a common choice.")
    leaves = flatten(released)
    if not leaves:
        return Certificate(0.0, delta, _NOTHING)
    if is_not_private(leaves):
        return Certificate(math.inf, delta, _NOT_PRIVATE)
    require_supported(leaves)
    epsilon, name, found = _smallest(
        leaves, lambda curve, slack: _epsilon(curve, delta, slack)
    )
    return Certificate(epsilon, delta, name, found)


def certify_delta(released: Released, epsilon: float) -> Certificate:
    """Return the smallest proven δ of what was released for this ε.

    Guarantee
    ---------
    As ``certify_epsilon``, with ε given and δ found; δ = 1 if nothing better is
    proved.
    """
    if epsilon != 0:
        errors.require_positive("epsilon", epsilon, "Give the ε of the statement.")
    leaves = flatten(released)
    if not leaves:
        return Certificate(float(epsilon), 0.0, _NOTHING)
    if is_not_private(leaves):
        return Certificate(float(epsilon), 1.0, _NOT_PRIVATE)
    require_supported(leaves)
    delta, name, found = _smallest(
        leaves, lambda curve, slack: curve.delta(epsilon) + slack(epsilon)
    )
    return Certificate(float(epsilon), min(1.0, delta), name, found)


def _epsilon(curve: Curve, delta: float, slack: Slack) -> float:
    """Find the smallest ε whose δ, with the slack at this ε, is small enough.

    Slack never falls with ε: the ε for the slack of a smaller ε is a lower bound.
    """
    epsilon = 0.0
    for trial in range(_TRIALS):
        found = curve.epsilon(delta - slack(epsilon))
        if found <= epsilon:
            return epsilon
        epsilon = found * (1 + 2.0 ** (trial - _TRIALS))
    return math.inf


def _smallest(
    leaves: Leaves, cost: Callable[[Curve, Slack], float]
) -> tuple[float, str, tuple[tuple[str, float, str], ...]]:
    """Ask every accountant that knows all events: the least cost, whose, and all."""
    found, certifying = [], []
    for each in ACCOUNTANTS.values():
        if each.supports(leaves):
            counted = leaves if each.certifies else {}
            try:
                curve, note = each.curve(leaves), each.note
                value = cost(curve, functools.partial(total_slack, counted))
            except NotApplicableError as reason:
                value, note = math.inf, str(reason)
            found.append((each.name, value, note))
            certifying += [(value, each.name)] if each.certifies else []
    return *min(certifying), tuple(found)
