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
from scipy.linalg import matmul_toeplitz
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit, ndtr

from dpmcmc.correction import Correction

__all__ = ["STEP", "ridge"]

STEP = 0.005
"""Spacing of the atoms."""

_TOLERANCE = 1e-12
"""Relative residual at which conjugate gradients stop."""


def ridge(
    variance: float, *, reach: float = 10.0, step: float = STEP, penalty: float = 10.0
) -> Correction:
    """Fit V_cor by ridge regression, as Seita et al. do.

    Parameters
    ----------
    variance
        The variance C of the normal part, between 0 and π²/3.
    reach, step
        Atoms stand on [−reach, reach] at this spacing.
    penalty
        The λ of the regression.

    Returns
    -------
    Correction
        Atoms. The regression's own weights are symmetric only nearly, so each is
        averaged with its mirror image.
    """
    half = round(reach / step)
    weights = np.maximum(_solve(variance, step, half, penalty), 0.0)
    pairs = weights[half:] + weights[half::-1]
    pairs[0] /= 2
    places = np.linspace(0.0, reach, half + 1)
    return Correction.symmetric(variance, places, np.zeros_like(places), pairs)


def _solve(variance: float, step: float, half: int, penalty: float) -> np.ndarray:
    """Weights u, some of them negative, on the grid of 2 half + 1 atoms."""
    scale, atoms, points = math.sqrt(variance), 2 * half + 1, 4 * half + 1
    # x_i − y_j = (i − j − half) step
    column = ndtr(step * (np.arange(points) - half) / scale)
    row = ndtr(step * (-np.arange(atoms) - half) / scale)
    logistic = expit(step * (np.arange(points) - 2 * half))

    def equations(u: np.ndarray) -> np.ndarray:
        product = matmul_toeplitz((column, row), u.ravel())
        return matmul_toeplitz((row, column), product) + penalty * u.ravel()

    solution, failed = cg(
        LinearOperator((atoms, atoms), matvec=equations, dtype=np.float64),
        matmul_toeplitz((row, column), logistic),
        rtol=_TOLERANCE,
        maxiter=atoms,
    )
    if failed:
        raise ArithmeticError("conjugate gradients did not settle on ridge weights.")
    return np.asarray(solution)
