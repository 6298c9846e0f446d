# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A noisy sum over a batch: the event, what it costs, and the noise a budget needs."""

import functools
import math

import attrs
import numpy as np
from dp_accounting import dp_event
from numpy.typing import NDArray

from dpmcmc import errors
from dpmcmc.accounting.accountants import BLOCKS, GAUSSIAN, SINGLES, ZCDP
from dpmcmc.accounting.batches import require_batch
from dpmcmc.accounting.certify import least_delta
from dpmcmc.accounting.chains import require_narrow
from dpmcmc.accounting.gaussian_noise import GaussianCurve
from dpmcmc.accounting.losses import Losses, profile_losses
from dpmcmc.accounting.registry import NotApplicableError, slack_rule

__all__ = ["GaussianBatchSum", "amplified_values", "least_noise"]

Array = NDArray[np.float64]

_CELLS = 12
_DEVIATIONS = 9.0
_FARTHEST = 600.0
"""Largest loss looked at, so that nothing overflows; beyond it all is charged."""

_MOST_POINTS = 20_000
_SLACK = 2.0**-50
_CLOSE = 1e-3
_MOST_NOISE = 1e9
_LEAST_NOISE = 0.05


@attrs.frozen
class GaussianBatchSum(dp_event.DpEvent):  # type: ignore[misc]
    """A sum of vectors over a batch drawn afresh, with normal noise.

    Of N records a batch of b is drawn without replacement. Each record of the batch
    makes a vector of length at most c; their sum is released with independent normal
    noise of deviation c times the multiplier on every coordinate. What is done to the
    noisy sum afterwards, such as rounding, costs nothing.

    Parameters
    ----------
    noise_multiplier
        The deviation of the noise, in units of the longest vector.
    batch
        The number b of records in a batch.
    records
        The number N of records.
    """

    noise_multiplier: float
    batch: int
    records: int

    def __attrs_post_init__(self) -> None:
        """Refuse numbers that no release can have."""
        errors.require_positive(
            "noise_multiplier", self.noise_multiplier, "Add noise to the release."
        )
        require_batch(self.batch, self.records)

    @property
    def mu(self) -> float:
        """How far one record of the batch can move the sum, in units of the noise."""
        return 2 / self.noise_multiplier * (1 + 2.0**-50)


@slack_rule(GaussianBatchSum)
def _slack(_: GaussianBatchSum) -> float:
    return 0.0  # the noise is drawn exactly: docs/proofs/exact_normal.md


@GAUSSIAN.rule(GaussianBatchSum)
def _mu(event: GaussianBatchSum, count: int) -> float:
    if event.batch < event.records:
        raise NotApplicableError(
            f"the batch holds {event.batch} of {event.records} records; the closed "
            "form is for sums over all records."
        )
    return event.mu * math.sqrt(count)


@ZCDP.rule(GaussianBatchSum)
def _rho(event: GaussianBatchSum, count: int) -> float:
    return _mu(event, count) ** 2 / 2


@SINGLES.rule(GaussianBatchSum)
@BLOCKS.rule(GaussianBatchSum)
def _losses(event: GaussianBatchSum, count: int) -> Losses:
    if event.batch == event.records:
        # Sums over all records compose to one, with more of the same noise.
        return _composed(1.0, _mu(event, count), 1)
    return _composed(event.batch / event.records, event.mu, count)


@functools.lru_cache(maxsize=64)
def _composed(share: float, mu: float, count: int) -> Losses:
    values, step = amplified_values(share, mu)
    return profile_losses(values, step, _SLACK, count)


def amplified_values(share: float, mu: float) -> tuple[Array, float]:
    """Tabulate the profile of one release from a drawn batch, on a lattice of losses.

    Parameters
    ----------
    share
        The share q = b/N of the records in a batch.
    mu
        How far a record of the batch moves the sum, in units of the noise.

    Returns
    -------
    values, step
        δ at ε = n h, …, −n h, and the lattice distance h.

    Guarantee
    ---------
    At every ε of the lattice the value is at least the largest P(S) − e^ε Q(S) over
    ordered neighbours, less ``_SLACK``; and the values are those of a function
    convex in e^ε, up to rounding.
    """
    require_narrow(mu)
    curve = GaussianCurve(mu)
    farthest = min(_DEVIATIONS * mu + mu**2 / 2, _FARTHEST)
    reach = math.log1p(share * math.expm1(farthest))
    # About the deviation of the loss of one release; any step is valid.
    spread = min(math.log1p(share * math.sqrt(math.expm1(min(mu**2, 50.0)))), mu)
    step = max(spread / _CELLS, reach / _MOST_POINTS)
    half = math.ceil(reach / step)
    amplified = step * np.arange(half + 1)
    # Rounded down, which only raises δ.
    inner = np.log1p(np.expm1(amplified) / share) * (1 - 2.0**-49)
    positive = share * np.array([curve.delta(epsilon) for epsilon in inner])
    minus = -amplified[:0:-1]
    mirrored = -np.expm1(minus) + np.exp(minus) * positive[:0:-1]
    return np.concatenate([positive[::-1], mirrored[::-1]]), step


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
        The noise multiplier, rounded up by at most one part in a thousand.

    Guarantee
    ---------
    That many sums with the returned multiplier are (ε, δ)-differentially private.
    """
    steps = errors.require_count("steps", steps, "Give the number of noisy sums.")
    require_batch(batch, records)
    epsilon = errors.require_positive("epsilon", epsilon, "Give the budget's ε.")
    delta = errors.require_probability("delta", delta, "1e-6 is a common choice.")

    def fits(multiplier: float) -> bool:
        event = GaussianBatchSum(multiplier, batch, records)
        released = dp_event.SelfComposedDpEvent(event, steps)
        return least_delta(released, epsilon) <= delta

    # Where the noise is large, this is about it: a place to start, no more.
    guess = 2 * math.sqrt(steps * 2 * math.log(1 / delta)) * batch / records / epsilon
    high = max(guess, _LEAST_NOISE)
    while not fits(high):
        high *= 2
        if high > _MOST_NOISE:
            raise errors.InputError(
                f"delta is {delta!r}; the rounding of the accountants for {steps} "
                "steps alone comes to more. Take a larger delta or fewer steps."
            )
    low = high / 2
    while low > _LEAST_NOISE / 2 and fits(low):
        low, high = low / 2, low
    while high > low * (1 + _CLOSE):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
