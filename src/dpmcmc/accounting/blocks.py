# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The best adaptive attack on a block of η-bounded-range bits, from above.

An adversary who sees the bits so far chooses the next question. The value of the best
play is a function V of the likelihood ratio; one step of dynamic programming maps the
value of k remaining bits to that of k + 1. V is convex, so that joining lattice values
by chords in the likelihood ratio bounds it from above, and the best question between
two chords has a closed form. Proofs are in ``docs/proofs/composition.md``.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["STEP_ROUNDING", "BlockTable", "bounded_range_table", "widen"]

Array = NDArray[np.float64]

STEP_ROUNDING = 16 * 2.0**-53
"""Rounding of one step of the dynamic programme: sixteen operations on [0, 1]."""


@dataclass(frozen=True)
class BlockTable:
    """Privacy profiles of blocks of 0, 1, … bits on one lattice of losses.

    Attributes
    ----------
    step
        The distance h of lattice points.
    values
        Entry k holds δ at ε = −L for L = −(n h), …, n h: the profile of k bits,
        from the largest ε to the smallest.
    reach
        How many lattice points one bit can move the loss.
    rounding
        What one bit may have added to the error of every value.
    """

    step: float
    values: tuple[Array, ...]
    reach: int
    rounding: float = STEP_ROUNDING


def widen(values: Array, step: float, left: int, right: int) -> Array:
    """Continue values beyond their lattice by upper bounds.

    Values rise with L, so to the left the edge is a bound. To the right, values are
    steepest at slope −1 in e^−L. Where the lattice ends at the reach of the losses,
    both are exact.
    """
    half = (len(values) - 1) // 2
    fall = math.exp(-half * step) * -np.expm1(-step * np.arange(1, right + 1))
    after = np.minimum(1.0, values[-1] + fall)
    return np.concatenate([np.full(left, values[0]), values, after])


@functools.lru_cache(maxsize=16)
def bounded_range_table(eta: float, longest: int, cells: int) -> BlockTable:
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
    Value k at lattice point L is at least the largest P(S) − e^−L Q(S) over all
    adaptive plays of k bits, up to ``k`` times ``rounding``.
    """
    # Rounded up, so that the lattice's own range is never below η.
    step = math.nextafter(eta / cells, math.inf)
    values = [np.zeros(1)]
    for _ in range(longest):
        wide = widen(values[-1], step, 2 * cells, 2 * cells)
        values.append(_advance(wide, step, cells))
    return BlockTable(step, tuple(values), cells)


def _advance(wide: Array, step: float, cells: int) -> Array:
    """Add one bit. ``wide`` reaches one range further than the result each way.

    In cell j the adversary's bit moves the loss up by x = jh + s or down by η − x.
    With y = 1 − e^−s the value is concave in y and stationary at 1 − √(M / −K).
    """
    eta = cells * step
    width = -math.expm1(-step)
    whole = -math.expm1(-eta)
    shrink = math.exp(-eta)
    rise = np.diff(wide)
    points = len(wide) - 2 * cells
    best = np.zeros(points)
    with np.errstate(divide="ignore", invalid="ignore"):
        for j in range(cells):
            up = slice(cells + j, cells + j + points)
            down = slice(j, j + points)
            up_rise, down_rise = rise[up], rise[down]
            kappa = math.exp(j * step - eta)
            bend = (up_rise - shrink * down_rise) / width
            gain = wide[up] - wide[down] + (up_rise - down_rise) / width
            y = 1 - np.sqrt(kappa * np.maximum(gain, 0.0) / np.maximum(bend, 0.0))
            y = np.clip(np.nan_to_num(y, nan=0.0), 0.0, width)
            accept = (-math.expm1(j * step - eta) - kappa * y / (1 - y)) / whole
            above = wide[up] + (y / width) * up_rise
            below = wide[down] + (y / width) * down_rise
            np.maximum(best, below + accept * (above - below), out=best)
    return best
