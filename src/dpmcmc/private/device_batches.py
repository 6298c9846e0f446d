# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Batches drawn where chains run, all rows side by side.

They are those of `draw_batches`, in another order within a batch, on which no sum of
integers depends.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.private.batches import NONE, Sampling, spare_words
from dpmcmc.private.keystream import Keystream
from dpmcmc.private.tape import Stream

__all__ = ["draw_on_device", "is_drawn_on_device"]

_MOST_SPARE = 64
"""Words to draw again from above which a row is drawn faster by the host: a device
offers records to a row one by one."""


def is_drawn_on_device(sampling: Sampling, device: jax.Device) -> bool:
    """Whether the device makes the words and batches of its chains, or the host."""
    by_drawing_them = sampling.replacement or 2 * sampling.batch <= sampling.records
    few_again = spare_words(sampling) <= _MOST_SPARE
    return device.platform != "cpu" and by_drawing_them and few_again


def draw_on_device(
    keystream: Keystream, chains: int, start: Any, steps: int, sampling: Sampling
) -> jax.Array:
    """Draw the batches of steps ``start`` to ``start + steps`` of chains 0, 1, ….

    Returns
    -------
    jax.Array
        Record numbers of shape (steps, chains, batch), in no order that matters.

    Guarantee
    ---------
    Batch (t, c) holds the records that `draw_batches` draws for step ``start + t`` of
    chain c from the same tape, each as often; ``batch`` is at most half of the records
    if draws are without replacement.
    """
    batch = sampling.batch

    def named(stream: Stream, width: int, attempt: Any = 0) -> jax.Array:
        """Records that the words of each row name, chain by chain."""
        first, count = start * width, steps * width
        halves = keystream.halves(stream, chains, first, count, attempt)
        return _uniform(halves.reshape(chains * steps, -1), sampling.records)

    def draw_again(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        """One attempt: a row with m empty places is offered the next m records."""
        attempt, rows = carry
        fresh = named(Stream.REDRAW, spare_words(sampling), attempt)
        empty = jnp.sum(rows == NONE, axis=1, dtype=jnp.int32)
        offers = jnp.minimum(jnp.max(empty), fresh.shape[1])

        def offer(number: jax.Array, rows: jax.Array) -> jax.Array:
            record = jnp.where(number < empty, fresh[:, number], NONE)
            return _put(rows, record, sampling.replacement)

        return attempt + 1, jax.lax.fori_loop(0, offers, offer, rows)

    rows = named(Stream.BATCH, -(-batch // 2))[:, :batch]
    if not sampling.replacement:
        rows = jnp.sort(rows, axis=1)
        is_repeat = jnp.pad(rows[:, 1:] == rows[:, :-1], ((0, 0), (1, 0)))
        rows = jnp.where(is_repeat, NONE, rows)
    _, rows = jax.lax.while_loop(
        lambda carry: jnp.any(carry[1] == NONE), draw_again, (jnp.uint32(0), rows)
    )
    return rows.reshape(chains, steps, batch).swapaxes(0, 1)


def _put(rows: jax.Array, record: jax.Array, replacement: bool) -> jax.Array:
    """Put one record into the first empty place of each row, unless it is `NONE`.

    Nor is it put there if draws are without replacement and the row has it.
    """
    count, batch = rows.shape
    places = jnp.where(rows == NONE, jnp.arange(batch, dtype=jnp.int32), batch)
    place = jnp.min(places, axis=1)  # a full row has none, and nothing is put there
    is_good = record != NONE
    if not replacement:
        is_good &= jnp.all(rows != record[:, None], axis=1)
    place = jnp.where(is_good, place, batch)
    return rows.at[jnp.arange(count), place].set(record, mode="drop")


def _uniform(halves: jax.Array, records: int) -> jax.Array:
    """Uniform record numbers from halves of words, as on the host."""
    product = halves.astype(jnp.uint64) * np.uint64(records)
    is_refused = product.astype(jnp.uint32) < np.uint32(2**32 % records)
    return jnp.where(is_refused, NONE, (product >> 32).astype(jnp.uint32))
