# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Sufficient statistics: the log-likelihood of a record is linear in them.

A model may state that the log-likelihood of a record is T(x) · φ(θ) + a(θ), or about
that: T of the record alone, φ and a of θ alone. Then Σ T is sufficient for θ, or
nearly so. It is one vector, whatever the number of steps of a chain. Where a record is
in one cell of a table, the vector is that of the counts.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from dpmcmc.errors import InputError, require_count, require_positive
from dpmcmc.model.margins import Margin, combine, left_for_table, require_margins
from dpmcmc.model.tracing import require_visible, shape_of_result, show_shapes

__all__ = ["NoisyTotal", "Statistics", "check_statistics", "normal_log_density"]


class NoisyTotal(NamedTuple):
    """A sum of statistics as it was released.

    Attributes
    ----------
    total
        Σ T, with normal noise on each coordinate; counts, where T is a cell.
    possible
        A sum near it that records could have; for what must be positive.
    deviation
        The standard deviation of the noise on each coordinate, as it was released.
    records
        The number N of records.
    known
        What margins tell of the noise: a matrix B, with a column for each coordinate.
        The covariance of the noise is that of ``deviation`` alone times I − BᵀB. It has
        no rows where there are no margins.
    """

    total: jax.Array
    possible: jax.Array
    deviation: float
    records: int
    known: jax.Array

    def noise_of(self, weights: jax.Array) -> jax.Array:
        """Return the covariance of the noise in ``weights.T @ total``."""
        explained = self.known @ weights
        return self.deviation**2 * (weights.T @ weights - explained.T @ explained)


@dataclass(frozen=True, eq=False)
class Statistics:
    """What a model states of its sufficient statistics.

    Parameters
    ----------
    of_record
        ``of_record(record)``: the vector T of one record (prepared), by the rules of a
        log-likelihood.
    coefficients
        ``coefficients(theta)``: the vector φ(θ), as long as T.
    bound
        The greatest length of T. A longer one is norm-clipped to it before it is
        added, and one that is not finite counts as zero. Centre T, so that the
        bound is small: noise is in proportion to it.
    constant
        ``constant(theta)``: the part a(θ) that is the same for all records; 0 unless
        given.
    is_exact
        Whether T · φ + a is the log-likelihood, up to what does not depend on θ, and
        no T of a prepared record is longer than the bound. Then a chain needs the
        released sum alone. If it is wrong, accuracy suffers, not privacy.
    log_density
        ``log_density(theta, noisy)``: the log-density of the released sum at θ, as far
        as it depends on θ, from a `NoisyTotal`: with its noise, and with what records
        themselves scatter. Noise-aware draws are of the posterior that it makes.
    nearest
        ``nearest(total, records, deviation)``: a sum near the given one that records
        could have, in NumPy. Unless given, the sum is taken as it is.
    words
        What is added up, in words, for the statement.
    cells
        How many cells there are, if a record is in one cell of a table: T is 1 there
        and 0 elsewhere. ``of_record`` returns the number of the cell then, from 0 to
        ``cells`` − 1; a record with any other number counts for nothing. What is
        released are counts, which the substitution of a record moves by √2, not by
        2. The bound is 1.
    margins
        Coarser tables that are counted beside the cells, and their fractions of the
        budget.
    """

    of_record: Callable[[Any], Any]
    coefficients: Callable[[Any], Any]
    bound: float
    constant: Callable[[Any], Any] | None = None
    is_exact: bool = False
    log_density: Callable[[Any, NoisyTotal], Any] | None = None
    nearest: Callable[[np.ndarray, int, float], np.ndarray] | None = None
    words: str = "the model's statistics"
    cells: int | None = None
    margins: tuple[Margin, ...] = ()

    def __post_init__(self) -> None:
        require_positive("bound", self.bound, "Give the greatest length of T.")
        if self.cells is not None:
            require_count("cells", self.cells, "Give the number of cells.", least=2)
            if self.bound != 1:
                raise InputError(
                    f"bound is {self.bound!r}, but statistics that are cells of a "
                    "table have the length 1. Give bound=1.0."
                )
        require_margins(self.margins, self.cells)
        optional = ("constant", "log_density", "nearest")
        given = [name for name in optional if getattr(self, name) is not None]
        for name in ("of_record", "coefficients", *given):
            if not callable(getattr(self, name)):
                raise InputError(
                    f"{name} is a {type(getattr(self, name)).__name__}; it must be a "
                    "function. Pass the function itself, not its result."
                )

    @property
    def sensitivity(self) -> float:
        """How far a substitution moves the sum at most, in units of the bound."""
        return 2.0 if self.cells is None else math.sqrt(2)

    @property
    def own_fraction(self) -> float:
        """The fraction of the budget that margins leave, in squares of μ."""
        return left_for_table(self.margins)

    def vector(self, record: Any) -> jax.Array:
        """Return T of one prepared record, whatever ``of_record`` returns."""
        found = jnp.asarray(self.of_record(record))
        kind = jnp.result_type(float)
        if self.cells is None:
            return found.astype(kind)
        return jax.nn.one_hot(found, self.cells, dtype=kind)

    def at(self, theta: Any) -> tuple[jax.Array, jax.Array]:
        """Return φ(θ) and a(θ)."""
        features = jnp.asarray(self.coefficients(theta))
        constant = 0.0 if self.constant is None else self.constant(theta)
        return features, jnp.asarray(constant, features.dtype)

    def said(self, theta: Any, noisy: NoisyTotal) -> jax.Array:
        """Return Σ T · φ(θ) + N a(θ), as if the sum had no noise."""
        features, constant = self.at(theta)
        return jnp.dot(noisy.possible, features) + noisy.records * constant

    def noise_aware(self, theta: Any, noisy: NoisyTotal) -> jax.Array:
        """Return the log-density of the released sum at θ, up to a constant."""
        assert self.log_density is not None
        return jnp.asarray(self.log_density(theta, noisy))

    def read(
        self,
        total: np.ndarray,
        margins: Sequence[np.ndarray],
        records: int,
        deviation: float,
    ) -> NoisyTotal:
        """Put a released sum with its margins, and with one that records could have."""
        total, known = combine(total, margins, self.margins)
        near = total
        if self.nearest is not None:
            near = np.asarray(self.nearest(total, records, deviation), np.float64)
        counts, possible, matrix = map(jnp.asarray, (total, near, known))
        return NoisyTotal(counts, possible, deviation, records, matrix)


