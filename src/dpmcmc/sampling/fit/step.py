# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A step of Newton's method on what is released with noise: where to, and how far."""

from dataclasses import dataclass, replace

import numpy as np

from dpmcmc.sampling.fit.curvature import Curvature
from dpmcmc.sampling.fit.known import Known
from dpmcmc.sampling.fit.look import Look
from dpmcmc.sampling.fit.place import Place

__all__ = ["Step", "newton_step", "trusted"]


@dataclass(frozen=True, eq=False)
class Step:
    """A step that was taken, or is to be: the fraction of it, and what it rested on."""

    place: Place
    look: Look
    known: Known
    curvature: Curvature
    whole: np.ndarray
    roots: np.ndarray
    fraction: float = 1.0

    @property
    def length(self) -> float:
        """Of the whole step, in standard units."""
        return float(np.sqrt(self.whole @ self.curvature.mean @ self.whole))

    def length_of(self, move: np.ndarray) -> float:
        """Of a move of θ, in standard units."""
        basis = self.place.setting.basis
        v = np.linalg.solve(self.place.whitening, basis.inverse @ move)
        return float(np.sqrt(v @ self.curvature.mean @ v))

    @property
    def precision(self) -> float:
        """How long a step would be that is made of noise alone."""
        solved = np.linalg.solve(self.curvature.mean, self.known.covariance)
        return float(np.sqrt(np.trace(solved)))

    def moved(self) -> tuple[np.ndarray, np.ndarray]:
        """Where it leads, and roots of what becomes of curvatures: `Place.moved`."""
        return self.place.moved(self.whole, self.known, self.precision, self.fraction)

    def across(self, place: Place, power: int) -> np.ndarray:
        """Makes coordinates there of those here: 1 for curvatures, 2 for gradients.

        The power is that of the roots by which curvatures were multiplied: gradients of
        records are in proportion to curvatures.
        """
        there = self.roots[:, None] ** power * place.whitening
        return np.linalg.solve(self.place.whitening, there)

    def foreseen(self, place: Place) -> Known:
        """The gradient to be expected where it led, in the coordinates there.

        That of the prior is known, and no scale of the log-likelihood changes it.
        """
        taken = self.fraction * self.whole
        after = self.known.after(taken, self.curvature, self.place.bends)
        gradient, curvature = self.place.prior
        records = replace(after, mean=after.mean - gradient + curvature @ taken)
        there = records.turned(self.across(place, 2))
        return replace(there, mean=there.mean + place.prior[0])


def newton_step(known: Known, curvature: np.ndarray, place: Place) -> np.ndarray:
    """The mode of the prior and of the likelihood of a gradient with noise.

    The noise takes from what the records say and not from what the prior says: where
    it is large, a step goes no farther than the prior lets it. All is per record.
    """
    gradient, own = place.prior
    records = curvature - own
    noise = place.setting.records * place.setting.tempering * known.covariance
    weight = np.linalg.solve(records + noise, records).T
    slope = weight @ (known.mean - gradient) + gradient
    return np.linalg.solve(weight @ records + own, slope)


def trusted(last: Step | None, place: Place, look: Look, radius: float) -> float | None:
    """How long a step may be, by what the last one has led to; None: go back.

    If the log posterior were quadratic, a fraction a of a step would leave 1 − a of
    the gradient.
    """
    if last is None or place.is_straight:
        return radius
    back = np.linalg.inv(last.across(place, 2)).T
    gradient, before = back @ look.gradient, last.known.mean
    noise = float(np.linalg.norm(back * look.noise) + last.known.sd)
    length = max(float(np.linalg.norm(before)), 1e-300)
    left = float(np.linalg.norm(gradient - (1 - last.fraction) * before)) / length
    surprise = max(left - noise / length, 0.0)
    taken = last.length * last.fraction
    is_alike = 0.5 < look.bound / last.look.bound < 2
    has_grown = np.linalg.norm(gradient) > length + 2 * noise
    if not is_alike and taken < 0.3:
        return radius
    if surprise > 1 and has_grown and taken > 0.1:
        return None
    if surprise > 0.5:
        return min(radius, taken / 2)
    if last.fraction < 1:
        return radius * (4.0 if left < 0.3 else 2.0)
    return max(radius, 1.0) if left < 0.5 else radius
