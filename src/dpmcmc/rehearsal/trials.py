# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Rehearsal: the same private run on simulated records, judged as no real one may be.

Nothing here reads a sensitive record, so that it costs no privacy, and everything may
be said about it: how many records are clipped, how far the posterior is off.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.certified import Settings
from dpmcmc.errors import InputError, require_count
from dpmcmc.explicit import run_openly, run_privately
from dpmcmc.influence.choices import ModelCorrection, PlainClipping
from dpmcmc.model.model import Model
from dpmcmc.model.tracing import show_shapes
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.posterior.summary import summarise
from dpmcmc.private import Records, Tape
from dpmcmc.progress import steps_bar
from dpmcmc.proposals import Adaptive, RandomWalk, best_scale
from dpmcmc.rehearsal.results import Rehearsal, Trial
from dpmcmc.rehearsal.simulate import (
    Covariates,
    simulate_records,
    without_preparation,
)
from dpmcmc.variational import Plan, Start, fit_start

__all__ = ["Way", "rehearse", "tempered_start"]

Way = Mapping[str, Any] | Callable[[Any], Mapping[str, Any]]
"""What `sample` is to be given, or what makes it of a start."""

_REFERENCE_STEPS = 4000
_MOVES, _RECORDS_LOOKED_AT = 20, 10_000


def rehearse(
    model: Model,
    *,
    records: int,
    delta: float,
    ways: Mapping[str, Way],
    theta: Any = None,
    covariates: Covariates = None,
    shape: np.ndarray | None = None,
    fit: Plan | Start | None = None,
    repeats: int = 1,
    seed: int = 0,
    tempering: float | None = None,
    reference_steps: int = _REFERENCE_STEPS,
    progress: bool = True,
) -> Rehearsal:
    """Run several ways of private sampling on simulated records, and judge them.

    Parameters
    ----------
    model
        A model with a simulator.
    records
        How many records to simulate: as many as the sensitive ones.
    delta
        The δ of the budget.
    ways
        What to try, by name: for each, what `sample` is to be given besides the model,
        the records and δ, such as ``{"epsilon": 1.0, "clip": 0.01, "proposal": …}``; or
        a function that makes this of the start, so that a proposal can be shaped by it.
    theta
        Where to simulate: a point like θ, such as a start that was found privately.
        The model's initial point unless given.
    covariates
        Where covariates come from: a public sample of records, or a function that
        makes one from a JAX random key. Not needed where the simulator copies none.
    shape
        About the covariance of the posterior, for the reference chain's proposal;
        found on the simulated records unless given.
    fit
        A variational fit, planned for so many records, that is made on the simulated
        records first; or a start that was found on the records of this seed before.
        Every way starts there. Unless given, ways start at ``theta``, or where they
        say.
    repeats
        How many tables of records to simulate, each tried in every way.
    seed
        Makes the records and the reference repeatable; private trials are not.
    tempering
        How many records the likelihood is to count for, in every way and in the
        reference; all unless given.
    reference_steps
        Steps of each of the reference's two chains.
    progress
        Whether to show a progress bar, of runs, which names the way under trial.

    Returns
    -------
    Rehearsal
        One trial for each way and repeat; print it for a table.

    Raises
    ------
    InputError
        If the model has no simulator, or something given cannot be used.
    """
    repeats = require_count("repeats", repeats, "Give 1 for a first look.")
    if not ways:
        raise InputError(
            "there is no way to rehearse. Give at least one, such as "
            "{'plain': {'epsilon': 1.0, 'clip': 0.01, 'proposal': RandomWalk(0.1)}}."
        )
    point = model.initial if theta is None else theta
    plain = without_preparation(model)
    trials = []
    colder = "" if tempering is None else f", tempered to {tempering:g}"
    runs = repeats * (1 + len(ways))
    with steps_bar(runs, "Rehearsing", progress, "run") as bar:
        for repeat in range(repeats):
            bar.say(f"Rehearsing the reference{colder}")
            table = simulate_records(model, point, records, covariates, seed + repeat)
            width = _shape(plain, table, point) if shape is None else shape
            if tempering is not None:
                width = width * (records / tempering)
            reference = _reference(
                plain, table, point, width, seed + repeat, reference_steps, tempering
            )
            bar(1)
            start = point
            if isinstance(fit, Start):
                start = tempered_start(fit, records, tempering)
            elif fit is not None:
                bar.say("Rehearsing the start")
                fitted = fit_start(plain, Records(table), fit, Tape.fresh())
                start = tempered_start(fitted, records, tempering)
            for name, way in ways.items():
                bar.say(f"Rehearsing {name}{colder}")
                settings = dict(way(start) if callable(way) else way)
                if tempering is not None:
                    settings["tempering"] = tempering
                trials.append(
                    _try(name, plain, table, settings, delta, start, reference)
                )
                bar(1)
    return Rehearsal(records, tuple(trials), reference, tempering)


