# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The loop around the boundary: check a run, advance it in chunks, collect draws."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError, require_count
from dpmcmc.model import Model, check_model
from dpmcmc.posterior import Posterior
from dpmcmc.private import Chains, Grid, Records, Released, Tape
from dpmcmc.progress import steps_bar
from dpmcmc.proposals import Mover, Proposal
from dpmcmc.statement import Statement

__all__ = ["Precision", "Run", "prepare", "run_chains"]

Precision = Literal["float32", "float64"]

_RECORDS_A_CHUNK = 5e7
"""Records evaluated between two moves of the bar: some tenths of a second."""


@dataclass(frozen=True)
class Run:
    """A run whose every setting has been checked; made by `prepare`."""

    model: Model
    records: Records
    proposal: Proposal
    mover: Mover
    start: Any
    chains: int
    steps: int
    warmup: int
    chunk: int
    devices: tuple[jax.Device, ...]


def prepare(
    model: Model,
    records: Records,
    proposal: Proposal,
    chains: int,
    steps: int | None,
    warmup: int | None,
    precision: Precision | None,
    devices: Sequence[jax.Device] | None,
    chunk: int | None,
) -> Run:
    """Check every setting, from shapes alone; no record is read."""
    chains = require_count("chains", chains, "One chain makes most of a budget.")
    steps = require_count("steps", steps, "Give the number of steps of each chain.")
    warmup = steps // 4 if warmup is None else warmup
    warmup = require_count("warmup", warmup, "Give 0 to keep every step.", least=0)
    if warmup >= steps:
        raise InputError(
            f"warmup is {warmup}, but there are {steps} steps; it must be below them. "
            "Choose a shorter warm-up, or 0 to keep every step."
        )
    work = len(records) * chains
    default_chunk = int(np.clip(_RECORDS_A_CHUNK // work, 1, 1000))
    chunk = require_count("chunk", default_chunk if chunk is None else chunk, "")
    dtype = _dtype(precision)
    if not isinstance(model, Model):
        raise InputError(
            f"model is a {type(model).__name__}; it must be a dpmcmc.Model. Make one "
            "from a log-likelihood of one record, a prior, and a place to start."
        )
    with jax.enable_x64(dtype == "float64"):
        start = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), model.initial)
        check_model(model, start, records.shape_of_one(dtype))
        mover = proposal.fit(start)
    _names(start)
    return Run(
        model,
        records,
        proposal,
        mover,
        start,
        chains,
        steps,
        warmup,
        min(chunk, steps),
        tuple(devices or jax.local_devices()),
    )


def run_chains(
    run: Run, grid: Grid, tape: Tape, statement: Statement, progress: bool
) -> Posterior:
    """Run the chains of a checked run, and put their draws with the statement."""
    chains = Chains(
        run.model,
        run.records,
        run.mover,
        grid,
        tape,
        start=run.start,
        chains=run.chains,
        chunk=run.chunk,
        devices=list(run.devices),
    )
    label = "Sampling" if statement.is_private else "Sampling (NOT PRIVATE)"
    with steps_bar(run.steps, label, progress) as bar:
        released = list(_collect(chains, run, bar))
    return _posterior(run, released, statement)


def _collect(
    chains: Chains, run: Run, bar: Callable[[int], object]
) -> Iterator[Released]:
    """Advance chunk by chunk, moving the draws of each to the host.

    The next chunk is dispatched before the last is waited for, so that the device
    is not idle while the host copies draws and reads the tape.
    """
    pending: list[Released] = []
    for size in _chunks(run.steps, run.chunk):
        pending.append(chains.advance(size))
        if len(pending) > 1:
            yield _to_host(pending.pop(0), bar)
    yield _to_host(pending.pop(), bar)


def _to_host(released: Released, bar: Callable[[int], object]) -> Released:
    on_host: Released = jax.device_get(released)
    bar(len(on_host.accepted))
    return on_host


def _chunks(steps: int, chunk: int) -> Iterable[int]:
    for start in range(0, steps, chunk):
        yield min(chunk, steps - start)


def _posterior(run: Run, released: list[Released], statement: Statement) -> Posterior:
    joined = jax.tree.map(
        lambda *parts: np.concatenate(parts).swapaxes(0, 1), *released
    )
    draws = dict(zip(_names(run.start), jax.tree.leaves(joined.theta), strict=True))
    return Posterior(
        draws={name: values[:, run.warmup :] for name, values in draws.items()},
        accepted=joined.accepted[:, run.warmup :],
        warmup_draws={name: values[:, : run.warmup] for name, values in draws.items()},
        warmup_accepted=joined.accepted[:, : run.warmup],
        statement=statement,
        settings=_settings(run),
    )


def _settings(run: Run) -> Mapping[str, str]:
    dtype = jnp.result_type(*jax.tree.leaves(run.start))
    return MappingProxyType(
        {
            "test": "Barker, all records",
            "proposal": repr(run.proposal),
            "start": repr(run.model.initial),
            "warmup": str(run.warmup),
            "precision": str(dtype),
            "jax": version("jax"),
        }
    )


def _names(theta: Any) -> list[str]:
    """Name each parameter by its place in θ."""
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(theta)]
    names = [
        jax.tree_util.keystr(path, simple=True, separator=".") or "theta"
        for path in paths
    ]
    for name in names:
        if name in {"chain", "draw"} or "/" in name or names.count(name) > 1:
            raise InputError(
                f"a parameter of θ is named {name!r}; names must differ from each "
                "other, from 'chain' and 'draw', and hold no '/'. Rename it."
            )
    return names


def _dtype(precision: Precision | None) -> str:
    if precision is None:
        return str(jnp.result_type(float))
    if precision not in ("float32", "float64"):
        raise InputError(
            f"precision is {precision!r}; it must be 'float32' or 'float64'."
        )
    return precision