def check_statistics(statistics: Statistics, theta: Any, record: Any) -> int:
    """Refuse statistics that cannot be added up, from shapes alone.

    Parameters
    ----------
    statistics
        The statistics to check.
    theta, record
        The starting point; the shape and dtype of one prepared record.

    Returns
    -------
    int
        The length of T.

    Raises
    ------
    InputError
        If a function fails to trace, T and φ are not vectors of one length, a or the
        log-density is no scalar, or T leaves JAX.
    """
    vector = shape_of_result("of_record", statistics.of_record, record)
    features, constant = shape_of_result("coefficients", statistics.at, theta)
    shape = getattr(vector, "shape", None)
    if statistics.cells is not None:
        if shape != () or vector.dtype.kind not in "iu":
            raise InputError(
                f"of_record returns {show_shapes(vector)}; of statistics that are "
                "cells it must return the number of a cell, as an integer."
            )
        shape = (statistics.cells,)
    if shape is None or len(shape) != 1 or features.shape != shape or not shape[0]:
        raise InputError(
            f"of_record returns {show_shapes(vector)} and coefficients "
            f"{show_shapes(features)}; they must be two vectors of one length, or the "
            "number of a cell and a vector with a number for each cell."
        )
    if constant.shape != ():
        raise InputError(
            f"constant returns {show_shapes(constant)}; it must return one number."
        )
    require_visible("of_record", statistics.of_record, record)
    if statistics.log_density is not None:
        zeros = jnp.zeros(shape[0])
        like = NoisyTotal(zeros, zeros, 1.0, 1, jnp.zeros((0, shape[0])))
        density = statistics.log_density
        found = shape_of_result("log_density", lambda at: density(at, like), theta)
        if getattr(found, "shape", None) != ():
            raise InputError(
                f"log_density returns {show_shapes(found)}; it must return one number."
            )
    return int(shape[0])


def normal_log_density(difference: jax.Array, covariance: jax.Array) -> jax.Array:
    """Return the log-density of a normal vector, up to a constant.

    Parameters
    ----------
    difference
        The vector less its mean.
    covariance
        Its covariance, which is positive definite.
    """
    factor = jnp.linalg.cholesky(covariance)
    scaled = solve_triangular(factor, difference, lower=True)
    return -jnp.sum(jnp.log(jnp.diagonal(factor))) - jnp.sum(scaled**2) / 2
