# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Find a correction: a stored fit for a common C, else a fresh one.

Fits of the linear programme and of the mixture for common C are JSON files of the
package, written by ``python -m dpmcmc.correction.make_cache``. A ridge fit is quick to
make and long to store, so it is not stored.
"""

import json
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any, Literal

from dpmcmc.correction.distribution import Correction
from dpmcmc.correction.limits import require_variance
from dpmcmc.correction.mixture import gaussian_mixture
from dpmcmc.correction.programme import linear_programme
from dpmcmc.correction.regression import ridge
from dpmcmc.errors import InputError

__all__ = ["STORED_SEED", "Method", "correction_for", "from_json", "stored_fits"]

Method = Literal["linear_programme", "gaussian_mixture", "ridge"]

STORED_SEED = 1
"""Where the optimiser of a stored or looked-up mixture starts."""

_FITS: dict[str, Callable[[float], Correction]] = {
    "linear_programme": linear_programme,
    "gaussian_mixture": lambda variance: gaussian_mixture(variance, seed=STORED_SEED),
    "ridge": ridge,
}


def correction_for(variance: float, method: Method = "linear_programme") -> Correction:
    """Find the stored correction for C, or fit one.

    Parameters
    ----------
    variance
        The variance C of the normal part, between 0 and π²/3.
    method
        The linear programme (best), the paper's mixture, or Seita et al.'s ridge
        regression.

    Returns
    -------
    Correction
        At once if it is stored; otherwise within about a second for the linear
        programme and the ridge regression, and ten for the mixture.
    """
    target = require_variance(variance)
    if method not in _FITS:
        raise InputError(f"method is {method!r}; it must be one of {list(_FITS)}.")
    stored = stored_fits(method).get(target)
    return _FITS[method](target) if stored is None else stored


@cache
def stored_fits(method: str) -> dict[float, Correction]:
    """Every stored fit of a method, by its C."""
    file = resources.files(__package__) / "fits" / f"{method}.json"
    if not file.is_file():
        return {}
    return from_json(json.loads(file.read_text(encoding="utf-8")))


def from_json(text: dict[str, Any]) -> dict[float, Correction]:
    """Read what `make_cache` wrote; each fit is checked as it is built."""
    fits = [
        Correction(
            variance=each["variance"],
            centres=tuple(each["centres"]),
            widths=tuple(each["widths"]),
            weights=tuple(each["weights"]),
            method=text["method"],
        )
        for each in text["fits"]
    ]
    return {fit.variance: fit for fit in fits}
