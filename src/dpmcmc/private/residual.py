# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The residual: what of a record's log-likelihood a released surrogate misses.

A surrogate of record i is h_i(θ) = u_i · φ(θ): a vector u_i of length at most 1, made
of the record, and public features φ of a point. Once Σ u_i has been released with
noise, the surrogates' part of every decision is public, and a record speaks on a move
only by ℓ_i − h_i, which is clipped as any other number.

`Taylor` makes h_i of the record's gradient and Hessian at a public point, weighted to
bounds. Which h_i is chosen matters for accuracy, never for the privacy of a bit.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.model import Model
from dpmcmc.tracing import as_float

__all__ = ["Residual", "Taylor"]

_HESSIAN_PART = 0.4
"""Length of the part of a record's vector that a Hessian at its bound makes: noise on
it matters less than noise on the gradient, which makes the rest."""

_GRADIENT_PART = math.sqrt(1 - _HESSIAN_PART**2) * (1 - 2.0**-20)
"""Length of the other part; a little less, so that float32 cannot take both beyond 1
and have the whole shortened once more."""

_KEPT = 6
"""Most coordinates for which a record's vector is kept: beyond, reading d(d + 3)/2
numbers takes longer than differentiating along one direction."""


@dataclass(frozen=True, eq=False)
class Taylor:
    """Second-order expansion of each record's log-likelihood at a public point.

    Coordinates are v, with θ = centre + factor · v. Record i has the gradient g and
    Hessian H in v at 0, each shortened to its bound: h = (w g) · v + ½ vᵀ (w′ H) v.
    Its vector u holds w g and w′ H in units such that it is no longer than 1; where
    g or H is not finite, both are 0. It is a measure for `NoisySums`.

    Attributes
    ----------
    centre, factor
        The point, and the whitening matrix, in the coordinates of θ.
    gradient_bound, hessian_bound
        The bounds c_g and c_H on the length of g, and of H in the Frobenius norm.
    unravel
        Makes θ of its coordinates.
    """

    centre: np.ndarray
    factor: np.ndarray
    gradient_bound: float
    hessian_bound: float
    unravel: Callable[[jax.Array], Any]

    @property
    def gradient_scale(self) -> float:
        """What a gradient is divided by to make its part of a vector."""
        return self.gradient_bound / _GRADIENT_PART

    @property
    def hessian_scale(self) -> float:
        """What a Hessian is divided by to make its part of a vector."""
        return self.hessian_bound / _HESSIAN_PART

    @property
    def size(self) -> int:
        """The number d of coordinates."""
        return len(self.centre)

    def __call__(
        self, log_likelihood: Callable[[Any], jax.Array], public: Any = ()
    ) -> jax.Array:
        """Return the vector u of one record."""
        del public
        gradient, hessian = self._derivatives(log_likelihood)
        slope, bend = self._shortened(gradient, hessian)
        return jnp.concatenate([slope * gradient, bend * hessian])

    def weights(self, log_likelihood: Callable[[Any], jax.Array]) -> jax.Array:
        """Return the weights w and w′ of one record; 0 where it is not finite."""
        return jnp.stack(self._shortened(*self._derivatives(log_likelihood)))

    def _derivatives(
        self, log_likelihood: Callable[[Any], jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        """Return g and the entries of H, in the units of a vector."""
        dtype = jnp.result_type(float)
        centre = jnp.asarray(self.centre, dtype)
        factor = jnp.asarray(self.factor, dtype)

        def along(v: jax.Array) -> jax.Array:
            return log_likelihood(self.unravel(centre + factor @ v))

        def slope(v: jax.Array) -> tuple[jax.Array, jax.Array]:
            here = jax.grad(along)(v)
            return here, here

        origin = jnp.zeros(self.size, dtype)
        hessian, gradient = jax.jacfwd(slope, has_aux=True)(origin)
        scales = jnp.asarray(self.multiples() / self.hessian_scale, dtype)
        return gradient / self.gradient_scale, hessian[self.entries()] * scales

    @staticmethod
    def _shortened(
        gradient: jax.Array, hessian: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return the weights of the two parts of a vector."""
        lengths = jnp.sum(gradient**2), jnp.sum(hessian**2)
        finite = jnp.isfinite(lengths[0] + lengths[1])
        parts = _GRADIENT_PART, _HESSIAN_PART
        weights = [
            jnp.where(finite, part / jnp.maximum(jnp.sqrt(length), part), 0)
            for part, length in zip(parts, lengths, strict=True)
        ]
        return weights[0], weights[1]

    def features(self, theta: Any) -> jax.Array:
        """Return φ(θ), such that u · φ(θ) is (w g) · v + ½ vᵀ (w′ H) v."""
        flat = ravel_pytree(theta)[0]
        inverse = jnp.asarray(np.linalg.inv(self.factor), flat.dtype)
        v = inverse @ (flat - jnp.asarray(self.centre, flat.dtype))
        rows, columns = self.entries()
        halved = jnp.asarray(self.multiples() * self.hessian_scale / 2, flat.dtype)
        return jnp.concatenate([self.gradient_scale * v, halved * v[rows] * v[columns]])

    def second_order(
        self, log_likelihood: Callable[[Any], jax.Array], theta: Any
    ) -> jax.Array:
        """Return g · v and ½ vᵀ H v by differentiating along v alone."""
        flat = ravel_pytree(theta)[0]
        centre = jnp.asarray(self.centre, flat.dtype)
        move, one = flat - centre, jnp.ones((), flat.dtype)

        def along(part: jax.Array) -> jax.Array:
            return log_likelihood(self.unravel(centre + part * move))

        def slope(part: jax.Array) -> jax.Array:
            return jax.jvp(along, (part,), (one,))[1]

        first, second = jax.jvp(slope, (0 * one,), (one,))
        return jnp.stack([first, second / 2])

    def entries(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries of a Hessian, each pair once."""
        return np.triu_indices(self.size)

    def multiples(self) -> np.ndarray:
        """How much each entry counts, so that lengths are Frobenius norms."""
        rows, columns = self.entries()
        return np.where(rows == columns, 1.0, math.sqrt(2.0))


@dataclass(frozen=True, eq=False)
class Residual:
    """A record's log-likelihood less its surrogate; the released sum is public.

    Attributes
    ----------
    taylor
        The surrogate of each record.
    total
        The sum of the records' vectors as it was released, noise and all.
    tempering
        The power τ of the likelihood. The test multiplies the records' numbers by
        it; the public part is multiplied here.
    """

    taylor: Taylor
    total: np.ndarray
    tempering: float = 1.0

    def extras(self, model: Model, record: Any) -> jax.Array:
        """The record's vector; or its weights alone, where the vector is long."""
        log_likelihood = _log_likelihood(model, record)
        if self.taylor.size <= _KEPT:
            return self.taylor(log_likelihood)
        return self.taylor.weights(log_likelihood)

    def look(
        self, model: Model, theta: Any, record: Any, extras: Any, dtype: str
    ) -> jax.Array:
        """The log-likelihood less the surrogate."""
        log_likelihood = _log_likelihood(model, record)
        if self.taylor.size <= _KEPT:
            surrogate = jnp.dot(extras, self.taylor.features(theta))
        else:
            terms = self.taylor.second_order(log_likelihood, theta)
            # weights of 0 stand for a record without a surrogate
            surrogate = jnp.sum(jnp.where(extras > 0, extras * terms, 0))
        return (log_likelihood(theta) - surrogate).astype(dtype)

    def ratio(self, current: Any, proposed: Any, record: Any, extras: Any) -> jax.Array:
        """The difference of the residuals."""
        del record, extras
        return proposed - current

    def public(self, model: Model, current: Any, proposed: Any) -> jax.Array:
        """The surrogates' part of the log posterior ratio, from the released sum."""
        del model
        new, old = self.taylor.features(proposed), self.taylor.features(current)
        total = jnp.asarray(self.tempering * self.total, new.dtype)
        return jnp.dot(total, new - old)


def _log_likelihood(model: Model, record: Any) -> Callable[[Any], jax.Array]:
    def of_record(theta: Any) -> jax.Array:
        found = model.record_log_likelihood(theta, record)
        return as_float(found, jnp.result_type(float))

    return of_record
