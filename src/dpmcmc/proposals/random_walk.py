# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The Gaussian random walk, over all coordinates or one at a time."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.proposals.base import Noise, Numbers, Proposed, Theta
from dpmcmc.proposals.leaves import pick, require_real
from dpmcmc.proposals.step_scales import (
    deviations,
    normal_factor,
    require_precision,
    times,
)

__all__ = ["CoordinateKernel", "GaussianKernel", "PerCoordinate", "RandomWalk"]


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

    def fit(self, theta: Theta) -> "GaussianKernel":
        """Turn the scale into a factor L such that a move is L z, and check it."""
        require_real("RandomWalk", theta)
        flat, _ = ravel_pytree(theta)
        factor = normal_factor(self.scale, theta)
        require_precision(factor, flat.dtype)
        return GaussianKernel(np.asarray(factor, flat.dtype))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class GaussianKernel:
    """Moves θ by L z: ``factor`` is L, or its diagonal."""

    factor: Numbers

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Propose θ + L z. It is symmetric: its log-density ratio is zero."""
        flat, unravel = ravel_pytree(theta)
        normals = noise.normals(flat.size).astype(flat.dtype)
        return Proposed(unravel(flat + times(self.factor, normals)), 0.0)


@dataclass(frozen=True)
class PerCoordinate:
    """Gaussian random walk of one coordinate of θ at a time, chosen uniformly.

    Parameters
    ----------
    scale
        The standard deviation of a move. A number: that of every coordinate. A pytree
        like θ: one for each coordinate (or each leaf).
    """

    scale: Any

    def fit(self, theta: Theta) -> "CoordinateKernel":
        """Check the scale against θ."""
        require_real("PerCoordinate", theta)
        flat, _ = ravel_pytree(theta)
        scale = deviations(self.scale, theta)
        require_precision(scale, flat.dtype)
        return CoordinateKernel(jnp.asarray(scale, flat.dtype))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CoordinateKernel:
    """Moves one coordinate of θ; ``scale`` holds the deviation of each."""

    scale: jax.Array

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Propose θ + scale_i z e_i, i uniform. It is symmetric, as z is."""
        flat, unravel = ravel_pytree(theta)
        place = pick(noise.uniforms(1)[0], flat.size)
        move = self.scale[place] * noise.normals(1)[0].astype(flat.dtype)
        return Proposed(unravel(flat.at[place].add(move)), 0.0)
