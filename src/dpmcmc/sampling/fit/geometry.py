# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Geometry of released curvature: whitening.

Everything here is computed from what was released.
"""

import numpy as np

__all__ = ["whitening"]

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
