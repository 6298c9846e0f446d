# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The correction with the least sup-error: a linear programme over atoms.

For atoms at given places the largest error of the cdf is the greatest of linear
functions of the weights, so the best weights solve a linear programme. Any symmetric
distribution is a mixture of symmetric pairs of atoms, so a dense grid of atoms comes
close to the best correction there is. Three steps:

1. The programme on a grid of atoms. Its error may be as small as 10⁻¹⁰, below the
   tolerance of a solver, so the programme is solved again for the change of the weights
   with the remaining error scaled to 1 (iterative refinement of linear programmes:
   Gleixner, Steffy & Wolter, ISSAC 2012).
2. Neighbours on the grid that share the weight of one atom are merged.
3. Places and weights are improved together: the same programme, with the error
   linearised in the places and a limit on how far they move (Osborne & Watson 1969).
   The first step is then repeated with these atoms and the grid, as long as it gains.

Below C = ½ no programme is needed: V_cor of C = ½ plus a normal of variance ½ − C is a
correction for C with the same sum in distribution, hence the same sup-error, about
10⁻¹¹.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from dpmcmc.correction.correction import Correction, require_variance

__all__ = ["linear_programme"]

_LEAST_SOLVED = 0.5
"""Smallest C with a programme of its own."""

_REACH = 24.0
"""Atoms and points reach this far: beyond, both tails are below 4·10⁻¹¹."""

_ATOM_STEP, _POINT_STEP = 0.35, 0.08
"""Spacing of atoms and of points, in units of √C."""

_GOOD = 1e-10
"""An error that needs no improvement: the tails left out are almost as large."""

_ROUNDS, _MOVES = 6, 60
_GAIN, _WORTH = 1e-7, 1e-3
"""Relative gains below which moving atoms ends, and below which none is added."""

Floats = NDArray[np.float64]


def linear_programme(variance: float) -> Correction:
    """Fit V_cor by minimising the sup-error of the cdf.

    Parameters
    ----------
    variance
        The variance C of the normal part, between 0 and π²/3.

    Returns
    -------
    Correction
        Atoms, for C of at least ½; below that, normals of variance ½ − C around the
        atoms of C = ½.
    """
    target = require_variance(variance)
    solved = max(target, _LEAST_SOLVED)
    places, weights = _least_fit(math.sqrt(solved))
    widths = np.full_like(places, math.sqrt(solved - target))
    return Correction.symmetric(target, places, widths, weights)


def _least_fit(scale: float) -> tuple[Floats, Floats]:
    """Choose atoms from a grid, move them, and offer the grid again while that gains.

    Moving alone can end where an atom is missing; the programme then takes one.
    """
    best = _grid_fit(np.zeros(1), np.ones(1), scale)
    error = _largest_error(*best, scale)
    for _ in range(_ROUNDS):
        if error <= _GOOD:
            break
        before = error
        moved = _polish(*best, scale)
        # Fewer atoms are taken for any gain, more atoms only for one that is worth it.
        for fit, least in ((moved, 0.0), (_grid_fit(*moved, scale), _WORTH)):
            now = _largest_error(*fit, scale)
            if now < (1 - least) * error:
                best, error = fit, now
        if error > (1 - _WORTH) * before:
            break
    return best


def _pair_tails(y: Floats, places: Floats, scale: float) -> Floats:
    """P(N(0, scale²) ± m > y), for each point y and each pair of atoms at ±m."""
    column = y[:, None]
    return (ndtr((places - column) / scale) + ndtr((-places - column) / scale)) / 2


def _pair_slopes(y: Floats, places: Floats, scale: float) -> Floats:
    """Derivative of `_pair_tails` with respect to the place m."""
    right, left = ((sign * places - y[:, None]) / scale for sign in (1, -1))
    bells = np.exp(-(right**2) / 2) - np.exp(-(left**2) / 2)
    return bells / (2 * math.sqrt(2 * math.pi) * scale)


def _least_error(
    columns: Floats, error: Floats, lowest: Floats, highest: Floats, summed: Floats
) -> Floats:
    """The change that makes the greatest |error + columns · change| least.

    ``summed`` marks the changes that must sum to 0. All are solved for in units of
    the present error, so that a solver's tolerance is relative to it. A solver that
    gives up changes nothing.
    """
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to import

    unit = float(np.abs(error).max())
    ones = np.ones((len(error), 1))
    answer = linprog(
        np.append(np.zeros(columns.shape[1]), 1.0),
        A_ub=np.block([[columns, -ones], [-columns, -ones]]),
        b_ub=np.append(-error, error) / unit,
        A_eq=np.append(summed, 0.0)[None],
        b_eq=[0.0],
        bounds=np.column_stack(
            [np.append(lowest / unit, 0.0), np.append(highest / unit, np.inf)]
        ),
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
        },
    )
    if answer.x is None:
        return np.zeros(columns.shape[1])
    return answer.x[:-1] * unit


