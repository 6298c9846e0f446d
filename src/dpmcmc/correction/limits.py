# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Which C a correction can have."""

import math
from numbers import Real

from dpmcmc.errors import InputError

__all__ = ["LOGISTIC_VARIANCE", "require_variance"]

LOGISTIC_VARIANCE = math.pi**2 / 3
"""The variance of Logistic(0, 1), which C must stay below."""


def require_variance(value: object) -> float:
    """Return ``value`` as a float if it can be the C of a correction."""
    if (
        not isinstance(value, Real)
        or isinstance(value, bool)
        or not 0 < float(value) < LOGISTIC_VARIANCE
    ):
        raise InputError(
            f"C is {value!r}; it must lie strictly between 0 and π²/3 = "
            f"{LOGISTIC_VARIANCE:.4f}, the variance of the logistic law. The paper's "
            "runs use C = 2."
        )
    return float(value)
