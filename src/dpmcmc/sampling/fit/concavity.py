# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the log-likelihood of every record is concave in a single predictor.

So it is in logistic, Poisson and probit regressions, and in linear ones with a known
sd. It is a property of the model: it is found from its program and from made-up
records, and is public. Where it is found wrongly, what a record answers is as bounded
as ever, but Hessians that are not negative are left out.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.influence.derivatives import prepared
from dpmcmc.influence.predictors import find_predictors
from dpmcmc.model.tracing import is_double
from dpmcmc.sampling.fit.basis import made_up
from dpmcmc.sampling.problem import Problem

__all__ = ["is_concave"]

_RECORDS = 512
_SIZES = 10.0 ** np.arange(-3, 7.5, 0.5)
_MOVES = np.concatenate([-_SIZES, [0.0], _SIZES])
"""How far predictors are moved from where the model starts: no scale is known."""

_LIKELY = 50.0
"""Log-likelihoods so far below a record's highest are not looked at: nobody goes there,
and their derivatives are rounded."""

_ROUNDING = 1e-4, 1e-6
"""Second derivatives are rounded by so much of the square of the first; and of the
record's largest, or of 1."""

_RARE = 0.002
"""Rounding may be larger far out in tails: so few that are convex count for nothing."""


def is_concave(problem: Problem) -> bool:
    """Whether records have one predictor and are concave in it; no record is read."""
    with jax.enable_x64(is_double(problem.dtype)):
        records = jax.tree.map(_plain, made_up(problem))
        found = jax.jit(jax.vmap(lambda record: _looked_at(problem, record)))(records)
        value, slope, second = (np.asarray(part, np.float64) for part in found)
    if not value.size:
        return False
    with np.errstate(all="ignore"):
        known = np.isfinite(value) & np.isfinite(slope) & np.isfinite(second)
        highest = np.max(np.where(known, value, -np.inf), axis=1, keepdims=True)
        known &= value > highest - _LIKELY
        largest = np.max(np.where(known, np.abs(second), 0), axis=1, keepdims=True)
        rounding = _ROUNDING[0] * slope**2 + _ROUNDING[1] * np.minimum(largest, 1)
        convex = np.sum(known & (second > rounding))
        return bool(convex < _RARE * np.sum(known))


def _plain(column: np.ndarray) -> np.ndarray:
    """A column with numbers from 0 to 1 alone.

    A negative response, or one beyond 1, may be none that the model can have.
    """
    return np.minimum(np.abs(column[:_RECORDS]), 1).astype(column.dtype)


def _looked_at(problem: Problem, record: Any) -> tuple[jax.Array, ...]:
    """A record's log-likelihood, with two derivatives, at moves of its predictor.

    Empty where it has several, or one that is the same for all.
    """
    model, start = problem.model, problem.initial
    record = prepared(model, record)
    found = find_predictors(model.log_likelihood, start, record)
    if found.size != 1 or not found.places[0].of_record:
        return (jnp.zeros(0),) * 3
    (here,) = found.at(start, record)

    def value(move: jax.Array) -> jax.Array:
        return found.log_likelihood([here + move], record)

    moves = jnp.asarray(_MOVES, here.dtype)
    made = (jax.vmap(f)(moves) for f in (value, jax.grad(value), jax.hessian(value)))
    return tuple(made)
