# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Seita et al.'s correction: ridge regression on the discretised convolution.

Atoms y_j = −V + jh, j = 0 … n, cover [−V, V], and points x_i of the same spacing h
cover [−2V, 2V]. With M_ij = Φ((x_i − y_j)/√C) and v_i = σ(x_i), the weights u minimise
‖Mu − v‖² + λ‖u‖² (Seita, Pan, Chen & Canny, UAI 2017; V = 10, n = 4000, λ = 10).
Negative weights are set to zero and the rest is normalised. Nothing keeps u from being
negative, and beyond C = 1 much of it is: that is how this fit fails.

M is constant along its diagonals, so products with it are convolutions, and conjugate
gradients solve the normal equations in a fraction of a second without a matrix.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import matmul_toeplitz
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit, ndtr

from dpmcmc.correction.distribution import Correction
from dpmcmc.correction.limits import require_variance
from dpmcmc.correction.symmetric import symmetric_mixture
from dpmcmc.errors import InputError, require_count, require_positive

__all__ = ["METHOD", "ridge"]

METHOD = "ridge"

_ADVICE = "Leave it out for the paper's setting."
_TOLERANCE = 1e-12
"""Relative residual at which conjugate gradients stop."""

Floats = NDArray[np.float64]


def ridge(
    variance: float,
    *,
    reach: float = 10.0,
    intervals: int = 4000,
    penalty: float = 10.0,
) -> Correction:
    """Fit V_cor by ridge regression, as Seita et al. do.

    Parameters
    ----------
    variance
        The variance C of the normal part, between 0 and π²/3.
    reach, intervals
        Atoms stand on [−reach, reach] at the ends of this many equal intervals, an
        even number.
    penalty
        The λ of the regression.

    Returns
    -------
    Correction
        Atoms. The regression's own weights are symmetric only nearly, so each is
        averaged with its mirror image.
    """
    target = require_variance(variance)
    width = require_positive("reach", reach, _ADVICE)
    count = require_count("intervals", intervals, _ADVICE, least=2)
    if count % 2:
        raise InputError(f"intervals is {count}; it must be even. {_ADVICE}")
    solved = _solve(target, width, count, require_positive("penalty", penalty, _ADVICE))
    weights = np.maximum(solved, 0.0)
    half = count // 2
    pairs = weights[half:] + weights[half::-1]
    pairs[0] /= 2
    places = np.linspace(0.0, width, half + 1)
    return symmetric_mixture(target, places, np.zeros_like(places), pairs, METHOD)


def _solve(variance: float, reach: float, intervals: int, penalty: float) -> Floats:
    """Weights u, some of them negative, on the grid of atoms."""
    step = 2 * reach / intervals
    points, atoms = 2 * intervals + 1, intervals + 1
    scale = math.sqrt(variance)
    # x_i − y_j = −reach + (i − j) step
    column = ndtr((-reach + step * np.arange(points)) / scale)
    row = ndtr((-reach - step * np.arange(atoms)) / scale)
    logistic = expit(np.linspace(-2 * reach, 2 * reach, points))

    def apply(u: Floats) -> Floats:
        return matmul_toeplitz((column, row), u.ravel())

    def transpose(v: Floats) -> Floats:
        return matmul_toeplitz((row, column), v)

    equations = LinearOperator(
        (atoms, atoms),
        matvec=lambda u: transpose(apply(u)) + penalty * u.ravel(),
        dtype=np.float64,
    )
    solution, failed = cg(
        equations, transpose(logistic), rtol=_TOLERANCE, maxiter=atoms
    )
    if failed:
        raise ArithmeticError("conjugate gradients did not settle on ridge weights.")
    return solution
