# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A noisy sum over a batch: the event, and what it costs."""

import functools
import math
from dataclasses import dataclass

import numpy as np

from dpmcmc import errors
from dpmcmc.accounting.accountants import BLOCKS, GAUSSIAN, ZCDP
from dpmcmc.accounting.curves import Array, gaussian_profile
from dpmcmc.accounting.decision_blocks import require_narrow
from dpmcmc.accounting.gaussian_release import GaussianRelease, gaussian_reach
from dpmcmc.accounting.losses import LossPart
from dpmcmc.accounting.registry import Event, NotApplicableError

__all__ = ["GaussianBatchSum", "batch_sum_deltas", "batch_sum_part", "require_batch"]

_CELLS = 32
_FARTHEST = 600.0
"""Largest loss looked at, so that nothing overflows; beyond it all is charged."""

_MOST_POINTS = 20_000


def require_batch(batch: object, records: object) -> None:
    """Refuse a batch that is empty or larger than the data set."""
    count = errors.require_count("records", records, "Give the number of records.")
    drawn = errors.require_count("batch", batch, "Give the records of one batch.")
    if drawn > count:
        raise errors.InputError(
            f"batch is {drawn}; it must be between 1 and the {count} records. Take a "
            "smaller batch, or leave it out to use all records."
        )


@dataclass(frozen=True)
class GaussianBatchSum(Event):
    """A sum of vectors over a batch drawn afresh, with normal noise.

    Of N records a batch of b is drawn without replacement. Each record of the batch
    makes a vector of length at most c; their sum is released with independent normal
    noise of standard deviation c times the multiplier on every coordinate. What is
    done to the noisy sum afterwards, such as rounding, costs nothing.

    Parameters
    ----------
    noise_multiplier
        The standard deviation of the noise, in units of the longest vector.
    batch
        The number b of records in a batch.
    records
        The number N of records.
    """

    noise_multiplier: float
    batch: int
    records: int

    def __post_init__(self) -> None:
        """Refuse numbers that no release can have."""
        errors.require_positive(
            "noise_multiplier", self.noise_multiplier, "Add noise to the release."
        )
        require_batch(self.batch, self.records)

    @property
    def mu(self) -> float:
        """How far one record of the batch can move the sum, in units of the noise."""
        return 2 / self.noise_multiplier * (1 + 2.0**-50)


@GAUSSIAN.rule(GaussianBatchSum)
def _mu(event: GaussianBatchSum, count: int) -> float:
    return GAUSSIAN.piece(_over_all(event), count)


@ZCDP.rule(GaussianBatchSum)
def _rho(event: GaussianBatchSum, count: int) -> float:
    return ZCDP.piece(_over_all(event), count)


def _over_all(event: GaussianBatchSum) -> GaussianRelease:
    if event.batch < event.records:
        raise NotApplicableError(
            f"the batch holds {event.batch} of {event.records} records; the closed "
            "form is for sums over all records."
        )
    return GaussianRelease(event.mu)


@BLOCKS.rule(GaussianBatchSum)
def _parts(event: GaussianBatchSum, count: int) -> list[LossPart]:
    if event.batch == event.records:
        return BLOCKS.piece(_over_all(event), count)
    return [batch_sum_part(event, count)]


def batch_sum_part(event: GaussianBatchSum, count: int = 1) -> LossPart:
    """Return the losses of releases from drawn batches, on lattices that suit them."""
    mu, drawn = event.mu, event.batch / event.records
    require_narrow(mu)
    reach = math.log1p(drawn * math.expm1(min(gaussian_reach(mu), _FARTHEST)))
    # About the standard deviation of the loss of one release; any step is valid.
    spread = min(math.log1p(drawn * math.sqrt(math.expm1(min(mu**2, 50.0)))), mu)
    step = max(spread / _CELLS, reach / _MOST_POINTS)
    deltas = functools.partial(batch_sum_deltas, drawn, mu, reach)
    return LossPart(deltas, step, reach, count)


def batch_sum_deltas(drawn: float, mu: float, reach: float, step: float) -> Array:
    """Tabulate the profile of one release from a drawn batch.

    Parameters
    ----------
    drawn
        The fraction q = b/N of the records in a batch.
    mu
        How far a record of the batch moves the sum, in units of the noise.
    reach, step
        The last ε of the table, and its distance h.

    Returns
    -------
    array
        δ at ε = 0, h, 2h, ….

    Guarantee
    ---------
    Each value is at least the largest P(S) − e^ε Q(S) over ordered neighbours, up to
    a relative error of 2⁻⁴⁰.
    """
    epsilons = step * np.arange(math.ceil(reach / step) + 1)
    # Rounded down, which only raises δ.
    inner = np.log1p(np.expm1(epsilons) / drawn) * (1 - 2.0**-49)
    return drawn * gaussian_profile(mu, inner)
