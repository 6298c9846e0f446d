# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What simulated records say of an expansion at a start, and of moves about it.

Coordinates are those of control variates: v, with θ = start + factor · v, in which a
record's gradient is about √d long.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.model.model import Model

__all__ = ["Look", "Moves", "look_along", "look_at"]

_MOST_RESPONSES = 64
_FEW = 2**15
"""Most records that are looked at for Hessians and moves."""

_AT_ONCE = 2**12
_PAIRS = 32
"""Moves that are looked at."""

_FLATTEST = 0.01
"""Least curvature of a direction, of what it should be by the start."""


class Look(NamedTuple):
    """Derivatives of simulated records at a start.

    Attributes
    ----------
    logs, gradients
        The log-likelihood and gradient of each record with its own response; and,
        where the model lists them, with each that it might have had, by their chances.
    bends
        The Frobenius length of the Hessian of each of the first records.
    precision
        Minus the mean Hessian, made positive definite.
    top
        Where the records' log-likelihood is highest, by a parabola.
    along
        Says of those first records, for moves between points v, how the
        log-likelihood changes, and its first and second order.
    """

    logs: np.ndarray
    gradients: np.ndarray
    bends: np.ndarray
    precision: np.ndarray
    top: np.ndarray
    along: Callable[[np.ndarray, np.ndarray], tuple[jax.Array, ...]]

    @property
    def is_listed(self) -> bool:
        """Whether records are known with all responses that they might have had."""
        return self.logs.shape[1] > 1


class Moves(NamedTuple):
    """How log-likelihoods change over moves; one row for each move."""

    values: np.ndarray
    slopes: np.ndarray
    bends: np.ndarray


def look_at(
    model: Model, table: Any, theta: Any, factor: np.ndarray, centred: bool
) -> Look:
    """Look at simulated records at ``theta``.

    Parameters
    ----------
    model
        The model of prepared records.
    table
        Records that were simulated at ``theta``.
    theta, factor
        Where to expand, and the whitening matrix, with a column for each v.
    centred
        Whether to look at all responses that a record might have had.
    """
    flat, unravel = ravel_pytree(jax.tree.map(jnp.asarray, theta))
    columns = jnp.asarray(factor, flat.dtype)
    origin = jnp.zeros(columns.shape[1], flat.dtype)
    responses = _responses(model) if centred else []

    def at(v: jax.Array, record: Any) -> jax.Array:
        point = unravel(flat + columns @ v)
        return jnp.asarray(model.log_likelihood(point, record), flat.dtype)

    def each(record: Any) -> tuple[jax.Array, jax.Array]:
        found = [
            jax.value_and_grad(at)(origin, {**record, **other} if other else record)
            for other in [{}, *responses]
        ]
        logs, gradients = zip(*found, strict=True)
        return jnp.stack(logs), jnp.stack(gradients)

    @jax.jit
    def bend(table: Any) -> tuple[jax.Array, jax.Array]:
        """The length of each Hessian, and their mean; never all of them at once."""

        def mean(v: jax.Array) -> jax.Array:
            return jnp.mean(jax.vmap(at, (None, 0))(v, table))

        def length(record: Any) -> jax.Array:
            return jnp.linalg.norm(jax.hessian(at)(origin, record))

        lengths = jax.lax.map(length, table, batch_size=_AT_ONCE)
        return lengths, jax.hessian(mean)(origin)

    def moved(v: jax.Array, record: Any) -> tuple[jax.Array, ...]:
        """The log-likelihood at v, and the first and second order there."""
        one = jnp.ones((), flat.dtype)

        def part(share: jax.Array) -> jax.Array:
            return at(share * v, record)

        def slope(share: jax.Array) -> jax.Array:
            return jax.jvp(part, (share,), (one,))[1]

        first, second = jax.jvp(slope, (0 * one,), (one,))
        return part(one), first, second / 2

    @jax.jit
    def along(table: Any, starts: jax.Array, ends: jax.Array) -> tuple[jax.Array, ...]:
        def pair(points: tuple[jax.Array, jax.Array]) -> Any:
            before, after = (
                jax.vmap(moved, (None, 0))(point, table) for point in points
            )
            return jax.tree.map(jnp.subtract, after, before)

        return tuple(jax.lax.map(pair, (starts, ends)))

    few = jax.tree.map(lambda leaf: leaf[:_FEW], table)
    logs, gradients = map(np.asarray, jax.jit(jax.vmap(each))(table))
    bends, hessian = bend(few)
    precision = _positive(-np.asarray(hessian, np.float64))
    top = np.linalg.solve(precision, gradients[:, 0].mean(axis=0))
    return Look(logs, gradients, np.asarray(bends), precision, top, partial(along, few))


def look_along(look: Look, records: int, off: float) -> Moves:
    """Look at moves between draws of a posterior that lies off the expansion.

    Parameters
    ----------
    look
        What `look_at` found.
    records
        How many records the posterior has; there may be more than were simulated.
    off
        How far it lies off, in its deviations, rms over coordinates.
    """
    generator = np.random.default_rng(0)
    factor = np.linalg.inv(np.linalg.cholesky(records * look.precision)).T
    shape = 3, _PAIRS, len(look.top)
    away, before, after = generator.standard_normal(shape)
    found = look.along(
        (off * away + before) @ factor.T, (off * away + after) @ factor.T
    )
    return Moves(*map(np.asarray, found))


def _positive(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.maximum(values, _FLATTEST)) @ vectors.T


def _responses(model: Model) -> list[dict[str, float]]:
    """All responses that a record might have had, if the model lists few enough."""
    listed = model.responses
    if listed is None or any(values is None for values in listed.values()):
        return []
    values = [tuple(given) for given in listed.values() if given is not None]
    if math.prod(map(len, values)) > _MOST_RESPONSES:
        return []
    return [dict(zip(listed, each, strict=True)) for each in itertools.product(*values)]
