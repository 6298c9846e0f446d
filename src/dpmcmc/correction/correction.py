# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""V_cor as a finite symmetric mixture of normals, whatever method fitted it.

A component of width 0 is an atom, so that one small class serves every fit: it checks
that it is a distribution, evaluates it, and reports its sup-error.
"""

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from dpmcmc.correction.sup_error import bracket_sup_error
from dpmcmc.errors import InputError

__all__ = ["LOGISTIC_VARIANCE", "Correction", "require_variance"]

LOGISTIC_VARIANCE = math.pi**2 / 3
"""The variance of Logistic(0, 1), which C must stay below."""

_BLOCK = 2**22
"""Most entries of the matrix points × components that are held at once."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Correction:
    """A distribution of V_cor with N(0, C) + V_cor ≈ Logistic(0, 1).

    `Correction.symmetric` builds one from half of its components.

    Attributes
    ----------
    variance
        The C that it is for, between 0 and π²/3.
    centres
        The centre of each component, ascending, exactly symmetric about 0.
    widths
        The standard deviation of each component; 0 means an atom.
    weights
        The weight of each component, above 0; ``math.fsum(weights)`` is exactly 1.
    """

    variance: float
    centres: tuple[float, ...]
    widths: tuple[float, ...]
    weights: tuple[float, ...]

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
                "build them with Correction.symmetric."
            )
        if math.fsum(self.weights) != 1:
            raise InputError(
                f"the weights sum to {math.fsum(self.weights)!r}; they must sum to 1. "
                "Correction.symmetric normalises them."
            )

    @classmethod
    def symmetric(
        cls, variance: float, centres: ArrayLike, widths: ArrayLike, weights: ArrayLike
    ) -> "Correction":
        """Mirror components at centres ≥ 0 into a correction whose weights sum to 1.

        Parameters
        ----------
        variance
            The C that it is for.
        centres, widths, weights
            Components with a centre of at least 0; each weight is that of the pair at
            ±centre. Weights need not sum to 1; components without weight are left
            out. At most one centre may be 0.
        """
        places, scales, masses = (
            np.asarray(part, dtype=np.float64) for part in (centres, widths, weights)
        )
        if places.ndim != 1 or not places.shape == scales.shape == masses.shape:
            raise InputError(
                f"centres, widths and weights have shapes {places.shape}, "
                f"{scales.shape} and {masses.shape}; give three lists of one length."
            )
        if not (min(places, default=0) >= 0 and masses.sum() > 0):
            raise InputError(
                f"the least centre is {min(places, default=None)} and the weights sum "
                f"to {masses.sum()}; give centres of at least 0, for both signs, and "
                "some weight."
            )
        kept = np.flatnonzero(masses > 0)
        order = kept[np.argsort(places[kept], kind="stable")]
        places, scales = places[order], scales[order]
        away = places > 0
        pairs = masses[order] / math.fsum(masses[order])
        halves = np.where(away, pairs / 2, pairs)
        heaviest = int(np.argmax(pairs))
        # What the others leave, rounded once: the sum of all is within 2⁻⁵⁴ of 1 and
        # rounds to 1.
        rest = math.fsum([1.0, *-np.delete(pairs, heaviest)])
        halves[heaviest] = rest / 2 if away[heaviest] else rest

        def mirror(values: Floats, sign: float = 1.0) -> tuple[float, ...]:
            left = sign * values[away][::-1]
            return tuple(np.concatenate([left, values]).tolist())

        return cls(variance, mirror(places, -1.0), mirror(scales), mirror(halves))

    def smoothed_cdf(self, x: ArrayLike, variance: float) -> Floats:
        """P(N(0, variance) + V_cor ≤ x), the normal independent of V_cor.

        Parameters
        ----------
        x
            Points, of any shape.
        variance
            Variance of the added normal, at least 0: C gives the distribution that
            should be logistic, C − s² the acceptance probability of a minibatch test,
            and 0 the cdf of V_cor itself.

        Returns
        -------
        ndarray
            A probability for each point.
        """
        if not math.isfinite(variance) or variance < 0:
            raise InputError(
                f"variance is {variance!r}; it must be a finite number of at least 0."
            )
        centres, weights = np.asarray(self.centres), np.asarray(self.weights)
        scales = np.hypot(self.widths, math.sqrt(variance))
        spread = np.where(scales > 0, scales, 1.0)

        def mixed(column: Floats) -> Floats:
            gaps = column - centres
            return np.where(scales > 0, ndtr(gaps / spread), gaps >= 0) @ weights

        points = np.asarray(x, dtype=np.float64)
        column, rows = points.reshape(-1, 1), max(1, _BLOCK // len(weights))
        blocks = [
            mixed(column[start : start + rows]) for start in range(0, len(column), rows)
        ]
        return np.concatenate(blocks or [np.empty(0)]).reshape(points.shape)

    def sup_error(self) -> float:
        """An upper bound on sup_y |P(N(0, C) + V_cor ≤ y) − σ(y)|.

        What lies between grid points and in the tails is bounded, too. It exceeds the
        supremum by at most 10⁻⁴ of it, or by 10⁻¹¹ if that is more.
        """
        return bracket_sup_error(
            self.centres, np.hypot(self.widths, math.sqrt(self.variance)), self.weights
        ).upper


def require_variance(value: object) -> float:
    """Return ``value`` as a float if it can be the C of a correction."""
    if (
        not isinstance(value, Real)
        or isinstance(value, bool)
        or not 0 < float(value) < LOGISTIC_VARIANCE
    ):
        raise InputError(
            f"C is {value!r}; it must lie strictly between 0 and π²/3 = "
            f"{LOGISTIC_VARIANCE:.4f}, the variance of the logistic distribution. The "
            "paper's runs use C = 2."
        )
    return float(value)
