# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What every method is given: a posterior on R^d, and a budget."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["Budget", "Density", "Refused", "Target", "batch_of", "clipped_sum"]

Columns = dict[str, Any]


class Budget(NamedTuple):
    """(ε, δ) for the substitution of one record."""

    epsilon: float
    delta: float


class Refused(Exception):  # noqa: N818 - it is an answer
    """A method has nothing to say at a budget."""


@dataclass(frozen=True, eq=False)
class Density:
    """A model, without its records. One is made once, so that programs compile once.

    Attributes
    ----------
    log_likelihood
        Of θ and one record.
    log_prior
        Of θ, up to a constant.
    initial
        Where chains and fits start; it does not depend on the records.
    """

    log_likelihood: Callable[[jax.Array, Any], jax.Array]
    log_prior: Callable[[jax.Array], jax.Array]
    initial: np.ndarray

    @property
    def size(self) -> int:
        """The number d of parameters."""
        return len(self.initial)

    @property
    def start(self) -> jax.Array:
        """The initial point on the device."""
        return jnp.asarray(self.initial, jnp.float32)

    def each(self, theta: jax.Array, records: Columns) -> jax.Array:
        """The log-likelihood of each record."""
        return jax.vmap(self.log_likelihood, (None, 0))(theta, records)

    def gradients(self, theta: jax.Array, records: Columns) -> jax.Array:
        """The gradient of each record's log-likelihood, a row for each record."""
        return jax.vmap(jax.grad(self.log_likelihood), (None, 0))(theta, records)


class Target(NamedTuple):
    """A model and its records, columns by name."""

    density: Density
    records: Columns

    @property
    def size(self) -> int:
        """The number N of records."""
        return len(next(iter(self.records.values())))


def batch_of(key: jax.Array, records: Columns, batch: int) -> Columns:
    """A batch drawn afresh, without replacement."""
    count = len(next(iter(records.values())))
    if batch == count:
        return records
    places = _distinct(key, count, batch)
    return jax.tree.map(lambda column: column[places], records)


def _distinct(key: jax.Array, count: int, batch: int) -> jax.Array:
    """Distinct places: one after another with replacement, those drawn before left out.

    So many are drawn that enough are left, but for a probability below 1e-12. For a
    batch of more than half, the places of the largest of N random numbers are quicker.
    """
    if 2 * batch > count:
        return jax.lax.top_k(jax.random.uniform(key, (count,)), batch)[1]
    repeated = batch**2 / count
    drawn = batch + math.ceil(repeated + 8 * math.sqrt(repeated)) + 16
    places = jax.random.randint(key, (drawn,), 0, count)
    turn = jnp.arange(drawn)
    first = jnp.full(count, drawn).at[places].min(turn)
    is_new = first[places] == turn
    rank = jnp.where(is_new, jnp.cumsum(is_new) - 1, drawn)
    return jnp.zeros(batch, places.dtype).at[rank].set(places, mode="drop")


def clipped_sum(rows: jax.Array, clip: float) -> jax.Array:
    """The sum of rows, each norm-clipped."""
    lengths = jnp.linalg.norm(rows, axis=1)
    kept = jnp.minimum(1, clip / jnp.maximum(lengths, 1e-30))
    return jnp.sum(rows * kept[:, None], 0)
