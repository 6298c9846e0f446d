# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The best adaptive attack on blocks of bits, and chains made of blocks.

An adversary who sees the bits so far chooses the next question. The value V of the best
play is a function of the likelihood ratio e^−L; one step of dynamic programming maps
the value of k remaining bits to that of k + 1. V is convex in e^−L, so that joining
lattice values by chords bounds it from above, and it is symmetric,
V(L) = 1 − e^−L + e^−L V(−L), so that L ≤ 0 is enough: there V(−ε) is the profile δ(ε).
Proofs are in ``docs/proofs/composition.md``.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmcmc.accounting.losses import LossPart, resampled
from dpmcmc.accounting.profiles import Profile
from dpmcmc.accounting.registry import NotApplicableError
from dpmcmc.arithmetic import LOG_ODDS_LIMIT

__all__ = [
    "DecisionBlocks",
    "both_sides",
    "chain_parts",
    "fineness",
    "lens",
    "require_narrow",
]

Array = NDArray[np.float64]

_ROUNDING = 16 * 2.0**-53
_STANDARD_DEVIATIONS = 8.5
_RARE = 1e-13
_MOST_POINTS = 6000


@dataclass(frozen=True)
class DecisionBlocks:
    """Profiles of blocks of bits on one lattice of losses.

    Attributes
    ----------
    step
        The distance h of lattice points.
    values
        Entry k holds δ at ε = 0, h, 2h, … for k bits; entry 0 is of no bit.
    error
        Relative error that each bit may have added to the values.
    """

    step: float
    values: tuple[Array, ...]
    error: float


def fineness(count: int) -> tuple[int, int]:
    """Choose the longest block and the lattice cells per range for a chain.

    A short chain affords a finer lattice. Each lattice refines the next coarser one,
    so that a longer chain never costs less.
    """
    longest, cells = 128, 16
    while cells < 128 and count <= longest // 2:
        longest, cells = longest // 2, cells * 2
    return longest, cells


def require_narrow(reach: float) -> None:
    """Refuse a release that one record decides: no number of them is private."""
    if reach > LOG_ODDS_LIMIT:
        raise NotApplicableError(
            f"one record can move what is released by {reach:.6g} units of its noise; "
            f"above {LOG_ODDS_LIMIT:g} it decides the release. Take a smaller clip."
        )


def chain_parts(blocks: DecisionBlocks, count: int) -> list[LossPart]:
    """Return the parts of a chain: the longest blocks, and one shorter.

    Guarantee
    ---------
    Any adaptive play of ``count`` bits is dominated by the composition of the parts.
    """
    longest = len(blocks.values) - 1
    whole, rest = divmod(count, longest)
    return [
        LossPart(
            functools.partial(resampled, blocks.values[length], blocks.step),
            blocks.step,
            (len(blocks.values[length]) - 1) * blocks.step,
            times,
            (length + 1) * blocks.error,
        )
        for length, times in ((longest, whole), (rest, 1))
        if length and times
    ]


def both_sides(values: Array, step: float, left: int, right: int) -> Array:
    """Return V at L = −left·h … right·h from its values at L = 0, −h, −2h, ….

    Further left than the values, their last one is a bound, for V rises with L.
    """
    missing = max(0, max(left, right) + 1 - len(values))
    known = np.concatenate([values, np.full(missing, values[-1])])
    z = np.exp(-step * np.arange(1, right + 1))
    above = -np.expm1(-step * np.arange(1, right + 1)) + z * known[1 : right + 1]
    return np.concatenate([known[left::-1], above])


def lens(profile: Profile, longest: int, cells: int) -> DecisionBlocks:
    """Bound the best attack on 0, 1, …, ``longest`` bits with this profile.

    A bit is a pair of accept probabilities (p, p′). Its profile confines the pair to a
    convex polygon, and the value of a play is convex in the pair, so that the best
    pair is a corner.

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
    Value k at ε is at least the largest P(S) − e^ε Q(S) over all adaptive plays of k
    bits, up to a relative error of k times ``error``.
    """
    lower, gap = profile.corners()
    span = 4 * math.atanh(min(profile.deltas[0], 0.999))
    reach = _STANDARD_DEVIATIONS * span / 2 * math.sqrt(longest) + longest * span**2 / 8
    # Losses beyond this are so rare that they may leave the lattice.
    seen = int(np.count_nonzero(profile.deltas > _RARE))
    furthest = profile.epsilons[min(seen, len(profile.epsilons) - 1)]
    reach = min(reach + 2 * furthest, longest * profile.epsilons[-1])
    # A profile with far tails needs a long lattice, which must then be coarser.
    while reach * cells > _MOST_POINTS * span and cells > 4:
        cells //= 2
    step = span / cells
    half = math.ceil(reach / step)
    corners = [_corner(p, g, step, half) for p, g in zip(lower, gap, strict=True)]
    moves = [shift for corner in corners for shift, _ in corner.taps]
    left, right = max(0, -min(moves)), max(0, *moves)
    values = [np.zeros(half + 1)]
    for _ in range(longest):
        wide = both_sides(values[-1], step, half + left, right)
        best = values[-1]
        for corner in corners:
            value = np.full(half + 1, corner.sure)
            for shift, weight in corner.taps:
                value += weight * wide[left + shift :][: half + 1][::-1]
            best = np.maximum(best, value)
        values.append(best + _ROUNDING)
    return DecisionBlocks(step, tuple(values), _ROUNDING)


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
    along = (math.expm1(cell * step - move) - math.expm1(-step)) / -math.expm1(-step)
    along = min(max(along, 0.0), 1.0)
    return [(cell, weight * along), (cell + 1, weight * (1 - along))]
