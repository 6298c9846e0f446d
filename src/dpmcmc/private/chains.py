# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Chains inside the boundary: records and caches stay here, bits and points leave.

Steps run in compiled chunks, all chains together; what a chunk returns is the released
chain, nothing else. The number of steps in a chunk and the numbers of a test are
arguments of the compiled code: a shorter chunk or another clip compiles nothing new.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from dpmcmc.model.model import Model
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.private.distributions import Reader
from dpmcmc.private.moves import (
    Inputs,
    Mover,
    Released,
    State,
    Test,
    advance,
    initial_state,
)
from dpmcmc.private.records import Opened, Records
from dpmcmc.private.tape import Stream, Tape

__all__ = ["Chains"]

_WORKERS = 2
"""Threads that read the tape and draw batches ahead, one chunk each."""


class Chains:
    """Markov chains on sealed records, advanced a chunk of steps at a time.

    Parameters
    ----------
    model, records, kernel, test, tape
        The model; the sealed records; the fitted proposal; what decides; randomness.
    start
        The starting points in the chain's precision, with a leading axis of chains.
    dtype
        The precision of priors and log-likelihoods, "float32" or "float64".
    chunk
        Most steps of a chunk.
    devices
        Where the records are spread; a test on a batch runs on the first.
    """

    def __init__(
        self,
        model: Model,
        records: Records,
        kernel: Mover,
        test: Test,
        tape: Tape,
        *,
        start: Any,
        dtype: str,
        chunk: int,
        devices: list[jax.Device],
    ) -> None:
        self._model, self._dtype, self._tape = model, dtype, tape.claim()
        self._chains = len(jax.tree.leaves(start)[0])
        # the only step of a loop would be compiled, and so rounded, in another way
        self._room, self._position = max(chunk, 2), 0
        with boundary_arithmetic():
            opened: tuple[Test, Opened | None, Opened | None] = test.unseal(
                model, records, dtype, devices
            )
            self._test, self._resident, self._source = opened
            self._words_a_proposal = _count_words(kernel, start)
            self._placement = _placement(self._resident, devices)
            theta = jax.device_put(start, self._placement)
            state = initial_state(model, self._test, dtype, self._resident, theta)
            self._keep(state, kernel)

    def advance(self, steps: int) -> Released:
        """Run ``steps`` steps of every chain and release what they decided."""
        (released,) = self.run([steps])
        return released

    def run(self, sizes: Iterable[int]) -> Iterator[Released]:
        """Advance by each of ``sizes`` in turn, and release each chunk.

        What the next chunks read is made ready on other threads meanwhile. A size
        is taken from ``sizes`` before anything is read for its chunk.

        Guarantee
        ---------
        What is released is a function of one bit of the test for each step of each
        chain, of earlier released bits, and of words of the tape that no bit uses.
        Each bit has its own word of the tape, and its own batch if the test has
        one, used once. The run time and the shapes do not depend on the records'
        values by any branch of this code.
        """
        with ThreadPoolExecutor(_WORKERS) as pool:
            ready: deque[tuple[int, Future[Inputs]]] = deque()
            for steps in sizes:
                position = self._position
                self._position += steps  # first: no word is read twice, come what may
                ready.append((steps, pool.submit(self._inputs, position, steps)))
                if len(ready) > _WORKERS:
                    yield self._run_chunk(*ready.popleft())
            while ready:
                yield self._run_chunk(*ready.popleft())

    def __reduce__(self) -> NoReturn:
        raise TypeError("chains cannot be copied or saved: they hold the records")

    def _run_chunk(self, steps: int, inputs: "Future[Inputs]") -> Released:
        with boundary_arithmetic():
            state, kernel, released = advance(
                self._model,
                self._test,
                self._dtype,
                self._resident,
                self._state,
                self._kernel,
                inputs.result(),
                steps,
            )
            self._keep(state, kernel)
            if steps == self._room:
                return released
            return jax.tree.map(lambda leaf: leaf[:steps], released)

    def _keep(self, state: State, kernel: Mover) -> None:
        """Hold the state for the next chunk, in one place.

        The compiler puts what it returns where it likes; from another place, the
        next chunk would be compiled anew.
        """
        theta, log_prior, self._kernel = jax.device_put(
            (state.theta, state.log_prior, kernel), self._placement
        )
        self._state = State(theta, log_prior, state.memory)

    def _inputs(self, start: int, steps: int) -> Inputs:
        """What steps ``start`` to ``start + steps`` read, padded to a whole chunk.

        Guarantee
        ---------
        Words and batches of these steps, each chain's own, in memory that nothing
        writes to again; and for all other steps of the chunk, zeros that no step reads.
        """

        def read(stream: Stream, width: int) -> np.ndarray:
            words = np.zeros((self._room, self._chains, width), np.uint64)
            for chain in range(self._chains):
                stretch = self._tape.words(stream, chain, start * width, steps * width)
                words[:steps, chain] = stretch.reshape(steps, width)
            return words

        def pad(leaf: np.ndarray) -> np.ndarray:
            room = [(0, self._room - steps), *[(0, 0)] * (leaf.ndim - 1)]
            return np.pad(leaf, room) if steps < self._room else leaf

        with boundary_arithmetic():
            batch = self._test.batches(
                self._source, self._tape, self._chains, start, steps
            )
            inputs = Inputs(
                read(Stream.PROPOSAL, self._words_a_proposal),
                read(Stream.TEST, 1)[..., 0],
                jax.tree.map(pad, batch),
            )
            return jax.device_put(inputs, self._placement)


def _placement(resident: Opened | None, devices: list[jax.Device]) -> Sharding:
    """Where points are: by all the records, or where a batch is computed."""
    if resident is None:
        return SingleDeviceSharding(devices[0])
    return NamedSharding(resident.present.sharding.mesh, PartitionSpec())


def _count_words(kernel: Mover, theta: Any) -> int:
    """How many words one proposal reads, found by tracing it once."""
    found = []

    def propose(point: Any, words: jax.Array) -> Any:
        found.append(Reader(words))
        return kernel.propose(point, found[0])

    point = jax.tree.map(lambda leaf: leaf[0], theta)
    # More words than a proposal reads; they are never made.
    jax.eval_shape(propose, point, jax.ShapeDtypeStruct((2**31,), jnp.uint64))
    return found[0].position
