# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A user's own function as a proposal."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from dpmcmc.errors import InputError
from dpmcmc.model.tracing import shape_of_result, show_shapes
from dpmcmc.proposals.base import Noise, Proposed, Theta

__all__ = ["Custom", "CustomKernel"]


@dataclass(frozen=True)
class Custom:
    """A function of yours that proposes.

    Parameters
    ----------
    propose
        ``propose(theta, noise)``: the proposed point, like θ, if the proposal is
        symmetric; else a pair of it and the log-density ratio
        log q(θ | θ′) − log q(θ′ | θ). It reads its random numbers from ``noise``, by
        ``noise.normals(count)`` and ``noise.uniforms(count)``, and from nowhere else,
        in operations that JAX can trace. It must not look at any record.
    """

    propose: Callable[[Theta, Noise], Any]

    def fit(self, theta: Theta) -> "CustomKernel":
        """Trace the function once, and refuse one whose points are not like θ."""
        if not callable(self.propose):
            raise InputError(
                f"propose is a {type(self.propose).__name__}; it must be a function of "
                "θ and noise. Pass the function itself, not its result."
            )
        result = shape_of_result("propose", self.propose, theta, _Halves())
        point, log_ratio = _point_and_ratio(result, theta)
        if _forms(point) != _forms(theta) or _forms(log_ratio) != _forms(0.0):
            raise InputError(
                f"propose returns {show_shapes(result)}, but θ is {show_shapes(theta)};"
                " it must return a point of the structure, shapes and kinds of numbers "
                "of θ, or a pair of such a point and one real number, the log-density "
                "ratio."
            )
        return CustomKernel(self.propose)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CustomKernel:
    """Proposes by a user's function."""

    function: Callable[[Theta, Noise], Any] = field(metadata={"static": True})

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Call the function; give the point the dtypes of θ."""
        point, log_ratio = _point_and_ratio(self.function(theta, noise), theta)
        kept = jax.tree.map(
            lambda new, old: jnp.asarray(new).astype(old.dtype), point, theta
        )
        return Proposed(kept, log_ratio)


@jax.tree_util.register_dataclass
@dataclass(frozen=True, repr=False)
class _Halves:
    """Stands in for the tape while a function is traced: every number is 0.5."""

    def normals(self, count: int) -> jax.Array:
        return jnp.full(count, 0.5)

    uniforms = normals

    def __repr__(self) -> str:
        return "noise"


def _point_and_ratio(result: Any, theta: Theta) -> tuple[Any, Any]:
    """Tell a bare point, whose structure is that of θ, from a pair."""
    if [jax.tree.structure(result)] == [jax.tree.structure(theta)]:
        return result, 0.0
    if isinstance(result, tuple) and len(result) == 2:
        return result[0], result[1]
    return result, 0.0


def _forms(tree: Any) -> list[Any]:
    """Structure, shapes, and kinds of numbers: real, whole or boolean."""
    kinds = (jnp.floating, jnp.integer, jnp.bool_)
    leaves = jax.tree.leaves(tree)
    return [
        jax.tree.structure(tree),
        [jnp.shape(leaf) for leaf in leaves],
        [[jnp.issubdtype(jnp.result_type(leaf), k) for k in kinds] for leaf in leaves],
    ]
