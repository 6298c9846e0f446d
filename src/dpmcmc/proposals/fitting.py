# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Fitting a proposal to θ: what is given is checked, from shapes alone."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from dpmcmc.errors import InputError
from dpmcmc.model.tracing import shape_of_result, shapes_of, show_shapes
from dpmcmc.proposals.base import Kernel, Proposal

__all__ = ["fit_proposal"]


def fit_proposal(proposal: Proposal, start: Any, warmup: int) -> Kernel:
    """Fit a proposal to θ, and refuse one whose points are not like θ.

    Parameters
    ----------
    proposal
        What a user chose. One that adapts, and does not say until when, adapts during
        the warm-up.
    start
        A point of θ in the precision of the chain.
    warmup
        How many steps the warm-up has.

    Raises
    ------
    InputError
        If it is no proposal, or does not fit θ.
    """
    if isinstance(proposal, type) or not callable(getattr(proposal, "fit", None)):
        raise InputError(
            f"proposal is a {type(proposal).__name__}; it must be a proposal, such as "
            "dpmcmc.RandomWalk(scale=0.1)."
        )
    settle = getattr(proposal, "stopping_at", None)
    kernel = (proposal if settle is None else settle(warmup)).fit(start)
    proposed, log_ratio = shape_of_result("proposal", partial(_propose, kernel), start)
    is_scalar = shapes_of(log_ratio) == shapes_of(0.0)
    if shapes_of(proposed) != shapes_of(start) or not is_scalar:
        raise InputError(
            f"proposal suggests {show_shapes(proposed)} with a log-ratio of "
            f"{show_shapes(log_ratio)}, but θ is {show_shapes(start)}; it must suggest "
            "a point of the structure and shapes of θ, with one number as log-ratio."
        )
    return kernel


class _Constant:
    """Stands in for random numbers while a proposal is checked: all are 0.5."""

    def normals(self, count: int) -> jax.Array:
        return jnp.full(count, 0.5)

    uniforms = normals


def _propose(kernel: Kernel, theta: Any) -> tuple[Any, Any]:
    proposed, log_ratio = kernel.propose(theta, _Constant())
    return proposed, log_ratio
