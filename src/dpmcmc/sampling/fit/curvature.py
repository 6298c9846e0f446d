# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What is known of the mean curvature at a place, from one round to the next.

A round releases the curvature with the same noise on every entry, in coordinates that
earlier rounds have made. Where columns are nearly collinear, these change much from
round to round: a direction whose curvature was lost in the noise is stretched until it
is not. So what is known of entries differs by direction, and is kept as noise of the
form L Z Lᵀ, with Z symmetric, normal and of sd 1 on its diagonal: R = L Lᵀ says it all,
and new coordinates turn it as they turn the curvature itself.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["Curvature"]

_FLATTEST = 1e-10
_LEAST_LEVEL = 0.05
"""The least mean curvature that is believed, where it was 1."""

_LEVEL_CHANGES = 0.5
"""By how much it may change as a whole, from round to round."""

_UNUSUAL = 1.0
"""By how much what a step changes differs from what is usual: the sd of its
logarithm."""

_CHANGES = np.exp(np.linspace(np.log(0.003), np.log(3), 60))
"""How much entries may have changed."""


@dataclass(frozen=True, eq=False)
class Curvature:
    """Mean of the curvature, and R: u · E u has sd u · R u for noise E.

    Off the diagonal of the axes of R, entries of E have sd √(rᵢ rⱼ / 2).
    """

    mean: np.ndarray
    noise: np.ndarray

    @classmethod
    def whitened(cls, size: int) -> "Curvature":
        """The identity, by coordinates that were made so; nothing else is known."""
        return cls(np.eye(size), np.zeros((size, size)))

    @property
    def sd(self) -> float:
        """The sd of a usual entry."""
        return float(np.trace(self.noise)) / len(self.noise)

    def turned(self, turn: np.ndarray) -> "Curvature":
        """In other coordinates, of which ``turn`` makes these."""
        return Curvature(turn.T @ self.mean @ turn, turn.T @ self.noise @ turn)

    def changed(self, change: float) -> "Curvature":
        """After every entry may have changed, by so much."""
        sizes, axes = _sizes(self.noise)
        return Curvature(self.mean, (axes * np.hypot(sizes, change)) @ axes.T)

    def times(self, step: np.ndarray) -> np.ndarray:
        """The covariance of the noise of curvature · step.

        For E = L Z Lᵀ and u = Lᵀ step it is L cov(Z u) Lᵀ, and Z u has covariance
        ½ (u · u I + u uᵀ).
        """
        along = self.noise @ step
        return (step @ along * self.noise + np.outer(along, along)) / 2

    def combined(self, found: np.ndarray, sd: float, usual: float) -> "Curvature":
        """With a curvature that was found with noise of one sd.

        How much it may have changed since is read off its d(d + 1)/2 entries: what
        scatters by more than noise, and than what was not known before. Each entry is
        then drawn to what was known as far as noise hides it. The level is that of what
        was found: its noise is left where entries are drawn to it.

        Parameters
        ----------
        found
            The curvature with noise.
        sd
            Of the noise on its diagonal; off the diagonal it is smaller by √2.
        usual
            The change that is usual after such a step, where entries are few.
        """
        size = len(found)
        sizes, axes = _sizes(self.noise)
        level = float(np.trace(found) / np.trace(self.mean))
        trusted = 1 / (1 + sd**2 / size / _LEVEL_CHANGES**2)
        level = max(1 + trusted * (level - 1), _LEAST_LEVEL)
        before = level * axes.T @ self.mean @ axes
        difference = axes.T @ found @ axes - before
        known = np.outer(sizes, sizes)
        change = _change(difference, known + sd**2, usual)
        weight = 1 / (1 + sd**2 / (known + change**2))
        mean = axes @ (before + weight * difference) @ axes.T
        own = np.diag(weight)
        # Noise of the level is one number for all entries: as noise of each it would
        # count size (size + 1) / 2 times.
        shared = 2 * trusted / (size * (size + 1))
        left = sd * np.sqrt(own + (1 - own) * shared)
        return Curvature((mean + mean.T) / 2, (axes * left) @ axes.T)

    def positive(self, times: float) -> tuple["Curvature", bool]:
        """With eigenvalues of at least so many of their sd; and if some were below.

        A direction that curves up is taken to curve down as much, as a step must climb.
        More than one sd is asked for up to half the mean curvature.
        """
        values, axes = np.linalg.eigh(self.mean)
        own = np.einsum("ij,ik,kj->j", axes, self.noise, axes)
        most = np.maximum(own, 0.5 * np.mean(np.abs(values)))
        least = np.minimum(times * own, most)
        least = np.maximum(least, _FLATTEST * np.abs(values).max())
        mean = (axes * np.maximum(np.abs(values), least)) @ axes.T
        return Curvature(mean, self.noise), bool(np.any(values < least))


def _sizes(noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues of R, and its axes."""
    values, axes = np.linalg.eigh(noise)
    return np.maximum(values, 0), axes


def _change(difference: np.ndarray, variance: np.ndarray, usual: float) -> float:
    """The root mean square size of a change, by entries on the axes."""
    rows, columns = np.triu_indices(len(difference))
    multiples = np.where(rows == columns, 1.0, 2.0)
    squares, of_noise = difference[rows, columns] ** 2, variance[rows, columns]
    total = of_noise + _CHANGES[:, None] ** 2
    logs = np.sum(multiples * squares / total + np.log(total), axis=1)
    logs += (np.log(_CHANGES / max(usual, _CHANGES[0])) / _UNUSUAL) ** 2
    weights = np.exp((logs.min() - logs) / 2)
    return float(np.sqrt(weights @ _CHANGES**2 / weights.sum()))
