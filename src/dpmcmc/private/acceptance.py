# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Acceptance tests as a chain runs them: what they read of the records, and when.

A test on all records keeps what each record shows at the current point (its
log-likelihood), so that a step looks at each record once. A test on a batch keeps
nothing: it evaluates the records of a fresh batch at both points.
"""

import math
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple, Protocol, Self

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.model.model import Model
from dpmcmc.model.tracing import is_double
from dpmcmc.private.batches import Sampling, draw_batches
from dpmcmc.private.corrected import (
    BatchDecision,
    CorrectedNoise,
    gaussian_barker,
    minibatch_barker,
)
from dpmcmc.private.decisions import Decision, Evidence, barker
from dpmcmc.private.influence import PLAIN, Influence
from dpmcmc.private.ratios import Grid
from dpmcmc.private.records import Opened, Records, open_on_host, open_records
from dpmcmc.private.tape import WORDS_PER_STREAM, Tape

_DRAWS_AT_ONCE = 2**18
"""Records drawn and looked up at once: enough to hide the cost of each call."""

_ALIGNMENT = 64
"""Bytes at a multiple of which JAX takes an array of the host's memory as it is."""

__all__ = ["Access", "FullData", "Minibatch", "Move", "Test"]


class Access(NamedTuple):
    """How a test reaches the records: all on the devices, or batches from the host."""

    resident: Opened | None
    source: Opened | None


class Read(NamedTuple):
    """Records, and what is worked out of each of them once."""

    records: Any
    extras: Any


class Move(NamedTuple):
    """A proposed move of every chain, and the word that decides on it."""

    current: Any
    proposed: Any
    public: jax.Array
    word: jax.Array


