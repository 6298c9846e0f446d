# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Statistics of records inside the boundary: bounded to be added, and what they miss.

A model states h_i(θ) = T(x_i) · φ(θ) + a(θ). The vector u_i of a record is T in units
of its bound, norm-clipped to a length of 1. Once Σ u_i has been released with noise, h
is public, and a record enters a decision only by its log-likelihood less h_i; or not at
all, if the statistics are sufficient.
"""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.influence.alone import ReadsNothing
from dpmcmc.model.model import Model
from dpmcmc.model.statistics import NoisyTotal, Statistics
from dpmcmc.model.tracing import as_float

__all__ = ["SumAlone", "Unexplained", "unit_statistics"]


def unit_statistics(statistics: Statistics, record: Any) -> jax.Array:
    """Return the vector u of one prepared record: T over its bound, no longer than 1.

    It is 0 where T is not finite. What is added to other records is bounded once more,
    as whole numbers; here it is made what a residual takes, too.
    """
    unit = statistics.vector(record) / statistics.bound
    length = jnp.sqrt(jnp.sum(unit * unit))
    usable = jnp.isfinite(length)
    return jnp.where(usable, unit / jnp.maximum(length, 1), 0)


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Unexplained:
    """A record's log-likelihood less what its statistics say of it.

    Attributes
    ----------
    statistics
        What the model states.
    total
        The sum of the records' vectors u as it was released, noise and all.
    records
        The number N of records, each of which has the part a(θ).
    tempering
        The power τ of the likelihood. The test multiplies the records' numbers by
        it; the public part is multiplied here.
    """

    statistics: Statistics = field(metadata={"static": True})
    total: np.ndarray
    records: int
    tempering: float = 1.0

    def extras(self, model: Model, record: Any) -> jax.Array:
        """The vector u."""
        return unit_statistics(self.statistics, _prepared(model, record))

    def look(
        self, model: Model, theta: Any, record: Any, extras: Any, dtype: str
    ) -> jax.Array:
        """The log-likelihood less u · φ and a."""
        features, constant = self._at(theta)
        said = jnp.dot(extras, features) + constant
        return as_float(model.record_log_likelihood(theta, record), dtype) - said

    def ratio(self, current: Any, proposed: Any, record: Any, extras: Any) -> jax.Array:
        """The difference of the two."""
        del record, extras
        return proposed - current

    def public(self, model: Model, current: Any, proposed: Any) -> jax.Array:
        """What the statistics say of a move, from the released sum."""
        del model
        (new, more), (old, less) = self._at(proposed), self._at(current)
        total = jnp.asarray(self.total, new.dtype)
        said = jnp.dot(total, new - old) + self.records * (more - less)
        return self.tempering * said

    def _at(self, theta: Any) -> tuple[jax.Array, jax.Array]:
        """φ for the units of u, and a."""
        features, constant = self.statistics.at(theta)
        return self.statistics.bound * features, constant


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class SumAlone(ReadsNothing):
    """Nothing of a record: a released sum says what there is to say of a move.

    Attributes
    ----------
    statistics
        What the model states.
    noisy
        The sum as it was released.
    tempering
        The power τ of the likelihood.
    is_aware
        Whether θ is judged by the distribution of the released sum, its noise included;
        else as if the sum had none.
    """

    statistics: Statistics = field(metadata={"static": True})
    noisy: NoisyTotal
    tempering: float = 1.0
    is_aware: bool = field(default=False, metadata={"static": True})

    def public(self, model: Model, current: Any, proposed: Any) -> jax.Array:
        """What the released sum says of a move."""
        del model
        return self.log_density(proposed) - self.log_density(current)

    def log_density(self, theta: Any) -> jax.Array:
        """What the released sum says of θ, up to a constant."""
        if self.is_aware:
            return self.statistics.noise_aware(theta, self.noisy)
        return self.tempering * self.statistics.said(theta, self.noisy)


def _prepared(model: Model, record: Any) -> Any:
    return record if model.preparation is None else model.preparation(record)
