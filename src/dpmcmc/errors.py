# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One kind of error for every mistake a user can make, worded the same way.

A message says what was wrong, the value, the allowed range, and what to do. It is
raised before a record is read or a budget is spent, and never holds record values.
"""

import math
from numbers import Integral, Real

__all__ = ["InputError", "require_count", "require_positive", "require_probability"]


class InputError(ValueError):
    """Something the user gave cannot be used; nothing was read, nothing spent."""


def require_positive(name: str, value: object, advice: str) -> float:
    """Return ``value`` as a float if it is a finite number above zero."""
    if not _is_real(value) or not math.isfinite(value) or value <= 0:  # type: ignore[operator,arg-type]
        raise InputError(
            f"{name} is {value!r}; it must be a finite number above 0. {advice}"
        )
    return float(value)  # type: ignore[arg-type]


def require_probability(name: str, value: object, advice: str) -> float:
    """Return ``value`` as a float if it lies strictly between 0 and 1."""
    if not _is_real(value) or not 0 < value < 1:  # type: ignore[operator]
        raise InputError(
            f"{name} is {value!r}; it must lie strictly between 0 and 1. {advice}"
        )
    return float(value)  # type: ignore[arg-type]


def require_count(name: str, value: object, advice: str, least: int = 1) -> int:
    """Return ``value`` as an int if it is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(
            f"{name} is {value!r}; it must be a whole number of at least {least}. "
            f"{advice}"
        )
    return int(value)


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
