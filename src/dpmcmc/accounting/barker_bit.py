# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The exact Barker bit on all records: the event, and what it costs.

Substitution of one record moves the log odds of the bit by at most η. The profile and
the zCDP constant of one such bit are in ``docs/proofs/bounded_range.md``, the best
attack on many in ``docs/proofs/composition.md``.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from dpmcmc import errors
from dpmcmc.accounting.accountants import BLOCKS, ZCDP
from dpmcmc.accounting.decision_blocks import (
    DecisionBlocks,
    both_sides,
    chain_parts,
    fineness,
    require_narrow,
)
from dpmcmc.accounting.losses import LossPart
from dpmcmc.accounting.registry import Event, bit_slack
from dpmcmc.arithmetic import BIT_SLACK, log_odds_range

__all__ = ["BarkerBit", "bounded_range_blocks", "bounded_range_rho"]

Array = NDArray[np.float64]

_SERIES_BELOW = 0.25
_STANDARD_DEVIATIONS = 8.5
_TOGETHER = 16


@dataclass(frozen=True)
class BarkerBit(Event):
    """One accept bit of the exact Barker test on all records.

    The bit is 1 with probability σ(Δ), where Δ is the sum of the N clipped ratios,
    each in [−B, B], plus a public part.

    Parameters
    ----------
    clip
        The clip B of one record's ratio.
    records
        The number of records N.
    """

    clip: float
    records: int

    def __post_init__(self) -> None:
        """Refuse a clip or a number of records that no test can have."""
        errors.require_positive("clip", self.clip, "Give the clip of the test.")
        errors.require_count("records", self.records, "Give the number of records.")

    @property
    def log_odds_range(self) -> float:
        """How far one record can move the log odds, with the rounding of Δ."""
        return log_odds_range(self.clip, self.records)

    def slack(self, epsilon: float) -> float:
        """What finite arithmetic may add to the δ of this ε.

        Guarantee
        ---------
        As `bit_slack`, for bits of neighbours: their log odds differ by at most η.
        """
        return bit_slack(BIT_SLACK, epsilon, self.log_odds_range)


@ZCDP.rule(BarkerBit)
def _rho(bit: BarkerBit, count: int) -> float:
    return count * bounded_range_rho(bit.log_odds_range)


@BLOCKS.rule(BarkerBit)
def _blocks(bit: BarkerBit, count: int) -> list[LossPart]:
    require_narrow(bit.log_odds_range)
    return chain_parts(
        bounded_range_blocks(bit.log_odds_range, *fineness(count)), count
    )


def bounded_range_rho(eta: float) -> float:
    """Return the smallest ρ for which every η-bounded-range bit is ρ-zCDP.

    It is t coth t − 1 + log(sinh t / t) with t = η/2, which equals the largest
    Kullback–Leibler divergence of such a bit and lies just below η²/8.

    Guarantee
    ---------
    The Rényi divergence of order α > 1 between the bits of neighbours is at most α
    times the returned number, which is rounded up.
    """
    t = eta / 2
    if eta < _SERIES_BELOW:
        # The series alternates, so that stopping after t⁶ is an upper bound.
        rho = t**2 / 2 - t**4 / 36 + t**6 / 405
    else:
        # log(sinh t / t) without overflow for a wide clip.
        log_ratio = t + math.log(-math.expm1(-2 * t) / (2 * t))
        rho = t / math.tanh(t) - 1 + log_ratio
    return rho * (1 + 1e-12)


@functools.lru_cache(maxsize=16)
def bounded_range_blocks(eta: float, longest: int, cells: int) -> DecisionBlocks:
    """Bound the best attack on 0, 1, …, ``longest`` bits of log-odds range η.

    Parameters
    ----------
    eta
        The log-odds range η of one bit.
    longest
        The longest block wanted.
    cells
        Lattice cells per η; more cells are tighter and cost their square.

    Guarantee
    ---------
    Value k at ε is at least the largest P(S) − e^ε Q(S) over all adaptive plays of k
    bits, up to a relative error of k times ``error``.
    """
    # Rounded up, so that the lattice's own range is never below η.
    step = math.nextafter(eta / cells, math.inf)
    values = [np.zeros(1)]
    for k in range(1, longest + 1):
        # Further out, the last value is a bound, and it is tiny.
        far = _STANDARD_DEVIATIONS * math.sqrt(k) / 2 + k * eta / 8 + 2
        half = min(k * cells, math.ceil(far * cells))
        values.append(_advance(values[-1], step, cells, half))
    # Where a narrow cell rounds, the best question is found less exactly.
    error = 2.0**-47 * (1 - cells / math.expm1(-eta))
    return DecisionBlocks(step, tuple(values), error)


def _advance(values: Array, step: float, cells: int, half: int) -> Array:
    """Add one bit: the best question at L = 0, −h, …, −half·h.

    In cell j the adversary's bit moves the loss up by x = jh + s or down by η − x.
    With y = 1 − e^−s, the value is concave in y and stationary at 1 − √(M / −K).
    Every term below is positive, so that the result is accurate relative to its size.
    """
    eta = cells * step
    width, whole, shrink = -math.expm1(-step), -math.expm1(-eta), math.exp(-eta)
    wide = both_sides(values, step, half + cells, cells)
    at = sliding_window_view(wide, half + 1)
    rises = sliding_window_view(np.diff(wide), half + 1)
    best = np.zeros(half + 1)
    for first in range(0, cells, _TOGETHER):
        low = slice(first, min(first + _TOGETHER, cells))
        high = slice(low.start + cells, low.stop + cells)
        below, above, fall, rise = at[low], at[high], rises[low], rises[high]
        j = np.arange(low.start, low.stop)[:, None]
        left = (j - cells) * step
        with np.errstate(divide="ignore", invalid="ignore"):
            curvature = np.maximum((rise - shrink * fall) / width, 0.0)
            gain = np.maximum(above - below + (rise - fall) / width, 0.0)
            y = 1 - np.sqrt(np.exp(left) * gain / curvature)
        y = np.fmin(np.fmax(y, 0.0), width)  # what is not a number becomes 0
        along = y / width
        accept = (-np.expm1(left) - y) * (above + along * rise)
        reject = shrink * (np.expm1(j * step) + y) * (below + along * fall)
        value = (accept + reject) / ((1 - y) * whole)
        np.maximum(best, value.max(axis=0), out=best)
    return best[::-1]
