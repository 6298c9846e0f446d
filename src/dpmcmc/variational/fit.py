# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A private start: check what was given, fit a normal guide, say what it cost."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.errors import InputError, require_positive
from dpmcmc.model.model import Model, check_model
from dpmcmc.model.python_function import PythonFunction
from dpmcmc.model.relevance import told_coordinates
from dpmcmc.model.tracing import (
    as_float,
    is_double,
    require_visible,
    shape_of_result,
    show_shapes,
)
from dpmcmc.private import NoisySums, Records, Tape
from dpmcmc.progress import steps_bar
from dpmcmc.variational.climb import Problem, climb
from dpmcmc.variational.guides import GuideGradient
from dpmcmc.variational.settings import Plan

__all__ = ["Start", "check_start", "fit_start"]


@dataclass(frozen=True)
class Start:
    """Where a chain may start, and how the posterior is shaped there.

    Attributes
    ----------
    mean
        The mean of the fitted normal law, as θ.
    covariance
        Its covariance, over the coordinates in the order of
        ``jax.flatten_util.ravel_pytree``.
    epsilon, delta
        What it cost by itself; ε is infinite if it was made from a seed.
    description
        What was released, in words.
    """

    mean: Any
    covariance: np.ndarray
    epsilon: float
    delta: float
    description: str


def check_start(model: Model, records: Records, plan: Plan, dtype: str) -> None:
    """Refuse a model or settings that cannot be fitted; no record is read.

    Raises
    ------
    InputError
        If θ has discrete parameters, the log-likelihood is in plain Python or its
        gradient leaves JAX, or the scale does not fit θ.
    """
    _problem(model, records, plan, None, dtype)


def fit_start(
    model: Model,
    records: Records,
    plan: Plan,
    tape: Tape,
    *,
    tempered: float | None = None,
    dtype: str = "float32",
    devices: Sequence[jax.Device] | None = None,
    progress: bool = False,
    label: str = "Finding a start",
) -> Start:
    """Fit a normal law to the posterior, from noisy sums over the records.

    With a fresh tape the result is private, at the cost of ``plan.event``. With a
    seeded one it can be made again, and is not private.

    Parameters
    ----------
    model
        The model; its θ must be continuous and its log-likelihood differentiable.
    records
        The sealed records.
    plan
        The settings and the noise, from `Variational.plan`.
    tape
        The randomness; a secret tape serves this fit alone.
    tempered
        How many records the likelihood counts for, N₀; all unless given.
    dtype
        The precision of the log-likelihood, "float32" or "float64".
    devices
        The first of them computes; JAX's first unless given.
    progress, label
        Whether to show a progress bar, and its name.

    Raises
    ------
    InputError
        If something given cannot be used; no record was read.

    Guarantee
    ---------
    The returned mean and covariance are a function of what ``plan.steps`` calls of
    `NoisySums.release` returned, with the plan's batch and noise, and of public
    numbers; so they cost ``plan.event``, and (``epsilon``, ``delta``) by
    themselves, if the tape is fresh. If it is not, ``epsilon`` is infinite.
    """
    problem = _problem(model, records, plan, tempered, dtype)
    sums = NoisySums(
        model,
        records,
        problem.gradient,
        tape,
        batch=plan.batch,
        noise_multiplier=plan.noise_multiplier,
        dtype=dtype,
        device=(devices or jax.devices())[0],
    )
    shown = label if tape.is_secret else f"{label} (NOT PRIVATE)"
    with steps_bar(plan.steps, shown, progress) as done:
        mean, covariance = climb(problem, sums, done)
    with jax.enable_x64(is_double(dtype)):
        theta = problem.gradient.unravel(jnp.asarray(mean, dtype))
    # whoever knows the seed of a tape can take the noise away again
    epsilon = plan.epsilon if tape.is_secret else math.inf
    return Start(theta, covariance, epsilon, plan.delta, plan.description)


