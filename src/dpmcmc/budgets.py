# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a budget buys for a run: of clip, steps and ε, the one that is missing."""

import functools
import math
from dataclasses import dataclass, field, replace

from dp_accounting.dp_event import DpEvent

from dpmcmc.acceptance import Acceptance, MinibatchBarker, Setting
from dpmcmc.accounting import largest_clip, most_steps
from dpmcmc.claims import at_clip
from dpmcmc.errors import InputError, require_count

__all__ = ["remaining", "settle"]

_MOST_STEPS = 10**7
"""Steps that a budget may buy without the user having said how many."""


def remaining(
    spent: tuple[float, float], epsilon: float | None, delta: float
) -> tuple[float | None, float]:
    """What a start that was found before leaves of a budget.

    Guarantee
    ---------
    If the start is (ε₁, δ₁)-differentially private and what follows is so with what
    is returned, however it was chosen by the start, both are so with the budget.
    """
    used_epsilon, used_delta = spent
    if math.isinf(used_epsilon):
        raise InputError(
            "the start was found with a seed, so that its noise can be taken away "
            "again; a private run cannot use it. Find it with a fresh tape."
        )
    if used_delta >= delta:
        raise InputError(
            f"the start has used δ = {used_delta:g} of the run's {delta:g}; it must "
            "leave some. Find it with Variational(delta=…) below the run's."
        )
    if epsilon is not None and used_epsilon >= epsilon:
        raise InputError(
            f"the start has used ε = {used_epsilon:g} of the run's {epsilon:g}; it "
            "must leave some. Find it with a smaller ε, or give the run more."
        )
    if used_epsilon == used_delta == 0:
        return epsilon, delta
    left = None if epsilon is None else math.nextafter(epsilon - used_epsilon, 0)
    return left, math.nextafter(delta - used_delta, 0)


def settle(
    test: Acceptance,
    setting: Setting,
    besides: DpEvent,
    *,
    chains: int,
    steps: int | None,
    epsilon: float | None,
    delta: float,
    usual_steps: int | None = None,
) -> tuple[Setting, int]:
    """Find the clip or the steps that were not given.

    Parameters
    ----------
    test, setting
        The acceptance test, and what it is fitted to.
    besides
        What else is released within the budget.
    chains, steps
        How many chains there are, and the steps of each if they were given.
    epsilon, delta
        The budget; without ε, the steps must be given, and the clip.
    usual_steps
        The steps of each chain where both steps and clip are left to the budget.

    Returns
    -------
    tuple
        The setting with its clip, and the steps of each chain.

    Raises
    ------
    InputError
        If too much or too little was given, or the budget does not suffice.
    """
    chains = require_count("chains", chains, "One chain makes most of a budget.")
    is_open = setting.clip is None and not isinstance(test, MinibatchBarker)
    if is_open and epsilon is not None:
        steps = usual_steps if steps is None else steps
    if is_open and epsilon is not None and steps is not None:
        steps = require_count("steps", steps, "Give the number of steps of each chain.")
        wanted = _Wanted(test, setting, chains * steps, epsilon, delta, besides)
        clip = _widest_clip(wanted)
        return replace(setting, clip=clip), steps
    if (epsilon is None) == (steps is None):
        raise InputError(
            f"epsilon is {epsilon!r} and steps is {steps!r}; give one of the two: "
            "epsilon, to have the steps it buys, or steps, to read the ε they cost. "
            "Give both, and no clip, to have the widest clip."
        )
    if epsilon is None:
        steps = require_count("steps", steps, "Give the number of steps of each chain.")
        return setting, steps
    event = test.event(setting, test.mechanism(setting))
    bits = most_steps(event, epsilon, delta, besides)
    if bits < chains:
        raise InputError(
            f"the budget ε = {epsilon:g}, δ = {delta:g} buys {bits} bits"
            f"{at_clip(setting.clip)}, but one step of each chain needs {chains}. "
            "Choose a smaller clip, a larger budget, or fewer chains."
        )
    return setting, _affordable(bits // chains, epsilon)


@dataclass(frozen=True)
class _Wanted:
    """A clip that is asked for; what else is released is known by its words."""

    test: Acceptance
    setting: Setting
    bits: int
    epsilon: float
    delta: float
    besides: DpEvent = field(compare=False)
    words: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", repr(self.besides))


# One call asks for the same clip before the start, in every rehearsal, and at last.
@functools.lru_cache(maxsize=256)
def _widest_clip(wanted: _Wanted) -> float:
    def bit(clip: float) -> DpEvent:
        fitted = replace(wanted.setting, clip=clip)
        return wanted.test.event(fitted, wanted.test.mechanism(fitted))

    return largest_clip(bit, wanted.bits, wanted.epsilon, wanted.delta, wanted.besides)


def _affordable(steps: int, epsilon: float) -> int:
    if steps > _MOST_STEPS:
        raise InputError(
            f"the budget ε = {epsilon:g} buys {steps:,} steps of each chain, more than "
            f"the {_MOST_STEPS:,} that are run unasked. Give steps instead of epsilon, "
            "and read the smaller ε that they cost."
        )
    return steps
