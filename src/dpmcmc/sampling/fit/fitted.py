# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a fit found: the quadratic part of the log-likelihood, and how sure it is.

All of it is computed from what was released and from public numbers.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpmcmc.influence.alone import NoisyQuadratic
from dpmcmc.influence.derivatives import Frame
from dpmcmc.influence.residual import Residual
from dpmcmc.sampling.fit.curvature import Curvature
from dpmcmc.sampling.fit.known import Known
from dpmcmc.sampling.fit.last import Quadratic
from dpmcmc.sampling.fit.questions import Unravel
from dpmcmc.sampling.fit.rounds import Arrival

__all__ = ["MOST_MISFIT", "MOST_MISSED", "Fitted", "fitted_to"]

MOST_MISFIT = 2.0
"""Decisions that cut more off differences of log densities are of no use."""

MOST_MISSED = 2.0
"""A quadratic that misses more of them, on moves of a few sd, and more than its noise
hides, is not that of a normal posterior, and cannot say what noise does to the mode."""

_NEGLIGIBLE = 1.0
"""A quadratic that misses less gives the posterior: a cubic term in one coordinate, of
moves with twice the posterior's scatter, is √2 · √15 · 2³ = 31 times its coefficient,
and moves the mean by 3 times that, 0.1 posterior sd; a quartic one changes the sd by a
fortieth."""