def _grid_fit(places: Floats, weights: Floats, scale: float) -> tuple[Floats, Floats]:
    """Best weights on the given atoms and a grid of others."""
    grid = np.arange(0.0, _REACH, _ATOM_STEP * scale)
    offered = np.union1d(grid, places)
    start = np.zeros_like(offered)
    start[np.searchsorted(offered, places)] = weights
    places, weights = offered, start
    y = np.arange(0.0, _REACH, _POINT_STEP * scale)
    tails = _pair_tails(y, places, scale)
    error = tails @ weights - expit(-y)
    for _ in range(_ROUNDS):
        free = np.full_like(weights, np.inf)
        change = _least_error(tails, error, -weights, free, np.ones_like(weights))
        tried = np.maximum(weights + change, 0.0)
        tried /= tried.sum()
        left = tails @ tried - expit(-y)
        if np.abs(left).max() > (1 - _GAIN) * np.abs(error).max():
            break
        weights, error = tried, left
    return places[weights > 0], weights[weights > 0]


def _merge(places: Floats, weights: Floats, gap: float) -> tuple[Floats, Floats]:
    """Replace atoms closer than ``gap`` to their neighbour by one at their mean."""
    places, weights = places[weights > 0], weights[weights > 0]
    starts = np.flatnonzero(np.diff(places, prepend=-np.inf) > gap)
    totals = np.add.reduceat(weights, starts)
    means = np.add.reduceat(weights * places, starts) / totals
    means[0] = 0.0 if places[0] == 0 else means[0]
    return means, totals


def _polish(places: Floats, weights: Floats, scale: float) -> tuple[Floats, Floats]:
    """Move few atoms and their weights together until the error stops falling."""
    places, weights = _merge(places, weights, 1.5 * _ATOM_STEP * scale)
    limit = _ATOM_STEP * scale
    grid = np.arange(0.0, _REACH, _POINT_STEP * scale)
    best = _largest_error(places, weights, scale)
    for _ in range(_MOVES):
        y = np.append(grid, _extrema(places, weights, scale))
        columns = np.hstack(
            [_pair_tails(y, places, scale), _pair_slopes(y, places, scale)]
        )
        error = columns[:, : len(places)] @ weights - expit(-y)
        change = _least_error(
            columns,
            error,
            np.append(-weights, -weights * np.minimum(limit, places)),
            np.append(np.full_like(weights, np.inf), weights * limit),
            np.append(np.ones_like(weights), np.zeros_like(weights)),
        )
        moved = np.maximum(places + change[len(places) :] / weights, 0.0)
        tried = np.maximum(weights + change[: len(places)], 0.0)
        moved, tried = _merge(*_ordered(moved, tried / tried.sum()), 1e-3 * scale)
        now = _largest_error(moved, tried, scale)
        if now >= best:
            limit /= 4
            if limit < 1e-6 * scale:
                break
            continue
        gained = best - now
        places, weights, best = moved, tried, now
        if gained < _GAIN * best:
            break
    return places, weights


def _ordered(places: Floats, weights: Floats) -> tuple[Floats, Floats]:
    order = np.argsort(places)
    return places[order], weights[order]


def _extrema(places: Floats, weights: Floats, scale: float) -> Floats:
    """Where the error of the cdf is locally largest, to 10⁻⁴ √C and better."""
    y = np.arange(0.0, _REACH, _POINT_STEP * scale / 8)
    size = np.abs(_pair_tails(y, places, scale) @ weights - expit(-y))
    top = np.flatnonzero((size[1:-1] >= size[:-2]) & (size[1:-1] > size[2:])) + 1
    left, middle, right = size[top - 1], size[top], size[top + 1]
    bend = left - 2 * middle + right
    shift = np.divide(left - right, 2 * bend, out=np.zeros_like(bend), where=bend < 0)
    return y[top] + shift * (y[1] - y[0])


def _largest_error(places: Floats, weights: Floats, scale: float) -> float:
    y = _extrema(places, weights, scale)
    return float(np.abs(_pair_tails(y, places, scale) @ weights - expit(-y)).max())
