# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A surrogate of each record: its log-likelihood expanded at a public point.

A surrogate of record i is h_i(θ) = u_i · φ(θ): a vector u_i of length at most 1, made
of the record, and public features φ of a point. `Taylor` makes it of the record's
gradient and Hessian, weighted to bounds. Which h_i is chosen matters for accuracy,
never for the privacy of a bit.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.influence.predictors import Predictors, find_predictors
from dpmcmc.influence.responses import Listed, mean_over
from dpmcmc.model.tracing import as_float

__all__ = ["Taylor"]

_NARROWER = 1 - 2.0**-20
"""The gradient's part of a vector is that much shorter than it might be, so that
float32 cannot take both parts beyond 1 and have the whole shortened once more."""

LogLikelihood = Callable[[Any, Any], Any]
"""A model's function of θ and a prepared record."""


class _Units(NamedTuple):
    """Numbers for a gradient, and for a Hessian or each of its entries."""

    gradient: jax.Array
    hessian: jax.Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Taylor:
    """Second-order expansion of each record's log-likelihood at a public point.

    Coordinates are v, with θ = centre + factor · v. Record i has the gradient g and
    Hessian H in v at 0. Its vector u holds w g + m and w′ H, each shortened to its
    bound, in units such that u is no longer than 1; it is 0 where g or H is not
    finite. Here m is the mean of (1 − w) g over all responses that the record might
    have had, by their chances at the centre, so that shortening moves no sum on
    average; H is changed likewise, so that this holds about the centre, too; and where
    w g + m would be too long for any response, all are shortened by one factor.
    Without responses m is 0.

    A residual takes (w g) · v + ½ vᵀ (w′ H) v from a log-likelihood, so that what was
    cut off is left to the bits. With responses it takes g · v instead: what was cut
    off is made up for by m, and the bits would count it again, clipped.

    Attributes
    ----------
    centre, factor
        The point, and the whitening matrix, in the coordinates of θ: a column for each
        v, and rows of zeros for coordinates that no record tells of.
    gradient_bound, hessian_bound
        The bounds c_g and c_H on the length of g, and of H in the Frobenius norm.
    unravel
        Makes θ of its coordinates.
    among
        The responses that a record might have had, if they are listed.
    hessian_part
        The length b of the part of u that a Hessian at its bound makes; a gradient at
        its own makes √(1 − b²), or a little less.
    inverse
        What makes v of θ − centre; found where it is not given.
    """

    centre: np.ndarray
    factor: np.ndarray
    gradient_bound: float
    hessian_bound: float
    unravel: Callable[[jax.Array], Any] = field(metadata={"static": True})
    among: Listed | None = None
    hessian_part: float = 0.4
    inverse: np.ndarray | None = None

    def __post_init__(self) -> None:
        # Compiled code is handed all arrays: it must not invert at every step.
        if self.inverse is None and isinstance(self.factor, np.ndarray):
            square = len(self.factor) == self.size
            found = (np.linalg.inv if square else np.linalg.pinv)(self.factor)
            object.__setattr__(self, "inverse", found)

    @property
    def gradient_scale(self) -> float:
        """What a gradient is divided by to make its part of a vector."""
        return self.gradient_bound / _other_part(self.hessian_part)

    @property
    def hessian_scale(self) -> float:
        """What a Hessian is divided by to make its part of a vector."""
        return self.hessian_bound / self.hessian_part

    @property
    def size(self) -> int:
        """The number d of coordinates v."""
        return self.factor.shape[1]

    def released(self, log_likelihood: LogLikelihood, record: Any) -> jax.Array:
        """Return the vector u of one record, whose sum is to be released."""
        gradient, hessian = self._derivatives(log_likelihood, record)
        slope, bend = self._weights(gradient, hessian)
        if self.among is not None:
            lost, bent, room = self._lost(log_likelihood, record)
            gradient = room * (slope * gradient + lost)
            hessian = room * (hessian + bent)
            slope, bend = self._weights(gradient, hessian)
        whole = jnp.concatenate([slope * gradient, bend * hessian])
        return jnp.where(slope > 0, whole, 0)

    def weights(self, log_likelihood: LogLikelihood, record: Any) -> jax.Array:
        """Return what a residual multiplies gradient and Hessian by."""
        slope, bend = self._weights(*self._derivatives(log_likelihood, record))
        if self.among is not None:
            slope = jnp.where(slope > 0, 1, slope)
        return jnp.stack([slope, bend])

    def expanded(
        self, log_likelihood: LogLikelihood, record: Any, weights: jax.Array
    ) -> tuple[jax.Array, ...]:
        """Return the numbers of which `with_surrogate` makes it at any point.

        They are the predictors at the centre that depend on the record, and weighted
        derivatives by the predictors; all are 0 where there is no surrogate.
        """
        found, centre = self._predictors(log_likelihood, record)
        start, unravel = ravel_pytree(found.at(centre, record))

        def slope(predictors: jax.Array) -> tuple[jax.Array, jax.Array]:
            def value(row: jax.Array) -> jax.Array:
                return found.log_likelihood(unravel(row), record)

            here = jax.grad(value)(predictors)
            return here, here

        bends, slopes = jax.jacfwd(slope, has_aux=True)(start)
        rows, columns = np.triu_indices(found.size)
        halves = jnp.asarray(np.where(rows == columns, 0.5, 1.0), bends.dtype)
        kept = [place.of_record for place in found.places for _ in range(place.size)]
        numbers = jnp.concatenate(
            [
                start[np.flatnonzero(kept)],
                weights[0] * slopes,
                weights[1] * halves * bends[rows, columns],
            ]
        )
        # Number by number, so that the compiler reads them in the record's own pass.
        return tuple(jnp.where(weights[0] > 0, numbers, 0))

    def with_surrogate(
        self,
        log_likelihood: LogLikelihood,
        record: Any,
        numbers: tuple[jax.Array, ...],
        theta: Any,
    ) -> tuple[jax.Array, jax.Array]:
        """Return the log-likelihood at θ, and the surrogate there.

        The predictors at θ serve both, so that what they are made of is read once.
        """
        found, centre = self._predictors(log_likelihood, record)
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
        surrogate: Any = sum(
            part * move for part, move in zip(parts, moves, strict=True)
        )
        return found.log_likelihood(here, record), surrogate

    def count(self, log_likelihood: LogLikelihood, record: Any) -> int:
        """Return how many predictors the log-likelihood has."""
        return self._predictors(log_likelihood, record)[0].size

    def _predictors(
        self, log_likelihood: LogLikelihood, record: Any
    ) -> tuple[Predictors, Any]:
        """The predictors of the log-likelihood, and the centre as θ."""
        centre = self.unravel(jnp.asarray(self.centre, jnp.result_type(float)))
        return find_predictors(log_likelihood, centre, record), centre

    def _along(
        self, log_likelihood: LogLikelihood, record: Any
    ) -> Callable[[jax.Array], jax.Array]:
        """The log-likelihood of one record as a function of v."""
        dtype = jnp.result_type(float)
        centre = jnp.asarray(self.centre, dtype)
        factor = jnp.asarray(self.factor, dtype)

        def along(v: jax.Array) -> jax.Array:
            theta = self.unravel(centre + factor @ v)
            return as_float(log_likelihood(theta, record), dtype)

        return along

    def _derivatives(
        self, log_likelihood: LogLikelihood, record: Any
    ) -> tuple[jax.Array, jax.Array]:
        """Return g and the entries of H, in the units of a vector."""
        slope = jax.grad(self._along(log_likelihood, record))

        def twice(v: jax.Array) -> tuple[jax.Array, jax.Array]:
            here = slope(v)
            return here, here

        origin = jnp.zeros(self.size)
        hessian, gradient = jax.jacfwd(twice, has_aux=True)(origin)
        in_vector, entries = self._units(origin.dtype), self.entries()
        return gradient / in_vector.gradient, hessian[entries] / in_vector.hessian

    def _weights(
        self, gradient: jax.Array, hessian: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return w and w′; both are 0 if either part is not finite."""
        most = self._parts(gradient.dtype)
        slope, bend = _room(gradient, most.gradient), _room(hessian, most.hessian)
        finite = (slope > 0) & (bend > 0)
        return jnp.where(finite, slope, 0), jnp.where(finite, bend, 0)

    def _lost(
        self, log_likelihood: LogLikelihood, record: Any
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Return the means of (1 − w) g and (1 − w) g gᵀ over the responses.

        They are in the units of a vector, and 0 if not finite. The third result is
        what to multiply by, whatever the response, so that none is beyond the bound.
        """
        assert self.among is not None
        logs, inside, beyond, bent = [], [], [], []
        rows, columns = self.entries()
        units, most = (of(jnp.result_type(float)) for of in (self._units, self._parts))
        for responses in self.among.responses(record, ()):
            along = self._along(log_likelihood, {**record, **responses})
            log, gradient = jax.value_and_grad(along)(jnp.zeros(self.size))
            gradient = gradient / units.gradient
            logs.append(log)
            inside.append(_room(gradient, most.gradient) * gradient)
            beyond.append(gradient - inside[-1])
            products = beyond[-1][rows] * gradient[columns]
            bent.append(products * (units.gradient**2 / units.hessian))
        weights = self.among.weights(tuple(logs), tuple(logs), ())
        lost, curve = mean_over(weights, beyond), mean_over(weights, bent)
        rooms = [_room(one + lost, most.gradient) for one in inside]
        room = reduce(jnp.minimum, rooms)
        finite = jnp.isfinite(jnp.sum(lost) + jnp.sum(curve)) & (room > 0)
        return (
            jnp.where(finite, lost, 0),
            jnp.where(finite, curve, 0),
            jnp.where(finite, room, 1),
        )

    def features(self, theta: Any) -> jax.Array:
        """Return φ(θ), such that u · φ(θ) is (w g + m) · v + ½ vᵀ (w′ H) v."""
        flat = ravel_pytree(theta)[0]
        v = jnp.asarray(self.inverse, flat.dtype) @ (
            flat - jnp.asarray(self.centre, flat.dtype)
        )
        (rows, columns), units = self.entries(), self._units(flat.dtype)
        # The square of a multiple is how often an entry stands in the matrix.
        often = jnp.asarray(self.multiples() ** 2 / 2, flat.dtype)
        products = often * units.hessian * v[rows] * v[columns]
        return jnp.concatenate([units.gradient * v, products])

    def surrogate(
        self,
        log_likelihood: LogLikelihood,
        record: Any,
        weights: jax.Array,
        theta: Any,
    ) -> jax.Array:
        """Return the surrogate at θ by differentiating along the move there alone."""
        flat = ravel_pytree(theta)[0]
        centre = jnp.asarray(self.centre, flat.dtype)
        move, one = flat - centre, jnp.ones((), flat.dtype)

        def at(part: jax.Array) -> jax.Array:
            point = self.unravel(centre + part * move)
            return as_float(log_likelihood(point, record), flat.dtype)

        def slope(part: jax.Array) -> jax.Array:
            return jax.jvp(at, (part,), (one,))[1]

        first, second = jax.jvp(slope, (0 * one,), (one,))
        taken = weights[0] * first + weights[1] * second / 2
        return jnp.where(weights[0] > 0, taken, 0)

    def _parts(self, dtype: Any) -> _Units:
        """How long both parts of a vector are at most, in a precision."""
        part = jnp.asarray(self.hessian_part, dtype)
        return _Units(_other_part(part), part)

    def _units(self, dtype: Any) -> _Units:
        """What entries of gradients and Hessians are divided by, in a precision."""
        part = self._parts(dtype)
        gradient = jnp.asarray(self.gradient_bound, dtype) / part.gradient
        hessian = jnp.asarray(self.hessian_bound, dtype) / part.hessian
        return _Units(gradient, hessian / jnp.asarray(self.multiples(), dtype))

    def entries(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries of a Hessian, each pair once."""
        return np.triu_indices(self.size)

    def multiples(self) -> np.ndarray:
        """How much each entry counts, so that lengths are Frobenius norms."""
        rows, columns = self.entries()
        return np.where(rows == columns, 1.0, math.sqrt(2.0))


def _other_part(hessian_part: Any) -> Any:
    """The length of the part of a vector that a gradient at its bound makes."""
    return (1 - hessian_part**2) ** 0.5 * _NARROWER


def _room(part: jax.Array, most: jax.Array) -> jax.Array:
    """What to multiply a vector by to be no longer than that; 0 if it is not finite."""
    length = jnp.sqrt(jnp.sum(part * part))
    return jnp.where(jnp.isfinite(length), most / jnp.maximum(length, most), 0)


def _entry(array: jax.Array, entry: int) -> jax.Array:
    """One number of an array, in its order."""
    return jax.lax.index_in_dim(jnp.ravel(array), entry, keepdims=False)
