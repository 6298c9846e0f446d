# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The stage of accept/reject decisions: chains, advanced and charged in chunks.

A chain that was interrupted goes on from the chunks that were kept. It is a Markov
chain, and a proposal adapts to released points alone, so that nothing else is needed:
fresh randomness takes it on from its last kept point.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain as joined
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.accounting import Event
from dpmcmc.errors import InputError
from dpmcmc.model.tracing import is_double
from dpmcmc.posterior.statement import StageSummary
from dpmcmc.private import Chains, FullData, Grid, Records, Released, Test
from dpmcmc.progress import steps_bar
from dpmcmc.proposals import Kernel, Proposal
from dpmcmc.proposals.fitting import fit_proposal
from dpmcmc.sampling.problem import Problem
from dpmcmc.sampling.stages import Charge, Charged, Context, Events, Part, SoFar

__all__ = [
    "PUBLIC",
    "READS_NOTHING",
    "Chain",
    "ChainSetup",
    "Lengths",
    "chain_lengths",
    "fitted",
    "released_points",
    "repeated",
]

_RECORDS_A_CHUNK = 5e7
"""Records evaluated between two moves of the bar: some tenths of a second."""

_BYTES_A_CHUNK = 2**26
"""Memory for the batches of a chunk; three chunks are held at a time."""

_ON_ACCELERATOR = 100, 8
"""How many times as many records, and as much memory, on an accelerator."""

_FEWEST_CHUNKS = 50
"""So that an interruption loses few steps: the chunks that are under way."""

_LONGEST_CHUNK = 2000


PUBLIC = Records(np.zeros(1))
READS_NOTHING = FullData(Grid(1e-9))
"""The records and the test of chains that read none: a clip has nothing to clip."""


class Lengths(NamedTuple):
    """How many chains there are, and the steps of each, warm-up included."""

    chains: int
    steps: int
    warmup: int


class ChainSetup(NamedTuple):
    """What a chain runs with, once earlier stages have been released.

    Attributes
    ----------
    problem
        The model and records that decide.
    points
        Where the chains start, with a leading axis of chains.
    proposal
        How they propose.
    test
        How a step is decided.
    steps
        Other than planned, where no record is read; 0 if as planned.
    """

    problem: Problem
    points: Any
    proposal: Proposal
    test: Test
    steps: int = 0


