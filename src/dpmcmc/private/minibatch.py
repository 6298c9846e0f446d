# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A test on a fresh batch at every step, as a chain runs it.

It keeps nothing: it evaluates the records of the batch at both points.
"""

import math
import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.model.model import Model
from dpmcmc.private.acceptance import Move
from dpmcmc.private.batches import Sampling, draw_batches
from dpmcmc.private.decisions import BatchDecision, Evidence, minibatch_barker
from dpmcmc.private.each_record import Read, looks_of_each
from dpmcmc.private.influence import PLAIN
from dpmcmc.private.records import Opened, Records, open_on_host
from dpmcmc.private.tape import WORDS_PER_STREAM, Tape

__all__ = ["Minibatch"]

_DRAWS_AT_ONCE = 2**17
"""Records drawn and looked up at once: enough to hide the cost of each call."""

_THREADS = max(1, (os.cpu_count() or 1) // 4)
"""Threads that draw and look up for one chunk: of two chunks at a time, beside the
device's own."""

_ALIGNMENT = 64
"""Bytes at a multiple of which JAX takes memory of the host as it is."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Minibatch:
    """The paper's test on a fresh batch at every step; methods as in `FullData`."""

    decision: BatchDecision
    replacement: bool = field(default=False, metadata={"static": True})
    dtype: str = field(default="float64", metadata={"static": True})

    @property
    def batch(self) -> int:
        """How many records are drawn for a step."""
        return self.decision.batch

    @property
    def most_steps(self) -> int:
        """Half a word for each record of a batch."""
        return WORDS_PER_STREAM // self.batch

    def unseal(
        self, model: Model, records: Records, dtype: str, devices: list[jax.Device]
    ) -> tuple["Minibatch", None, Opened]:
        """Keep the records on the host: a step moves only its batch to a device."""
        del model, devices
        return replace(self, dtype=dtype), None, open_on_host(records, dtype)

    def sampling(self, source: Any) -> Sampling:
        """How batches are drawn from the records of ``source``."""
        records = len(jax.tree.leaves(source.arrays)[0])
        return Sampling(records, self.batch, self.replacement)

    def remember(self, *_: Any) -> tuple[()]:
        """Nothing: the next batch is another."""
        return ()

    def batches(
        self, source: Any, tape: Tape, chains: int, start: int, steps: int
    ) -> Opened:
        """Draw the batches of some steps and look up their records, on the host.

        Guarantee
        ---------
        Step t of chain c holds the records of the batch that `draw_batches` draws
        for it, and nothing of any other record.
        """
        shape = (steps, chains, self.batch)
        sampling = self.sampling(source)
        found = jax.tree.map(
            lambda leaf: _aligned((*shape, *leaf.shape[1:]), leaf.dtype), source
        )
        rows = max(1, _DRAWS_AT_ONCE // self.batch)

        def fill(chain: int, first: int) -> None:
            count = min(rows, steps - first)
            drawn = draw_batches(tape, chain, start + first, count, sampling)
            part = np.s_[first : first + count, chain]
            jax.tree.map(partial(_look_up, drawn, part), source, found)

        places = product(range(chains), range(0, steps, rows))
        with ThreadPoolExecutor(_THREADS) as pool:
            deque(pool.map(lambda place: fill(*place), places), maxlen=0)
        return found

    def decide(
        self, model: Model, read: Opened, memory: tuple[()], move: Move
    ) -> tuple[jax.Array, tuple[()]]:
        """Decide on the batch, evaluated at both points."""
        everyone = jnp.ones(self.batch, bool)
        evidence = Evidence(
            self._at_own_batch(model, read, move.proposed)
            - self._at_own_batch(model, read, move.current),
            everyone if read.present is None else read.present,
        )
        return minibatch_barker(evidence, move.public, move.word, self.decision), memory

    def _at_own_batch(self, model: Model, batch: Opened, theta: Any) -> jax.Array:
        """Log-likelihoods of each chain's batch at its point, as (chains, batch)."""

        def of_chain(point: Any, arrays: Any) -> Any:
            return looks_of_each(model, PLAIN, point, Read(arrays, ()), self.dtype)

        return jax.vmap(of_chain)(theta, batch.arrays)


def _aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array that a device of this machine reads where it is, without a copy."""
    size = math.prod(shape) * dtype.itemsize
    room = np.empty(size + _ALIGNMENT, np.uint8)
    first = -room.ctypes.data % _ALIGNMENT
    return room[first : first + size].view(dtype).reshape(shape)


def _look_up(
    drawn: np.ndarray, part: tuple[slice, int], source: np.ndarray, found: np.ndarray
) -> None:
    """Copy the drawn records to their part of what was found."""
    # Drawn numbers are in range; this mode copies without a buffer.
    np.take(source, drawn, axis=0, out=found[part], mode="clip")
