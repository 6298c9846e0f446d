# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Chains inside the boundary: records and caches stay here, bits and points leave.

A step proposes a point, lets the acceptance test decide on the records, and moves or
stays. Steps run in compiled chunks, all chains together; what a chunk returns is the
released chain, nothing else. The number of steps in a chunk is an argument of the
compiled code, not a part of it, so that the last, shorter chunk compiles nothing new;
and so are the numbers of a test, so that other clips compile nothing new either.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, NoReturn, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from dpmcmc.model.model import Model
from dpmcmc.model.tracing import as_float, is_double
from dpmcmc.private.acceptance import Move, Test
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.private.distributions import Counter, Reader
from dpmcmc.private.records import Opened, Records
from dpmcmc.private.tape import Stream, Tape

__all__ = ["Chains", "Released"]

_WORKERS = 2
"""Threads that read the tape and draw batches ahead, one chunk each."""


class Kernel(Protocol):
    """What proposes a point: `dpmcmc.proposals.Kernel`, known here by its method."""

    def propose(self, theta: Any, noise: Reader | Counter) -> tuple[Any, Any]:
        """Return a proposed θ and its log-density ratio."""
        ...

    # A kernel may also have a method ``adapt(released)``, which returns the kernel of
    # the next step. It is called with what a step released, and with nothing else.


class Released(NamedTuple):
    """What leaves the boundary: points after each step, and the accepted bits.

    Arrays have a leading axis of steps, then one of chains.
    """

    theta: Any
    accepted: jax.Array


class _State(NamedTuple):
    """Where the chains are, and what the test keeps of the records there."""

    theta: Any
    log_prior: jax.Array
    memory: Any


class _Inputs(NamedTuple):
    """What a chunk reads besides the state, with a leading axis of steps.

    Words of the tape for proposals (steps, chains, words) and tests (steps, chains),
    and the records of the batches if the test has any.
    """

    proposal: Any
    test: Any
    batch: Opened | None


