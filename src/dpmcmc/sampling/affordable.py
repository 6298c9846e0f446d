# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a budget buys for chains: of clip, steps and ε, the one that is missing."""

from collections.abc import Callable

from dpmcmc.accounting import Event, largest_clip, most_steps
from dpmcmc.errors import InputError, require_count
from dpmcmc.sampling.plan import Request

__all__ = ["affordable_steps", "widest_clip"]

_MOST_STEPS = 10**7
"""Steps that a budget may buy without the user having said how many."""


def affordable_steps(
    request: Request,
    decision: Event,
    chains: int,
) -> int:
    """The steps of each chain: as given, or as many as the budget buys.

    Parameters
    ----------
    request
        What was asked.
    decision
        The event of one decision.
    chains
        How many chains share the budget.

    Raises
    ------
    InputError
        If neither ε nor steps were given, or the budget does not suffice.
    """
    if request.steps is not None:
        return require_count(
            "steps", request.steps, "Give the number of steps of each chain."
        )
    if request.epsilon is None:
        raise InputError(
            "neither epsilon nor steps was given. Give epsilon, to have as many steps "
            "as it buys, or steps, to read the ε that they cost."
        )
    decisions = most_steps(decision, request.epsilon, request.delta)
    steps = decisions // chains
    if steps < 1:
        raise InputError(
            f"the budget ε = {request.epsilon:g}, δ = {request.delta:g} buys "
            f"{decisions} decisions, but one step of each chain needs {chains}. Choose "
            "a smaller clip, a larger budget, or fewer chains."
        )
    if steps > _MOST_STEPS:
        raise InputError(
            f"the budget ε = {request.epsilon:g} buys {steps:,} steps of each chain, "
            f"more than the {_MOST_STEPS:,} that are run unasked. Give steps, and read "
            "the smaller ε that they cost."
        )
    return steps


def widest_clip(
    request: Request,
    decision_of: Callable[[float], Event],
    chains: int,
) -> float:
    """The widest clip with which the steps that were asked fit the budget."""
    if request.epsilon is None or request.steps is None:
        raise InputError(
            "there is no clip. Give one; or both epsilon and steps, to have the widest "
            "clip that fits the budget; or a model with a Lipschitz constant and a "
            "proposal of bounded moves."
        )
    steps = require_count("steps", request.steps, "Give the steps of each chain.")
    return largest_clip(decision_of, chains * steps, request.epsilon, request.delta)
