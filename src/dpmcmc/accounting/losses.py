# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Privacy-loss distributions: releases composed by one Fourier transform.

A profile on a lattice of losses is that of a discrete loss distribution, whose masses
are its second differences. Losses of adaptive releases add, so that the composition
is a product of Fourier transforms. It is taken of masses tilted by e^(tl), with t such
that losses about the ε of interest are the most likely ones: then what the transform
rounds is small beside δ, however small δ is. Proofs are in
``docs/proofs/composition.md``.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmcmc.accounting.curves import smallest_epsilon
from dpmcmc.accounting.registry import NotApplicableError

__all__ = ["LossCurve", "LossPart", "compose", "loss_masses", "resampled"]

Array = NDArray[np.float64]

_UNIT = 2.0**-53
_TAIL = 1e-14
_MOST_POINTS = 2**17
_LARGEST_MEAN = 500.0
_LARGEST_ERROR = 50.0
"""Beyond it δ would be multiplied by e⁵⁰, and any other accountant is tighter."""


@dataclass(frozen=True)
class LossPart:
    """A release, repeated, with upper bounds on its profile on any lattice.

    Attributes
    ----------
    deltas
        Maps a lattice distance h to δ at ε = 0, h, 2h, …, of which the last bounds δ
        at every larger ε as well. Values at ε < 0 follow by symmetry.
    step
        The lattice distance that suits it.
    reach
        About the largest ε that is tabulated.
    count
        How often it happens.
    error
        The profile is at most 1 + error times the chords of the values.
    """

    deltas: Callable[[float], Array]
    step: float
    reach: float
    count: int = 1
    error: float = 2.0**-40


