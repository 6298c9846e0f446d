# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What enters a decision where a release says all there is to say: nothing of a record.

A quadratic that was released with noise is such a release where what records add to it
is less than its noise. Its likelihood is then that of the released gradient, which
scatters about the true one by the noise, and that about its mean by the model.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.model.model import Model

__all__ = ["NoisyQuadratic", "QuadraticAlone", "ReadsNothing"]


class ReadsNothing:
    """A part of influences that read nothing of a record."""

    def extras(self, model: Model, record: Any) -> tuple[()]:
        """Nothing."""
        del model, record
        return ()

    def look(
        self, model: Model, theta: Any, record: Any, extras: Any, dtype: str
    ) -> jax.Array:
        """Nothing."""
        del model, theta, record, extras
        return jnp.zeros((), dtype)

    def ratio(self, current: Any, proposed: Any, record: Any, extras: Any) -> jax.Array:
        """Nothing."""
        del record, extras
        return proposed - current


@dataclass(frozen=True, eq=False)
class NoisyQuadratic:
    """A gradient and a curvature with noise: what is known of v.

    If the likelihood has precision K, its gradient at v = 0 is Kv + N(0, K) by the
    model. The released one has noise of covariance S more, and K was released with
    noise E: since Kv is wrong by Ev, of covariance ½ (v · Rv R + Rv vᵀR) with R as in
    `dpmcmc.sampling.fit.curvature.Curvature`, v has likelihood

        N(gradient; Kv, K + S + ½ (v · Rv R + Rv vᵀR)).

    Where K cannot be distinguished from zero, this hardly falls as v grows, and the
    prior says how far it may go.

    Attributes
    ----------
    gradient, precision
        As they were released: g and K.
    noise, curvature_noise
        S and R.
    """

    gradient: np.ndarray
    precision: np.ndarray
    noise: np.ndarray
    curvature_noise: np.ndarray

    def normal_at(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient at 0 and precision of the normal with the noise as it is at v."""
        along = self.curvature_noise @ v
        of_curvature = v @ along * self.curvature_noise + np.outer(along, along)
        covariance = self.precision + self.noise + of_curvature / 2
        weight = np.linalg.solve(covariance, self.precision).T
        return weight @ self.gradient, weight @ self.precision


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class QuadraticAlone(ReadsNothing):
    """The likelihood of a `NoisyQuadratic`, in coordinates that make it cheap.

    With w = turn⁻¹ v such that turnᵀ (K + S) turn = 1 and turnᵀ R turn = diag(r), the
    covariance is diagonal but for one product: 1 + ½ w·rw diag(r) + ½ (rw)(rw)ᵀ. So a
    step takes d² operations, and no factor of a matrix.

    Attributes
    ----------
    centre, inverse
        What makes w of θ: inverse · (θ − centre).
    gradient, precision
        turnᵀ g, and turnᵀ K turn.
    rates
        r.
    """

    centre: np.ndarray
    inverse: np.ndarray
    gradient: np.ndarray
    precision: np.ndarray
    rates: np.ndarray

    @classmethod
    def of(
        cls, centre: np.ndarray, inverse: np.ndarray, noisy: NoisyQuadratic
    ) -> "QuadraticAlone":
        """For v = inverse · (θ − centre)."""
        root = np.linalg.cholesky(noisy.precision + noisy.noise)
        half = np.linalg.solve(root, noisy.curvature_noise)
        whitened = np.linalg.solve(root, half.T)
        rates, axes = np.linalg.eigh((whitened + whitened.T) / 2)
        turn = np.linalg.solve(root.T, axes)
        return cls(
            centre=centre,
            inverse=axes.T @ root.T @ inverse,
            gradient=turn.T @ noisy.gradient,
            precision=turn.T @ noisy.precision @ turn,
            rates=np.maximum(rates, 0.0),
        )

    def public(self, model: Model, current: Any, proposed: Any) -> jax.Array:
        """What the quadratic says of a move."""
        del model
        old, new = self._coordinates(current), self._coordinates(proposed)
        return self.log_likelihood(new) - self.log_likelihood(old)

    def log_likelihood(self, w: jax.Array) -> jax.Array:
        """Of w, up to a constant; the inverse of D + ½ uuᵀ is that of one product."""
        gradient, precision, rates = (
            jnp.asarray(part, w.dtype)
            for part in (self.gradient, self.precision, self.rates)
        )
        along = rates * w
        variances = 1 + jnp.dot(w, along) / 2 * rates
        shared = along / variances
        more = 1 + jnp.dot(along, shared) / 2
        rest = gradient - precision @ w
        squares = jnp.dot(rest, rest / variances)
        squares -= jnp.dot(shared, rest) ** 2 / (2 * more)
        return -(squares + jnp.sum(jnp.log(variances)) + jnp.log(more)) / 2

    def _coordinates(self, theta: Any) -> jax.Array:
        flat = ravel_pytree(theta)[0]
        centre = jnp.asarray(self.centre, flat.dtype)
        return jnp.asarray(self.inverse, flat.dtype) @ (flat - centre)
