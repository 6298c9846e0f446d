# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A walk whose moves are bounded, in the numbers that are stored."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.errors import InputError, require_positive
from dpmcmc.model.tracing import show_shapes
from dpmcmc.proposals.base import Noise, Numbers, Proposed, Theta
from dpmcmc.proposals.leaves import coordinates, require_real, widest_float
from dpmcmc.proposals.step_scales import require_precision

__all__ = ["BallKernel", "BoundedWalk", "BoxKernel"]


@dataclass(frozen=True)
class BoundedWalk:
    """Uniform walk in a Euclidean ball or a box around θ, with no move beyond.

    With a model that states a Lipschitz constant L, one record's log-likelihood ratio
    is at most L times `reach`: a clip there touches no record.

    Parameters
    ----------
    radius
        Ball: its radius, a number. Box: half of its widths; a number for every
        coordinate, or a pytree like θ with one for each coordinate (or each leaf).
    shape
        "ball", uniform in a ball over all coordinates together; or "box", uniform in
        an interval for each coordinate.
    """

    radius: Any
    shape: Literal["ball", "box"] = "ball"

    def fit(self, theta: Theta) -> "BallKernel | BoxKernel":
        """Check the radius against θ."""
        require_real("BoundedWalk", theta)
        flat, _ = ravel_pytree(theta)
        if self.shape == "ball":
            radius = np.array(self._ball_radius())
            require_precision(radius[None], flat.dtype, "radius")
            return BallKernel(radius)
        widths = self._half_widths(theta)
        require_precision(widths, flat.dtype, "radius")
        return BoxKernel(widths)

    def reach(self, theta: Theta) -> float:
        """The farthest that a move goes, as the exact distance of stored points."""
        if self.shape == "ball":
            return self._ball_radius()
        # hypot errs by less than one unit in the last place
        return math.nextafter(math.hypot(*self._half_widths(theta)), math.inf)

    def _ball_radius(self) -> float:
        return require_positive(
            "radius", self.radius, 'Give shape="box" for one number a coordinate.'
        )

    def _half_widths(self, theta: Theta) -> np.ndarray:
        if self.shape != "box":
            raise InputError(
                f"shape is {self.shape!r}; it must be 'ball' or 'box'. Choose 'ball' "
                "for one bound on all coordinates together."
            )
        widths = coordinates(self.radius, theta, np.float64)
        if widths is None:
            raise InputError(
                f"radius is {show_shapes(self.radius)}, but θ is {show_shapes(theta)}; "
                "for a box it must be a number, or a pytree of the structure of θ."
            )
        if not np.all(np.isfinite(widths) & (widths > 0)):
            raise InputError(
                f"radius is {self.radius!r}; each half-width must be a finite number "
                "above 0. Give the farthest that each coordinate may move."
            )
        return widths


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BallKernel:
    """Moves θ uniformly in a ball of the given radius."""

    radius: Numbers

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Propose θ + radius · u^(1/d) · z/‖z‖. It is symmetric: z and −z are alike."""
        size = _size(theta)
        normals, uniform = noise.normals(size), noise.uniforms(1)[0]
        direction = normals / jnp.linalg.norm(normals)
        move = self.radius * uniform ** (1 / size) * direction
        return _move_within(theta, move, self.radius, lambda parts: jnp.sum(parts**2))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BoxKernel:
    """Moves each coordinate of θ uniformly, by at most its half-width."""

    half_widths: Numbers

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Propose θ + half-widths · (2u − 1). It is symmetric, as 2u − 1 is."""
        move = self.half_widths * (2 * noise.uniforms(_size(theta)) - 1)
        return _move_within(theta, move, self.half_widths, jnp.max)


def _size(theta: Theta) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(theta))


def _move_within(
    theta: Theta,
    move: jax.Array,
    radius: Numbers,
    gauge: Callable[[jax.Array], jax.Array],
) -> Proposed:
    """Move θ, and hold it where the move as stored would go beyond the bound.

    Rounding θ + move to the chain's precision can lengthen a move, without limit as θ
    grows. So the stored points are compared, and the chain proposes to stay if they
    are too far apart. Which pairs are too far does not depend on their order, so the
    walk stays symmetric.

    Let u be the unit roundoff of the arithmetic here (float64 inside the boundary)
    and d the size of θ. Each part below is the coordinate's part of the bound with
    relative error at most 4u (radius, difference, quotient twice, as compilers may
    multiply by a reciprocal); its square errs by 9u, a sum of d squares by (d + 8)u,
    so that a margin of 2(d + 8)u leaves no doubt. The slack covers a compiler that
    rounds θ + move differently where it computes it again: once instead of twice.
    """
    wide = widest_float(theta)
    old, unravel = ravel_pytree(jax.tree.map(lambda leaf: leaf.astype(wide), theta))
    moved = jax.tree.map(
        lambda leaf, part: leaf + part.astype(leaf.dtype),
        theta,
        unravel(move.astype(wide)),
    )
    new, _ = ravel_pytree(jax.tree.map(lambda leaf: leaf.astype(wide), moved))
    unit = np.finfo(wide).eps
    slack = 4 * unit * jnp.maximum(jnp.abs(old), jnp.abs(new))
    parts = (jnp.abs(new - old) + slack) / jnp.asarray(radius, wide)
    is_within = gauge(parts) <= 1 - (old.size + 8) * unit
    held = jax.tree.map(lambda new, old: jnp.where(is_within, new, old), moved, theta)
    return Proposed(held, 0.0)
