# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Privacy-loss distributions: many blocks composed, with every error on the safe side.

A profile on a lattice of losses is the profile of a discrete loss distribution, its
masses being second differences. dp-accounting's loss distributions compose them by
Fourier transforms. Three errors are charged: what the profile's own arithmetic may
have lost, the tail mass that the transform leaves out (dp-accounting adds it to the
mass of infinite loss), and the rounding of the transform itself.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from dp_accounting.pld import pld_pmf
from numpy.typing import NDArray

__all__ = ["LossCurve", "Losses", "compose_losses", "profile_losses", "profile_masses"]

Array = NDArray[np.float64]

_ROUNDOFF = 2.0**-53
_TAIL = 1e-16
_RELATIVE = 2.0**-30
_COMMON_POINTS = 2**10
_CLOSE = 1e-10
_LARGEST = 1e4
_EXPONENT = 600.0


@dataclass(frozen=True)
class Losses:
    """A loss distribution on multiples of ``step``, and the error it may have.

    Attributes
    ----------
    pmf
        dp-accounting's mass function, with its mass of infinite loss.
    step
        The distance of neighbouring losses.
    norm
        At least the Euclidean length of the masses.
    slack
        What must be added to every δ read off the masses.
    """

    pmf: pld_pmf.DensePLDPmf
    step: float
    norm: float
    slack: float

    def with_other(self, other: "Losses") -> "Losses":
        """Compose with another distribution on the same lattice.

        Guarantee
        ---------
        The masses dominate those of the exact composition up to the slack.
        """
        pmf = self.pmf.compose(other.pmf, tail_mass_truncation=_TAIL)
        points = 2 * max(pmf.size, self.pmf.size, other.pmf.size)
        error = _transform_rounding(points, 3 * math.sqrt(points) * self.norm)
        error += _transform_rounding(points, 3 * math.sqrt(points) * other.norm)
        norm = min(self.norm, other.norm)
        return Losses(pmf, self.step, norm, self.slack + other.slack + error)


@dataclass(frozen=True)
class LossCurve:
    """The (ε, δ) pairs of a composed loss distribution."""

    losses: Losses

    def delta(self, epsilon: float) -> float:
        """Return δ for this ε, with every error added."""
        raw = float(self.losses.pmf.get_delta_for_epsilon(epsilon))
        return min(1.0, max(raw, 0.0) * (1 + _RELATIVE) + self.losses.slack)

    def epsilon(self, delta: float) -> float:
        """Return the smallest ε whose δ, with every error added, is small enough.

        Found by bisection, and rounded up by one part in 10¹⁰.
        """
        low, high = 0.0, self.losses.step
        if self.delta(low) <= delta:
            return 0.0
        while self.delta(high) > delta:
            low, high = high, 2 * high
            if high > _LARGEST:
                return math.inf
        while high - low > _CLOSE * high:
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high


def profile_losses(values: Array, step: float, slack: float, times: int = 1) -> Losses:
    """Turn a profile on the lattice −n h … n h into losses, composed ``times`` times.

    Parameters
    ----------
    values
        δ at ε = −L for L = −n h, …, n h, convex in e^ε. The first, at the largest ε,
        becomes mass of infinite loss.
    step
        The lattice distance h.
    slack
        How far below the truth the values may lie.
    times
        How many copies to compose.

    Guarantee
    ---------
    The profile of the masses is at least the chords of the values. Masses that
    rounding made negative are set to zero, which only adds mass. The result dominates
    the exact composition of that many copies up to its slack.
    """
    masses = profile_masses(values, step)
    half = (len(values) - 1) // 2
    pmf = pld_pmf.DensePLDPmf(step, -half, masses, float(values[0]), True)
    norm = float(np.linalg.norm(masses))
    if times == 1:
        return Losses(pmf, step, norm, slack)
    pmf = pmf.self_compose(times, tail_mass_truncation=_TAIL)
    points = 2 ** math.ceil(math.log2(2 * max(pmf.size, len(masses))))
    # The power multiplies the error of a frequency by its size to the times − 1.
    sizes = np.abs(np.fft.rfft(masses, points)) ** (times - 1)
    length = math.sqrt(2 * float(np.sum(sizes**2)))
    error = _transform_rounding(points, (times + 2) * length)
    norm = min(norm, length / math.sqrt(points))
    return Losses(pmf, step, norm, times * slack + error)


