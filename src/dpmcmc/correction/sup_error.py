# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How far the cdf of a normal mixture is from the logistic cdf, with a bound.

The error E(y) = Σ p_k Φ((m_k − y)/s_k) − σ(−y) is odd in y for a symmetric mixture, so
y ≥ 0 suffices. On an interval with midpoint c and half-length r, linear interpolation
of the end values has an error of at most (r²/2) sup|E″|, and
sup|E″| ≤ |E″(c)| + r |E‴(c)| + (r²/2) M, where M bounds |E⁗|: |Φ⁗| < 0.551 and
|σ⁗| < 0.13 give M = 0.551 / min s⁴ + 0.13. Beyond the last point both tails lie between
0 and their values there, so |E| is at most the larger one. Intervals are halved until
the bound is close to the largest error seen.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

__all__ = ["Bracket", "bracket_sup_error", "error_at"]

_RELATIVE, _ABSOLUTE = 1e-4, 1e-11
"""How close the two ends of a bracket come."""

_BLOCK = 2**22
_FIRST_STEP = 0.05
_TAIL = 40.0
"""σ(−40) is below 10⁻¹⁷."""

_ULP = 2.0**-52

Floats = NDArray[np.float64]


class Bracket(NamedTuple):
    """A supremum lies between ``lower`` (seen) and ``upper`` (proven)."""

    lower: float
    upper: float


def error_at(y: Floats, centres: Floats, scales: Floats, weights: Floats) -> Floats:
    """Difference of the upper tails of the mixture and the logistic distribution."""
    return ndtr((centres - y[:, None]) / scales) @ weights - expit(-y)


def bracket_sup_error(
    centres: Sequence[float] | Floats,
    scales: Sequence[float] | Floats,
    weights: Sequence[float] | Floats,
) -> Bracket:
    """Bracket sup_y |P(mixture ≤ y) − σ(y)| of a symmetric normal mixture.

    Parameters
    ----------
    centres, scales, weights
        Of its components, symmetric about 0; scales above 0, weights summing to 1.

    Returns
    -------
    Bracket
        Both ends of a proven interval around the supremum.

    Guarantee
    ---------
    The supremum lies in the bracket if `scipy.special.ndtr` and `expit` are right to
    8 units in the last place. Roundings are charged: one unit of 2⁻⁵² for each
    component in the sum, 32 for the functions and their arguments, and the slope of
    the error times one last place of the furthest point for gaps between intervals.
    """
    m, s, p = (
        np.asarray(part, dtype=np.float64) for part in (centres, scales, weights)
    )
    fourth = 0.551 / float(s.min()) ** 4 + 0.13
    rounding = (len(p) + 64) * _ULP
    end = max(_TAIL, float((m + 10 * s).max()))
    tail = max(float(ndtr((m - end) / s) @ p), float(expit(-end)))
    edges = np.linspace(0.0, end, math.ceil(end / _FIRST_STEP) + 1)
    middles, half = (edges[1:] + edges[:-1]) / 2, float(edges[1]) / 2
    rows = max(1, _BLOCK // len(p))
    lower = settled = 0.0
    while True:
        bounds = np.empty_like(middles)
        for start in range(0, len(middles), rows):
            part = slice(start, start + rows)
            seen, bend = _interval(middles[part], half, m, s, p)
            lower = max(lower, float(seen.max()))
            bounds[part] = seen + half**2 / 2 * (bend + half**2 / 2 * fourth)
        target = lower + max(_RELATIVE * lower, _ABSOLUTE)
        open_ = bounds > target
        settled = max(settled, float(bounds[~open_].max(initial=0.0)))
        if not open_.any():
            break
        half /= 2
        middles = (middles[open_, None] + np.array([-half, half])).ravel()
    return Bracket(max(0.0, lower - rounding), max(settled, lower, tail) + rounding)


def _interval(
    middles: Floats, half: float, m: Floats, s: Floats, p: Floats
) -> tuple[Floats, Floats]:
    """Larger end value, and |E″| + r |E‴| at the midpoint, of each interval."""
    ends = [np.abs(error_at(middles + side, m, s, p)) for side in (-half, half)]
    z = (m - middles[:, None]) / s
    bells = np.exp(-(z**2) / 2) / (math.sqrt(2 * math.pi) * s**2)
    up = expit(-middles)
    slope = up * (1 - up)
    second = (-z * bells) @ p - slope * (1 - 2 * up)
    third = ((1 - z**2) * bells / s) @ p + slope * (1 - 6 * slope)
    return np.maximum(*ends), np.abs(second) + half * np.abs(third)
