# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The privacy profile of one bit of a Gaussian test, on a grid that is an upper bound.

Given the batch, the bit is 1 with probability F_v(m), where F_v is the distribution
function of N(0, v) + V_cor. Substitution moves m by at most D and v by at most E. The
profile is the largest F_v(m) − e^ε F_v′(m − D). On each cell of a grid over m, v and
v′ the function is at most its largest corner plus a bound on its curvature. Proofs are
in ``docs/proofs/minibatch.md``.
"""

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from dpmcmc.accounting.noise_mixture import NoiseMixture
from dpmcmc.accounting.profiles import Profile
from dpmcmc.accounting.registry import NotApplicableError

__all__ = ["BitGrid", "bit_profile"]

Array = NDArray[np.float64]

_TAILS = 9.5
_FLOOR = 1e-12
_HALVINGS = 6
_LARGEST = 20.0
_NEAR = 2.0
_MOST_NODES = 2 * 10**6
_ROUNDING = 2.0**-50
_SPACING = 0.01
_VARIANCE_SPACING = 0.025
_CHANGE_SPACING = 0.02
_COARSENINGS = 6
_COARSER = 2.5
_LARGE = 0.25


class BitGrid:
    """Corners and curvature bounds of F_v(m) − e^ε F_v′(m − D), for every ε.

    Parameters
    ----------
    mixture
        The distribution of V_cor.
    least, most
        Range of the variance v.
    shift
        The largest change D of the mean.
    change
        The largest change E of the variance.
    coarse
        How much coarser than usual the grid may be; the bound is looser by its square.
    """

    def __init__(
        self,
        mixture: NoiseMixture,
        least: float,
        most: float,
        shift: float,
        change: float,
        coarse: float = 1.0,
    ) -> None:
        self.shift = shift
        self._rounding = _ROUNDING + len(mixture.positions) * 2.0**-53
        edge = max(mixture.positions) + shift
        edge += _TAILS * math.sqrt(most + change + max(mixture.deviations) ** 2)
        # A larger shift makes a larger profile, for which a coarser grid is as good.
        coarse *= 1.0 if shift < _LARGE else 2.0
        for _ in range(_COARSENINGS):
            spacing = coarse * _SPACING * math.sqrt(least) * max(1.0, _COARSER * shift)
            half = math.ceil(edge / spacing)
            variances = _nodes(least, most, coarse * _VARIANCE_SPACING * least)
            extras = _nodes(0.0, change, coarse * _CHANGE_SPACING * least)
            if (2 * half + 1) * len(variances) * len(extras) <= _MOST_NODES:
                break
            coarse *= 1.5
        else:
            raise NotApplicableError(
                f"the variance may be as small as {least:.3g} of {most:.3g}, for which "
                "a grid would be too large. Take a smaller clip."
            )
        m = spacing * np.arange(-half, half + 1).astype(np.float64)
        here = np.array([[mixture.cdf(m, v + e) for e in extras] for v in variances])
        there = np.array(
            [[mixture.cdf(m - shift, v + e) for e in extras] for v in variances]
        )
        # v is the smaller variance. Either bit may have it; the other has v + e.
        self._first = np.stack([np.broadcast_to(here[:, :1], here.shape), here])
        self._second = np.stack([there, np.broadcast_to(there[:, :1], here.shape)])
        bends = _Bends(mixture, m, shift, _gap(variances), _gap(extras))
        cells = [[bends.cell(v, e) for e in _cells(extras)] for v in _cells(variances)]
        # Axes after the first: which bit has the smaller variance, v, e, m.
        bounds = np.moveaxis(np.array(cells), (2, 3), (0, 1))
        self._fixed, self._growing = bounds[0], bounds[1]
        # p − e^ε p′ is never above p, which is what counts in the far tails.
        self._ceiling = _corners(self._first) + bounds[2]
        tail = mixture.cdf(np.array([shift - spacing * half]), most + change)
        self._outside = float(tail[0])

    def delta(self, epsilon: float, *, curvature: bool = True) -> float:
        """Bound the profile at one ε ≥ 0.

        Parameters
        ----------
        epsilon
            The ε of the profile.
        curvature
            False leaves out the bound on the curvature, which gives the largest value
            on the grid: a lower bound on the profile.

        Guarantee
        ---------
        With the curvature, at least the largest p − e^ε p′ over all m, v, v′ in
        range, on and off the grid.
        """
        factor = math.exp(epsilon)
        nodes = self._first - factor * self._second
        if not curvature:
            return float(nodes.max())
        cells = _corners(nodes) + self._fixed + math.expm1(epsilon) * self._growing
        largest = float(np.minimum(cells, self._ceiling).max())
        return min(1.0, max(largest, self._outside) + self._rounding * (1 + factor))

    def deltas(self, epsilons: Array) -> Array:
        """Bound the profile at rising ε ≥ 0.

        Guarantee
        ---------
        As ``delta``. A profile never rises, so that a bound for one ε holds for all
        above it.
        """
        found = np.array([self.delta(epsilon) for epsilon in epsilons])
        return np.minimum.accumulate(found)


class _Bends:
    """Bounds on the curvature inside cells, as fixed + (e^ε − 1) growing."""

    def __init__(
        self, mixture: NoiseMixture, m: Array, shift: float, dv: float, de: float
    ) -> None:
        self._mixture = mixture
        self._low, self._high = m[:-1], m[1:]
        self._shift = shift
        # Linear interpolation errs by at most h²/8 times the second derivative. A
        # derivative in the variance is half a second one in m, hence the quarter.
        self._in_m = float(m[1] - m[0]) ** 2 / 8
        self._in_v, self._in_e = dv**2 / 32, de**2 / 32
        # No variance in a cell is further than half a cell from that of a corner.
        self._half = (dv + de) / 4

    def cell(self, v: tuple[float, float], e: tuple[float, float]) -> Array:
        """Return fixed, growing and first-order parts, for both roles of v."""
        low, high, shift = self._low, self._high, self._shift
        other = (v[0] + e[0], v[1] + e[1])
        bounds = self._mixture.derivative_bounds
        apart = bounds(low - shift, high, v[0], other[1])
        # The two bits differ little: by the shift, and by e in the variance.
        joint = {k: shift * apart[k + 1] + e[1] / 2 * apart[k + 2] for k in (2, 4)}
        fixed, growing, rising = [], [], []
        for first, second in ((v, other), (other, v)):
            here = bounds(low, high, *first)
            there = bounds(low - shift, high - shift, *second)
            in_e = self._in_e * (there if second is other else here)[4]
            stay = in_e
            for part, k in ((self._in_m, 2), (self._in_v, 4)):
                stay = stay + part * np.minimum(joint[k], here[k] + there[k])
            grow = self._in_m * there[2] + self._in_v * there[4]
            fixed.append(stay)
            growing.append(grow + in_e if second is other else grow)
            rising.append(self._half * here[2])
        return np.array([fixed, growing, rising])


def bit_profile(grid: BitGrid, points: int) -> Profile:
    """Tabulate the profile at ``points`` values of ε, up to where it vanishes.

    Guarantee
    ---------
    Every δ is an upper bound on the profile at its ε.
    """
    low, high = 0.0, grid.shift
    while grid.delta(high) > _FLOOR and high < _LARGEST:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if grid.delta(middle) > _FLOOR else (low, middle)
    # Two thirds of the points where most of the loss is, the rest in the tail.
    near = min(high, _NEAR * grid.shift)
    dense = np.linspace(0.0, near, 2 * points // 3, endpoint=False)
    epsilons = np.append(dense, np.geomspace(near, high, points - len(dense)))
    return Profile(epsilons, grid.deltas(epsilons))


def _corners(nodes: Array) -> Array:
    """Return the largest of the corners of each cell; single nodes are cells too."""
    nodes = np.maximum(nodes[..., 1:], nodes[..., :-1])
    if nodes.shape[1] > 1:
        nodes = np.maximum(nodes[:, 1:], nodes[:, :-1])
    if nodes.shape[2] > 1:
        nodes = np.maximum(nodes[:, :, 1:], nodes[:, :, :-1])
    return nodes


def _nodes(low: float, high: float, spacing: float) -> Array:
    if high <= low:
        return np.array([low])
    return np.linspace(low, high, math.ceil((high - low) / spacing) + 1)


def _gap(nodes: Array) -> float:
    return float(nodes[1] - nodes[0]) if len(nodes) > 1 else 0.0


def _cells(nodes: Array) -> list[tuple[float, float]]:
    if len(nodes) == 1:
        return [(float(nodes[0]), float(nodes[0]))]
    return [(float(a), float(b)) for a, b in itertools.pairwise(nodes)]