class Test(Protocol):
    """What a chain asks of an acceptance test: a frozen dataclass that is a pytree.

    Its numbers are arguments of compiled code, so that one program serves all clips.
    """

    def reads(self, records: int) -> int:
        """How many records a step evaluates, of how many there are."""
        ...

    def holds(self) -> int:
        """How many records are looked up ahead for a step of a chain."""
        ...

    def most_steps(self) -> int:
        """How many steps of a chain the tape has words for."""
        ...

    def unseal(
        self, model: Model, records: Records, dtype: str, devices: list[jax.Device]
    ) -> tuple[Self, Access]:
        """Open the records as the test reads them, and return the test ready.

        ``dtype`` is the precision of log-likelihoods, "float32" or "float64".
        """
        ...

    def remember(self, model: Model, resident: Opened | None, theta: Any) -> Any:
        """Make what the test keeps of the records at ``theta``; never released."""
        ...

    def batches(
        self, source: Opened | None, tape: Tape, chains: int, start: int, steps: int
    ) -> Opened | None:
        """Records of the batches of some steps, on the host, or None."""
        ...

    def decide(
        self, model: Model, read: Any, memory: Any, move: Move
    ) -> tuple[jax.Array, Any]:
        """Return each chain's bit, and what to keep where it is accepted."""
        ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FullData:
    """A test on all records: Barker's, or with normal noise and a correction."""

    grid: Grid
    noise: CorrectedNoise | None = field(default=None, metadata={"static": True})
    influence: Influence = PLAIN
    block: int = field(default=1, metadata={"static": True})
    dtype: str = field(default="float64", metadata={"static": True})

    def reads(self, records: int) -> int:
        """How many records a step reads: all."""
        return records

    def holds(self) -> int:
        """None: the records are on the devices."""
        return 0

    def most_steps(self) -> int:
        """One word a step."""
        return WORDS_PER_STREAM

    def unseal(
        self, model: Model, records: Records, dtype: str, devices: list[jax.Device]
    ) -> tuple["FullData", Access]:
        """Spread the records over the devices, with what is worked out of each once."""
        opened, block = open_records(records, dtype, devices)
        extras = _extras(model, self.influence, opened.arrays, dtype)
        read = Opened(Read(opened.arrays, extras), opened.present)
        return replace(self, block=block, dtype=dtype), Access(read, None)

    def remember(self, model: Model, resident: Any, theta: Any) -> Any:
        """What each record shows at each chain's point."""
        return self._at_points(model, resident, theta)

    def batches(self, *_: Any) -> None:
        """Every record is read at every step: there is no batch."""

    def decide(
        self, model: Model, read: Opened, memory: Any, move: Move
    ) -> tuple[jax.Array, Any]:
        """Decide on all records, looked at from the proposed point alone."""
        proposed = self._at_points(model, read, move.proposed)
        ratios = jax.vmap(
            lambda old, new: _ratios(self.influence, old, new, read.arrays)
        )(memory, proposed)
        evidence = Evidence(ratios, read.present)
        public = move.public + self._public(model, move)
        decision = Decision(self.grid, self.block)
        if self.noise is None:
            return barker(evidence, public, move.word, decision), proposed
        bit = gaussian_barker(evidence, public, move.word, decision, self.noise)
        return bit, proposed

    def _at_points(self, model: Model, opened: Opened, theta: Any) -> Any:
        """What every record shows at every chain's point: (chains, records, …)."""
        return jax.vmap(
            lambda point: _looks(
                model, self.influence, point, opened.arrays, self.dtype
            )
        )(theta)

    def _public(self, model: Model, move: Move) -> jax.Array:
        """The public part that goes with the influence, for each chain."""

        def of_chain(current: Any, proposed: Any) -> jax.Array:
            with jax.enable_x64(is_double(self.dtype)):
                return jnp.asarray(self.influence.public(model, current, proposed))

        part = jax.vmap(of_chain)(move.current, move.proposed)
        return part.astype(jnp.float64)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Minibatch:
    """The paper's test on a fresh batch at every step."""

    decision: BatchDecision
    replacement: bool = field(default=False, metadata={"static": True})
    dtype: str = field(default="float64", metadata={"static": True})

    def reads(self, records: int) -> int:
        """How many records a step reads: its batch, at two points."""
        return 2 * min(self.decision.batch, records)

    def holds(self) -> int:
        """The batch."""
        return self.decision.batch

    def most_steps(self) -> int:
        """Half a word for each record of a batch."""
        return WORDS_PER_STREAM // self.decision.batch

    def unseal(
        self, model: Model, records: Records, dtype: str, devices: list[jax.Device]
    ) -> tuple["Minibatch", Access]:
        """Keep the records on the host: a step moves only its batch to a device."""
        del model, devices
        ready = replace(self, dtype=dtype)
        return ready, Access(None, open_on_host(records, dtype))

    def remember(self, *_: Any) -> tuple[()]:
        """Nothing: the next batch is another."""
        return ()

    def batches(
        self, source: Any, tape: Tape, chains: int, start: int, steps: int
    ) -> Opened:
        """Draw the batches of some steps and look up their records.

        Guarantee
        ---------
        Step t of chain c holds the records of the batch that `draw_batches` draws
        for it, and nothing of any other record.
        """
        batch = self.decision.batch
        records = len(jax.tree.leaves(source.arrays)[0])
        sampling = Sampling(records, batch, self.replacement)
        found = jax.tree.map(
            lambda leaf: _aligned((steps, chains, batch, *leaf.shape[1:]), leaf.dtype),
            source,
        )
        rows = max(1, _DRAWS_AT_ONCE // batch)
        for chain, first in product(range(chains), range(0, steps, rows)):
            count = min(rows, steps - first)
            drawn = draw_batches(tape, chain, start + first, count, sampling)
            part = np.s_[first : first + count, chain]
            jax.tree.map(partial(_look_up, drawn, part), source, found)
        return found

    def decide(
        self, model: Model, read: Opened, memory: tuple[()], move: Move
    ) -> tuple[jax.Array, tuple[()]]:
        """Decide on the batch, evaluated at both points."""
        everyone = jnp.ones(self.decision.batch, bool)
        evidence = Evidence(
            _at_own_batch(model, read, move.proposed, self.dtype)
            - _at_own_batch(model, read, move.current, self.dtype),
            everyone if read.present is None else read.present,
        )
        return minibatch_barker(evidence, move.public, move.word, self.decision), memory


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
    place = found[part]
    # Drawn numbers are in range; this mode copies without a buffer.
    if place.flags.c_contiguous:
        np.take(source, drawn, axis=0, out=place, mode="clip")
    else:
        place[...] = np.take(source, drawn, axis=0, mode="clip")


def _at_own_batch(model: Model, batch: Opened, theta: Any, dtype: str) -> jax.Array:
    """Log-likelihoods of each chain's own batch at its point, as (chains, batch)."""
    return jax.vmap(
        lambda point, arrays: _looks(model, PLAIN, point, Read(arrays, ()), dtype)
    )(theta, batch.arrays)


@partial(jax.jit, static_argnames=("model", "dtype"))
def _extras(model: Model, influence: Influence, arrays: Any, dtype: str) -> Any:
    """What is worked out of each record once.

    Guarantee
    ---------
    Entry i is a function of record i and of public numbers.
    """

    def one(record: Any) -> Any:
        with jax.enable_x64(is_double(dtype)):
            return influence.extras(model, record)

    return jax.vmap(one)(arrays)


def _looks(
    model: Model, influence: Influence, point: Any, read: Read, dtype: str
) -> Any:
    """What each record shows at one point.

    Guarantee
    ---------
    Entry i is a function of the point and of record i: the preparation, the
    influence and the user's function see one record at a time, under vmap with no
    named axis.
    """

    def one(record: Any, extras: Any) -> Any:
        with jax.enable_x64(is_double(dtype)):
            return influence.look(model, point, record, extras, dtype)

    return jax.vmap(one)(read.records, read.extras)


def _ratios(influence: Influence, current: Any, proposed: Any, read: Read) -> jax.Array:
    """One number of each record on one chain's move.

    Guarantee
    ---------
    Entry i is a function of record i, of what it shows at the two points, and of
    public numbers.
    """
    return jax.vmap(influence.ratio)(current, proposed, read.records, read.extras)
