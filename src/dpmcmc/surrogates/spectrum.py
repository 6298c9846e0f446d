# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What is known of a symmetric matrix once it was released with noise on it.

Noise on many entries spreads eigenvalues: of a d × d matrix by up to √(2d) times the
deviation of a diagonal entry, however well each single entry is known. How much of the
spread is noise can be read off the released matrix itself, and is taken away: all here
is computed from what is private already.
"""

import numpy as np

__all__ = ["denoised", "negative_definite"]


def denoised(matrix: np.ndarray, noise: float) -> np.ndarray:
    """Return the best guess of a matrix with the eigenvectors of what was released.

    Each eigenvalue is drawn toward the others, by as much as noise has pushed them
    apart (Bun, Allez, Bouchaud and Potters, "Rotational invariant estimator for general
    noisy matrices", 2016): λ − 2σ² Re g(λ), g the mean of 1/(λ − other eigenvalues) and
    σ² the sum of the variances of a row. Directions that stand out of the noise are
    kept; where there is nothing but noise, all eigenvalues become their mean.

    Parameters
    ----------
    matrix
        Symmetric, with normal noise on every entry.
    noise
        Its deviation on the diagonal; off the diagonal it is smaller by √2.
    """
    values, vectors = np.linalg.eigh(matrix)
    gaps = values[:, None] - values[None, :]
    # The width over which the mean is smoothed: σ/√d, as the paper has it.
    pushed = np.sum(gaps / (gaps**2 + noise**2 / 2), axis=1)
    return (vectors * (values - noise**2 * pushed)) @ vectors.T


def negative_definite(matrix: np.ndarray, noise: float) -> np.ndarray:
    """Return the nearest matrix whose eigenvalues are all below minus the noise.

    A direction that bends up, or less than by chance, is known to bend by no more
    than the noise; so it is given that much.
    """
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.minimum(values, -noise)) @ vectors.T
