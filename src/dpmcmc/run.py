# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A run whose every setting has been checked."""

from dataclasses import dataclass
from typing import Any, Literal

import jax

from dpmcmc.model.model import Model
from dpmcmc.private import Records
from dpmcmc.proposals import Mover, Proposal

__all__ = ["Precision", "Run"]

Precision = Literal["float32", "float64"]


@dataclass(frozen=True)
class Run:
    """A run whose every setting has been checked; made by `dpmcmc.loop.prepare`.

    ``points`` is where the chains start, with a leading axis of chains; ``origin``
    says it in words.
    """

    model: Model
    records: Records
    proposal: Proposal
    mover: Mover
    points: Any
    dtype: Precision
    chains: int
    steps: int
    warmup: int
    chunk: int
    devices: tuple[jax.Device, ...]
    origin: str

    @property
    def start(self) -> Any:
        """Where the first chain starts."""
        return jax.tree.map(lambda leaf: leaf[0], self.points)
