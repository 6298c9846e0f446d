# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""V_cor as a finite symmetric mixture of normals, whatever method fitted it.

A correction for C is a law of V_cor with N(0, C) + V_cor close to Logistic(0, 1). Each
fit here is a mixture of finitely many normals; one of width 0 is an atom. So one small
class serves every method: it evaluates, samples, and reports how far off it is.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from dpmcmc.correction.limits import require_variance
from dpmcmc.correction.sup_error import bracket_sup_error
from dpmcmc.errors import InputError

__all__ = ["Correction"]

_BLOCK = 2**22
"""Most entries of the matrix points × components that are held at once."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Correction:
    """A law of V_cor with N(0, C) + V_cor ≈ Logistic(0, 1).

    Made by the fitting functions of this package, or by `symmetric_mixture`.

    Attributes
    ----------
    variance
        The C for which it was fitted.
    centres
        The centre of each component, ascending, exactly symmetric about 0.
    widths
        The standard deviation of each component; 0 means an atom.
    weights
        The weight of each component, above 0; ``math.fsum(weights)`` is exactly 1.
    method
        Which fit made it.
    """

    variance: float
    centres: tuple[float, ...]
    widths: tuple[float, ...]
    weights: tuple[float, ...]
    method: str

    def __post_init__(self) -> None:
        require_variance(self.variance)
        parts = (self.centres, self.widths, self.weights)
        if len({len(part) for part in parts}) != 1 or not self.centres:
            raise InputError(
                f"centres, widths and weights have {[len(part) for part in parts]} "
                "entries; they must have equally many, at least 1."
            )
        if not all(math.isfinite(value) for part in parts for value in part):
            raise InputError("centres, widths and weights must all be finite.")
        if min(self.widths) < 0 or min(self.weights) <= 0:
            raise InputError("each width must be at least 0, and each weight above 0.")
        mirrored = tuple(-centre for centre in reversed(self.centres))
        if (
            self.centres != tuple(sorted(self.centres))
            or self.centres != mirrored
            or self.widths != self.widths[::-1]
            or self.weights != self.weights[::-1]
        ):
            raise InputError(
                "the components must be ascending and symmetric about 0; "
                "build them with symmetric_mixture."
            )
        if math.fsum(self.weights) != 1:
            raise InputError(
                f"the weights sum to {math.fsum(self.weights)!r}; they must sum to 1."
            )

    @property
    def mean(self) -> float:
        """Mean of V_cor: 0, because it is symmetric."""
        return 0.0

    @property
    def correction_variance(self) -> float:
        """Variance of V_cor itself, ideally π²/3 − C."""
        squares = zip(self.weights, self.centres, self.widths, strict=True)
        return math.fsum(p * (m * m + s * s) for p, m, s in squares)

    @property
    def has_density(self) -> bool:
        """Whether no component is an atom."""
        return min(self.widths) > 0

    def cdf(self, x: ArrayLike) -> Floats:
        """P(V_cor ≤ x)."""
        return self.smoothed_cdf(x, 0.0)

    def smoothed_cdf(self, x: ArrayLike, variance: float) -> Floats:
        """P(N(0, variance) + V_cor ≤ x), the normal independent of V_cor.

        Parameters
        ----------
        x
            Points, of any shape.
        variance
            Variance of the added normal, at least 0: C gives the law that should be
            logistic, C − s² the acceptance probability of a minibatch test.

        Returns
        -------
        ndarray
            A probability for each point.
        """
        if not math.isfinite(variance) or variance < 0:
            raise InputError(
                f"variance is {variance!r}; it must be a finite number of at least 0."
            )
        centres = np.asarray(self.centres)
        scales = np.hypot(self.widths, math.sqrt(variance))
        spread = np.where(scales > 0, scales, 1.0)

        def below(points: Floats) -> Floats:
            gaps = points - centres
            atoms = (gaps >= 0).astype(np.float64)
            return np.where(scales > 0, ndtr(gaps / spread), atoms)

        return self._mix(below, x)

    def density(self, x: ArrayLike) -> Floats:
        """Density of V_cor, for a correction without atoms."""
        if not self.has_density:
            raise InputError(
                f"the {self.method} correction has atoms, so it has no density; "
                "ask for its cdf."
            )
        centres, widths = np.asarray(self.centres), np.asarray(self.widths)

        def bell(points: Floats) -> Floats:
            standard = (points - centres) / widths
            return np.exp(-(standard**2) / 2) / (math.sqrt(2 * math.pi) * widths)

        return self._mix(bell, x)

    def log_density(self, x: ArrayLike) -> Floats:
        """Log of `density`; −∞ where that underflows."""
        with np.errstate(divide="ignore"):
            return np.log(self.density(x))

    def sup_error(self) -> float:
        """An upper bound on sup_y |P(N(0, C) + V_cor ≤ y) − σ(y)|.

        Computed, with what lies between grid points and in the tails bounded; it
        exceeds the supremum by at most 10⁻⁴ of it, or by 10⁻¹¹ if that is more.
        """
        return bracket_sup_error(
            self.centres, np.hypot(self.widths, math.sqrt(self.variance)), self.weights
        ).upper

    def sample(self, choice: ArrayLike, normal: ArrayLike | None = None) -> Floats:
        """Turn uniform numbers into draws of V_cor, by inverse transform.

        Parameters
        ----------
        choice
            Uniform numbers in [0, 1), one per draw: which component.
        normal
            Uniform numbers in (0, 1), one per draw: where in the component. Not read,
            and not needed, if all components are atoms.

        Returns
        -------
        ndarray
            The draws, in the shape of ``choice``.
        """
        first = np.asarray(choice, dtype=np.float64)
        if not np.all((first >= 0) & (first < 1)):
            raise InputError("choice must hold numbers of at least 0 and below 1.")
        place = np.searchsorted(np.cumsum(self.weights), first, side="right")
        place = np.minimum(place, len(self.weights) - 1)
        draws = np.asarray(self.centres)[place]
        if not any(self.widths):
            return draws
        second = np.asarray(normal, dtype=np.float64) if normal is not None else None
        if second is None or second.shape != first.shape:
            raise InputError(
                "this correction has components with a width; give as many uniform "
                "numbers for the normal part as for the choice."
            )
        if not np.all((second > 0) & (second < 1)):
            raise InputError("normal must hold numbers strictly between 0 and 1.")
        return draws + np.asarray(self.widths)[place] * ndtri(second)

    def _mix(self, function: Callable[[Floats], Floats], x: ArrayLike) -> Floats:
        """Average a function of points × components over the components."""
        points = np.asarray(x, dtype=np.float64)
        column = points.reshape(-1, 1)
        rows = max(1, _BLOCK // len(self.weights))
        blocks = [
            function(column[start : start + rows]) @ np.asarray(self.weights)
            for start in range(0, len(column), rows)
        ]
        return np.concatenate(blocks or [np.empty(0)]).reshape(points.shape)
