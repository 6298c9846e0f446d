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

_FRACTION = 0.02
_FOR_CURVATURE = 0.7
_VISIBLE = 5.5
"""Groups of bins are believed from so many sd on: one false group in millions."""

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
    """

    point: np.ndarray
    whitening: np.ndarray
    squares: np.ndarray


def find_scales(
    point: np.ndarray, setting: Setting, unravel: Unravel, to_come: Sequence[Ask]
) -> Asking[Scales]:
    """Ask for the scale of each coordinate, then for the usual length of a gradient.

    Where a coordinate scales the log-likelihood, its own curvature says by how much, and
    the start is moved there.
    """
    factor, records, size = setting.basis.factor, setting.records, setting.size
    counts, noise = yield Ask(
        CurvatureBins(unravel),
        Frame(point, factor),
        _FRACTION * _FOR_CURVATURE,
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
    lengths, noise = yield Ask(
        LengthBins(unravel, is_first=True),
        Public(Frame(point, factor @ whitening), np.ones(size), 1.0),
        _FRACTION * (1 - _FOR_CURVATURE),
        histograms=2,
    )
    square = _visible_sums(lengths[0], noise)[1] / records
    return Scales(point, whitening, np.full(size, square / size if square > 0 else 1.0))


def _scaled(
    point: np.ndarray, setting: Setting, curvatures: np.ndarray, seen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The start with its scales as the records have them, and curvatures there."""
    dispersions, factor = setting.dispersions, setting.basis.factor
    curvatures = curvatures.copy()
    for place in np.flatnonzero(dispersions.rates):
        own = np.flatnonzero(factor[place])
        if len(own) != 1 or not seen[own[0]]:
            continue
        far = dispersions.from_curvature(place, curvatures[own[0]])
        point = point + far * np.eye(len(point))[place]
        curvatures *= np.exp(-dispersions.rates[place] * far)
    return point, curvatures


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
