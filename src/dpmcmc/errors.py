# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One kind of error for every mistake a user can make, worded the same way.

A message says what was wrong, the value, the allowed range, and what to do. It is
raised before a record is read or a budget is spent, and never holds record values.
"""

import math
from numbers import Integral, Real

__all__ = [
    "InputError",
    "NotUsableError",
    "StoppedError",
    "require_count",
    "require_positive",
    "require_probability",
]


class InputError(ValueError):
    """Something the user gave cannot be used; nothing was read, nothing spent."""


class NotUsableError(RuntimeError):
    """What was released says that the rest of a run would be of no use.

    Attributes
    ----------
    stage
        The stage after which the run stopped.
    reason
        Why, in words.
    statement
        What was released until then. The rest of the budget was not spent.
    """

    def __init__(self, stage: str, reason: str, statement: object) -> None:
        super().__init__(
            f"stopped after the stage {stage!r}, before the rest of the budget was "
            f"spent: {reason}"
        )
        self.stage, self.reason, self.statement = stage, reason, statement

    def __reduce__(self) -> tuple[type, tuple[str, str, object]]:
        """Other processes are told of it with all that it holds."""
        return type(self), (self.stage, self.reason, self.statement)


class StoppedError(RuntimeError):
    """A run failed after part of its budget was spent; what it released is kept.

    Attributes
    ----------
    stage
        The stage that failed.
    checkpoint
        What was charged and released until then: give it to `sample` with the same
        settings to go on.
    """

    def __init__(self, stage: str, checkpoint: object) -> None:
        super().__init__(
            f"the stage {stage!r} failed after part of the budget was spent. What was "
            "released is kept in this error's checkpoint: once the cause is removed, "
            "go on with sample(…, checkpoint=error.checkpoint) and the same settings."
        )
        self.stage, self.checkpoint = stage, checkpoint

    def __reduce__(self) -> tuple[type, tuple[str, object]]:
        """Other processes are told of it with all that it holds."""
        return type(self), (self.stage, self.checkpoint)


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
