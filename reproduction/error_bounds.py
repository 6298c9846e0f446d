# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How far the acceptance probability of a minibatch test can be from Barker's.

The test compares Δ* + V_nc + V_cor with 0, where Δ* is the scaled mean of b log-ratios,
V_nc ~ N(0, C − s²) fills up the sample variance s² of Δ*, and V_cor corrects N(0, C) to
a logistic distribution. The supplement bounds the error by a Berry–Esseen term and the
sup-error of V_cor. Its Berry–Esseen term is for Student's statistic and holds for
log-ratios *standardised* to mean 0 and variance 1; and its proof adds V_nc as if s²
were a fixed number. `error_bounds` gives the supplement's sum, standardised, and a
sharper sum that is proven for the test as it is run. Statements and proofs are in
``docs/corrections.md``.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpmcmc.correction import Correction
from dpmcmc.errors import InputError, require_count, require_positive

__all__ = ["ErrorBounds", "error_bounds"]

_BERRY_ESSEEN = 0.4690
"""Constant of the Berry–Esseen theorem for equal distributions (Shevtsova 2013)."""

_RESCALING = 1 / (2 * math.sqrt(2 * math.pi * math.e))
"""sup_x |Φ(x/√v) − Φ(x/√w)| ≤ |log(v/w)| times this: sup of u φ(u), halved."""


@dataclass(frozen=True)
class ErrorBounds:
    """Bounds on |P(Δ* + V_nc + V_cor ≤ y) − σ(y − Δ)|, for every y.

    Attributes
    ----------
    student
        The supplement's term for the minibatch: (6.4 E|Z|³ + 2 E|Z|)/√b.
    normal
        Berry–Esseen for the mean itself: 0.4690 E|Z|³/√b.
    noise
        For filling up the sample variance s² instead of the true one; infinite if s²
        can reach C.
    correction
        The sup-error of V_cor.
    """

    student: float
    normal: float
    noise: float
    correction: float

    @property
    def supplement_sum(self) -> float:
        """What the supplement adds up: ``student + correction``, at most 1."""
        return min(1.0, self.student + self.correction)

    @property
    def total(self) -> float:
        """The proven bound: ``normal + noise + correction``, at most 1."""
        return min(1.0, self.normal + self.noise + self.correction)

    def stationary_distance(self, contraction: float) -> float:
        """Bound the total variation between the chain's limit and the posterior.

        Parameters
        ----------
        contraction
            An η below 1 such that a step of the exact chain brings any distribution
            closer to the posterior by this factor, in total variation.

        Returns
        -------
        float
            ``total / (1 − η)``, at most 1 (Korattikara et al. 2014, Theorem 1), if
            ``total`` holds for every θ and θ′ that the chain can visit.
        """
        if not 0 <= contraction < 1:
            raise InputError(
                f"contraction is {contraction!r}; it must be at least 0 and below 1."
            )
        return min(1.0, self.total / (1 - contraction))


def error_bounds(
    ratios: ArrayLike, *, batch: int, records: float, correction: Correction
) -> ErrorBounds:
    """Bound the error of one minibatch acceptance test.

    Parameters
    ----------
    ratios
        log p(x|θ′) − log p(x|θ) for *simulated* records x, clipped as in the test. The
        moments of private records would be released by this function: never give them.
    batch
        The batch size b.
    records
        What multiplies the batch mean: the number of records N, or N₀ of a tempered
        posterior.
    correction
        The V_cor of the test.

    Returns
    -------
    ErrorBounds
        The terms and their sums.

    Notes
    -----
    The bounds hold for b independent draws from the distribution whose moments are
    given, and Δ is ``records`` times its mean: for batches drawn with replacement, or
    for a population from which the records themselves are independent draws. A batch
    without replacement from fixed records is closer to Δ than that, but is not covered.
    Moments of simulated records are estimates, and so is the bound.
    """
    values = np.asarray(ratios, dtype=np.float64)
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
        raise InputError(
            f"ratios has shape {values.shape}; it must be one finite log-ratio for "
            "each of at least 2 simulated records."
        )
    size = require_count("batch", batch, "Give the batch size of the test.")
    scale = require_positive("records", records, "Give N, or N₀ if tempered.")
    sd = float(values.std())
    if sd <= 1e-12 * float(np.abs(values).max()):
        raise InputError(
            "the ratios are all equal, so a batch mean has no error to bound; "
            "simulate records that differ."
        )
    standard = (values - values.mean()) / sd
    first, third, fourth = (
        float((np.abs(standard) ** power).mean()) for power in (1, 3, 4)
    )
    root = math.sqrt(size)
    return ErrorBounds(
        student=(6.4 * third + 2 * first) / root,
        normal=_BERRY_ESSEEN * third / root,
        noise=_noise_term(
            spread=(scale * sd) ** 2 / size,
            most=(scale * float(np.abs(values).max())) ** 2 / size,
            kurtosis=fourth,
            batch=size,
            variance=correction.variance,
        ),
        correction=correction.sup_error(),
    )


def _noise_term(
    *, spread: float, most: float, kurtosis: float, batch: int, variance: float
) -> float:
    """E|log((C − s²)/(C − σ²))| / (2√(2πe)), from E|s² − σ²| and s² ≤ ``most``."""
    if most >= variance:
        return math.inf
    error = spread * (math.sqrt((kurtosis - 1) / batch) + 1 / batch)
    return _RESCALING * error / (variance - most)
