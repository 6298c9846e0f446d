# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Rehearsal: the same private run on simulated records, judged as no real one may be.

Nothing here reads a sensitive record, so that it costs no privacy, and everything may
be said about it: how many records are clipped, how far the posterior is off.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.certified import Settings
from dpmcmc.clipping import ModelCorrection, PlainClipping
from dpmcmc.errors import InputError, require_count
from dpmcmc.explicit import run_openly, run_privately
from dpmcmc.model import Model
from dpmcmc.posterior import Posterior
from dpmcmc.private import Records, Tape
from dpmcmc.progress import steps_bar
from dpmcmc.proposals import Adaptive, RandomWalk, best_scale
from dpmcmc.rehearsal.simulate import (
    Covariates,
    simulate_records,
    without_preparation,
)
from dpmcmc.summary import summarise
from dpmcmc.tracing import show_shapes
from dpmcmc.variational import Plan, Start, fit_start

__all__ = ["Rehearsal", "Trial", "Way", "rehearse", "tempered_start"]

Way = Mapping[str, Any] | Callable[[Any], Mapping[str, Any]]
"""What `sample` is to be given, or what makes it of a start."""

_REFERENCE_STEPS = 4000
_MOVES, _RECORDS_LOOKED_AT = 20, 10_000


@dataclass(frozen=True)
class Trial:
    """How one way of running did on simulated records.

    Attributes
    ----------
    name
        What the way is called.
    steps, epsilon
        How many steps of each chain it made, and the ε that they cost.
    off
        How far its posterior means are from those of the reference, in posterior
        standard deviations, one for each coordinate of θ.
    sd_ratio
        Its posterior standard deviations over those of the reference.
    ess
        The smallest effective sample size of a coordinate.
    accepted
        The share of accepted steps.
    clipped
        The share of records whose ratio was beyond the clip, over accepted moves;
        None where the way has no clip of its own to look at.
    """

    name: str
    steps: int
    epsilon: float
    off: np.ndarray
    sd_ratio: np.ndarray
    ess: float
    accepted: float
    clipped: float | None

    @property
    def error(self) -> float:
        """One number to compare ways by: the smaller, the better.

        The root mean square of what the means are off, which holds the Monte-Carlo
        error of too few draws, plus the mean of |log| of the ratios of deviations.
        Infinite if draws were not finite, as happens where noise drowns everything.
        """
        off = float(np.sqrt(np.mean(self.off**2)))
        ratios = np.maximum(self.sd_ratio, 1e-12)
        error = off + float(np.mean(np.abs(np.log(ratios))))
        return error if np.isfinite(error) else np.inf

    @property
    def is_usable(self) -> bool:
        """Whether means are within half a deviation, and deviations within a fifth."""
        right = np.all(np.abs(self.off) <= 0.5)
        wide = np.all((self.sd_ratio >= 0.8) & (self.sd_ratio <= 1.25))
        return bool(right and wide)


@dataclass(frozen=True)
class Rehearsal:
    """Trials of several ways to run on the same simulated records.

    Attributes
    ----------
    records
        How many records were simulated.
    trials
        One for each way and repeat, in the order given.
    reference
        The posterior of the simulated records by a chain that is not private.
    """

    records: int
    trials: tuple[Trial, ...]
    reference: Posterior

    @property
    def best(self) -> str:
        """The name of the way with the smallest median error."""
        names = list(dict.fromkeys(trial.name for trial in self.trials))
        return min(names, key=lambda name: self._median(name, "error"))

    def _median(self, name: str, attribute: str) -> float:
        values = [getattr(t, attribute) for t in self.trials if t.name == name]
        return float(np.median(values))

    def __str__(self) -> str:
        header = ["", "steps", "ε", "off", "sd ratio", "ess", "accepted", "clipped"]
        rows = [_cells(trial) for trial in self.trials]
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if place == 0 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in [header, *rows]
        ]
        title = (
            f"Rehearsal on {self.records:,} simulated records; no privacy was spent."
        )
        foot = "off: largest error of a posterior mean, in posterior deviations."
        return "\n".join([title, "", *lines, "", foot])


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
        Whether to show a progress bar.

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
    with steps_bar(repeats * (1 + len(ways)), "Rehearsing", progress) as bar:
        for repeat in range(repeats):
            table = simulate_records(model, point, records, covariates, seed + repeat)
            width = _shape(plain, table, point) if shape is None else shape
            if tempering is not None:
                width = width * (records / tempering)
            reference = _reference(
                plain, table, point, width, seed + repeat, reference_steps, tempering
            )
            bar(1)
            start = point
            if fit is not None:
                fitted = (
                    fit
                    if isinstance(fit, Start)
                    else fit_start(plain, Records(table), fit, Tape.fresh())
                )
                start = tempered_start(fitted, records, tempering)
            for name, way in ways.items():
                settings = dict(way(start) if callable(way) else way)
                if tempering is not None:
                    settings["tempering"] = tempering
                trials.append(
                    _try(name, plain, table, settings, delta, start, reference)
                )
                bar(1)
    return Rehearsal(records, tuple(trials), reference)


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


def _cells(trial: Trial) -> list[str]:
    low, high = trial.sd_ratio.min(), trial.sd_ratio.max()
    return [
        trial.name,
        f"{trial.steps:,}",
        f"{trial.epsilon:.3g}",
        f"{np.abs(trial.off).max():.2f}",
        f"{low:.2f}–{high:.2f}",
        f"{trial.ess:.0f}",
        f"{trial.accepted:.0%}",
        "–" if trial.clipped is None else f"{trial.clipped:.1%}",
    ]