def _problem(
    model: Model, records: Records, plan: Plan, tempered: float | None, dtype: str
) -> Problem:
    """Check everything that can be checked without a record."""
    if len(records) != plan.records:
        raise InputError(
            f"there are {len(records)} records, but the start was planned for "
            f"{plan.records}. Plan it with the number of records there are."
        )
    power = len(records) if tempered is None else tempered
    settings = plan.settings
    with jax.enable_x64(is_double(dtype)):
        theta = _continuous(model, dtype)
        record = records.shape_of_one(dtype)
        check_model(model, theta, record)
        flat, unravel = ravel_pytree(theta)
        _require_derivatives(model, theta, record)

        def log_prior(point: Any) -> jax.Array:
            return as_float(model.log_prior(point), dtype)

        return Problem(
            gradient=GuideGradient(unravel, flat.size, settings.guide == "full-rank"),
            log_prior=log_prior,
            start=np.asarray(flat, np.float64),
            scale=_scale(settings.scale, theta, lambda x: log_prior(unravel(x)), flat),
            dtype=dtype,
            batch=plan.batch,
            noise_multiplier=plan.noise_multiplier,
            tempered=require_positive("tempered", power, "Give N₀, or None."),
            steps=plan.steps,
            pairs=settings.pairs,
            clip=settings.clip,
            learning_rate=settings.learning_rate,
            told=told_coordinates(model, records),
        )


def _continuous(model: Model, dtype: str) -> Any:
    """The model's initial θ, if all of it is continuous."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(model.initial):
        if np.asarray(leaf).dtype.kind != "f":
            name = jax.tree_util.keystr(path, simple=True, separator=".") or "theta"
            raise InputError(
                f"parameter {name} is {leaf!r}, which is discrete; a variational start "
                "is for continuous parameters alone. Write 0.0 for a real number, or "
                "start the chain at a public point."
            )
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), model.initial)


def _require_derivatives(model: Model, theta: Any, record: Any) -> None:
    """Refuse a log-likelihood that JAX cannot differentiate twice, or see through."""
    if type(model.log_likelihood) is PythonFunction:
        raise InputError(
            "log_likelihood is a PythonFunction, which has no gradient; a variational "
            "start needs one. Write it in operations of JAX, or start the chain at a "
            "public point."
        )

    def scalar(theta: Any, record: Any) -> jax.Array:
        return as_float(model.record_log_likelihood(theta, record), jnp.float32)

    name, second = "the second derivative of log_likelihood", jax.hessian(scalar)
    shape_of_result(name, second, theta, record)
    require_visible(name, second, theta, record)


def _scale(
    given: Any, theta: Any, log_prior: Callable[[jax.Array], jax.Array], at: jax.Array
) -> np.ndarray:
    """One size for each coordinate: as given, or the width of the prior."""
    if given is None:
        curvature = -np.diag(np.asarray(jax.hessian(log_prior)(at), np.float64))
        curved = np.isfinite(curvature) & (curvature > 0)
        return np.where(curved, 1 / np.sqrt(np.where(curved, curvature, 1.0)), 1.0)
    is_number = jax.tree_util.all_leaves([given]) and np.ndim(given) == 0
    like_theta = jax.tree.map(lambda _: given, theta) if is_number else given
    try:
        parts = jax.tree.map(
            lambda leaf, part: np.broadcast_to(
                np.asarray(part, np.float64), np.shape(leaf)
            ).ravel(),
            theta,
            like_theta,
        )
        scale = np.concatenate(jax.tree.leaves(parts))
    except (ValueError, TypeError):
        raise InputError(
            f"scale is {show_shapes(given)}, but θ is {show_shapes(theta)}; it must be "
            "a number or a pytree of the structure of θ."
        ) from None
    if not np.all(np.isfinite(scale) & (scale > 0)):
        raise InputError(
            f"scale is {given!r}; each size must be a finite number above 0. Give "
            "about how far each coordinate may be from the start."
        )
    return scale
