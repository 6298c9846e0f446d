# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Find a correction: a stored fit for a common C, else a fresh one.

The stored fits are written by ``python -m reproduction.store_corrections``.
"""

import json
from functools import cache
from importlib import resources

from dpmcmc.correction.correction import Correction, require_variance
from dpmcmc.correction.programme import linear_programme

__all__ = ["correction_for", "stored_fits"]


def correction_for(variance: float) -> Correction:
    """Return the correction of least sup-error for C.

    Parameters
    ----------
    variance
        The variance C of the normal part, between 0 and π²/3.

    Returns
    -------
    Correction
        At once for a stored C (½, 1, 1¼, … 3); otherwise in about a second.
    """
    target = require_variance(variance)
    stored = stored_fits().get(target)
    return linear_programme(target) if stored is None else stored


@cache
def stored_fits() -> dict[float, Correction]:
    """Every stored fit by its C; each is checked as it is built."""
    file = resources.files(__package__) / "stored.json"
    fits = [
        Correction(
            variance=each["variance"],
            centres=tuple(each["centres"]),
            widths=tuple(each["widths"]),
            weights=tuple(each["weights"]),
        )
        for each in json.loads(file.read_text(encoding="utf-8"))
    ]
    return {fit.variance: fit for fit in fits}
