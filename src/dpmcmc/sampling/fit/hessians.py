# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The Hessian of a record, as a part of what it answers: free entries, or a root.

Where a record has one predictor and its log-likelihood is concave in it, the Hessian is
−w wᵀ. Such Hessians are in a cone, as sums of one vector for each record know it: they
may be longer for the same privacy. The root w is what a record answers then.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.influence.derivatives import Frame, derivatives, gradient_and_root
from dpmcmc.influence.residual import clip_factor
from dpmcmc.model.model import Model

__all__ = [
    "IN_CONE",
    "clipped",
    "entries_of_outer",
    "hessian_entries",
    "hessian_of_entries",
    "with_hessian",
]

IN_CONE = float(np.sqrt(2))
"""What is in a cone, such as squares, may be so many times as long at the same cost."""

_OF_PRODUCTS = 41 / 29
"""What a release multiplies entries off the diagonal by, about √2."""


def hessian_entries(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and multiples of entries, so that lengths are Frobenius norms."""
    rows, columns = np.triu_indices(size)
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2.0))


def hessian_of_entries(entries: np.ndarray, size: int) -> np.ndarray:
    """The symmetric matrix with these entries."""
    rows, columns, multiples = hessian_entries(size)
    matrix = np.zeros((size, size))
    matrix[rows, columns] = matrix[columns, rows] = entries / multiples
    return matrix


def entries_of_outer(outer: np.ndarray, size: int) -> np.ndarray:
    """Entries of Hessians −w wᵀ, by their sum as it is released."""
    rows, columns, multiples = hessian_entries(size)
    return -outer * np.where(rows == columns, 1.0, multiples / _OF_PRODUCTS)


def with_hessian(
    model: Model,
    record: Any,
    frame: Frame,
    unravel: Callable[[jax.Array], Any],
    is_concave: bool,
) -> tuple[jax.Array, jax.Array]:
    """The gradient and the Hessian; of one that is concave its root."""
    differentiate = gradient_and_root if is_concave else derivatives
    return differentiate(model, record, frame, unravel)


def clipped(
    second: jax.Array, bound: jax.Array, length: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """A Hessian, or its root, clipped to a bound, in units in which that is a length.

    Either as free entries or as a factor: the other is empty.
    """
    if second.ndim == 1:
        squared = jnp.sum(second * second)[None]
        return second[:0], second * jnp.sqrt(
            length * clip_factor(squared, bound) / bound
        )
    rows, columns, multiples = hessian_entries(len(second))
    entries = second[rows, columns] * jnp.asarray(multiples, second.dtype)
    return length * entries * clip_factor(entries, bound) / bound, entries[:0]
