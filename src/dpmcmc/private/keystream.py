# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The words of a tape, made where chains run: ChaCha20 in the arithmetic of a device.

They are those that `Tape.words` makes on the host. The key is an argument of compiled
code, never a part of it.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["Keystream", "chacha20_blocks"]

_CONSTANTS = np.frombuffer(b"expand 32-byte k", "<u4")
_WORDS_A_BLOCK = 8

_State = list[jax.Array]


@jax.tree_util.register_dataclass
@dataclass(frozen=True, repr=False)
class Keystream:
    """The key of a tape as eight uint32 on a device; it stays inside the boundary."""

    key: jax.Array

    def halves(
        self, stream: Any, chains: int, start: Any, count: int, attempt: Any = 0
    ) -> jax.Array:
        """Halves of ``count`` words from word ``start`` on, of chains 0, 1, ….

        Returns
        -------
        jax.Array
            Numbers below 2³² as uint32, of shape (chains, 2 · count).

        Guarantee
        ---------
        Row c holds the lower and upper halves, in turn, of the words
        ``Tape.words(stream, c, start, count, attempt)``, for every range that these
        may have and an attempt below 2²⁴.
        """
        first, skip = jnp.divmod(jnp.asarray(start, jnp.int64), _WORDS_A_BLOCK)
        blocks = -(-(count + _WORDS_A_BLOCK - 1) // _WORDS_A_BLOCK)
        counters = (first + jnp.arange(blocks)).astype(jnp.uint32)
        purpose = (jnp.asarray(attempt, jnp.uint32) << 8) | np.uint32(stream)
        # the low and high half of a chain's number in eight bytes
        low = jnp.arange(chains, dtype=jnp.uint32)[:, None]
        nonce = [purpose, low, np.uint32(0)]
        stretch = chacha20_blocks(self.key, nonce, counters).reshape(chains, -1)
        return jax.lax.dynamic_slice_in_dim(stretch, 2 * skip, 2 * count, axis=1)

    def words(self, stream: Any, chains: int, start: Any, count: int) -> jax.Array:
        """Whole words as uint64, of shape (chains, count)."""
        halves = self.halves(stream, chains, start, count).astype(jnp.uint64)
        return halves[:, ::2] | (halves[:, 1::2] << 32)


def chacha20_blocks(key: jax.Array, nonce: list[Any], counters: jax.Array) -> jax.Array:
    """Blocks of the keystream of RFC 8439, as 16 uint32 each on a new last axis.

    ``key`` holds eight uint32, ``nonce`` three and ``counters`` any number of them, all
    in shapes that broadcast together.
    """
    state = [*_CONSTANTS, *key, counters, *nonce]
    shape = jnp.broadcast_shapes(*(np.shape(word) for word in state))
    start = [jnp.broadcast_to(jnp.asarray(word, jnp.uint32), shape) for word in state]
    # A loop: ten double rounds written out take long to compile.
    end = jax.lax.fori_loop(0, 10, lambda _, now: _double_round(now), start)
    return jnp.stack([old + new for old, new in zip(start, end, strict=True)], axis=-1)


def _double_round(state: _State) -> _State:
    """Four quarter rounds on columns, then four on diagonals (RFC 8439, 2.3)."""
    for turn in (0, 1):
        for place in range(4):
            a, b, c, d = (4 * row + (place + turn * row) % 4 for row in range(4))
            state = _quarter_round(state, a, b, c, d)
    return state


def _quarter_round(state: _State, a: int, b: int, c: int, d: int) -> _State:
    """RFC 8439, 2.1; sums of uint32 are modulo 2³²."""
    state = list(state)
    for one, other, third, bits in (
        (a, b, d, 16),
        (c, d, b, 12),
        (a, b, d, 8),
        (c, d, b, 7),
    ):
        state[one] = state[one] + state[other]
        mixed = state[third] ^ state[one]
        state[third] = (mixed << bits) | (mixed >> (32 - bits))
    return state
