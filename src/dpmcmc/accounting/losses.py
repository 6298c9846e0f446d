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

from dpmcmc.accounting.registry import Accountant

__all__ = ["BLOCKS", "SINGLES", "LossCurve", "Losses", "profile_losses"]

Array = NDArray[np.float64]

_ROUNDOFF = 2.0**-53
_TAIL = 1e-16
_RELATIVE = 2.0**-30
_COMMON_POINTS = 2**13


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
        Euclidean length of the masses, for the rounding of later transforms.
    slack
        What must be added to every δ read off the masses.
    """

    pmf: pld_pmf.DensePLDPmf
    step: float
    norm: float
    slack: float

    def repeated(self, times: int) -> "Losses":
        """Compose this many copies.

        Guarantee
        ---------
        The masses dominate those of the exact composition up to the slack.
        """
        if times == 1:
            return self
        pmf = self.pmf.self_compose(times, tail_mass_truncation=_TAIL)
        error = _transform_rounding(max(pmf.size, self.pmf.size), times, self.norm)
        return Losses(pmf, self.step, self.norm, times * self.slack + error)

    def with_other(self, other: "Losses") -> "Losses":
        """Compose with another distribution on the same lattice.

        Guarantee
        ---------
        The masses dominate those of the exact composition up to the slack.
        """
        pmf = self.pmf.compose(other.pmf, tail_mass_truncation=_TAIL)
        norm = max(self.norm, other.norm)
        error = _transform_rounding(max(pmf.size, self.pmf.size), 2, norm)
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
        """Return the smallest ε whose δ, with every error added, is small enough."""
        room = (delta - self.losses.slack) / (1 + _RELATIVE)
        if room <= 0:
            return math.inf
        return float(self.losses.pmf.get_epsilon_for_delta(room))


def profile_losses(values: Array, step: float, beyond: float, slack: float) -> Losses:
    """Turn a profile on the lattice −n h … n h into a loss distribution.

    Parameters
    ----------
    values
        δ at ε = −L for L = −n h, …, n h, convex in e^ε.
    step
        The lattice distance h.
    beyond
        δ at the largest ε, which becomes mass of infinite loss.
    slack
        How far below the truth the values may lie.

    Guarantee
    ---------
    The profile of the masses is at least the chords of the values. Masses that
    rounding made negative are set to zero, which only adds mass.
    """
    half = (len(values) - 1) // 2
    deltas = values[::-1]
    drops = -np.diff(deltas)
    # Mass at loss i h: what the slope loses there, as P and as Q weigh it.
    from_left = drops / -math.expm1(-step)
    to_right = drops / math.expm1(step)
    masses = np.zeros(len(values))
    masses[0] = 1 - deltas[0]
    masses[1:] += from_left
    masses[:-1] -= to_right
    # The subtraction rounds in proportion to its terms; rounding is added back.
    masses[1:] += 4 * _ROUNDOFF * from_left
    masses = np.maximum(masses, 0.0)
    pmf = pld_pmf.DensePLDPmf(step, -half, masses, beyond, True)
    return Losses(pmf, step, float(np.linalg.norm(masses)), slack)


def _combine(pieces: Sequence[Losses]) -> LossCurve:
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
    deltas = np.array([piece.pmf.get_delta_for_epsilon(e) for e in epsilons])
    deltas = np.clip(deltas, np.maximum(0.0, -np.expm1(epsilons)), 1.0)
    return profile_losses(deltas[::-1], step, float(deltas[-1]), piece.slack)


def _transform_rounding(points: int, times: int, norm: float) -> float:
    """Bound the sum of all rounding errors of composing by Fourier transforms.

    A transform of n numbers is off by at most c u log₂ n times their Euclidean length,
    with c below 16 for the radices in use; the power adds 8u for each factor; and the
    sum of n errors is at most √n times their Euclidean length.
    """
    n = 2 * points
    return _ROUNDOFF * (times + 3) * (16 * math.log2(n) + 8) * math.sqrt(n) * norm


SINGLES: Accountant[Losses] = Accountant(
    "single bits", "each bit at its worst on its own, composed", _combine, sharp=False
)

BLOCKS: Accountant[Losses] = Accountant(
    "blocks", "the best adaptive attack on blocks of bits, composed", _combine
)
