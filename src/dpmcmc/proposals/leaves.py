# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The leaves of θ: their names, their kinds, and numbers given for each of them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.model.tracing import show_shapes
from dpmcmc.proposals.base import Theta

__all__ = [
    "coordinates",
    "leaf_name",
    "pick",
    "require_booleans",
    "require_real",
    "require_whole",
    "widest_float",
]


def leaf_name(path: tuple[Any, ...]) -> str:
    """The name of a place in θ, as draws are named: ``group.scale``."""
    return jax.tree_util.keystr(path, simple=True, separator=".")


def require_real(proposal: str, theta: Theta) -> None:
    """Refuse a θ with discrete leaves."""
    _require_kind(
        proposal,
        theta,
        jnp.floating,
        "real parameters",
        "Write 0.0 for a real parameter, or give discrete ones a proposal of their "
        "own by Blocks.",
    )


def require_whole(proposal: str, theta: Theta) -> None:
    """Refuse a θ with leaves that are not whole numbers."""
    _require_kind(
        proposal,
        theta,
        jnp.integer,
        "whole numbers",
        "Start from whole numbers, such as 0, or give the others a proposal of their "
        "own by Blocks.",
    )


def require_booleans(proposal: str, theta: Theta) -> None:
    """Refuse a θ with leaves that are not booleans."""
    _require_kind(
        proposal,
        theta,
        jnp.bool_,
        "booleans",
        "Start from booleans, such as False, or give the others a proposal of their "
        "own by Blocks.",
    )


def coordinates(value: Any, theta: Theta, dtype: Any) -> np.ndarray | None:
    """Give one number to each coordinate of the flattened θ.

    ``value`` is one number for all, or a pytree like θ of a number for each leaf or
    for each coordinate. Returns None if it is of another structure, or if something
    in it is not such a number.
    """
    is_number = jax.tree_util.all_leaves([value]) and np.ndim(value) == 0
    like_theta = jax.tree.map(lambda _: value, theta) if is_number else value
    try:
        parts = jax.tree.map(
            lambda leaf, part: np.broadcast_to(
                np.asarray(part).astype(dtype, casting="same_kind"), np.shape(leaf)
            ).ravel(),
            theta,
            like_theta,
        )
    except (ValueError, TypeError):
        return None
    return np.concatenate(jax.tree.leaves(parts))


def pick(uniform: jax.Array, count: Any) -> jax.Array:
    """Turn one uniform number into one of 0, …, count − 1, each equally likely.

    The number has 52 bits, so that each probability is 1/count to within 2⁻⁵².
    """
    # as a coarser float, a uniform number may have been rounded to 1
    return jnp.minimum((uniform * count).astype(jnp.int32), count - 1)


def widest_float(*trees: Any) -> Any:
    """The widest float among the leaves and JAX's own: float64 where there is one."""
    return jnp.result_type(jnp.result_type(float), *jax.tree.leaves(trees))


def _require_kind(
    proposal: str, theta: Theta, kind: Any, moved: str, advice: str
) -> None:
    for path, leaf in jax.tree_util.tree_leaves_with_path(theta):
        if not jnp.issubdtype(jnp.result_type(leaf), kind):
            raise InputError(
                f"{proposal} moves {moved}, but θ holds {leaf_name(path) or 'θ'}: "
                f"{show_shapes(leaf)}. {advice}"
            )
