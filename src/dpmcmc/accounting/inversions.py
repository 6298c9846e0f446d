# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a budget buys: the largest scale, clip or number of steps, the least noise.

The cost of a release at a given ε is read as the μ of the normal noise that costs the
same δ. This μ is nearly proportional to the scale of the release, so that few trials
find the scale at which the budget is spent.
"""

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
_MARGIN = 3e-5
_LEAST_POWER = 0.1
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
    return _bracket(event_of, epsilon, delta, guess)[0]


def _bracket(
    event_of: Callable[[float], Released],
    epsilon: float,
    delta: float,
    guess: float | None,
) -> tuple[float, float]:
    """Return a scale that fits and one, larger by at most 10⁻⁴, that does not."""
    wanted = GaussianCurve.within(epsilon, delta).mu
    scale = start = _start(event_of, wanted) if guess is None else guess
    low, high = 0.0, math.inf
    for trial in itertools.count():
        cost = certify_delta(event_of(scale), epsilon).delta
        low, high = (scale, high) if cost <= delta else (low, scale)
        if high <= low * (1 + _CLOSE):
            return low, high
        if not start / _FURTHEST < scale < start * _FURTHEST:
            raise errors.InputError(_nowhere(epsilon, delta, fits=low > 0))
        spent = GaussianCurve.within(epsilon, cost).mu
        aim = scale * min(max(wanted / spent, 1 / _LEAP), _LEAP)
        # Just below, to be sure; then just above, to know that it is the largest.
        aim *= 1 + _MARGIN if low >= aim * (1 - 2 * _MARGIN) else 1 - _MARGIN
        if low == 0 or high == math.inf:
            if trial > 2:
                aim = low * _LEAP or high / _LEAP
        elif not low < aim < high or trial % 8 == 7:
            aim = math.sqrt(low * high)
        scale = aim
    raise AssertionError  # pragma: no cover - the loop returns or raises


def _nowhere(epsilon: float, delta: float, *, fits: bool) -> str:
    budget = f"the budget is epsilon = {epsilon!r}, delta = {delta!r}; "
    if fits:
        return budget + (
            "every scale of the release fits it. Let event_of return events that cost "
            "more at a larger scale."
        )
    return budget + (
        "no scale of the release fits it: finite arithmetic, or what else is released, "
        "costs more. Take a larger delta, fewer steps, or fewer other releases."
    )


def _start(event_of: Callable[[float], Released], wanted: float) -> float:
    """Find a start in closed form: zCDP with ρ is about normal noise with μ²/2."""
    scale, power, last = 1.0, 1.0, None
    for _ in range(8):
        leaves = flatten(event_of(scale))
        if not leaves or not ZCDP.supports(leaves):
            break
        try:
            rho = math.fsum(ZCDP.piece(e, count) for e, count in leaves.items())
        except NotApplicableError:
            break
        gap = math.log(wanted / math.sqrt(2 * rho))
        if last is not None:
            # μ grows like a power of the scale, as the last two trials say.
            power = (last[1] - gap) / math.log(scale / last[0])
        if abs(gap) < _CLOSE or power < _LEAST_POWER:
            break
        last = scale, gap
        scale *= math.exp(min(max(gap / power, -14.0), 14.0))
    return scale


def most_steps(
    bit: Event, epsilon: float, delta: float, other: Released | None = None
) -> int:
    """Return the most repetitions of an event whose certified cost fits a budget.

    Parameters
    ----------
    bit
        The event of one step.
    epsilon, delta
        The budget.
    other
        What else is released from the same records within this budget.

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

    def released(steps: int) -> Released:
        return _together(bit, steps, other)

    def fits(steps: int) -> bool:
        return certify_delta(released(steps), epsilon).delta <= delta

    if not fits(1):
        return 0
    if fits(_MOST_STEPS):
        return _MOST_STEPS
    # Costs grow with the root of the steps.
    low, high = _bracket(
        lambda root: released(max(1, math.floor(root**2))), epsilon, delta, None
    )
    fitting, above = max(1, math.floor(low**2)), math.ceil(high**2)
    while above - fitting > 1:
        middle = (fitting + above) // 2
        fitting, above = (middle, above) if fits(middle) else (fitting, middle)
    return fitting


def largest_clip(
    bit: Callable[[float], Event],
    steps: int,
    epsilon: float,
    delta: float,
    other: Released | None = None,
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
    other
        What else is released from the same records within this budget.

    Returns
    -------
    float
        The clip, rounded down by at most one part in ten thousand.

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
    """Return the least noise with which a number of noisy sums fits a budget.

    Parameters
    ----------
    steps
        How many sums are released.
    batch, records
        How many records of how many make a batch.
    epsilon, delta
        The budget.

    Returns
    -------
    float
        The noise multiplier, rounded up by at most one part in ten thousand.

    Guarantee
    ---------
    That many sums with the returned multiplier are (ε, δ)-differentially private.
    """
    steps = errors.require_count("steps", steps, "Give the number of noisy sums.")

    def released(scale: float) -> Released:
        return {GaussianBatchSum(1 / scale, batch, records): steps}

    return 1 / largest(released, epsilon, delta)


def _together(bit: Event, steps: int, other: Released | None) -> Released:
    leaves = flatten({} if other is None else other)
    leaves.update({leaf: count * steps for leaf, count in flatten(bit).items()})
    return leaves
