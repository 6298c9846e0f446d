# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Sufficient statistics of linear regression: products of covariates and response.

In the units of the public bounds, v = x / norm and y = (response − middle)/half, both
no longer than 1; without an intercept the middle is taken as 0. The statistics are the
products v vᵀ, v y and, unless it is known how far responses scatter, y²; with an
intercept v and y, too.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.model.statistics import NoisyTotal, Statistics, normal_log_density
from dpmcmc.models.design import Design
from dpmcmc.models.settings import Deviation

__all__ = ["product_statistics"]


class _Parts(NamedTuple):
    """What a vector of statistics holds; sums of records have the same parts.

    v vᵀ is symmetric. ``y_squared`` is less a half for each record. What the model
    has no need of is None.
    """

    v_v: Any
    v_y: Any
    y_squared: Any
    v: Any
    y: Any


class _Standard(NamedTuple):
    """θ in the units of the bounds."""

    slopes: jax.Array
    intercept: Any
    sd: Any


def product_statistics(
    design: Design, deviation: Deviation, low: float, high: float
) -> Statistics:
    """Statistics of a linear regression with normal noise.

    The distribution of the noisy sums is that of the residuals' sums, e (1, v) and e²,
    given the covariates: normal, with the model's moments. Covariates are not modelled;
    the prior on the sums of their products is flat.
    """
    middle, half = (low + high) / 2, (high - low) / 2
    if not design.intercept:  # nothing would take a middle out again
        middle, half = 0.0, max(abs(low), abs(high))
    products = _Products(design, deviation, middle, half)
    squares = ", its square" if deviation.known is None else ""
    return Statistics(
        products.of_record,
        products.coefficients,
        products.bound,
        constant=products.constant,
        is_exact=True,
        log_density=products.log_density,
        nearest=products.nearest,
        words=f"products of x with itself and y{squares}"
        + (", x and y" if design.intercept else ""),
    )


