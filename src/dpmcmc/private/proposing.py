# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Proposed moves: what a step computes of public numbers and words, before it decides.

For a model with ``fixed_order`` it is rounded the same in every program.
"""

from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from dpmcmc.model.fixed_order import in_order_of
from dpmcmc.model.model import Model
from dpmcmc.model.tracing import as_float, is_double
from dpmcmc.private.acceptance import Move
from dpmcmc.private.distributions import Reader

__all__ = ["Mover", "adapted", "choose", "log_priors", "proposed_move"]


class Mover(Protocol):
    """What proposes a point: `dpmcmc.proposals.Kernel`, known here by its method."""

    def propose(self, theta: Any, noise: Reader) -> tuple[Any, Any]:
        """Return a proposed θ and its log-density ratio."""
        ...

    # A kernel may also have a method ``adapt(released)``, which returns the kernel of
    # the next step. It is called with what a step released, and with nothing else.


def proposed_move(
    model: Model,
    dtype: str,
    kernel: Mover,
    current: tuple[Any, jax.Array],
    words: tuple[jax.Array, jax.Array],
) -> tuple[Move, jax.Array]:
    """The move that each chain proposes, and the log priors of the proposed points.

    ``current`` are points and their log priors; ``words`` those of the tape that the
    proposals read, and the tests.
    """
    propose = jax.vmap(partial(_propose, model, kernel))
    theta, log_ratio = propose(current[0], words[0])
    log_prior = log_priors(model, theta, dtype)
    public = log_prior.astype(jnp.float64) - current[1] + log_ratio
    return Move(current[0], theta, public, words[1]), log_prior


def log_priors(model: Model, theta: Any, dtype: str) -> jax.Array:
    """The log prior of each chain's point."""
    return jax.vmap(lambda point: _log_prior(model, point, dtype))(theta)


def _propose(
    model: Model, kernel: Mover, theta: Any, words: jax.Array
) -> tuple[Any, jax.Array]:
    """Propose a point; its log-ratio is NaN, hence refused, if it is not finite."""

    def of_words(theta: Any, words: jax.Array) -> tuple[Any, Any]:
        return kernel.propose(theta, Reader(words))

    proposed, log_ratio = in_order_of(model, of_words)(theta, words)
    proposed = jax.tree.map(lambda new, old: new.astype(old.dtype), proposed, theta)
    finite = jnp.array([jnp.all(jnp.isfinite(x)) for x in jax.tree.leaves(proposed)])
    return proposed, jnp.where(jnp.all(finite), log_ratio, jnp.nan)


def _log_prior(model: Model, theta: Any, dtype: str) -> jax.Array:
    def of_point(theta: Any) -> jax.Array:
        with jax.enable_x64(is_double(dtype)):
            return as_float(model.log_prior(theta), dtype)

    log_prior: jax.Array = in_order_of(model, of_point)(theta)
    return log_prior


def choose(accepted: jax.Array, proposed: Any, current: Any) -> Any:
    """Take what each chain proposed where it was accepted."""

    def pick(new: jax.Array, old: jax.Array) -> jax.Array:
        return jnp.where(accepted.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    return jax.tree.map(pick, proposed, current)


def adapted(kernel: Mover, row: Any, is_step: jax.Array) -> Mover:
    """The kernel of the next step, if it adapts to what was released."""
    adapt = getattr(kernel, "adapt", None)
    if adapt is None:
        return kernel
    return jax.tree.map(
        lambda new, old: jnp.where(is_step, new.astype(old.dtype), old),
        adapt(row),
        kernel,
    )
