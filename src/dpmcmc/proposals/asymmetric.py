# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Proposals that are not symmetric, with their density ratios."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.scipy.linalg import solve_triangular

from dpmcmc.errors import InputError
from dpmcmc.model.tracing import show_shapes
from dpmcmc.proposals.base import Noise, Numbers, Proposed, Theta
from dpmcmc.proposals.leaves import coordinates, leaf_name, require_real, widest_float
from dpmcmc.proposals.step_scales import normal_factor, times

__all__ = ["Independence", "IndependenceKernel", "LogNormalKernel", "LogNormalWalk"]


@dataclass(frozen=True)
class LogNormalWalk:
    """Multiplicative walk of positive parameters: θ′ = θ · exp(scale · z).

    It is the random walk of log θ, seen on θ's own scale. The density of θ′ is that of
    log θ′ divided by θ′, and log θ′ is symmetric about log θ; so the log-density ratio
    is Σ log θ′/θ, over all coordinates.

    Parameters
    ----------
    scale
        The standard deviation of log θ′, in the forms that `RandomWalk` takes: a
        number, a pytree like θ, or a covariance.
    """

    scale: Any

    def fit(self, theta: Theta) -> "LogNormalKernel":
        """Turn the scale into a factor, and refuse a θ that is not positive."""
        require_real("LogNormalWalk", theta)
        for path, leaf in jax.tree_util.tree_leaves_with_path(theta):
            if not np.all(np.asarray(leaf) > 0):
                raise InputError(
                    "LogNormalWalk moves positive parameters, but θ starts with "
                    f"{leaf_name(path) or 'θ'} = {leaf}. Start above 0, or choose "
                    "RandomWalk."
                )
        return LogNormalKernel(normal_factor(self.scale, theta))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LogNormalKernel:
    """Moves log θ by L z: ``factor`` is L, or its diagonal."""

    factor: Numbers

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Propose θ exp(L z); where rounding makes that 0, the move is refused."""
        flat, unravel = ravel_pytree(theta)
        wide = widest_float(theta)
        move = times(self.factor, noise.normals(flat.size)).astype(wide)
        new = (flat.astype(wide) * jnp.exp(move)).astype(flat.dtype)
        # from 0 no multiple leads back
        log_ratio = jnp.where(jnp.all(new > 0), jnp.sum(move), -jnp.inf)
        return Proposed(unravel(new), log_ratio)


@dataclass(frozen=True)
class Independence:
    """A normal proposal that does not depend on where the chain is.

    θ′ is drawn from q = N(mean, scale), so that the log-density ratio is
    log q(θ) − log q(θ′). It moves far if q resembles the posterior, with tails that
    are not lighter; otherwise it hardly moves. Choose q without looking at the
    records.

    Parameters
    ----------
    mean
        The centre: a number, or a pytree like θ.
    scale
        The spread, in the forms that `RandomWalk` takes: a number, a pytree like θ, or
        a covariance.
    """

    mean: Any
    scale: Any

    def fit(self, theta: Theta) -> "IndependenceKernel":
        """Turn mean and scale into arrays, and check them."""
        require_real("Independence", theta)
        mean = coordinates(self.mean, theta, np.float64)
        if mean is None or not np.all(np.isfinite(mean)):
            raise InputError(
                f"mean is {show_shapes(self.mean)}, but θ is {show_shapes(theta)}; "
                "mean must be a finite number, or a pytree of them of the structure "
                "of θ."
            )
        return IndependenceKernel(mean, normal_factor(self.scale, theta))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class IndependenceKernel:
    """Proposes mean + L z: ``factor`` is L, or its diagonal."""

    mean: Numbers
    factor: Numbers

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Propose mean + L z, with log-density ratio (‖z′‖² − ‖z‖²)/2."""
        flat, unravel = ravel_pytree(theta)
        wide = widest_float(theta)
        new = self.mean + times(self.factor, noise.normals(flat.size))
        new = new.astype(flat.dtype)
        far, near = (self._squares(point.astype(wide)) for point in (new, flat))
        return Proposed(unravel(new), (far - near) / 2)

    def _squares(self, point: jax.Array) -> jax.Array:
        """‖L⁻¹(point − mean)‖²."""
        centred = point - self.mean
        if self.factor.ndim == 2:
            factor = jnp.asarray(self.factor, centred.dtype)
            return jnp.sum(solve_triangular(factor, centred, lower=True) ** 2)
        return jnp.sum((centred / self.factor) ** 2)
