# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The loop around the boundary: check a run, advance it in chunks, collect draws."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from dp_accounting.dp_event import DpEvent, NonPrivateDpEvent

from dpmcmc.advance import advance
from dpmcmc.custody import NOBODY, Custody
from dpmcmc.errors import InputError, require_count
from dpmcmc.model.model import Model, check_model, names_of
from dpmcmc.model.tracing import is_double, shape_of_result, shapes_of, show_shapes
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.posterior.statement import Statement
from dpmcmc.private import Records, Released, Tape, Test
from dpmcmc.proposals import Mover, Proposal
from dpmcmc.run import Precision, Run

__all__ = [
    "chain_precision",
    "prepare",
    "run_chains",
    "with_start",
]

_PROVEN_PLATFORMS = frozenset({"cpu", "gpu", "cuda", "rocm"})
"""Where exp and the normal cdf are as accurate as the proofs ask (docs/proofs/laws)."""

_RECORDS_A_CHUNK = 5e7
"""Records evaluated between two moves of the bar: some tenths of a second."""

_BYTES_A_CHUNK = 2**26
"""Memory for the batches of a chunk; three chunks are held at a time."""


def prepare(
    model: Model,
    records: Records,
    proposal: Proposal,
    chains: int,
    steps: int | None,
    warmup: int | None,
    dtype: Precision,
    devices: Sequence[jax.Device] | None,
    chunk: int | None,
    test: Test,
) -> Run:
    """Check every setting, from shapes alone; no record is read.

    ``test`` says how many records a step reads, and how many steps there can be.
    """
    chains = require_count("chains", chains, "One chain makes most of a budget.")
    steps = require_count("steps", steps, "Give the number of steps of each chain.")
    warmup = steps // 4 if warmup is None else warmup
    warmup = require_count("warmup", warmup, "Give 0 to keep every step.", least=0)
    if warmup >= steps:
        raise InputError(
            f"warmup is {warmup}, but there are {steps} steps; it must be below them. "
            "Choose a shorter warm-up, or 0 to keep every step."
        )
    if steps > test.most_steps():
        raise InputError(
            f"there are {steps:,} steps; the tape has words for {test.most_steps():,} "
            "of this test. Run fewer steps, or a smaller batch."
        )
    chunk = require_count(
        "chunk",
        _fitting_chunk(records, chains, test) if chunk is None else chunk,
        "Give None for a fitting one.",
    )
    with jax.enable_x64(dtype == "float64"):
        start = _start(model, dtype)
        check_model(model, start, records.shape_of_one(dtype))
        mover = _mover(proposal, start, warmup)
        _names(_shown(model, start))
        points = jax.tree.map(lambda leaf: jnp.stack([leaf] * chains), start)
    return Run(
        model,
        records,
        proposal,
        mover,
        points,
        dtype,
        chains,
        steps,
        warmup,
        # Whole chunks, even for fewer steps: other steps then compile nothing new.
        chunk if test.holds() == 0 else min(chunk, steps),
        _devices(devices),
        repr(model.initial),
    )


def with_start(run: Run, points: Any, proposal: Proposal) -> Run:
    """The same run from other points, with a proposal fitted there."""
    first = jax.tree.map(lambda leaf: leaf[0], points)
    with jax.enable_x64(run.dtype == "float64"):
        mover = _mover(proposal, first, run.warmup)
    origin = repr(jax.tree.map(lambda leaf: np.asarray(leaf).tolist(), points))
    return replace(run, points=points, proposal=proposal, mover=mover, origin=origin)


