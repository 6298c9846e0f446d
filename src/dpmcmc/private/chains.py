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
from functools import partial
from typing import Any, NoReturn

import jax
import jax.numpy as jnp

from dpmcmc import processes
from dpmcmc.model.model import Model
from dpmcmc.private.acceptance import FullData
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.private.distributions import Reader
from dpmcmc.private.moves import (
    UNROLLED,
    Inputs,
    Released,
    State,
    Test,
    advance,
    initial_state,
)
from dpmcmc.private.opening import Opened, open_blocks
from dpmcmc.private.placing import everywhere, placed, placement, spread_batches
from dpmcmc.private.proposing import Mover
from dpmcmc.private.records import Records
from dpmcmc.private.streamed_steps import Stream, advance_streamed
from dpmcmc.private.supply import Room, Supply
from dpmcmc.private.tape import Tape

__all__ = ["Chains"]

_WORKERS = 2
"""Threads that read the tape and draw batches ahead, one chunk each."""

_BUSY = 2**24
"""Records from which on one chain keeps an accelerator busy."""


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
        self._model, self._dtype = model, dtype
        tape = tape.claim(everywhere=records.sizes is not None)
        if records.sizes is not None:
            start, kernel, test = processes.agreed((start, kernel, test))
        chains = len(jax.tree.leaves(start)[0])
        resident = 0 if records.streamed else len(records)  # a pass serves all chains
        self._groups = _groups(chains, resident, kernel, test, devices[0])
        # Two turns at least: without a loop, steps may be compiled to round otherwise.
        self._whole = test.batch is not None and devices[0].platform != "cpu"
        turn = UNROLLED if self._whole else 1
        self._room, self._position = max(2, -(-chunk // turn)) * turn, 0
        with boundary_arithmetic():
            opened: tuple[Test, Opened | None, Opened | None] = test.unseal(
                model, records, dtype, devices
            )
            self._test, self._resident, source = opened
            room = Room(self._room, chains, _count_words(kernel, start))
            self._supply = Supply(tape, self._test, source, room, devices[0])
            self._stream: Stream | None = None
            self._placement = placement(self._resident, devices)
            if records.streamed and test.batch is None:
                self._placement = everywhere(devices)
                blocks = partial(open_blocks, records, dtype, devices)
                self._stream = Stream(blocks, self._placement)
            self._kernel = placed(kernel, self._placement)
            self._states = [self._initial(start, group) for group in self._groups]

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
        one, used once. The run time and the shapes depend on the records' values by
        no branch of this code but on released bits.
        """
        with ThreadPoolExecutor(_WORKERS) as pool:
            ready: deque[tuple[int, Future[list[Inputs]]]] = deque()
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

    def _run_chunk(self, steps: int, inputs: "Future[list[Inputs]]") -> Released:
        with boundary_arithmetic():
            parts = []
            for group, read in enumerate(inputs.result()):
                state, kernel, released = self._advance(group, read, steps)
                self._states[group] = self._placed(state)
                self._kernel = placed(kernel, self._placement)
                parts.append(placed(released, self._placement))
            if steps < self._room and self._stream is None:
                parts = jax.tree.map(lambda leaf: leaf[:steps], parts)
            if len(parts) == 1:
                return parts[0]
            return _joined(parts)

    def _advance(self, group: int, read: Inputs, steps: int) -> Any:
        model, test, dtype = self._model, self._test, self._dtype
        rest: Any = self._states[group], self._kernel, read, steps
        if self._stream is not None and isinstance(test, FullData):
            return advance_streamed(model, test, dtype, self._stream, *rest)
        return advance(model, test, dtype, self._resident, *rest, self._whole)

    def _initial(self, start: Any, group: slice) -> State:
        """The state of a group of chains where they start."""
        points = jax.tree.map(lambda leaf: leaf[group], start)
        theta = placed(points, self._placement)
        given = self._model, self._test, self._dtype, self._resident, theta
        return self._placed(initial_state(*given))

    def _placed(self, state: State) -> State:
        """A state in one place.

        The compiler puts what it returns where it likes; from another place, the
        next chunk would be compiled anew.
        """
        theta, log_prior, turn = placed(state[:3], self._placement)
        return State(theta, log_prior, turn, state.memory)

    def _inputs(self, start: int, steps: int) -> list[Inputs]:
        """What steps ``start`` to ``start + steps`` of each group of chains read."""
        with boundary_arithmetic():
            inputs = self._supply.inputs(start, steps)
            parts = [inputs]
            if len(self._groups) > 1:
                parts = [
                    jax.tree.map(lambda leaf, group=group: leaf[:, group], inputs)
                    for group in self._groups
                ]
            return [self._put(part) for part in parts]

    def _put(self, inputs: Inputs) -> Inputs:
        proposal, test = placed(inputs[:2], self._placement)
        return Inputs(proposal, test, spread_batches(inputs.batch, self._placement))


def _groups(
    chains: int, records: int, kernel: Mover, test: Test, device: jax.Device
) -> list[slice]:
    """The chains that take a step together.

    That is all, unless one step of one chain on all records keeps an accelerator busy:
    then each goes by itself, with caches that need no copy. Kernels that adapt learn
    from all chains at once.
    """
    alone = device.platform != "cpu" and test.batch is None and records >= _BUSY
    if hasattr(kernel, "adapt") or not alone:
        return [slice(0, chains)]
    return [slice(chain, chain + 1) for chain in range(chains)]


@jax.jit
def _joined(parts: list[Released]) -> Released:
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves, axis=1), *parts)


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