@dataclass(frozen=True)
class LossCurve:
    """The (ε, δ) pairs of a composed loss distribution.

    Attributes
    ----------
    losses, masses
        Losses from 0 upwards, and their probabilities.
    infinite
        The probability of an infinite loss.
    tilt, log_error
        Errors of the masses above ε sum to at most exp(log_error − tilt · ε).
    factor
        What every δ is multiplied by, for relative errors.
    """

    losses: Array
    masses: Array
    infinite: float
    tilt: float
    log_error: float
    factor: float

    def delta(self, epsilon: float) -> float:
        """Return δ for this ε, with every error added."""
        start = int(np.searchsorted(self.losses, epsilon, side="right"))
        gains = -np.expm1(epsilon - self.losses[start:])
        error = math.exp(min(0.0, self.log_error - self.tilt * epsilon))
        found = float(np.sum(self.masses[start:] * gains)) + self.infinite + error
        return min(1.0, found * self.factor)

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε whose δ is small enough, rounded up."""
        return smallest_epsilon(self.delta, delta, float(self.losses[-1]))


def resampled(values: Array, step: float, wanted: float) -> Array:
    """Read a profile off at another lattice distance, by chords in e^ε.

    Guarantee
    ---------
    The profile is convex in e^ε, so that between lattice points it is at most its
    chord; beyond the last point it is at most the last value.
    """
    if wanted == step:
        return values
    last = len(values) - 1
    epsilons = wanted * np.arange(math.ceil(last * step / wanted) + 1)
    cells = np.minimum((epsilons / step).astype(np.int64), last - 1)
    along = np.clip(np.expm1(epsilons - cells * step) / math.expm1(step), 0.0, 1.0)
    return (1 - along) * values[cells] + along * values[cells + 1]


def loss_masses(deltas: Array, step: float) -> Array:
    """Return the probability of each loss −n h … n h: how the slope of δ changes.

    Guarantee
    ---------
    The masses, with the last δ as that of an infinite loss, have a profile that is at
    least the values at every lattice point, and by symmetry at every ε < 0.
    """
    drops = -np.diff(deltas)
    from_left = drops / -math.expm1(-step)
    # The subtraction rounds in proportion to its first term; that is added back.
    above = from_left * (1 + 4 * _UNIT)
    above[:-1] -= drops[1:] / math.expm1(step)
    above = np.maximum(above, 0.0)
    below = above * np.exp(-step * np.arange(1, len(deltas)))
    middle = max(0.0, 1 - float(deltas[-1]) - float(np.sum(above + below)))
    return np.concatenate([below[::-1], [middle], above])


def compose(pieces: Sequence[Sequence[LossPart]]) -> LossCurve:
    """Compose all parts of all stages.

    Guarantee
    ---------
    Every δ of the curve is at least that of the exact composition of the parts'
    profiles, however the releases are chosen from earlier ones and interleaved.
    """
    parts = [part for piece in pieces for part in piece]
    errors = math.fsum(part.count * (part.error + 2.0**-40) for part in parts)
    if errors > _LARGEST_ERROR:
        raise NotApplicableError(
            f"rounding may change δ by a factor of e^{errors:.3g}: the decisions are "
            "too many, each too cheap. Take a larger clip, more noise or fewer steps."
        )
    step = min(part.step for part in parts)
    step = max(step, *(part.reach / _MOST_POINTS for part in parts))
    while True:
        total = _Total(parts, step)
        low, high = total.window()
        if high - low < _MOST_POINTS:
            break
        step *= 2
    tilted, rounding = total.convolved(_fast_length(high - low))
    # Place i of the circle holds loss i·h, and its end the negative ones.
    tilted = tilted[: len(tilted) + low]
    losses = step * np.arange(len(tilted), dtype=np.float64)
    log_mass = total.log_moment(total.tilt)
    return LossCurve(
        losses,
        np.maximum(tilted, 0.0) * np.exp(log_mass - total.tilt * losses),
        total.infinite,
        total.tilt,
        math.log(rounding + 2 * _TAIL) + log_mass,
        math.exp(errors) * (1 + 2.0**-30),
    )


class _Total:
    """A sum of independent losses, and the tilt at which it is convolved."""

    def __init__(self, parts: Sequence[LossPart], step: float) -> None:
        self._step = step
        self._terms = []
        mean = variance = log_finite = 0.0
        for part in parts:
            deltas = part.deltas(step)
            masses = loss_masses(deltas, step)
            places = np.arange(1 - len(deltas), len(deltas))[masses > 0]
            losses, masses = step * places, masses[masses > 0]
            self._terms.append((places, losses, masses, part.count))
            mean += part.count * float(np.sum(masses * losses))
            variance += part.count * float(np.sum(masses * losses**2))
            log_finite += part.count * math.log1p(-min(float(deltas[-1]), 1 - _UNIT))
        if mean > _LARGEST_MEAN:
            raise NotApplicableError(
                f"the privacy loss is {mean:.3g} on average, for which e^loss is "
                "beyond float64. Take a smaller clip, more noise or fewer steps."
            )
        self.infinite = abs(math.expm1(log_finite))
        self._scale = math.sqrt(variance) + step
        # Four standard deviations above the mean, δ is about 10⁻⁵; any aim is valid.
        aim = mean + 4 * self._scale
        tilts = [k / self._scale for k in range(5)]
        self.tilt = min(tilts, key=lambda t: self.log_moment(t) - t * aim)

    def log_moment(self, tilt: float) -> float:
        """Return log E[e^(tilt · loss)] over finite losses."""
        total = 0.0
        for _, losses, masses, count in self._terms:
            most = max(tilt * losses[0], tilt * losses[-1])
            moment = np.sum(masses * np.exp(tilt * losses - most))
            total += count * (most + math.log(moment))
        return total

    def window(self) -> tuple[int, int]:
        """Return lattice points, with 0 between them, for the sum to lie between.

        Guarantee
        ---------
        The tilted sum is beyond either of them with probability at most ``_TAIL``, by
        Chernoff's bound.
        """
        base, spare = self.log_moment(self.tilt), -math.log(_TAIL)
        moves = [k / self._scale for k in (0.5, 1, 2, 4, 8)]
        up = min((self.log_moment(self.tilt + t) - base + spare) / t for t in moves)
        down = max((base - self.log_moment(self.tilt - t) - spare) / t for t in moves)
        low, high = min(down, 0.0) / self._step, max(up, 0.0) / self._step
        return math.floor(low) - 1, math.ceil(high) + 1

    def convolved(self, points: int) -> tuple[Array, float]:
        """Return the tilted masses modulo ``points``, and a bound on their errors.

        Guarantee
        ---------
        The sizes of all rounding errors sum to at most the second number.
        """
        product = np.ones(points // 2 + 1, dtype=np.complex128)
        sizes = np.ones(points // 2 + 1)
        counts = 0
        for places, losses, masses, count in self._terms:
            weights = masses * np.exp(self.tilt * (losses - losses[-1]))
            folded = np.bincount(places % points, weights / np.sum(weights), points)
            spectrum = np.fft.rfft(folded)
            product *= spectrum**count
            sizes *= np.minimum(np.abs(spectrum), 1.0) ** (count - 1)
            counts += count
        length = math.sqrt(2 * float(np.sum(sizes**2)))
        rounding = _UNIT * (16 * math.log2(points) + 8) * (counts + 2) * length
        return np.fft.irfft(product, points), rounding


def _fast_length(least: int) -> int:
    """Return a length above this for which transforms are fast."""
    whole: int = 2 ** math.ceil(math.log2(least + 1))
    return whole * 3 // 4 if whole * 3 // 4 > least else whole