@dataclass(frozen=True, eq=False)
class Chain:
    """Chains of accept/reject decisions on the records.

    Attributes
    ----------
    lengths
        Chains, steps and warm-up.
    decision
        The event of one decision; None if decisions read no record.
    test
        The test that the decisions are made with, but for the number of a record that
        enters it: says how many records a step reads.
    setup
        What the chains run with, from what earlier stages released.
    sentence
        How a step is decided, in words.
    unread
        Why no record need be read after all, in words, by what earlier stages released;
        None if decisions read them.
    name
        The name of the stage.
    """

    lengths: Lengths
    decision: Event | None
    test: Test
    setup: Callable[[Context, SoFar], ChainSetup]
    sentence: str
    unread: Callable[[SoFar], str | None] = lambda _: None
    name: str = "chain"

    @property
    def events(self) -> Events:
        """All decisions of all chains."""
        return self._cost(self.lengths.steps)

    @property
    def is_free(self) -> bool:
        """Whether decisions read no record."""
        return self.decision is None

    def run(
        self, context: Context, so_far: SoFar, charged: Charged, charge: Charge
    ) -> Iterator[Part]:
        """Advance the chains by the steps that were never charged.

        Guarantee
        ---------
        No record is read for a chunk before ``charge`` has returned for it, and steps
        that were charged before are not made again. Nothing is charged only if the
        chains have no records but `PUBLIC`.
        """
        kept = so_far[self.name]
        done = self._steps_done(kept, charged)
        if done >= self.lengths.steps and self.unread(so_far) is None:
            return
        setup = self.setup(context, so_far)
        is_free = setup.problem.records is PUBLIC
        steps = setup.steps if is_free and setup.steps else self.lengths.steps
        if done >= steps:
            return
        first = jax.tree.map(lambda leaf: leaf[0], setup.points)
        kernel = fitted(setup.proposal, setup.problem, first, self.lengths.warmup)
        if kept:
            setup, kernel = _going_on(setup, kernel, kept)
        chunk = self._chunk(setup.problem, steps)
        begun = len(charged or kept)  # kept grows as chunks are released
        names: list[str] = []

        def sizes() -> Iterator[int]:
            """Sizes of chunks, each charged before it is handed over."""
            for number, start in enumerate(range(done, steps, chunk)):
                size = min(chunk, steps - start)
                names.append(f"chunk-{begun + number:06d}")
                if not is_free:
                    charge(names[-1], self._cost(size))
                yield size

        left = sizes()
        first = next(left)  # before the chains read the records where they start
        chains = Chains(
            setup.problem.model,
            setup.problem.records,
            kernel,
            setup.test,
            context.tape("" if self.name == "chain" else self.name),
            start=setup.points,
            dtype=setup.problem.dtype,
            chunk=chunk,
            devices=list(setup.problem.devices),
        )
        label = context.label("Sampling")
        with steps_bar(steps, label, context.progress) as bar:
            bar(done)
            collected = _collected(chains, joined([first], left), bar)
            for number, released in enumerate(collected):
                yield Part(names[number], _arrays(released))

    def describe(self, problem: Problem, so_far: SoFar) -> StageSummary:
        """How many decisions there are, and how each is made."""
        del problem
        chains, steps, _ = self.lengths
        parts = so_far.get(self.name, ())
        made = sum(len(part.arrays["accepted"]) for part in parts) if parts else steps
        steps = max(steps, made)  # more than planned where no record is read
        shape = f"{_plural(chains, 'chain')} of {_plural(made, 'step')}"
        missing = (
            f" The run was interrupted: {steps - made:,} of {steps:,} steps of each "
            "chain are missing, and the cost stated is that of all."
            if made < steps
            else ""
        )
        unread = self.unread(so_far)
        if unread is not None or self.is_free:
            words = f"{shape}; no record is read. {unread or self.sentence}"
        else:
            words = (
                f"{chains * made:,} accept/reject decisions ({shape}), each "
                f"{self.sentence}"
            )
        return StageSummary(
            self.name,
            f"{words}.{missing}",
            numbers={"chains": chains, "steps": steps, "made": made},
        )

    def objection(self, problem: Problem, so_far: SoFar) -> str | None:
        """Nothing comes after that the draws could spoil."""
        del problem, so_far
        return None

    def _cost(self, steps: int) -> Events:
        if self.decision is None:
            return {}
        return {self.decision: self.lengths.chains * steps}

    def _steps_done(self, kept: Sequence[Part], charged: Charged) -> int:
        """Steps that were charged, or were made on no records."""
        made = sum(len(part.arrays["accepted"]) for part in kept)
        decisions = sum(sum(events.values()) for events in charged.values())
        return max(made, decisions // self.lengths.chains)

    def _chunk(self, problem: Problem, steps: int) -> int:
        """Steps for which the bar moves often, and batches made ahead fit in memory."""
        chains = self.lengths.chains
        one = jax.tree.leaves(problem.records.shape_of_one("float64"))
        size = sum(leaf.size * leaf.dtype.itemsize for leaf in one)
        batch = self.test.batch
        reads = problem.size if batch is None else 2 * batch
        is_cpu = problem.devices[0].platform == "cpu"
        faster, larger = (1, 1) if is_cpu else _ON_ACCELERATOR
        work = faster * _RECORDS_A_CHUNK // (reads * chains)
        room = larger * _BYTES_A_CHUNK // max(1, (batch or 0) * chains * size)
        few = max(1, steps // _FEWEST_CHUNKS)
        return int(np.clip(min(work, room, few), 1, _LONGEST_CHUNK))


def chain_lengths(chains: int, steps: int, warmup: int | None, test: Test) -> Lengths:
    """Settle how long chains are to be.

    ``test`` says how many steps the tape has words for.
    """
    warmup = steps // 4 if warmup is None else warmup
    if warmup >= steps:
        raise InputError(
            f"warmup is {warmup}, but there are {steps} steps; it must be below them. "
            "Choose a shorter warm-up, or 0 to keep every step."
        )
    if steps > test.most_steps:
        raise InputError(
            f"there are {steps:,} steps; the tape has words for {test.most_steps:,} "
            "of this test. Run fewer steps, or a smaller batch."
        )
    return Lengths(chains, steps, warmup)


def repeated(point: Any, chains: int) -> Any:
    """One point for each chain."""
    return jax.tree.map(lambda leaf: np.stack([np.asarray(leaf)] * chains), point)


def fitted(proposal: Proposal, problem: Problem, point: Any, warmup: int) -> Kernel:
    """A proposal fitted to points like this one, in the precision of the chain.

    Raises
    ------
    InputError
        If it cannot be; a method asks before anything is spent.
    """
    with jax.enable_x64(is_double(problem.dtype)):
        return fit_proposal(proposal, point, warmup)


def _going_on(
    setup: ChainSetup, kernel: Kernel, kept: Sequence[Part]
) -> tuple[ChainSetup, Kernel]:
    """The setup as it stands after the kept chunks, the kernel adapted to them."""
    released = [_released(part, setup.points) for part in kept]
    with jax.enable_x64(is_double(setup.problem.dtype)):
        points = jax.tree.map(
            lambda rows, like: jnp.asarray(rows[-1], like.dtype),
            released[-1].theta,
            setup.points,
        )
    return setup._replace(points=points), _adapted(kernel, released)


def _adapted(kernel: Kernel, released: Sequence[Released]) -> Kernel:
    """The kernel, after it has adapted again to the chunks that were kept."""
    if not hasattr(kernel, "adapt"):
        return kernel

    def adapt(kernel: Any, row: Released) -> tuple[Any, None]:
        changed = kernel.adapt(row)
        kinds = jax.tree.map(lambda new, old: new.astype(old.dtype), changed, kernel)
        return kinds, None

    with jax.enable_x64(True):
        kernel = jax.tree.map(jnp.asarray, kernel)
        rows = jax.tree.map(lambda *parts: np.concatenate(parts), *released)
        return jax.jit(lambda kernel, rows: jax.lax.scan(adapt, kernel, rows)[0])(
            kernel, rows
        )


def _collected(
    chains: Chains, sizes: Iterable[int], bar: Callable[[int], object]
) -> Iterator[Released]:
    """Advance chunk by chunk, moving the draws of each to the host.

    The next chunk is dispatched before the last is waited for, so that the device is
    not idle while the host copies draws and reads the tape.
    """
    pending: list[Released] = []
    for released in chains.run(sizes):
        pending.append(released)
        if len(pending) > 1:
            yield _to_host(pending.pop(0), bar)
    yield _to_host(pending.pop(), bar)


def _to_host(released: Released, bar: Callable[[int], object]) -> Released:
    on_host: Released = jax.device_get(released)
    bar(len(on_host.accepted))
    return on_host


def _arrays(released: Released) -> dict[str, np.ndarray]:
    leaves = jax.tree.leaves(released.theta)
    theta = {f"theta-{place}": np.asarray(leaf) for place, leaf in enumerate(leaves)}
    return {**theta, "accepted": np.asarray(released.accepted)}


def _released(part: Part, like: Any) -> Released:
    """What a chunk released, in the structure of θ."""
    leaves, structure = jax.tree.flatten(like)
    kept = [part.arrays[f"theta-{place}"] for place in range(len(leaves))]
    return Released(jax.tree.unflatten(structure, kept), part.arrays["accepted"])


def released_points(parts: Sequence[Part], like: Any) -> Released:
    """All chunks together: points and decisions with leading axes (chains, steps)."""
    rows = [_released(part, like) for part in parts]
    return jax.tree.map(lambda *parts: np.concatenate(parts).swapaxes(0, 1), *rows)


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")
