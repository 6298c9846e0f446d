# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The best adaptive attack on a block of bits with any profile, from above.

A released bit is a pair of accept probabilities (p, p′). Its profile confines the pair
to a convex polygon, and the value of a play is convex in the pair, so that the best
pair is a corner. Everything else is as for bounded-range bits.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmcmc.accounting.blocks import BlockTable, widen
from dpmcmc.accounting.profiles import Profile

__all__ = ["lens_table"]

Array = NDArray[np.float64]

_DEVIATIONS = 8.5
_RARE = 1e-13
_MOST_POINTS = 6000
_FEWEST_CELLS = 4


def lens_table(profile: Profile, longest: int, cells: int) -> BlockTable:
    """Bound the best attack on 0, 1, …, ``longest`` bits with this profile.

    Parameters
    ----------
    profile
        Upper bounds on the profile of one bit.
    longest
        The longest block wanted.
    cells
        Lattice cells per range of the bounded-range bit that has the same δ(0).

    Guarantee
    ---------
    Value k at lattice point L is at least the largest P(S) − e^−L Q(S) over all
    adaptive plays of k bits, up to k times the table's rounding. Outside the lattice
    the value is replaced by upper bounds: its edge on the left, where it rises, and
    slope −1 in the likelihood ratio on the right.
    """
    lower, gap = profile.tangents().vertices()
    span = 4 * math.atanh(min(profile.deltas[0], 0.999))
    reach = _DEVIATIONS * span / 2 * math.sqrt(longest) + longest * span**2 / 8
    # Losses beyond this are so rare that they may leave the lattice.
    seen = int(np.count_nonzero(profile.deltas > _RARE))
    furthest = profile.epsilons[min(seen, len(profile.epsilons) - 1)]
    reach = min(reach + 2 * furthest, longest * profile.epsilons[-1])
    # A profile with far tails needs a long lattice, which must then be coarser.
    while reach * cells > _MOST_POINTS * span and cells > _FEWEST_CELLS:
        cells //= 2
    step = span / cells
    half = math.ceil(reach / step)
    corners = [_corner(p, g, step, 2 * half) for p, g in zip(lower, gap, strict=True)]
    values = [np.maximum(0.0, -np.expm1(-step * np.arange(-half, half + 1)))]
    for _ in range(longest):
        values.append(_advance(values[-1], step, corners))
    one = math.ceil(profile.epsilons[-1] / step) + 1
    return BlockTable(step, tuple(values), one)


@dataclass(frozen=True)
class _Corner:
    """One pair (p, p′) as a sum of shifted values: Σ weight · V[i + shift] + sure."""

    sure: float
    taps: tuple[tuple[int, float], ...]


def _corner(lower: float, gap: float, step: float, furthest: int) -> _Corner:
    upper = lower + gap
    sure, taps = 0.0, []
    if lower <= 0 or math.log1p(gap / lower) >= furthest * step:
        # The loss leaves the lattice upwards, where a value is at most 1.
        sure = upper
    else:
        taps += _interpolated(math.log1p(gap / lower), upper, step)
    if upper < 1:
        # Values rise with the loss: moving down less than it should is safe.
        fall = max(math.log1p(-gap / (1 - lower)), -furthest * step)
        taps += _interpolated(fall, 1 - upper, step)
    return _Corner(sure, tuple(taps))


def _interpolated(move: float, weight: float, step: float) -> list[tuple[int, float]]:
    """Split a move of the loss over two lattice points, linear in e^−loss."""
    cell = math.floor(move / step)
    share = (math.expm1(cell * step - move) - math.expm1(-step)) / -math.expm1(-step)
    share = min(max(share, 0.0), 1.0)
    return [(cell, weight * share), (cell + 1, weight * (1 - share))]


def _advance(values: Array, step: float, corners: list[_Corner]) -> Array:
    """Add one bit: the best corner at every lattice point."""
    points = len(values)
    moves = [shift for corner in corners for shift, _ in corner.taps]
    left, right = max(0, -min(moves)), max(0, *moves)
    wide = widen(values, step, left, right)
    best = values.copy()
    for corner in corners:
        value = np.full(points, corner.sure)
        for shift, weight in corner.taps:
            value += weight * wide[left + shift : left + shift + points]
        np.maximum(best, value, out=best)
    return best