_SURPRISING = 6.0
_MOST_LOST = 1 - 1e-12
"""The largest part of a precision that is lost, in this arithmetic."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a fit found, as arrays that can be kept.

    Attributes
    ----------
    point, factor, inverse
        θ = point + factor · v, and what makes v of θ − point.
    metric, gradient_bound, hessian_bound
        How records were clipped: see `Residual`.
    relative_bound
        The bound on gradients, in usual lengths.
    gradient, hessian
        Sums over records, as they were released.
    mode, covariance
        Of the posterior that the quadratic and the prior make, by coordinates of θ.
    noise
        The covariance of what noise and clipping may have added to the gradient of the
        tempered log-likelihood, in v; without what noise of the curvature adds to it
        away from the point.
    curvature_noise
        That noise: R of `Curvature`, of the sum over tempered records.
    shift
        The covariance of how far that may have moved the mode.
    rounds
        How many Newton rounds there were.
    arrived, is_far, is_flat
        Whether the rounds ended close by; whether the last gradient contradicts them;
        whether a direction is too flat to be distinguished from none.
    cut_sd
        What clipping may have cut, in posterior sd.
    power
        As which power of their length gradients become rare, if so slowly that what
        they add rests on records too few to be seen; NaN if not.
    extremes
        Fraction of records with extreme gradients, its sd, and what the model expects.
    misfit
        What the clip of a decision would cut off residuals that no quadratic holds,
        over all records: a difference of log densities.
    missed
        What the quadratic misses of such differences.
    uncertain
        The sd that the noise of the quadratic gives them.
    """

    point: np.ndarray
    factor: np.ndarray
    inverse: np.ndarray
    metric: np.ndarray
    gradient_bound: float
    relative_bound: float
    hessian_bound: float
    gradient: np.ndarray
    hessian: np.ndarray
    mode: np.ndarray
    covariance: np.ndarray
    noise: np.ndarray
    curvature_noise: np.ndarray
    shift: np.ndarray
    rounds: int
    arrived: bool
    is_far: bool
    is_flat: bool
    cut_sd: float
    power: float
    extremes: np.ndarray
    misfit: float = 0.0
    missed: float = np.inf
    uncertain: float = np.inf

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as arrays, to be kept."""
        return {name: np.asarray(value) for name, value in asdict(self).items()}

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> "Fitted":
        """Read what `arrays` wrote."""
        plain: dict[str, Any] = {
            name: array if array.ndim else array.item()
            for name, array in arrays.items()
        }
        return cls(**plain)

    @property
    def widening(self) -> np.ndarray:
        """How much wider than the posterior the interval of each coordinate is."""
        own, more = np.diag(self.covariance), np.diag(self.shift)
        return np.sqrt(1 + more / np.maximum(own, np.finfo(float).tiny))

    @property
    def is_alone(self) -> bool:
        """Whether draws are of the noisy quadratic alone, and no record decides.

        What the quadratic misses, of which decisions would be, is next to nothing, or
        less than its noise.
        """
        is_small = self.missed < _NEGLIGIBLE and self.misfit <= MOST_MISFIT
        is_hidden = self.missed < self.uncertain
        return is_small or is_hidden

    def noisy(self, tempering: float) -> NoisyQuadratic:
        """What the released quadratic says of v."""
        return NoisyQuadratic(
            tempering * self.gradient,
            -tempering * self.hessian,
            self.noise,
            self.curvature_noise,
        )

    def differences(self, moves: np.ndarray) -> float:
        """The sd that noise gives to differences of log densities, rms over moves."""
        slopes = moves @ np.linalg.inv(self.covariance)
        squares = np.einsum("ij,jk,ik->i", slopes, self.shift, slopes)
        return float(np.sqrt(np.mean(squares)))

    def residual(
        self, unravel: Unravel, tempering: float, *, clipped: bool = True
    ) -> Residual:
        """What of a record enters a decision; ``clipped`` as in the release or not."""
        return Residual(
            frame=Frame(self.point, self.factor),
            inverse=self.inverse,
            metric=self.metric,
            gradient_bound=self.gradient_bound if clipped else _HUGE,
            hessian_bound=self.hessian_bound if clipped else _HUGE,
            gradient=self.gradient,
            hessian=self.hessian,
            unravel=unravel,
            tempering=tempering,
        )


_HUGE = 1e30
"""A bound that clips nothing that float32 can hold the square of."""


def fitted_to(arrival: Arrival, found: Quadratic) -> Fitted:
    """Add the prior to the quadratic, and work out what noise does to the mode."""
    place = arrival.place
    setting = place.setting
    basis, count = setting.basis, setting.records * setting.tempering
    frame = np.concatenate([place.factor, basis.rest], axis=1)
    last = Known(found.gradient + place.prior[0], np.diag(found.variance))
    known = last.combined(arrival.known)
    gradient = known.mean - place.prior[0]
    v, precision = setting.prior.climb(
        place.point, frame, count * gradient, count * found.curvature.mean
    )
    own = found.curvature
    total = Curvature(own.mean + place.prior[1], own.noise)
    step = np.linalg.solve(total.mean, known.mean)
    at_mode = known.after(step, total, place.bends)
    errors = count**2 * (at_mode.covariance + np.diag(found.wide_cut))
    covariance = np.linalg.inv(precision)
    shift = frame @ _root_of_shift(precision, count * own.mean, errors)
    return Fitted(
        point=place.point,
        factor=place.factor,
        inverse=np.linalg.solve(place.whitening, basis.inverse),
        metric=place.metric,
        gradient_bound=found.gradient_bound,
        relative_bound=found.gradient_bound / place.typical,
        hessian_bound=found.hessian_bound,
        gradient=setting.records * gradient,
        hessian=-setting.records * own.mean,
        mode=place.point + frame @ v,
        covariance=frame @ covariance @ frame.T,
        noise=errors - count**2 * own.times(step),
        curvature_noise=count * own.noise,
        shift=shift @ shift.T,
        rounds=arrival.rounds,
        arrived=arrival.arrived,
        is_far=arrival.arrived and _is_far(arrival, found, last),
        is_flat=found.is_flat,
        cut_sd=found.cut_sd,
        power=found.power,
        extremes=np.array(found.extremes),
    )


def _root_of_shift(
    precision: np.ndarray, informed: np.ndarray, errors: np.ndarray
) -> np.ndarray:
    """A root F of the covariance F Fᵀ that errors of the gradient add to the posterior.

    By the model the gradient scatters by K, and errors S add to that: of the precision
    K that the records gave, K (K + S)⁻¹ S is lost; that of the prior is not. A prior
    that is not concave, such as Student's t far out, takes precision away, and less
    than that would be left: it counts where it gives some.

    Parameters
    ----------
    precision
        Of records and prior, in all coordinates.
    informed
        K, in the first of them.
    errors
        S, in the same.
    """
    size = len(informed)
    records, lost = np.zeros_like(precision), np.zeros_like(precision)
    records[:size, :size] = informed
    lost[:size, :size] = np.linalg.solve(informed + errors, informed).T @ errors
    values, axes = np.linalg.eigh(precision - records)
    root = np.linalg.cholesky(records + (axes * np.maximum(values, 0)) @ axes.T)
    whitened = np.linalg.solve(root, np.linalg.solve(root, lost).T)
    parts, axes = np.linalg.eigh((whitened + whitened.T) / 2)
    parts = np.clip(parts, 0, _MOST_LOST)
    axes = np.linalg.solve(root.T, axes)
    return np.asarray(axes * np.sqrt(parts / (1 - parts)))


def _is_far(arrival: Arrival, found: Quadratic, last: Known) -> bool:
    """Whether the last gradient is not what the rounds said that it would be."""
    size = len(last.mean)
    difference = last.mean - arrival.known.mean
    covariance = last.covariance + arrival.known.covariance
    covariance = covariance + np.diag(found.cut) + arrival.cut
    square = difference @ np.linalg.solve(covariance, difference)
    return bool(square > size + _SURPRISING * np.sqrt(2 * size))
