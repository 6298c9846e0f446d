# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The residual: what of a record's log-likelihood a released quadratic misses.

Near a public centre, the log-likelihood of record i is about ℓ_i(centre) + w g_i · v +
½ w′ vᵀ H_i v, with its gradient and Hessian norm-clipped by the weights w and w′. Once
their sums have been released with noise, the quadratic part of every decision is
public, and a record speaks on a move only by what its own quadratic misses, which is
clipped like any other number.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.influence.derivatives import Frame, derivatives, prepared, split_predictors
from dpmcmc.influence.predictors import Predictors, find_predictors
from dpmcmc.model.model import Model
from dpmcmc.model.tracing import as_float

__all__ = ["Residual", "clip_factor"]

_KEPT = 10
"""Most predictors k for which k(k + 3)/2 derivatives of each record are kept: beyond,
memory is saved, and every step differentiates along its own move."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Residual:
    """A record's log-likelihood less its clipped quadratic; the released sum is public.

    Attributes
    ----------
    frame
        Coordinates v, with θ = centre + factor · v.
    inverse
        What makes v of θ − centre.
    metric
        Gradients are measured by the length of g / metric.
    gradient_bound, hessian_bound
        Where a record's gradient is clipped, by that length; and its Hessian, in the
        Frobenius norm.
    gradient, hessian
        The sums over records as they were released, noise and all.
    unravel
        Makes θ of its coordinates.
    tempering
        The power τ of the likelihood. The test multiplies the records' numbers by it;
        the public part is multiplied here.
    """

    frame: Frame
    inverse: np.ndarray
    metric: np.ndarray
    gradient_bound: float
    hessian_bound: float
    gradient: np.ndarray
    hessian: np.ndarray
    unravel: Callable[[jax.Array], Any] = field(metadata={"static": True})
    tempering: float = 1.0

    def extras(self, model: Model, record: Any) -> Any:
        """What the quadratic is made of; or its weights alone, where that is long."""
        record = prepared(model, record)
        found, centre = self._predictors(model, record)
        weights = self._weights(model, record)
        if found.size > _KEPT:
            return jnp.stack(weights)
        return _expanded(found, centre, record, weights)

    def look(
        self, model: Model, theta: Any, record: Any, extras: Any, dtype: str
    ) -> jax.Array:
        """The log-likelihood less the quadratic."""
        record = prepared(model, record)
        found, centre = self._predictors(model, record)
        if found.size > _KEPT:
            quadratic = self._along_move(model, theta, record, extras)
            return as_float(model.log_likelihood(theta, record), dtype) - quadratic
        value, quadratic = _with_quadratic(found, centre, theta, record, extras)
        return value.astype(dtype) - quadratic

    def ratio(self, current: Any, proposed: Any, record: Any, extras: Any) -> jax.Array:
        """The difference of the residuals."""
        del record, extras
        return proposed - current

    def public(self, model: Model, current: Any, proposed: Any) -> jax.Array:
        """The quadratic part of the log posterior ratio, from the released sums."""
        del model
        new, old = self._coordinates(proposed), self._coordinates(current)
        gradient = jnp.asarray(self.gradient, new.dtype)
        hessian = jnp.asarray(self.hessian, new.dtype)
        middle = (new + old) / 2
        return self.tempering * jnp.dot(gradient + hessian @ middle, new - old)

    def _coordinates(self, theta: Any) -> jax.Array:
        flat = ravel_pytree(theta)[0]
        centre = jnp.asarray(self.frame.centre, flat.dtype)
        return jnp.asarray(self.inverse, flat.dtype) @ (flat - centre)

    def _predictors(self, model: Model, record: Any) -> tuple[Predictors, Any]:
        """The predictors of the log-likelihood, and the centre as θ."""
        centre = self.unravel(jnp.asarray(self.frame.centre, jnp.result_type(float)))
        return find_predictors(model.log_likelihood, centre, record), centre

    def _weights(self, model: Model, record: Any) -> tuple[jax.Array, jax.Array]:
        """What gradient and Hessian are multiplied by; 0 if either is not finite."""
        gradient, hessian = derivatives(model, record, self.frame, self.unravel)
        metric = jnp.asarray(self.metric, gradient.dtype)
        first = clip_factor(gradient / metric, self.gradient_bound)
        second = clip_factor(hessian, self.hessian_bound)
        is_finite = (first > 0) & (second > 0)
        return jnp.where(is_finite, first, 0), jnp.where(is_finite, second, 0)

    def _along_move(
        self, model: Model, theta: Any, record: Any, weights: jax.Array
    ) -> jax.Array:
        """The quadratic at θ, by differentiating along the move there alone."""
        flat = ravel_pytree(theta)[0]
        centre = jnp.asarray(self.frame.centre, flat.dtype)
        move, one = flat - centre, jnp.ones((), flat.dtype)

        def at(part: jax.Array) -> jax.Array:
            point = self.unravel(centre + part * move)
            return as_float(model.log_likelihood(point, record), flat.dtype)

        def slope(part: jax.Array) -> jax.Array:
            return jax.jvp(at, (part,), (one,))[1]

        first, second = jax.jvp(slope, (0 * one,), (one,))
        taken = weights[0] * first + weights[1] * second / 2
        return jnp.where(weights[0] > 0, taken, 0)


def clip_factor(vector: jax.Array, bound: Any) -> jax.Array:
    """What to multiply by so that the length is at most the bound; 0 if not finite."""
    most = jnp.asarray(bound, vector.dtype)
    length = jnp.sqrt(jnp.sum(vector * vector))
    return jnp.where(jnp.isfinite(length), most / jnp.maximum(length, most), 0)


def _expanded(
    found: Predictors, centre: Any, record: Any, weights: tuple[jax.Array, jax.Array]
) -> tuple[jax.Array, ...]:
    """The numbers of which `_with_quadratic` makes the quadratic at any point.

    They are the predictors at the centre that depend on the record, and weighted
    derivatives by the predictors; all are 0 where there is no quadratic.
    """
    start = ravel_pytree(found.at(centre, record))[0]

    def first(eta: jax.Array) -> tuple[jax.Array, jax.Array]:
        here = jax.grad(
            lambda row: found.log_likelihood(split_predictors(found, row), record)
        )(eta)
        return here, here

    second, slope = jax.jacfwd(first, has_aux=True)(start)
    rows, columns = np.triu_indices(found.size)
    halves = jnp.asarray(np.where(rows == columns, 0.5, 1.0), second.dtype)
    of_record = [place.of_record for place in found.places for _ in range(place.size)]
    numbers = jnp.concatenate(
        [
            start[np.flatnonzero(of_record)],
            weights[0] * slope,
            weights[1] * halves * second[rows, columns],
        ]
    )
    # Number by number, so that the compiler reads them in the record's own pass.
    return tuple(jnp.where(weights[0] > 0, numbers, 0))


def _with_quadratic(
    found: Predictors,
    centre: Any,
    theta: Any,
    record: Any,
    numbers: tuple[jax.Array, ...],
) -> tuple[jax.Array, jax.Array]:
    """The log-likelihood at θ, and the quadratic there.

    The predictors at θ serve both, so that what they are made of is read once.
    """
    here, there = found.at(theta, record), found.at(centre, record)
    unread, moves = iter(numbers), []
    for place, now, then in zip(found.places, here, there, strict=True):
        for entry in range(place.size):
            start = next(unread) if place.of_record else _entry(then, entry)
            moves.append(_entry(now, entry) - start)
    # Nested, so that each number that is read costs one multiplication.
    parts = [next(unread) for _ in moves]
    for one, other in combinations_with_replacement(range(len(moves)), 2):
        parts[one] = parts[one] + next(unread) * moves[other]
    quadratic: Any = sum(part * move for part, move in zip(parts, moves, strict=True))
    return found.log_likelihood(here, record), quadratic


def _entry(array: jax.Array, entry: int) -> jax.Array:
    """One number of an array, in its order."""
    return jax.lax.index_in_dim(jnp.ravel(array), entry, keepdims=False)
