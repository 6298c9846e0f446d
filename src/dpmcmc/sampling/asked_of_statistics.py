# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What is asked of a record where statistics are released: its vector, cell or bin."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from dpmcmc.influence.sufficient import unit_statistics
from dpmcmc.model.margins import Margin
from dpmcmc.model.model import Model
from dpmcmc.model.statistics import Statistics

__all__ = ["BinOf", "CellOf", "UnitOf"]


@dataclass(frozen=True, eq=False)
class UnitOf:
    """What is asked of a record: its statistics in units of their bound."""

    statistics: Statistics

    def __call__(self, model: Model, record: Any, public: Any) -> jax.Array:
        """Return T of the prepared record over its bound, no longer than 1."""
        del public
        return unit_statistics(self.statistics, _prepared(model, record))

    def __hash__(self) -> int:
        return hash(id(self.statistics))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnitOf) and other.statistics is self.statistics


@dataclass(frozen=True, eq=False)
class CellOf:
    """The histogram of cells: which of them a record is in."""

    statistics: Statistics

    @property
    def count(self) -> int:
        """How many cells there are."""
        assert self.statistics.cells is not None
        return self.statistics.cells

    def __call__(self, model: Model, record: Any, public: Any) -> jax.Array:
        """Return the number that the statistics make of the prepared record."""
        del public
        return jnp.reshape(self.statistics.of_record(_prepared(model, record)), (1,))

    def __hash__(self) -> int:
        return hash(id(self.statistics))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CellOf) and other.statistics is self.statistics


@dataclass(frozen=True, eq=False)
class BinOf:
    """The histogram of a margin: the bin of a record's cell."""

    statistics: Statistics
    margin: Margin

    @property
    def count(self) -> int:
        """How many bins there are."""
        return self.margin.bins

    def __call__(self, model: Model, record: Any, public: Any) -> jax.Array:
        """Return the bin of its cell; −1 if it is in none."""
        cell = CellOf(self.statistics)(model, record, public)
        places = jnp.asarray(self.margin.places, jnp.int32)
        is_in = (cell >= 0) & (cell < len(places))
        return jnp.where(is_in, places[jnp.where(is_in, cell, 0)], -1)

    def __hash__(self) -> int:
        return hash(id(self.margin))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BinOf)
            and other.margin is self.margin
            and other.statistics is self.statistics
        )


def _prepared(model: Model, record: Any) -> Any:
    return record if model.preparation is None else model.preparation(record)
