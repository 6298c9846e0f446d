# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Geometry of released curvature: whitening, and what noise does to eigenvalues.

Everything here is computed from what was released.
"""

import numpy as np

__all__ = ["denoised", "floored", "whitening"]

_FLATTEST = 1e-10


def whitening(curvature: np.ndarray) -> np.ndarray:
    """Return W with Wᵀ curvature W = I whose columns stay near the coordinates.

    Of all such matrices, that of the symmetric root of the correlations keeps each new
    coordinate most correlated with its old one (Kessy, Lewin and Strimmer, "Optimal
    whitening and decorrelation", 2018): so a column of huge values stays in one place.
    """
    scale = np.sqrt(np.diag(curvature))
    values, vectors = np.linalg.eigh(curvature / np.outer(scale, scale))
    values = np.maximum(values, _FLATTEST * values.max())
    return ((vectors / np.sqrt(values)) @ vectors.T) / scale[:, None]


def denoised(matrix: np.ndarray, noise: float) -> np.ndarray:
    """Return the best guess of a matrix with the eigenvectors of what was released.

    Noise on many entries pushes eigenvalues apart; each is drawn back by as much (Bun,
    Allez, Bouchaud and Potters, "Rotational invariant estimator for general noisy
    matrices", 2016): λ − 2σ² Re g(λ), g the mean of 1/(λ − other eigenvalues) and σ²
    the sum of the variances of a row.

    Parameters
    ----------
    matrix
        Symmetric, with normal noise on every entry.
    noise
        Its sd on the diagonal; off the diagonal it is smaller by √2.
    """
    values, vectors = np.linalg.eigh(matrix)
    gaps = values[:, None] - values[None, :]
    # The width over which the mean is smoothed: σ/√d, as the paper has it.
    width = max(noise**2 / 2, np.finfo(float).tiny)
    pushed = np.sum(gaps / (gaps**2 + width), axis=1)
    return (vectors * (values - noise**2 * pushed)) @ vectors.T


def floored(matrix: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix with |eigenvalues| of at least so much, and its eigenvalues.

    A direction that curves up is taken to curve down as much, as a step must climb.
    """
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(np.abs(values), least)) @ vectors.T, values
