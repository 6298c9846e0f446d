# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The first question: on which scale each coordinate of θ lives.

Nothing is known yet, and columns may be of any size. Histograms over powers of two of
each coordinate's curvature are read wherever they stand out of their noise.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpmcmc.influence.derivatives import Frame
from dpmcmc.sampling.fit.asking import Ask, Asking
from dpmcmc.sampling.fit.place import Setting
from dpmcmc.sampling.fit.questions import CurvatureBins, LengthBins, Public, Unravel

__all__ = ["Scales", "find_scales"]

_VISIBLE = 5.5
"""Groups of bins are believed from so many sd on: one false group in millions."""

_GROUP = 1 / 3
"""A group of so many of the records is to be seen, for which fractions of the budget
between these are paid: for curvatures, and for lengths."""

_FOR_CURVATURE, _FOR_LENGTHS = (0.03, 0.2), (0.012, 0.09)

_WIDTHS = (1, 2, 4, 8)
_TAKEN = -1e18
_ABOVE_POWER = 1.45
"""A number in the bin of 2^k is about so many times 2^k."""


_ASIDE = 0.05
"""How far the first round is from the start, in its own units: log-likelihoods are
often written with kinks where a predictor is exactly zero."""


class Scales(NamedTuple):
    """What was found at the start.

    Attributes
    ----------
    point
        A point by the start.
    whitening
        Makes curvatures about 1; diagonal.
    squares
        The mean square of a gradient's coordinates, then.
    spent
        The fraction of the budget that was paid.
    """

    point: np.ndarray
    whitening: np.ndarray
    squares: np.ndarray
    spent: float


def find_scales(
    point: np.ndarray,
    setting: Setting,
    budget: float,
    unravel: Unravel,
    to_come: Sequence[Ask] = (),
) -> Asking[Scales]:
    """Ask for the scale of each coordinate, then for the usual length of a gradient.

    Where a coordinate scales the log-likelihood, its own curvature says by how much,
    and the start is moved there. A coordinate that is not seen matters to fewer records
    than noise hides; where none is seen, the usual length of a Hessian is that of all.

    Parameters
    ----------
    point
        Where the model starts.
    setting
        What does not change from place to place.
    budget
        The μ of the whole fit.
    unravel
        Makes θ of its coordinates.
    to_come
        Questions that will follow.
    """
    factor, records, size = setting.basis.factor, setting.records, setting.size
    each = 2 * (_VISIBLE / (_GROUP * budget * records)) ** 2
    paid = float(np.clip(size * each, *_FOR_CURVATURE))
    counts, noise = yield Ask(
        CurvatureBins(unravel),
        Frame(point, factor),
        paid,
        histograms=size,
        to_come=to_come,
    )
    found = [_visible_sums(row, noise)[0] / records for row in counts]
    curvatures = np.array(found)
    seen = curvatures > 0
    curvatures[~seen] = np.median(curvatures[seen]) if seen.any() else 1.0
    point, curvatures = _scaled(point, setting, curvatures, seen)
    whitening = np.diag(1 / np.sqrt(curvatures))
    aside = np.random.default_rng(0).choice([-_ASIDE, _ASIDE], size)
    point = point + factor @ whitening @ aside
    more = float(np.clip(2 * each, *_FOR_LENGTHS))
    (lengths, hessians), noise = yield Ask(
        LengthBins(unravel, is_first=True),
        Public(Frame(point, factor @ whitening), np.ones(size), 1.0),
        more,
        histograms=2,
    )
    square = _visible_sums(lengths, noise)[1] / records / size
    usual = _visible_sums(hessians, noise)[0] / records
    if usual > 0 and not seen.any():
        whitening, square = whitening / np.sqrt(usual), square / usual
    squares = np.full(size, square if square > 0 else 1.0)
    return Scales(point, whitening, squares, paid + more)


def _scaled(
    point: np.ndarray, setting: Setting, curvatures: np.ndarray, seen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The start with its scale as the records have it, and curvatures there."""
    scaling = None if setting.shape is None else setting.shape.scaling
    if scaling is None or not seen[scaling.place]:
        return point, curvatures
    far = scaling.by_curvature(curvatures[scaling.place])
    factor = np.where(scaling.scaled, np.exp(-scaling.rate * far), 1.0)
    return point + far * setting.basis.factor[:, scaling.place], curvatures * factor


def _visible_sums(counts: np.ndarray, noise: float) -> tuple[float, float]:
    """Sums of numbers and of their squares, over bins that stand out of the noise.

    Bins are joined, the highest groups first, so that what is spread out is seen.
    """
    places = CurvatureBins.powers() * _ABOVE_POWER
    free, first, second = counts.astype(float), 0.0, 0.0
    for width in _WIDTHS:
        while True:
            sums = np.convolve(free, np.ones(width), mode="valid")
            start = int(np.argmax(sums))
            if not sums[start] > _VISIBLE * noise * np.sqrt(width):
                break
            group = slice(start, start + width)
            middle = np.exp(np.mean(np.log(places[group])))
            first += sums[start] * middle
            second += sums[start] * middle**2
            free[group] = _TAKEN
    return first, second
