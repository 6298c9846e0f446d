# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the user states: a log-likelihood of one record, a prior, a place to start."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.tracing import as_float, require_visible, shape_of_result, show_shapes

__all__ = ["Model", "check_model"]

Theta = Any
"""The parameters: any pytree of arrays of floats."""

Record = Any
"""One record: any pytree of arrays."""


@dataclass(frozen=True, eq=False)
class Model:
    """A Bayesian model, stated one record at a time.

    Parameters
    ----------
    log_likelihood
        ``log_likelihood(theta, record)``: the log-likelihood of one record, as a
        scalar, in operations that JAX can trace. It must read nothing but its
        arguments and public constants: a number computed from other records (a
        column's mean, say) and captured here would escape the privacy guarantee.
    log_prior
        ``log_prior(theta)``: the log-density of the prior, up to a constant.
    initial
        Where every chain starts, and the structure of θ: any pytree of numbers or
        arrays. It must be public: chosen without looking at the records.
    """

    log_likelihood: Callable[[Theta, Record], Any]
    log_prior: Callable[[Theta], Any]
    initial: Theta

    def __post_init__(self) -> None:
        for name in ("log_likelihood", "log_prior"):
            if not callable(getattr(self, name)):
                raise InputError(
                    f"{name} is a {type(getattr(self, name)).__name__}; it must be a "
                    "function. Pass the function itself, not its result."
                )
        leaves = jax.tree.leaves(self.initial)
        if not leaves:
            raise InputError(
                "initial holds no parameter; it must be a pytree of at least one "
                "number or array. Give the starting value of each parameter."
            )
        for leaf in leaves:
            if np.asarray(leaf).dtype.kind not in "fiu":
                raise InputError(
                    f"initial holds {leaf!r}; each parameter must be a real number or "
                    "an array of them."
                )


def check_model(model: Model, theta: Theta, record: Record) -> None:
    """Refuse a model that cannot be run, from shapes alone.

    Parameters
    ----------
    model
        The model to check.
    theta
        The starting point, in the precision of the chain.
    record
        The shape and dtype of one record, as a pytree of ``ShapeDtypeStruct``.

    Raises
    ------
    InputError
        If the log-likelihood or the prior fails to trace, does not return a real
        scalar, if the log-likelihood leaves JAX by a callback or batches itself, or
        if the prior is not finite at the starting point.
    """
    likelihood = shape_of_result("log_likelihood", model.log_likelihood, theta, record)
    _require_scalar("log_likelihood(theta, record)", likelihood, (theta, record))
    require_visible("log_likelihood", model.log_likelihood, theta, record)
    prior = shape_of_result("log_prior", model.log_prior, theta)
    _require_scalar("log_prior(theta)", prior, (theta,))
    start = float(as_float(model.log_prior(theta), jnp.float32))
    if not np.isfinite(start):
        raise InputError(
            f"log_prior is {start} at the starting point; it must be finite. "
            "Choose an initial value inside the support of the prior."
        )


def _require_scalar(call: str, result: Any, arguments: tuple[Any, ...]) -> None:
    leaves = jax.tree.leaves(result)
    is_scalar = len(leaves) == 1 and leaves[0].shape == ()
    if not is_scalar or leaves[0].dtype.kind not in "fiub":
        raise InputError(
            f"{call} returns {show_shapes(result)}; it must return one real number. "
            f"It was called with {', '.join(map(show_shapes, arguments))}: return "
            "the log-density of one record, summed over its parts."
        )
