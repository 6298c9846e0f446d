# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Advancing the chains of a run: each chunk is charged, run, and kept.

A run that was broken off goes on from the chunks that were kept. The chain is a Markov
chain, and a proposal learns from released points alone, so that nothing else of the
broken run is needed: fresh randomness takes it from its last kept point.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import jax
import numpy as np
from dp_accounting.dp_event import DpEvent, SelfComposedDpEvent

from dpmcmc.custody import Arrays, Custody, arrays_of, chunk_parts, tree_of
from dpmcmc.errors import InputError
from dpmcmc.private import Chains, Released, Tape, Test
from dpmcmc.progress import steps_bar
from dpmcmc.proposals import Mover
from dpmcmc.run import Run

__all__ = ["advance"]

_PLAN = "plan"
"""The part that says how a run is cut into chunks."""


def advance(
    run: Run,
    test: Test,
    tape: Tape,
    *,
    bit: DpEvent,
    custody: Custody,
    label: str,
    progress: bool,
) -> list[Released]:
    """Run the chunks that were never charged, and return all that were kept.

    Parameters
    ----------
    run, test, tape
        The checked run; its acceptance test; the randomness.
    bit
        What one step of one chain costs.
    custody
        Who is asked before each chunk, and keeps it.
    label, progress
        The name of the progress bar, and whether to show it.

    Returns
    -------
    list
        The released chunks in order, on the host. There are fewer than planned if a
        chunk was lost, or if the run was interrupted from the keyboard.

    Raises
    ------
    InputError
        If the run was begun with other chains, steps or chunks; no record was read.

    Guarantee
    ---------
    No record is read for a chunk before ``custody.charge`` has returned for it, and
    each chunk of the run is charged and made at most once, whoever broke it off.
    """
    run = _as_begun(run, custody)
    parts = list(chunk_parts(run.steps, run.chunk))
    released = _kept(parts, run, custody)
    left = [(part, steps) for part, steps in parts if not custody.is_charged(part)]
    if not left:
        return released
    sizes = _charged(left, bit, run.chains, custody)
    first = next(sizes)  # before the chains read the records where they start
    run = _going_on(run, released)
    chains = Chains(
        run.model,
        run.records,
        run.mover,
        test,
        tape,
        start=run.points,
        dtype=run.dtype,
        chunk=run.chunk,
        devices=list(run.devices),
    )
    with steps_bar(run.steps, label, progress) as bar:
        if done := run.steps - sum(steps for _, steps in left):
            bar(done)
        try:
            made = _collect(chains, chain([first], sizes), bar)
            for (part, _), rows in zip(left, made, strict=True):
                custody.keep(part, _arrays(rows))
                released.append(rows)
        except KeyboardInterrupt:
            # it may have come between the keeping of a chunk and the line after it
            released = _kept(parts, run, custody) or released
            if not released:
                raise
    return released


def _kept(
    parts: Sequence[tuple[str, int]], run: Run, custody: Custody
) -> list[Released]:
    """The chunks that custody has kept, in order."""
    found = [(part, steps, custody.kept(part)) for part, steps in parts]
    return [
        _chunk_of(part, kept, run, steps)
        for part, steps, kept in found
        if kept is not None
    ]


def _as_begun(run: Run, custody: Custody) -> Run:
    """The run, cut into chunks as it was when it was begun.

    How it is cut is kept before the first chunk is charged: a chunk is known by its
    number, which stands for the same steps only as long as no length changes.
    """
    now = {"chains": run.chains, "steps": run.steps, "chunk": run.chunk}
    kept = custody.kept(_PLAN)
    if kept is None:
        custody.keep(_PLAN, {name: np.array(count) for name, count in now.items()})
        return run
    before = {name: int(kept[name]) for name in now}
    if (before["chains"], before["steps"]) != (run.chains, run.steps):
        raise InputError(
            f"the run was begun with chains={before['chains']} and "
            f"steps={before['steps']}; now they are {run.chains} and {run.steps}. Give "
            "those that it was begun with, or begin another run."
        )
    return replace(run, chunk=before["chunk"])


def _charged(
    left: Sequence[tuple[str, int]], bit: DpEvent, chains: int, custody: Custody
) -> Iterator[int]:
    """The sizes of chunks, each charged before it is handed over."""
    for part, steps in left:
        custody.charge(part, SelfComposedDpEvent(bit, chains * steps))
        yield steps


def _going_on(run: Run, released: Sequence[Released]) -> Run:
    """The run as it stands after the kept chunks."""
    if not released:
        return run
    with jax.enable_x64(run.dtype == "float64"):
        points = jax.tree.map(
            lambda rows, like: jax.numpy.asarray(rows[-1], like.dtype),
            released[-1].theta,
            run.points,
        )
    return replace(run, points=points, mover=_taught(run.mover, released))


def _taught(mover: Mover, released: Sequence[Released]) -> Mover:
    """The mover, after it has learnt again what it had learnt of these chunks."""
    if not hasattr(mover, "adapt"):
        return mover

    def learn(mover: Any, row: Released) -> tuple[Any, None]:
        learnt = mover.adapt(row)
        kinds = jax.tree.map(lambda new, old: new.astype(old.dtype), learnt, mover)
        return kinds, None

    with jax.enable_x64(True):
        mover = jax.tree.map(jax.numpy.asarray, mover)
        rows = jax.tree.map(lambda *parts: np.concatenate(parts), *released)
        return jax.jit(lambda mover, rows: jax.lax.scan(learn, mover, rows)[0])(
            mover, rows
        )


def _collect(
    chains: Chains, sizes: Iterable[int], bar: Callable[[int], object]
) -> Iterator[Released]:
    """Advance chunk by chunk, moving the draws of each to the host.

    The next chunk is dispatched before the last is waited for, so that the device
    is not idle while the host copies draws and reads the tape.
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


def _arrays(rows: Released) -> Arrays:
    return {**arrays_of(rows.theta, "theta"), "accepted": np.asarray(rows.accepted)}


def _chunk_of(part: str, arrays: Arrays, run: Run, steps: int) -> Released:
    """What was kept of a chunk, if it is the chunk that is planned."""
    accepted: Any = arrays["accepted"]
    if accepted.shape != (steps, run.chains):
        raise InputError(
            f"the run was begun with other chunks: what was kept as {part} is of shape "
            f"{accepted.shape}, but {steps} steps of {run.chains} chains are planned. "
            "Give the settings that it was begun with, or begin another run."
        )
    return Released(tree_of(arrays, "theta", run.points), accepted)