def run_chains(
    run: Run,
    test: Test,
    tape: Tape,
    statement: Statement,
    progress: bool,
    spread: Callable[[np.ndarray], np.ndarray] | None = None,
    *,
    bit: DpEvent | None = None,
    custody: Custody = NOBODY,
) -> Posterior:
    """Run the chains of a checked run, and put their draws with the statement.

    ``spread`` moves draws, given by their coordinates, by as much as noise in what
    was released before may have moved the posterior. ``bit`` is what a step of a
    chain costs, and ``custody`` is who is charged with it.
    """
    label = "Sampling" if statement.is_private else "Sampling (NOT PRIVATE)"
    released = advance(
        run,
        test,
        tape,
        bit=NonPrivateDpEvent() if bit is None else bit,
        custody=custody,
        label=label,
        progress=progress,
    )
    made = sum(len(rows.accepted) for rows in released)
    if made == 0:
        raise InputError(
            "every step of this run was paid for, and none was kept: it was broken "
            "off too early. Nothing is left to go on from; begin another run."
        )
    if made < run.steps:
        note = (
            f"{made:,} of {run.steps:,} steps were kept; the run was broken off. The "
            "cost stated is that of all of them."
        )
        statement = replace(statement, notes=(*statement.notes, note))
        run = replace(run, warmup=min(run.warmup, made // 2))
    return _posterior(run, released, statement, spread)


def _posterior(
    run: Run,
    released: list[Released],
    statement: Statement,
    spread: Callable[[np.ndarray], np.ndarray] | None,
) -> Posterior:
    joined = jax.tree.map(
        lambda *parts: np.concatenate(parts).swapaxes(0, 1), *released
    )
    draws = _draws(run, joined.theta)
    noise_aware = None
    if spread is not None:
        kept = jax.tree.map(lambda leaf: leaf[:, run.warmup :], joined.theta)
        noise_aware = _draws(run, _moved(kept, spread))
    return Posterior(
        draws={name: values[:, run.warmup :] for name, values in draws.items()},
        accepted=joined.accepted[:, run.warmup :],
        warmup_draws={name: values[:, : run.warmup] for name, values in draws.items()},
        warmup_accepted=joined.accepted[:, : run.warmup],
        statement=statement,
        settings=_settings(run),
        noise_aware=noise_aware,
        labels=dict(run.model.labels),
    )


def _draws(run: Run, theta: Any) -> dict[str, np.ndarray]:
    """Draws by name, as they are shown, from points of shape (chains, draws, …)."""
    with jax.enable_x64(run.dtype == "float64"):
        shown = jax.device_get(_show(run.model, theta))
    names = _names(jax.tree.map(lambda leaf: leaf[0, 0], shown))
    return dict(zip(names, jax.tree.leaves(shown), strict=True))


def _moved(theta: Any, spread: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Points moved by their coordinates, which are all continuous."""
    leaves, structure = jax.tree.flatten(theta)
    shape = leaves[0].shape[:2]
    flat = np.concatenate([leaf.reshape(*shape, -1) for leaf in leaves], axis=-1)
    ends = np.cumsum([leaf[0, 0].size for leaf in leaves])[:-1]
    parts = np.split(spread(flat.astype(np.float64)), ends, axis=-1)
    return jax.tree.unflatten(
        structure,
        [
            part.reshape(leaf.shape).astype(leaf.dtype)
            for part, leaf in zip(parts, leaves, strict=True)
        ],
    )


def _shown(model: Model, theta: Any) -> Any:
    """What a draw is shown as: θ, unless the model has a transform."""
    return theta if model.transform is None else model.transform(theta)


def _show(model: Model, theta: Any) -> Any:
    """Show all draws, of shape (chains, draws, …)."""
    if model.transform is None:
        return theta
    return jax.jit(jax.vmap(jax.vmap(model.transform)))(theta)


def _settings(run: Run) -> dict[str, str]:
    return {
        "proposal": repr(run.proposal),
        "start": run.origin,
        "warmup": str(run.warmup),
        "precision": run.dtype,
        "jax": version("jax"),
    }


def _names(theta: Any) -> list[str]:
    """Name each parameter by its place in θ, if ArviZ can be given the names."""
    names = names_of(theta)
    axes = {
        f"{name}_dim_{axis}"
        for name, leaf in zip(names, jax.tree.leaves(theta), strict=True)
        for axis in range(np.ndim(leaf))
    }
    for name in names:
        taken = name in {"chain", "draw", *axes} or names.count(name) > 1
        if taken or "/" in name:
            raise InputError(
                f"a parameter of θ is named {name!r}; names must differ from each "
                "other, from 'chain', 'draw' and ArviZ's names of axes, such as "
                "'x_dim_0', and hold no '/'. Rename it."
            )
    return names


def _start(model: Model, dtype: str) -> Any:
    """The starting point in the chain's precision, if it can be a point at all."""
    whole = np.dtype("int64" if dtype == "float64" else "int32")
    kinds = {"f": np.dtype(dtype), "i": whole, "u": whole, "b": np.dtype(bool)}
    with np.errstate(over="ignore"):
        start = jax.tree.map(
            lambda leaf: np.asarray(leaf, kinds[np.asarray(leaf).dtype.kind]),
            model.initial,
        )
    for path, leaf in jax.tree_util.tree_leaves_with_path(start):
        if leaf.size == 0 or not np.all(np.isfinite(leaf)):
            wrong = "not finite" if leaf.size else "empty"
            raise InputError(
                f"initial{jax.tree_util.keystr(path)} is {wrong} in {dtype}; it must "
                "hold finite numbers, at least one. Choose another place to start."
            )
    return jax.tree.map(jnp.asarray, start)


class _NoNoise:
    """Stands in for the tape while a proposal is checked: every number is 0.5."""

    def normals(self, count: int) -> jax.Array:
        return jnp.full(count, 0.5)

    uniforms = normals


def _mover(proposal: Proposal, start: Any, warmup: int) -> Mover:
    """Fit a proposal to θ, and refuse one whose points are not like θ.

    One that adapts and does not say until when adapts during the warm-up.
    """
    if isinstance(proposal, type) or not callable(getattr(proposal, "fit", None)):
        raise InputError(
            f"proposal is a {type(proposal).__name__}; it must be a proposal, such as "
            "dpmcmc.RandomWalk(scale=0.1)."
        )
    settle = getattr(proposal, "stopping_at", None)
    mover = (proposal if settle is None else settle(warmup)).fit(start)
    proposed, log_ratio = shape_of_result("proposal", partial(_propose, mover), start)
    if shapes_of(proposed) != shapes_of(start) or shapes_of(log_ratio) != shapes_of(
        0.0
    ):
        raise InputError(
            f"proposal suggests {show_shapes(proposed)} with a log-ratio of "
            f"{show_shapes(log_ratio)}, but θ is {show_shapes(start)}; it must suggest "
            "a point of the structure and shapes of θ, with one number as log-ratio."
        )
    return mover


def _propose(mover: Mover, theta: Any) -> tuple[Any, Any]:
    proposed, log_ratio = mover.propose(theta, _NoNoise())
    return proposed, log_ratio


def _fitting_chunk(records: Records, chains: int, test: Test) -> int:
    """Steps for which the bar moves often, and batches made ahead fit in memory."""
    one = jax.tree.leaves(records.shape_of_one("float64"))
    size = sum(leaf.size * leaf.dtype.itemsize for leaf in one)
    work = _RECORDS_A_CHUNK // (test.reads(len(records)) * chains)
    room = _BYTES_A_CHUNK // max(1, test.holds() * chains * size)
    return int(np.clip(min(work, room), 1, 2000))


def _devices(devices: Sequence[jax.Device] | None) -> tuple[jax.Device, ...]:
    chosen = jax.local_devices() if devices is None else devices
    real = isinstance(chosen, Sequence) and all(
        isinstance(device, jax.Device) for device in chosen
    )
    if not real or not chosen or len(set(chosen)) < len(chosen):
        raise InputError(
            f"devices is {devices!r}; it must be a sequence of different JAX devices, "
            "such as jax.local_devices(). Give None for all local devices."
        )
    unproven = {device.platform for device in chosen} - _PROVEN_PLATFORMS
    if unproven:
        raise InputError(
            f"devices are of the platform {', '.join(sorted(unproven))}; the guarantee "
            "rests on float64 as CPUs and GPUs compute it. Give devices of one of "
            f"{', '.join(sorted(_PROVEN_PLATFORMS))}, such as jax.devices('cpu')."
        )
    return tuple(chosen)


def chain_precision(precision: Precision | None) -> Precision:
    """The precision that was asked for, or that JAX is set to."""
    if precision is None:
        return "float64" if is_double(jnp.result_type(float)) else "float32"
    if precision not in ("float32", "float64"):
        raise InputError(
            f"precision is {precision!r}; it must be 'float32' or 'float64'. Give "
            "None to follow JAX's setting."
        )
    return precision