def tempered_start(start: Start, records: int, tempering: float | None) -> Start:
    """A start with the shape that the posterior has if it is tempered."""
    if tempering is None:
        return start
    return replace(start, covariance=start.covariance * (records / tempering))


def _shape(model: Model, table: Any, theta: Any) -> np.ndarray:
    """The inverse curvature of the log posterior of simulated records at ``theta``."""
    flat, unravel = ravel_pytree(theta)

    def log_posterior(point: jax.Array) -> jax.Array:
        def one(record: Any) -> jax.Array:
            return jnp.asarray(model.log_likelihood(unravel(point), record))

        return jnp.sum(jax.vmap(one)(table)) + model.log_prior(unravel(point))

    curvature = -np.asarray(jax.jit(jax.hessian(log_posterior))(flat), np.float64)
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    if not np.all(np.isfinite(values)):
        raise InputError(
            "the log posterior of simulated records has no curvature at "
            f"{show_shapes(theta)}. Give shape, about the posterior's covariance."
        )
    largest = max(float(values.max()), 1e-12)
    return (vectors / np.maximum(values, 1e-6 * largest)) @ vectors.T


def _reference(
    model: Model,
    table: Any,
    theta: Any,
    shape: np.ndarray,
    seed: int,
    steps: int,
    tempering: float | None,
) -> Posterior:
    walk = RandomWalk(best_scale(len(shape)) ** 2 * shape)
    settings = Settings(
        model,
        table,
        steps=steps,
        proposal=Adaptive(walk),
        start=theta,
        tempering=tempering,
        chains=2,
        progress=False,
    )
    return run_openly(settings, seed=seed)


def _try(
    name: str,
    model: Model,
    table: Any,
    settings: Mapping[str, Any],
    delta: float,
    start: Any,
    reference: Posterior,
) -> Trial:
    given = {"start": start, "progress": False, **settings}
    epsilon = given.pop("epsilon", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of records nobody has
        posterior = run_privately(
            Settings(model, table, **given), delta=delta, epsilon=epsilon
        )
    mine, theirs = posterior.summary(), summarise(reference.draws)
    return Trial(
        name=name,
        steps=posterior.statement.steps,
        epsilon=posterior.statement.epsilon,
        off=((mine["mean"] - theirs["mean"]) / theirs["sd"]).to_numpy(),
        sd_ratio=(mine["sd"] / theirs["sd"]).to_numpy(),
        ess=float(mine["ess_bulk"].min()),
        accepted=float(posterior.accepted.mean()),
        clipped=_clipped(model, table, posterior) if _shows_clip(settings) else None,
    )


def _shows_clip(settings: Mapping[str, Any]) -> bool:
    """Whether what is clipped is the log-likelihood ratio itself."""
    is_ratio = type(settings.get("clipping", PlainClipping())) in (
        PlainClipping,
        ModelCorrection,
    )
    return is_ratio and settings.get("control") is None


def _clipped(model: Model, table: Any, posterior: Posterior) -> float | None:
    """The share of simulated records beyond the clip, over some accepted moves."""
    clip = posterior.statement.clip
    if clip is None:
        return None
    structure = jax.tree.structure(model.initial)
    leaves = [values[0] for values in posterior.draws.values()]
    moved = np.flatnonzero(posterior.accepted[0][1:]) + 1
    if moved.size == 0:
        return None
    chosen = moved[np.linspace(0, moved.size - 1, _MOVES).astype(int)]
    rows = jax.tree.map(lambda leaf: leaf[:_RECORDS_LOOKED_AT], table)
    scale = posterior.statement.tempered / posterior.statement.records

    def beyond(before: Any, after: Any) -> jax.Array:
        def ratio(record: Any) -> jax.Array:
            old, new = (model.log_likelihood(at, record) for at in (before, after))
            return jnp.asarray(new - old)

        return jnp.mean(jnp.abs(scale * jax.vmap(ratio)(rows)) > clip)

    points = [
        jax.tree.unflatten(structure, [leaf[k] for leaf in leaves])
        for k in (chosen - 1, chosen)
    ]
    return float(np.mean(jax.jit(jax.vmap(beyond))(*points)))
