# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Corrections: laws of V_cor with N(0, C) + V_cor close to Logistic(0, 1).

No records are involved. A correction is fitted by linear programme (the default, and
the most accurate), by the paper's Gaussian mixture, or by Seita et al.'s ridge
regression; `correction_for` finds a stored fit or makes one. Each name is loaded when
it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpmcmc.correction.bounds import ErrorBounds, error_bounds
    from dpmcmc.correction.distribution import Correction
    from dpmcmc.correction.mixture import gaussian_mixture
    from dpmcmc.correction.programme import linear_programme
    from dpmcmc.correction.regression import ridge
    from dpmcmc.correction.stored import correction_for
    from dpmcmc.correction.symmetric import symmetric_mixture

__all__ = [
    "Correction",
    "ErrorBounds",
    "correction_for",
    "error_bounds",
    "gaussian_mixture",
    "linear_programme",
    "ridge",
    "symmetric_mixture",
]

_HOMES = {
    "Correction": "distribution",
    "ErrorBounds": "bounds",
    "correction_for": "stored",
    "error_bounds": "bounds",
    "gaussian_mixture": "mixture",
    "linear_programme": "programme",
    "ridge": "regression",
    "symmetric_mixture": "symmetric",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
