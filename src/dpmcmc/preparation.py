# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Preparation: what is done to each record, by public bounds, before it is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import jax.numpy as jnp

__all__ = ["Clamp", "Preparation"]


class Step(Protocol):
    """One thing done to one column of one record."""

    def __call__(self, value: Any) -> Any:
        """Return the column as the next step, or the log-likelihood, reads it."""
        ...

    def describe(self) -> str:
        """Say what is done, in words for the statement."""
        ...


@dataclass(frozen=True)
class Clamp:
    """Move what lies outside public bounds to the nearer of them."""

    low: float
    high: float

    def __call__(self, value: Any) -> Any:
        """Clamp one column of one record."""
        return jnp.clip(value, self.low, self.high)

    def describe(self) -> str:
        """Name the bounds."""
        return f"clamped to [{self.low:g}, {self.high:g}]"


@dataclass(frozen=True, eq=False)
class Preparation:
    """What is done to each column of a record; the others stay as they are."""

    columns: Mapping[str, tuple[Step, ...]]

    def __call__(self, record: Any) -> Any:
        """Prepare one record."""
        prepared = dict(record)
        for name, steps in self.columns.items():
            for step in steps:
                prepared[name] = step(prepared[name])
        return prepared

    def describe(self) -> tuple[str, ...]:
        """Say what is done to each column, one line each."""
        return tuple(
            f"{name} {', then '.join(step.describe() for step in steps)}"
            for name, steps in self.columns.items()
        )