def profile_masses(values: Array, step: float) -> Array:
    """Return the mass at each loss −n h … n h: how the slope of δ in e^ε changes.

    Guarantee
    ---------
    No mass is below the exact second difference of the values.
    """
    deltas = values[::-1]
    drops = -np.diff(deltas)
    from_left = drops / -math.expm1(-step)
    masses = np.zeros(len(deltas))
    masses[0] = 1 - deltas[0]
    masses[1:] += from_left
    masses[:-1] -= drops / math.expm1(step)
    # The subtraction rounds in proportion to its terms; rounding is added back.
    masses[1:] += 4 * _ROUNDOFF * from_left
    return np.maximum(masses, 0.0)


def compose_losses(pieces: Sequence[Losses]) -> LossCurve:
    """Compose the loss distributions of all stages.

    Guarantee
    ---------
    As ``Losses.with_other``. Stages on different lattices are first moved to one
    lattice by chords of their profiles, which lie above the profiles.
    """
    if len({piece.step for piece in pieces}) > 1:
        pieces = _on_common_lattice(pieces)
    total, *rest = pieces
    for piece in rest:
        total = total.with_other(piece)
    return LossCurve(total)


def _on_common_lattice(pieces: Sequence[Losses]) -> list[Losses]:
    reaches = [_reach(piece) for piece in pieces]
    step = max(reaches) / _COMMON_POINTS
    return [
        _moved(piece, step, math.ceil(reach / step) + 1)
        for piece, reach in zip(pieces, reaches, strict=True)
    ]


def _reach(piece: Losses) -> float:
    """Return a loss above which there is only infinite loss."""
    reach = piece.pmf.size * piece.step
    never = float(piece.pmf.get_delta_for_epsilon(math.inf))
    while float(piece.pmf.get_delta_for_epsilon(reach)) > never:
        reach *= 2
    return reach


def _moved(piece: Losses, step: float, half: int) -> Losses:
    epsilons = step * np.arange(-half, half + 1)
    reach = float(epsilons[-1])
    if reach < _EXPONENT:
        deltas = np.asarray(piece.pmf.get_delta_for_epsilon(epsilons))
    else:  # e^ε would overflow in running sums
        deltas = np.array([piece.pmf.get_delta_for_epsilon(e) for e in epsilons])
    # Each is the difference of two running sums of n masses that are at most 1. An
    # addition errs by one unit; a term by 4 and, as its exponent is rounded, by as
    # many as the exponent is large.
    rounding = (2 * piece.pmf.size + 4 * reach + 32) * _ROUNDOFF
    deltas = deltas * (1 + _RELATIVE)
    with np.errstate(over="ignore"):  # 1 − e^ε may be −∞
        deltas = np.clip(deltas, np.maximum(0.0, -np.expm1(epsilons)), 1.0)
    return profile_losses(deltas[::-1], step, piece.slack + rounding)


def _transform_rounding(points: int, length: float) -> float:
    """Bound the sum of rounding errors of a composition by Fourier transforms.

    Each output of a transform of n masses is off by at most c u log₂ n times their
    sum, which is 1, with c below 16 for the radices in use; products and powers add
    less than 8u for each factor. ``length`` is the Euclidean length of what these
    errors are multiplied by. The sum of n errors is at most √n times their Euclidean
    length, and the inverse transform divides that length by √n.
    """
    return _ROUNDOFF * (16 * math.log2(points) + 8) * length
