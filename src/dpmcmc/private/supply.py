# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What steps read: words of the tape for every chain, and the records of batches.

It is made by the host, or where the chains run; the words are the same.
"""

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import jax
import numpy as np

from dpmcmc.private.batches import Sampling, draw_batches, spare_words
from dpmcmc.private.device_batches import draw_on_device, is_drawn_on_device
from dpmcmc.private.filling import in_memory
from dpmcmc.private.keystream import Keystream
from dpmcmc.private.moves import Inputs, Test
from dpmcmc.private.opening import Opened
from dpmcmc.private.tape import WORDS_PER_STREAM, Stream, Tape

__all__ = ["Room", "Supply", "batches_on_host"]

_DRAWS_AT_ONCE = 2**17
"""Records drawn and looked up at once: enough to hide the cost of each call."""

_THREADS = max(1, (os.cpu_count() or 1) // 4)
"""Threads that draw and look up for one chunk: of two chunks at a time, beside the
device's own."""


class Room(NamedTuple):
    """The most steps of a chunk, chains, and the words that a proposal reads."""

    steps: int
    chains: int
    words_a_proposal: int


class Supply:
    """Makes what the steps of a chunk read, addressed by the number of its first step.

    ``source`` holds the records that batches are drawn from, if the test draws any.
    """

    def __init__(
        self,
        tape: Tape,
        test: Test,
        source: Opened | None,
        room: Room,
        device: jax.Device,
    ) -> None:
        self._tape, self._source, self._room = tape, source, room
        self._first = None if test.part is None else test.part.first
        self._sampling: Sampling | None = test.sampling(source)
        self._keystream: Keystream | None = None
        drawn = self._sampling if self._first is None else None
        if drawn is not None and is_drawn_on_device(drawn, device):
            self._keystream = tape.on_device(device)
            self._source = jax.device_put(source, device)

    def inputs(self, start: int, steps: int) -> Inputs:
        """What steps ``start`` to ``start + steps`` read, in room for a whole chunk.

        Guarantee
        ---------
        Words and batches of these steps, each chain's own, the same whether host or
        device makes them, in memory that nothing writes to again. No step reads
        beyond them: there are zeros, or words and batches of later steps.
        """
        if steps > self._room.steps:
            raise ValueError(f"a chunk has {self._room.steps} steps, not {steps}")
        if self._keystream is None or self._sampling is None:
            return self._on_host(start, steps)
        again = spare_words(self._sampling)
        widest = max(self._room.words_a_proposal, self._sampling.batch, again)
        if (start + steps) * widest > WORDS_PER_STREAM:
            raise ValueError(f"steps to {start + steps} are outside the tape")
        return _on_device(
            self._keystream, self._source, start, self._room, self._sampling
        )

    def _on_host(self, start: int, steps: int) -> Inputs:
        room, chains, words_a_proposal = self._room

        def read(stream: Stream, width: int) -> np.ndarray:
            words = np.zeros((room, chains, width), np.uint64)
            for chain in range(chains):
                stretch = self._tape.words(stream, chain, start * width, steps * width)
                words[:steps, chain] = stretch.reshape(steps, width)
            return words

        batch = None
        if self._sampling is not None:
            batch = batches_on_host(
                self._source,
                self._tape,
                self._room,
                start,
                steps,
                self._sampling,
                self._first,
            )
        return Inputs(
            read(Stream.PROPOSAL, words_a_proposal), read(Stream.TEST, 1)[..., 0], batch
        )


@partial(jax.jit, static_argnames=("room", "sampling"))
def _on_device(
    keystream: Keystream, source: Opened, start: Any, room: Room, sampling: Sampling
) -> Inputs:
    steps, chains, words_a_proposal = room

    def read(stream: Stream, width: int) -> jax.Array:
        words = keystream.words(stream, chains, start * width, steps * width)
        return words.reshape(chains, steps, width).swapaxes(0, 1)

    drawn = draw_on_device(keystream, chains, start, steps, sampling)
    return Inputs(
        read(Stream.PROPOSAL, words_a_proposal),
        read(Stream.TEST, 1)[..., 0],
        jax.tree.map(lambda leaf: leaf.at[drawn].get(mode="clip"), source),
    )


def batches_on_host(
    source: Any,
    tape: Tape,
    room: Room,
    start: int,
    steps: int,
    sampling: Sampling,
    first: int | None = None,
) -> Opened:
    """Draw the batches of some steps and look up their records, on the host.

    Guarantee
    ---------
    Step t of chain c holds the records of the batch that `draw_batches` draws for it,
    and nothing of any other record. Steps from there to the end of the room hold zeros.
    If ``source`` is a part of the records, from record ``first`` on, those of the batch
    that are in it are present, and no others.
    """
    count = len(jax.tree.leaves(source)[0])
    shape = (room.steps, room.chains, sampling.batch)
    found = jax.tree.map(
        lambda leaf: in_memory((*shape, *leaf.shape[1:]), leaf.dtype), source
    )
    rows = max(1, _DRAWS_AT_ONCE // sampling.batch)

    def fill(place: tuple[int, int]) -> None:
        chain, row = place
        some = min(rows, steps - row)
        drawn = draw_batches(tape, chain, start + row, some, sampling)
        part = np.s_[row : row + some, chain]
        if first is None:
            jax.tree.map(partial(_look_up, drawn, part), source, found)
            return
        drawn = drawn - first
        jax.tree.map(partial(_look_up, drawn, part), source, found)
        found.present[part] &= (drawn >= 0) & (drawn < count)

    places = product(range(room.chains), range(0, steps, rows))
    with ThreadPoolExecutor(_THREADS) as pool:
        deque(pool.map(fill, places), maxlen=0)
    return found


def _look_up(
    drawn: np.ndarray, part: tuple[slice, int], source: np.ndarray, found: np.ndarray
) -> None:
    """Copy the drawn records to their part of what was found."""
    # Drawn numbers are in range, or not this process's; this mode copies without a
    # buffer, and never looks elsewhere.
    np.take(source, drawn, axis=0, out=found[part], mode="clip")
