# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The scale of normal moves: a number, one for each coordinate, or a covariance."""

from typing import Any

import jax
import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.model.tracing import show_shapes
from dpmcmc.proposals.base import Theta
from dpmcmc.proposals.leaves import coordinates

__all__ = ["deviations", "normal_factor", "require_precision", "times"]


def normal_factor(scale: Any, theta: Theta) -> np.ndarray:
    """L such that L z has the scale given: triangular, or its diagonal alone."""
    size = sum(int(np.size(leaf)) for leaf in jax.tree.leaves(theta))
    covariance = _covariance(scale, theta, size)
    if covariance is not None:
        return _cholesky(covariance)
    return deviations(scale, theta, f", or a covariance of shape ({size}, {size})")


def times(factor: Any, numbers: jax.Array) -> jax.Array:
    """L z, for a factor L or its diagonal."""
    return factor @ numbers if factor.ndim == 2 else factor * numbers


def _covariance(scale: Any, theta: Theta, size: int) -> np.ndarray | None:
    """The scale as a d × d matrix, or None if it means standard deviations."""
    if not jax.tree_util.all_leaves([scale]):
        return None
    leaves = jax.tree.leaves(theta)
    like_theta = len(leaves) == 1 and np.shape(scale) == np.shape(leaves[0])
    is_matrix = np.shape(scale) == (size, size) and not like_theta
    return np.asarray(scale) if is_matrix else None


def _cholesky(covariance: np.ndarray) -> np.ndarray:
    is_real = covariance.dtype.kind in "fiu" and np.all(np.isfinite(covariance))
    try:
        if not is_real or not _is_symmetric(covariance):
            raise np.linalg.LinAlgError
        return np.linalg.cholesky(covariance.astype(np.float64))
    except np.linalg.LinAlgError:
        raise InputError(
            f"scale is a {covariance.shape[0]} × {covariance.shape[0]} matrix that is "
            "not a covariance; it must be symmetric and positive definite. Give a "
            "covariance, or one standard deviation for each coordinate."
        ) from None


def _is_symmetric(covariance: np.ndarray) -> bool:
    """Whether entries differ from their mirror images by no more than rounding.

    Both are compared with the sds of their rows: where coordinates are all but
    uncorrelated, an entry may be rounding alone.
    """
    sds = np.sqrt(np.abs(np.diagonal(covariance)))
    apart = np.abs(covariance - covariance.T)
    return bool(np.all(apart <= 1e-6 * np.outer(sds, sds)))


def require_precision(factor: np.ndarray, dtype: Any, name: str = "scale") -> None:
    """Refuse moves so small or large that the chain's numbers cannot hold them."""
    limits = np.finfo(dtype)
    sizes = np.diagonal(factor) if factor.ndim == 2 else factor
    if np.min(sizes) < limits.tiny or np.max(sizes) > limits.max:
        raise InputError(
            f"{name} moves a coordinate by {np.min(sizes):g} to {np.max(sizes):g}; in "
            f"{dtype} it must be from {limits.tiny:g} to {limits.max:g}."
        )


def deviations(scale: Any, theta: Theta, or_else: str = "") -> np.ndarray:
    """One standard deviation for each coordinate of the flattened θ.

    ``or_else`` names what else the scale may be, for the message of a refusal.
    """
    sizes = coordinates(scale, theta, np.float64)
    if sizes is None:
        raise InputError(
            f"scale is {show_shapes(scale)}, but θ is {show_shapes(theta)}; scale must "
            f"be a number, or a pytree of the structure of θ{or_else}."
        )
    if not np.all(np.isfinite(sizes) & (sizes > 0)):
        raise InputError(
            f"scale is {scale!r}; each standard deviation must be a finite number "
            "above 0. Give the size of a move of each coordinate."
        )
    return sizes
