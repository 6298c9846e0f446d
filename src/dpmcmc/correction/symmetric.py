# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Build a correction that is exactly symmetric and whose weights sum to 1."""

import math

import numpy as np
from numpy.typing import NDArray

from dpmcmc.correction.distribution import Correction
from dpmcmc.errors import InputError

__all__ = ["symmetric_mixture"]

Floats = NDArray[np.float64]


def symmetric_mixture(
    variance: float, centres: Floats, widths: Floats, weights: Floats, method: str
) -> Correction:
    """Mirror components at centres ≥ 0 into a symmetric correction.

    Parameters
    ----------
    variance
        The C it is for.
    centres, widths, weights
        Components with centre of at least 0; each weight is that of the pair at ±.
        Weights need not sum to 1; components without weight are left out. At most one
        may have its centre at 0.
    method
        Name of the fit.

    Returns
    -------
    Correction
        Its weights sum to 1 after the heaviest component, or pair, has taken up what
        rounding left over.
    """
    if centres.min() < 0:
        raise InputError(
            f"a centre is {centres.min()!r}; give those of at least 0, for both signs."
        )
    kept = np.flatnonzero(weights > 0)
    order = kept[np.argsort(centres[kept], kind="stable")]
    share = weights[order] / math.fsum(weights[order])
    doubled = np.where(centres[order] > 0, share / 2, share)
    heaviest = int(np.argmax(share))
    others = np.where(centres[order] > 0, 2 * doubled, doubled)
    others[heaviest] = 0.0
    # Rounded once, so the sum of all is within 2⁻⁵⁴ of 1 and rounds to 1.
    rest = math.fsum([1.0, *(-others)])
    doubled[heaviest] = rest / 2 if centres[order][heaviest] > 0 else rest

    def mirror(values: Floats, sign: float) -> tuple[float, ...]:
        away = values[centres[order] > 0]
        middle = values[centres[order] == 0]
        return tuple((sign * away[::-1]).tolist() + middle.tolist() + away.tolist())

    return Correction(
        variance=variance,
        centres=mirror(centres[order], -1.0),
        widths=mirror(widths[order], 1.0),
        weights=mirror(doubled, 1.0),
        method=method,
    )
