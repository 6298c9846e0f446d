# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Normal guides: what each record is asked for, and how the answers are read.

The guide is q = N(m, LLᵀ) over the coordinates of θ. The expected log-likelihood
E_q[f] of a record has the gradient E_q[∇f] in m and ½ E_q[∇²f] in the covariance
(Bonnet 1964, Price 1958). Both are estimated at points m ± L z of the guide, which
all records of a step share.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["GuideGradient", "Points"]

_CURVATURE_SHARE = 0.4
"""How much curvatures count in the length of a vector: the mean matters more."""


class Points(NamedTuple):
    """Where a log-likelihood is differentiated at a step, and in which units.

    Attributes
    ----------
    thetas
        Points of the guide, one row each.
    weights
        What a derivative in each coordinate is multiplied by: the inverse root of
        about what a record tells of it, so that slopes become of size 1.
    radius
        The length at which a record's vector of such slopes and curvatures is
        clipped.
    """

    thetas: np.ndarray
    weights: np.ndarray
    radius: np.ndarray


@dataclass(frozen=True)
class GuideGradient:
    """The gradient of a record's log-likelihood in a guide's mean and covariance.

    Attributes
    ----------
    unravel
        Makes θ of its coordinates.
    size
        The number d of coordinates.
    full
        Whether the covariance is full, or has a diagonal alone.
    """

    unravel: Callable[[jax.Array], Any]
    size: int
    full: bool

    def __call__(
        self, log_likelihood: Callable[[Any], jax.Array], public: Points
    ) -> jax.Array:
        """Return the vector of one record, in units of the radius."""
        slope, curvature = self.derivatives(log_likelihood, public)
        weights = jnp.asarray(public.weights)
        rows, columns = self._entries()
        second = curvature[rows, columns] * weights[rows] * weights[columns]
        second = second * self._multiples().astype(second.dtype)
        return jnp.concatenate([slope * weights, second]) / public.radius

    def derivatives(
        self, function: Callable[[Any], jax.Array], public: Points
    ) -> tuple[jax.Array, jax.Array]:
        """Return the means of ∇f and of ∇²f over the points."""
        slope = jax.grad(lambda flat: function(self.unravel(flat)))

        def both(flat: jax.Array) -> tuple[jax.Array, jax.Array]:
            here = slope(flat)
            return here, here

        curvatures, slopes = jax.vmap(jax.jacfwd(both, has_aux=True))(
            jnp.asarray(public.thetas)
        )
        return jnp.mean(slopes, axis=0), jnp.mean(curvatures, axis=0)

    def read(self, vector: np.ndarray, public: Points) -> tuple[np.ndarray, np.ndarray]:
        """Undo the weights: a sum of slopes, and one of curvatures as a matrix."""
        vector, weights = vector * float(public.radius), public.weights
        rows, columns = self._entries()
        second = vector[self.size :] / self._multiples()
        matrix = np.zeros((self.size, self.size))
        matrix[rows, columns] = matrix[columns, rows] = second
        return vector[: self.size] / weights, matrix / weights / weights[:, None]

    def curvature_scale(self, radius: float) -> float:
        """By how much reading multiplies a curvature, in units of what is told."""
        return float(radius / np.min(self._multiples()))

    def _entries(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries of the covariance that the guide has."""
        if self.full:
            return np.triu_indices(self.size)
        return np.arange(self.size), np.arange(self.size)

    def _multiples(self) -> np.ndarray:
        """How much each entry of a curvature counts.

        Entries off the diagonal stand for two. A curvature is about as long as the
        square of a slope, √d times its length.
        """
        rows, columns = self._entries()
        share = _CURVATURE_SHARE / np.sqrt(self.size)
        return share * np.where(rows == columns, 1.0, np.sqrt(2.0))
