# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The certified cost: the smallest bound among all valid accountants."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from dp_accounting import dp_event

from dpmcmc import errors
from dpmcmc.accounting.registry import (
    ACCOUNTANTS,
    Accountant,
    Curve,
    Leaves,
    flatten,
    require_supported,
    total_slack,
)

__all__ = ["Certificate", "certify_delta", "certify_epsilon", "most_steps"]

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
    slack = total_slack(leaves)
    found = tuple(
        (a.name, _epsilon(a.curve(leaves), delta, slack), a.note)
        for a in _usable(leaves)
    )
    name, epsilon, _ = min(found, key=lambda entry: entry[1])
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
    slack = total_slack(leaves)
    found = tuple(
        (a.name, _delta(a.curve(leaves), epsilon, slack), a.note)
        for a in _usable(leaves)
    )
    name, delta, _ = min(found, key=lambda entry: entry[1])
    return Certificate(float(epsilon), delta, name, found)


def most_steps(bit: dp_event.DpEvent, epsilon: float, delta: float) -> int:
    """Return the most repetitions of an event whose certified cost fits a budget.

    Parameters
    ----------
    bit
        The event of one step.
    epsilon, delta
        The budget.

    Returns
    -------
    int
        The number of steps, rounded down; 0 if not even one step fits.

    Guarantee
    ---------
    ``certify_delta`` of that many repetitions at ε is at most δ.
    """
    epsilon = errors.require_positive("epsilon", epsilon, "Give the budget's ε.")
    delta = errors.require_probability("delta", delta, "1e-6 is a common choice.")
    require_supported(flatten(bit))

    def fits(steps: int) -> bool:
        leaves = flatten(dp_event.SelfComposedDpEvent(bit, steps))
        slack = total_slack(leaves)
        return any(
            _delta(a.curve(leaves), epsilon, slack) <= delta
            for a in _usable(leaves)
            if a.sharp
        )

    fitting, above = 0, 1
    while fits(above):
        fitting, above = above, 2 * above
        if above > _MOST:
            return _MOST
    while above - fitting > 1:
        middle = (fitting + above) // 2
        fitting, above = (middle, above) if fits(middle) else (fitting, middle)
    return fitting


_MOST = 10**9


def _usable(leaves: Leaves) -> Iterable[Accountant[object]]:
    return (a for a in ACCOUNTANTS.values() if a.supports(leaves))


def _delta(curve: Curve, epsilon: float, slack: float) -> float:
    """Add the finite-arithmetic slack: δ + τ (1 + e^ε)."""
    return min(1.0, curve.delta(epsilon) + slack * (1 + math.exp(min(epsilon, 700))))


def _epsilon(curve: Curve, delta: float, slack: float) -> float:
    """Find the smallest ε with δ(ε) + τ (1 + e^ε) ≤ δ, then round it up.

    Starting below the solution, each ε leaves a smaller rest of δ for the curve, so
    the iterates rise to the smallest solution; a last step makes it valid.
    """
    epsilon = 0.0
    for _ in range(_ITERATIONS):
        left = delta - slack * (1 + math.exp(min(epsilon, 700)))
        if left <= 0:
            return math.inf
        following = curve.epsilon(left)
        if following <= epsilon * (1 + 1e-13):
            break
        epsilon = following
    margin = 1e-12
    while _delta(curve, epsilon, slack) > delta:
        epsilon = (epsilon + 1e-15) * (1 + margin)
        margin *= 4
        if margin > 1:
            return math.inf
    return epsilon


_ITERATIONS = 60