@dataclass(frozen=True)
class _Products:
    design: Design
    deviation: Deviation
    middle: float
    half: float

    @property
    def has_square(self) -> bool:
        return self.deviation.known is None

    @property
    def bound(self) -> float:
        """At |v| = |y| = 1: 1 of v vᵀ, 2 of v y, ¼ of y² − ½, and 1 each of v and y."""
        squares = 3 + 0.25 * self.has_square + 2 * self.design.intercept
        return math.sqrt(squares)

    def entries(self) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        """Places of v vᵀ, each pair once, and what makes lengths of them right."""
        rows, columns = np.triu_indices(self.design.dimension)
        return (rows, columns), np.where(rows == columns, 1.0, math.sqrt(2))

    def of_record(self, record: Any) -> jax.Array:
        v = jnp.ravel(record["x"]) / self.design.norm
        y = (record["y"] - self.middle) / self.half
        return self.vector(_Parts(jnp.outer(v, v), v * y, y**2 - 0.5, v, y))

    def vector(self, parts: _Parts) -> jax.Array:
        """The statistics as one vector."""
        entries, multiples = self.entries()
        pairs = parts.v_v[entries] * jnp.asarray(multiples, parts.v_v.dtype)
        listed = [pairs, math.sqrt(2) * parts.v_y]
        if self.has_square:
            listed.append(parts.y_squared)
        if self.design.intercept:
            listed += [parts.v, parts.y]
        return jnp.concatenate([jnp.atleast_1d(part) for part in listed])

    def parts(self, vector: Any) -> _Parts:
        """What `vector` was made of, in JAX or NumPy as the vector is."""
        numbers = np if isinstance(vector, np.ndarray) else jnp
        size = self.design.dimension
        pairs = size * (size + 1) // 2
        (rows, columns), multiples = self.entries()
        place = np.zeros((size, size), int)
        place[rows, columns] = place[columns, rows] = np.arange(pairs)
        v_v = (vector[:pairs] / numbers.asarray(multiples, vector.dtype))[place]
        v_y = vector[pairs : pairs + size] / math.sqrt(2)
        rest = vector[pairs + size :]
        y_squared = rest[0] if self.has_square else None
        if not self.design.intercept:
            return _Parts(v_v, v_y, y_squared, numbers.zeros(size), 0.0)
        return _Parts(v_v, v_y, y_squared, rest[-size - 1 : -1], rest[-1])

    def standard(self, theta: Any) -> _Standard:
        slopes = theta["coefficients"] * (self.design.norm / self.half)
        constant = theta["intercept"] if self.design.intercept else 0.0
        sd = self.deviation.at(theta) / self.half
        return _Standard(slopes, (constant - self.middle) / self.half, sd)

    def coefficients(self, theta: Any) -> jax.Array:
        """−½ of the squared residual over the variance, product by product."""
        slopes, shift, sd = self.standard(theta)
        entries, multiples = self.entries()
        # v vᵀ stands once for both of its entries off the diagonal
        pairs = jnp.outer(slopes, slopes)[entries]
        listed = [
            pairs * jnp.asarray(multiples, pairs.dtype),
            -math.sqrt(2) * slopes,
        ]
        if self.has_square:
            listed.append(jnp.ones(1))
        listed += [2 * shift * slopes, jnp.reshape(-2 * shift, (1,))]
        if not self.design.intercept:
            listed = listed[:-2]
        return -jnp.concatenate(listed) / (2 * sd**2)

    def constant(self, theta: Any) -> jax.Array:
        _, shift, sd = self.standard(theta)
        return -jnp.log(sd) - (shift**2 + 0.5) / (2 * sd**2)

    def sums_of_residuals(
        self, total: jax.Array, records: Any, at: _Standard
    ) -> jax.Array:
        """Σ e v, Σ e and Σ e² for e = y − intercept − v · slopes, from Σ T."""
        parts, (slopes, shift, _) = self.parts(total), at
        along = parts.v_v @ slopes
        listed = [parts.v_y - shift * parts.v - along]
        single = parts.y - records * shift - parts.v @ slopes
        if self.design.intercept:
            listed.append(single)
        if self.has_square:
            squares = parts.y_squared + records / 2
            squares += slopes @ along - 2 * parts.v_y @ slopes
            squares += 2 * shift * (parts.v @ slopes - parts.y) + records * shift**2
            listed.append(squares)
        return jnp.concatenate([jnp.atleast_1d(part) for part in listed])

    def log_density(self, theta: Any, noisy: NoisyTotal) -> jax.Array:
        at, records = self.standard(theta), noisy.records
        sums = self.sums_of_residuals(noisy.total, records, at)
        # they are linear in Σ T, so that their noise is that of Σ T times this
        turn = jax.jacfwd(lambda total: self.sums_of_residuals(total, records, at))(
            noisy.total
        )
        size = self.design.dimension
        covariance = jnp.zeros((len(sums), len(sums)))
        parts = self.parts(noisy.possible)
        covariance = covariance.at[:size, :size].set(parts.v_v)
        if self.design.intercept:
            covariance = covariance.at[:size, size].set(parts.v)
            covariance = covariance.at[size, :size].set(parts.v)
            covariance = covariance.at[size, size].set(records)
        covariance = at.sd**2 * covariance
        expected = jnp.zeros(len(sums))
        if self.has_square:
            covariance = covariance.at[-1, -1].set(2 * records * at.sd**4)
            expected = expected.at[-1].set(records * at.sd**2)
        noise = noisy.deviation**2 * turn @ turn.T
        return normal_log_density(sums - expected, covariance + noise)

    def nearest(self, total: np.ndarray, records: int, deviation: float) -> np.ndarray:
        """Sums of products that are positive definite, by at least their noise."""
        parts, size = self.parts(total), self.design.dimension
        joint = np.zeros((size + 1, size + 1))
        joint[:size, :size] = parts.v_v
        sides = np.append(parts.v, parts.y)
        if self.has_square:
            joint[:size, size] = joint[size, :size] = parts.v_y
            joint[size, size] = parts.y_squared + records / 2
        else:
            joint[size, size], sides[size] = records, 0.0
        if self.design.intercept:
            sides = np.clip(sides, -records, records)
        about = joint - np.outer(sides, sides) / records
        values, vectors = np.linalg.eigh(about)
        about = (vectors * np.maximum(values, deviation)) @ vectors.T
        joint = about + np.outer(sides, sides) / records
        found = parts._replace(v_v=joint[:size, :size], v=sides[:size])
        if self.has_square:
            found = found._replace(
                v_y=joint[:size, size],
                y_squared=joint[size, size] - records / 2,
                y=sides[size],
            )
        with jax.enable_x64(True):
            return np.asarray(self.vector(found), np.float64)
