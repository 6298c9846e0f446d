# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a budget buys: the most steps, or the widest clip, always rounded down."""

import math
from collections.abc import Callable

from dp_accounting.dp_event import (
    ComposedDpEvent,
    DpEvent,
    NoOpDpEvent,
    SelfComposedDpEvent,
)

from dpmcmc import errors
from dpmcmc.accounting.certify import least_delta

__all__ = ["largest_clip", "most_steps"]

_MOST = 10**9
_CLOSE = 1e-6
_SEARCHES = 90
_SMALLEST = 1e-12


_NOTHING = NoOpDpEvent()


def most_steps(
    bit: DpEvent, epsilon: float, delta: float, besides: DpEvent = _NOTHING
) -> int:
    """Return the most repetitions of an event whose certified cost fits a budget.

    Parameters
    ----------
    bit
        The event of one step.
    epsilon, delta
        The budget.
    besides
        What else is released from the same records within this budget.

    Returns
    -------
    int
        The number of steps, rounded down; 0 if not even one step fits, and never
        more than 2²⁹. Above a million steps, one part in a million may be missing.

    Guarantee
    ---------
    That many repetitions, together with ``besides``, are (ε, δ)-differentially
    private, unless their number is 0.
    """
    epsilon = errors.require_positive("epsilon", epsilon, "Give the budget's ε.")
    delta = errors.require_probability("delta", delta, "1e-6 is a common choice.")

    def affordable(steps: int) -> bool:
        event = ComposedDpEvent([besides, SelfComposedDpEvent(bit, steps)])
        return least_delta(event, epsilon) <= delta

    fitting, above = 0, 1
    while above <= _MOST and affordable(above):
        fitting, above = above, 2 * above
    while above <= _MOST and above - fitting > max(1, fitting * _CLOSE):
        middle = (fitting + above) // 2
        fitting, above = (middle, above) if affordable(middle) else (fitting, middle)
    return fitting


def largest_clip(
    bit: Callable[[float], DpEvent],
    steps: int,
    epsilon: float,
    delta: float,
    besides: DpEvent = _NOTHING,
) -> float:
    """Return the widest clip with which a number of steps fits a budget.

    Parameters
    ----------
    bit
        Returns the event of one step for a clip.
    steps
        The number of steps.
    epsilon, delta
        The budget.
    besides
        What else is released from the same records within this budget.

    Returns
    -------
    float
        The clip, rounded down by at most one part in a million.

    Guarantee
    ---------
    The steps with the returned clip, together with ``besides``, are
    (ε, δ)-differentially private.
    """
    steps = errors.require_count("steps", steps, "Give the steps of the chain.")
    epsilon = errors.require_positive("epsilon", epsilon, "Give the budget's ε.")
    delta = errors.require_probability("delta", delta, "1e-6 is a common choice.")

    def excess(clip: float) -> float:
        """Return the log of the δ it costs over the δ there is."""
        event = ComposedDpEvent([besides, SelfComposedDpEvent(bit(clip), steps)])
        cost = least_delta(event, epsilon)
        return math.log(max(cost, 1e-300) / delta)

    low = high = epsilon / (5 * math.sqrt(steps))
    over = excess(high)
    while over <= 0:
        low, high = high, 2 * high
        over = excess(high)
    under = excess(low) if low < high else math.inf
    while under > 0:
        high, over, low = low, under, low / 2
        if low < _SMALLEST:
            raise errors.InputError(
                f"delta is {delta!r}; the finite arithmetic of {steps} steps, or what "
                "else is released, costs more than that alone. Take a larger delta, "
                "fewer steps, or a smaller share for the rest."
            )
        under = excess(low)
    for search in range(_SEARCHES):
        if high <= low * (1 + _CLOSE):
            break
        # Where a line through both ends crosses; every third time, the middle.
        share = under / (under - over) if search % 3 else 0.5
        clip = low * (high / low) ** min(max(share, 1e-3), 1 - 1e-3)
        value = excess(clip)
        if value <= 0:
            low, under = clip, value
        else:
            high, over = clip, value
    return low