class Chains:
    """Markov chains on sealed records, advanced a chunk of steps at a time.

    Parameters
    ----------
    model, records, kernel, test, tape
        The model; the sealed records; the fitted proposal; the acceptance test; the
        randomness.
    start
        The starting points in the chain's precision, with a leading axis of chains.
    dtype
        The precision of priors and log-likelihoods, "float32" or "float64".
    chunk
        Most steps of one call to `advance`.
    devices
        Where the records are spread; a test on a batch runs on the first.
    """

    def __init__(
        self,
        model: Model,
        records: Records,
        kernel: Kernel,
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
            self._test, self._access = test.unseal(model, records, dtype, devices)
            self._words_a_proposal = _count_words(kernel, start)
            self._placement = _placement(self._access.resident, devices)
            theta = jax.device_put(start, self._placement)
            resident = self._access.resident
            self._keep(
                _initial_state(model, self._test, dtype, resident, theta), kernel
            )

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
            ready: deque[tuple[int, Future[_Inputs]]] = deque()
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

    def _run_chunk(self, steps: int, inputs: "Future[_Inputs]") -> Released:
        with boundary_arithmetic():
            state, kernel, released = _advance(
                self._model,
                self._test,
                self._dtype,
                self._access.resident,
                self._state,
                self._kernel,
                inputs.result(),
                steps,
            )
            self._keep(state, kernel)
            if steps == self._room:
                return released
            return jax.tree.map(lambda leaf: leaf[:steps], released)

    def _keep(self, state: _State, kernel: Kernel) -> None:
        """Hold the state for the next chunk, in one place.

        The compiler puts what it returns where it likes; from another place, the
        next chunk would be compiled anew.
        """
        theta, log_prior, self._kernel = jax.device_put(
            (state.theta, state.log_prior, kernel), self._placement
        )
        self._state = _State(theta, log_prior, state.memory)

    def _inputs(self, start: int, steps: int) -> _Inputs:
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
                self._access.source, self._tape, self._chains, start, steps
            )
            inputs = _Inputs(
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


def _count_words(kernel: Kernel, theta: Any) -> int:
    """How many words one proposal reads, found by tracing it once."""
    counter = Counter()
    point = jax.tree.map(lambda leaf: leaf[0], theta)
    jax.eval_shape(lambda point: kernel.propose(point, counter), point)
    return counter.count


@partial(jax.jit, static_argnames=("model", "dtype"))
def _initial_state(
    model: Model, test: Test, dtype: str, resident: Opened | None, theta: Any
) -> _State:
    log_prior = jax.vmap(lambda point: _log_prior(model, point, dtype))(theta)
    return _State(theta, log_prior, test.remember(model, resident, theta))


@partial(jax.jit, static_argnames=("model", "dtype"), donate_argnames="state")
def _advance(
    model: Model,
    test: Test,
    dtype: str,
    resident: Opened | None,
    state: _State,
    kernel: Kernel,
    inputs: _Inputs,
    steps: int,
) -> tuple[_State, Kernel, Released]:
    """Run ``steps`` steps, at most as many as there are inputs.

    Guarantee
    ---------
    The kernel of a step is a function of the first kernel and of what earlier steps
    released: it is handed nothing else.
    """

    def body(
        step: int, carry: tuple[_State, Kernel, Released]
    ) -> tuple[_State, Kernel, Released]:
        state, kernel, released = carry
        now = jax.tree.map(lambda leaf: leaf[step], inputs)
        state, accepted = _step(model, test, dtype, resident, state, kernel, now)
        row = Released(state.theta, accepted)
        released = jax.tree.map(lambda all_, one: all_.at[step].set(one), released, row)
        return state, _adapted(kernel, row), released

    room = jax.tree.map(
        lambda leaf: jnp.zeros((inputs.test.shape[0], *leaf.shape), leaf.dtype),
        Released(state.theta, jnp.zeros(inputs.test.shape[1], bool)),
    )
    return jax.lax.fori_loop(0, steps, body, (state, kernel, room))


def _adapted(kernel: Kernel, row: Released) -> Kernel:
    """The kernel of the next step, if it adapts to what was released."""
    adapt = getattr(kernel, "adapt", None)
    if adapt is None:
        return kernel
    return jax.tree.map(lambda new, old: new.astype(old.dtype), adapt(row), kernel)


def _step(
    model: Model,
    test: Test,
    dtype: str,
    resident: Opened | None,
    state: _State,
    kernel: Kernel,
    inputs: _Inputs,
) -> tuple[_State, jax.Array]:
    """One proposal and one test of every chain.

    Guarantee
    ---------
    The next point of a chain, and its log prior, depend on the records through the
    chain's bit alone; the memory depends on them and is not released.
    """
    theta, log_ratio = jax.vmap(partial(_propose, kernel))(state.theta, inputs.proposal)
    log_prior = jax.vmap(lambda point: _log_prior(model, point, dtype))(theta)
    public = log_prior.astype(jnp.float64) - state.log_prior + log_ratio
    read = inputs.batch if resident is None else resident
    move = Move(state.theta, theta, public, inputs.test)
    accepted, memory = test.decide(model, read, state.memory, move)
    proposed = _State(theta, log_prior, memory)
    return _choose(accepted, proposed, state), accepted


def _propose(kernel: Kernel, theta: Any, words: jax.Array) -> tuple[Any, jax.Array]:
    """Propose a point; its log-ratio is NaN, hence refused, if it is not finite."""
    proposed, log_ratio = kernel.propose(theta, Reader(words))
    proposed = jax.tree.map(lambda new, old: new.astype(old.dtype), proposed, theta)
    finite = jnp.array([jnp.all(jnp.isfinite(x)) for x in jax.tree.leaves(proposed)])
    return proposed, jnp.where(jnp.all(finite), log_ratio, jnp.nan)


def _log_prior(model: Model, theta: Any, dtype: str) -> jax.Array:
    with jax.enable_x64(is_double(dtype)):
        return as_float(model.log_prior(theta), dtype)


def _choose(accepted: jax.Array, proposed: _State, current: _State) -> _State:
    """Take each chain's proposed state where it was accepted."""

    def pick(new: jax.Array, old: jax.Array) -> jax.Array:
        return jnp.where(accepted.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    return jax.tree.map(pick, proposed, current)
