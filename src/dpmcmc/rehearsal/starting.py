# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How much of the budget a start should have, before any record is read.

A small share leaves the start far off, where a parabola made there does not fit the
posterior; a large one leaves noise on the parabola. Both errors follow from public
numbers, so that they are weighed by a formula, and nothing is fitted.
"""

import math

from dpmcmc.errors import InputError
from dpmcmc.surrogates import ControlVariates
from dpmcmc.variational import Plan, Variational

__all__ = ["off_by", "plan_fit"]

_SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
"""Shares of ε and of δ to choose from."""

_AS_GOOD = 1.05
"""How much more error is taken for a smaller share."""

_LATE = 3
"""One of so many noisy sums of a fit is late enough to count for its mean."""

_USUAL_SHARE, _USUAL_BOUND, _USUAL_PART = 0.9, 4.0, 0.9
"""Of control variates: their share of the rest, the widest bound on gradients in units
of √d, and the part of a record's vector that a gradient makes."""


def plan_fit(records: int, dimension: int, delta: float, epsilon: float) -> Plan:
    """Plan a start with the smallest share of about the smallest error.

    It is a function of public numbers: how many records there are, of how many
    coordinates of θ they tell, and the budget.

    Raises
    ------
    InputError
        If the budget is too small for a start.
    """
    plans = [
        Variational(share=share, delta=share * delta).plan(records, delta, epsilon)
        for share in _SHARES
    ]
    errors = [_error(plan, dimension, delta, epsilon) for plan in plans]
    enough = _AS_GOOD * min(errors)
    return next(p for p, error in zip(plans, errors, strict=True) if error <= enough)


def off_by(plan: Plan, dimension: int) -> float:
    """How far off a start is by noise, in posterior deviations, rms over coordinates.

    The mean of the late noisy slopes leads to the top of the posterior. It has their
    noise, and the scatter of the batches, less so with more of them.
    """
    late = plan.steps / _LATE
    noise = plan.noise_multiplier * plan.settings.clip * math.sqrt(dimension)
    scatter = 1 / plan.batch - 1 / plan.records
    return math.sqrt(plan.records * ((noise / plan.batch) ** 2 + scatter) / late)


def _error(plan: Plan, dimension: int, delta: float, epsilon: float) -> float:
    """What control variates made at such a start would be off by.

    It is by their noise, and by terms of the third order, which shift a posterior by
    about the square of the distance over √N, in its deviations.
    """
    control = ControlVariates(share=_USUAL_SHARE)
    try:
        left = control.plan(
            plan.records, dimension, delta - plan.delta, epsilon - plan.epsilon
        )
    except InputError:
        return math.inf
    root = math.sqrt(plan.records)
    bound = min(left.gradient_bound, _USUAL_BOUND * math.sqrt(dimension))
    noise = left.noise_multiplier * bound / _USUAL_PART
    bent = dimension * off_by(plan, dimension) ** 2 / root
    return math.hypot(noise / root, bent)
