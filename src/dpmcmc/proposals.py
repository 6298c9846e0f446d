# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Proposals: how a chain suggests its next point, without looking at any record."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.errors import InputError
from dpmcmc.tracing import show_shapes

__all__ = ["Mover", "Noise", "Proposal", "Proposed", "RandomWalk"]

Theta = Any


class Noise(Protocol):
    """The random numbers of one step's proposal, read from the tape in order."""

    def normals(self, count: int) -> jax.Array:
        """Read the next ``count`` standard normal numbers, in float64."""
        ...

    def uniforms(self, count: int) -> jax.Array:
        """Read the next ``count`` uniform numbers in (0, 1), in float64."""
        ...


class Proposed(NamedTuple):
    """A proposed point and the log-density ratio log q(θ | θ′) − log q(θ′ | θ)."""

    theta: Theta
    log_ratio: jax.Array | float


class Mover(Protocol):
    """A proposal fitted to θ. It is a pytree, so that its numbers may be arrays."""

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Propose a point from ``theta`` with random numbers from ``noise``."""
        ...


class Proposal(Protocol):
    """What a user chooses; fitting it to θ checks it and makes it ready to run."""

    def fit(self, theta: Theta) -> Mover:
        """Return the mover for parameters like ``theta``, or raise ``InputError``."""
        ...


@dataclass(frozen=True)
class RandomWalk:
    """Gaussian random walk: θ′ = θ + scale · z, with z standard normal.

    Parameters
    ----------
    scale
        The size of a step. A number: the standard deviation of every coordinate. A
        pytree like θ: one standard deviation for each coordinate (or each leaf). A
        d × d matrix, d the number of coordinates of θ: a covariance, over the
        coordinates in the order of ``jax.flatten_util.ravel_pytree``.
    """

    scale: Any

    def fit(self, theta: Theta) -> "GaussianMover":
        """Turn the scale into a factor L such that a move is L z, and check it."""
        flat, _ = ravel_pytree(theta)
        covariance = _covariance(self.scale, theta, flat.size)
        if covariance is not None:
            factor = _cholesky(covariance)
        else:
            factor = _deviations(self.scale, theta)
        _require_precision(factor, flat.dtype)
        return GaussianMover(jnp.asarray(factor, flat.dtype))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class GaussianMover:
    """Moves θ by L z: ``factor`` is L, or its diagonal."""

    factor: jax.Array

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Propose θ + L z. It is symmetric: its log-density ratio is zero."""
        flat, unravel = ravel_pytree(theta)
        normals = noise.normals(flat.size).astype(flat.dtype)
        is_matrix = self.factor.ndim == 2
        move = self.factor @ normals if is_matrix else self.factor * normals
        return Proposed(unravel(flat + move), 0.0)


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
        if not is_real or not np.allclose(covariance, covariance.T, 1e-6, 0):
            raise np.linalg.LinAlgError
        return np.linalg.cholesky(covariance.astype(np.float64))
    except np.linalg.LinAlgError:
        raise InputError(
            f"scale is a {covariance.shape[0]} × {covariance.shape[0]} matrix that is "
            "not a covariance; it must be symmetric and positive definite. Give a "
            "covariance, or one standard deviation for each coordinate."
        ) from None


def _require_precision(factor: np.ndarray, dtype: Any) -> None:
    """Refuse moves so small or large that the chain's numbers cannot hold them."""
    limits = np.finfo(dtype)
    sizes = np.diagonal(factor) if factor.ndim == 2 else factor
    if np.min(sizes) < limits.tiny or np.max(sizes) > limits.max:
        raise InputError(
            f"scale moves a coordinate by {np.min(sizes):g} to {np.max(sizes):g}; in "
            f"{dtype} it must be from {limits.tiny:g} to {limits.max:g}."
        )


def _deviations(scale: Any, theta: Theta) -> np.ndarray:
    """One standard deviation for each coordinate of the flattened θ."""
    is_number = jax.tree_util.all_leaves([scale]) and np.ndim(scale) == 0
    like_theta = jax.tree.map(lambda _: scale, theta) if is_number else scale
    try:
        parts = jax.tree.map(
            lambda leaf, part: np.broadcast_to(
                np.asarray(part, np.float64), np.shape(leaf)
            ).ravel(),
            theta,
            like_theta,
        )
    except (ValueError, TypeError):
        size = sum(int(np.size(leaf)) for leaf in jax.tree.leaves(theta))
        raise InputError(
            f"scale is {show_shapes(scale)}, but θ is {show_shapes(theta)}; scale must "
            "be a number, a pytree of the structure of θ, or a covariance of shape "
            f"({size}, {size})."
        ) from None
    deviations = np.concatenate(jax.tree.leaves(parts))
    if not np.all(np.isfinite(deviations) & (deviations > 0)):
        raise InputError(
            f"scale is {scale!r}; each standard deviation must be a finite number "
            "above 0. Give the size of a move of each coordinate."
        )
    return deviations
