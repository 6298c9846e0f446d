# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a budget buys: the largest scale, clip or number of steps, the least noise.

The cost of a release at a given ε is read as the μ of the normal noise that costs the
same δ. This μ is nearly proportional to the scale of the release, so that few trials
find the scale at which the budget is spent.
"""

import contextlib
import itertools
import math
from collections.abc import Callable

from dpmcmc import errors
from dpmcmc.accounting.accountants import ZCDP
from dpmcmc.accounting.batch_gaussian import GaussianBatchSum
from dpmcmc.accounting.certify import certify_delta
from dpmcmc.accounting.curves import GaussianCurve
from dpmcmc.accounting.registry import Event, NotApplicableError, Released, flatten

__all__ = ["largest", "largest_clip", "least_noise", "most_steps"]

_CLOSE = 1e-4
_MOST_STEPS = 2**29
_LEAP, _FURTHEST = 16.0, 1e12


def largest(
    event_of: Callable[[float], Released],
    epsilon: float,
    delta: float,
    *,
    guess: float | None = None,
) -> float:
    """Return the largest scale at which a release fits a budget.

    Parameters
    ----------
    event_of
        Returns what is released at a scale; more scale must never cost less.
    epsilon, delta
        The budget.
    guess
        About the answer, if it is known; otherwise closed forms find a start.

    Returns
    -------
    float
        The scale, rounded down by at most one part in ten thousand.

    Raises
    ------
    InputError
        If no scale fits, or every scale does.

    Guarantee
    ---------
    What is released at the returned scale is (ε, δ)-differentially private.
    """
    epsilon = errors.require_positive("epsilon", epsilon, "Give the budget's ε.")
    delta = errors.require_probability("delta", delta, "1e-6 is a common choice.")
    low, high = _bracket(event_of, epsilon, delta, guess)
    if low == 0:
        raise errors.InputError(
            f"the budget is epsilon = {epsilon!r}, delta = {delta!r}; no scale of the "
            "release fits it: finite arithmetic, or what else is released, costs more. "
            "Take a larger delta, fewer steps, or fewer other releases."
        )
    if high == math.inf:
        raise errors.InputError(
            f"the budget is epsilon = {epsilon!r}, delta = {delta!r}; every scale of "
            "the release fits it. Let event_of cost more at a larger scale."
        )
    return low


def _bracket(
    event_of: Callable[[float], Released],
    epsilon: float,
    delta: float,
    guess: float | None,
) -> tuple[float, float]:
    """Return a scale that fits, or 0, and one just above that does not, or inf."""
    wanted = GaussianCurve.within(epsilon, delta).mu

    def nearly(scale: float) -> float:
        # zCDP with ρ is nearly normal noise with ρ = μ²/2.
        leaves = flatten(event_of(scale)).items()
        return math.sqrt(2 * math.fsum(ZCDP.piece(e, count) for e, count in leaves))

    def exactly(scale: float) -> float:
        cost = certify_delta(event_of(scale), epsilon).delta
        return GaussianCurve.within(epsilon, cost).mu

    start = 1.0 if guess is None else guess
    if guess is None and ZCDP.supports(flatten(event_of(start))):
        with contextlib.suppress(NotApplicableError, OverflowError):
            start = _search(nearly, wanted, start, 10 * _CLOSE)[0] or start
    return _search(exactly, wanted, start, _CLOSE)


def _search(
    size_of: Callable[[float], float], wanted: float, start: float, close: float
) -> tuple[float, float]:
    """Return a scale of a size below the wanted, and one at most ``close`` above."""
    low, high, scale = 0.0, math.inf, start
    for trial in itertools.count():
        size = size_of(scale)
        low, high = (scale, high) if size < wanted else (low, scale)
        if high <= low * (1 + close) or not 1 / _FURTHEST < scale / start < _FURTHEST:
            break
        # Sizes are nearly proportional to scales. Aim just below, to be sure; then
        # just above, to know that it is the largest.
        aim = scale * min(max(wanted / max(size, 1e-300), 1 / _LEAP), _LEAP)
        aim *= 1 + close / 3 if low >= aim * (1 - close / 2) else 1 - close / 3
        if low == 0 or high == math.inf:
            aim = (low * _LEAP or high / _LEAP) if trial > 2 else aim
        elif not low < aim < high or trial % 8 == 7:
            aim = math.sqrt(low * high)
        scale = aim
    return low, high


def most_steps(
    bit: Event, epsilon: float, delta: float, other: Released | None = None
) -> int:
    """Return the most repetitions of an event that fit a budget beside ``other``.

    Returns
    -------
    int
        The number of steps; 0 if not even one step fits, and never more than 2²⁹.

    Guarantee
    ---------
    That many repetitions, together with ``other``, are (ε, δ)-differentially
    private, unless their number is 0.
    """
    epsilon = errors.require_positive("epsilon", epsilon, "Give the budget's ε.")
    delta = errors.require_probability("delta", delta, "1e-6 is a common choice.")

    def steps_at(scale: float) -> int:
        # Costs grow with the root of the steps; a scale of 1 is neither few nor many.
        return min(max(1, math.floor((16 * scale) ** 2)), _MOST_STEPS)

    def released(steps: int) -> Released:
        return _together(bit, steps, other)

    low, high = _bracket(lambda x: released(steps_at(x)), epsilon, delta, None)
    if low == 0 or high == math.inf:
        return 0 if low == 0 else _MOST_STEPS
    fitting, above = steps_at(low), steps_at(high)
    while above - fitting > 1:
        middle = (fitting + above) // 2
        fits = certify_delta(released(middle), epsilon).delta <= delta
        fitting, above = (middle, above) if fits else (fitting, middle)
    return fitting


def largest_clip(
    bit: Callable[[float], Event],
    steps: int,
    epsilon: float,
    delta: float,
    other: Released | None = None,
) -> float:
    """Return the widest clip with which steps fit a budget beside ``other``.

    Guarantee
    ---------
    The steps with the returned clip, together with ``other``, are
    (ε, δ)-differentially private.
    """
    steps = errors.require_count("steps", steps, "Give the steps of the chain.")
    return largest(lambda clip: _together(bit(clip), steps, other), epsilon, delta)


def least_noise(
    steps: int, batch: int, records: int, epsilon: float, delta: float
) -> float:
    """Return the least noise multiplier with which noisy sums fit a budget.

    Guarantee
    ---------
    That many sums over batches, with the returned multiplier, are
    (ε, δ)-differentially private.
    """
    steps = errors.require_count("steps", steps, "Give the number of noisy sums.")

    def released(scale: float) -> Released:
        return {GaussianBatchSum(1 / scale, batch, records): steps}

    return 1 / largest(released, epsilon, delta)


def _together(bit: Event, steps: int, other: Released | None) -> Released:
    leaves = flatten({} if other is None else other)
    leaves.update({leaf: count * steps for leaf, count in flatten(bit).items()})
    return leaves
