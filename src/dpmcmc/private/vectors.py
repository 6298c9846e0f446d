# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One record, one bounded vector of whole numbers; and exact sums of them.

A record's vector is whatever a public function makes of its log-likelihood, such as a
gradient. It is clipped in length, put on a grid of whole numbers, and its length is
checked once more on the whole numbers, so that no rounding of floats can make one
record count for more than it may.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.model.model import Model
from dpmcmc.model.tracing import as_float, is_double
from dpmcmc.private.records import Opened

__all__ = ["Measure", "bounded_vectors", "rows_at_once", "sum_of_vectors"]

_MARGIN = 1 - 2.0**-40
"""Length to which vectors are clipped: rounding must not take them beyond 1."""

_NUMBERS_AT_ONCE = 2**20
"""Coordinates of vectors held at once while they are added, whatever the batch."""

_MOST_COORDINATES = 2**20


class Measure(Protocol):
    """What a record is asked: a vector from its log-likelihood. Frozen and hashable."""

    def __call__(
        self, log_likelihood: Callable[[Any], jax.Array], public: Any
    ) -> jax.Array:
        """Return the vector, in units in which its length should be at most 1."""
        ...


@partial(jax.jit, static_argnames=("model", "measure", "dtype"))
def sum_of_vectors(
    model: Model,
    measure: Measure,
    dtype: str,
    batch: Opened,
    public: Any,
    stretch: tuple[int, int] | None = None,
) -> jax.Array:
    """The exact sum of the integer vectors of a batch; never leaves as it is.

    A stretch, from one block of a batch up to another, is added alone.

    Guarantee
    ---------
    The int64 sum of one vector of `bounded_vectors` for each record, made from that
    record and from public numbers. Substituting one record moves it by at most
    2 · ``CLIP_STEPS`` in length. Sums of stretches that are all blocks once add up to
    that of the batch.
    """

    def vector(record: Any) -> jax.Array:
        def log_likelihood(theta: Any) -> jax.Array:
            return as_float(model.record_log_likelihood(theta, record), dtype)

        with jax.enable_x64(is_double(dtype)):
            return measure(log_likelihood, public)

    def total(arrays: Any, present: jax.Array) -> jax.Array:
        bounded = bounded_vectors(jax.vmap(vector)(arrays), present)
        return jnp.sum(bounded, axis=0, dtype=jnp.int64)

    count, size = jax.eval_shape(jax.vmap(vector), batch.arrays).shape
    if size > _MOST_COORDINATES:
        raise ValueError(f"a vector has {size} coordinates, too many to add exactly")
    present = jnp.ones(count, bool) if batch.present is None else batch.present
    rows = rows_at_once(size)
    if count <= rows:
        return total(batch.arrays, present)

    def add(block: jax.Array, sums: jax.Array) -> jax.Array:
        # The last block reaches back to be as long as the others: whoever is in it
        # and was counted before is not present there.
        first = jnp.minimum(block * rows, count - rows)
        arrays, there = jax.tree.map(
            lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, first, rows),
            (batch.arrays, present),
        )
        return sums + total(arrays, there & (first + jnp.arange(rows) >= block * rows))

    first, last = (0, -(-count // rows)) if stretch is None else stretch
    return jax.lax.fori_loop(first, last, add, jnp.zeros(size, jnp.int64))


def rows_at_once(size: int) -> int:
    """How many vectors of so many coordinates make a block."""
    return max(1, _NUMBERS_AT_ONCE // size)


def bounded_vectors(vectors: jax.Array, present: jax.Array) -> jax.Array:
    """Turn each record's vector into whole numbers of bounded length.

    A vector longer than 1 is shortened to about 1; one that holds a NaN or an
    infinity, or whose record is not present, becomes 0. Coordinates are rounded
    toward zero to whole multiples of 1/``CLIP_STEPS``.

    Parameters
    ----------
    vectors
        One row for each record.
    present
        Which records count.

    Guarantee
    ---------
    Each row of the result depends on its own row and entry alone, and the sum of its
    squares, as integers, is at most ``CLIP_STEPS``², whatever bits the row holds: a
    row for which it is not becomes 0.
    """
    from jax_privacy.clipping import clip_pytree  # noqa: PLC0415 - slow to import

    wide = vectors.astype(jnp.float64)
    usable = present & jnp.all(jnp.isfinite(wide), axis=-1)
    wide = jnp.where(usable[:, None], wide, 0.0)
    clipped, _ = jax.vmap(lambda row: clip_pytree(row, _MARGIN))(wide)
    steps = jnp.trunc(clipped * CLIP_STEPS).astype(jnp.int64)
    steps = jnp.clip(steps, -CLIP_STEPS, CLIP_STEPS)
    squares = jnp.sum(steps * steps, axis=-1, dtype=jnp.int64)
    return jnp.where((squares <= CLIP_STEPS**2)[:, None], steps, 0)
