# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of chains: pure functions from a state and random words to the next state.

A step proposes a point, lets the test decide on the records, and moves or stays.
"""

from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from dpmcmc.model.model import Model
from dpmcmc.model.tracing import as_float, is_double
from dpmcmc.private.acceptance import FullData, Move
from dpmcmc.private.distributions import Reader
from dpmcmc.private.minibatch import Minibatch
from dpmcmc.private.records import Opened

__all__ = ["Inputs", "Mover", "Released", "State", "Test", "advance", "initial_state"]

Test = FullData | Minibatch
"""What decides on a move: a closed list, of which docs/proofs are about."""


class Mover(Protocol):
    """What proposes a point: `dpmcmc.proposals.Kernel`, known here by its method."""

    def propose(self, theta: Any, noise: Reader) -> tuple[Any, Any]:
        """Return a proposed θ and its log-density ratio."""
        ...

    # A kernel may also have a method ``adapt(released)``, which returns the kernel of
    # the next step. It is called with what a step released, and with nothing else.


class Released(NamedTuple):
    """What leaves the boundary: points after each step, and the accepted bits.

    Arrays have a leading axis of steps, then one of chains.
    """

    theta: Any
    accepted: Any


class State(NamedTuple):
    """Where the chains are, and what the test keeps of the records there."""

    theta: Any
    log_prior: jax.Array
    memory: Any


class Inputs(NamedTuple):
    """What a chunk reads, with leading axes of steps and chains.

    Words of the tape for proposals and tests; records of the batches, if there are any.
    """

    proposal: Any
    test: Any
    batch: Opened | None


@partial(jax.jit, static_argnames=("model", "dtype"))
def initial_state(
    model: Model, test: Test, dtype: str, resident: Opened | None, theta: Any
) -> State:
    """Where the chains start, and what the test keeps of the records there."""
    log_prior = jax.vmap(lambda point: _log_prior(model, point, dtype))(theta)
    return State(theta, log_prior, test.remember(model, resident, theta))


@partial(jax.jit, static_argnames=("model", "dtype"), donate_argnames="state")
def advance(
    model: Model,
    test: Test,
    dtype: str,
    resident: Opened | None,
    state: State,
    kernel: Mover,
    inputs: Inputs,
    steps: int,
) -> tuple[State, Mover, Released]:
    """Run ``steps`` steps, at most as many as there are inputs.

    Guarantee
    ---------
    The kernel of a step is a function of the first kernel and of what earlier steps
    released: it is handed nothing else.
    """

    def body(
        step: int, carry: tuple[State, Mover, Released]
    ) -> tuple[State, Mover, Released]:
        state, kernel, released = carry
        now = jax.tree.map(lambda leaf: leaf[step], inputs)
        state, accepted = _step(model, test, dtype, resident, state, kernel, now)
        row = Released(state.theta, accepted)
        released = jax.tree.map(lambda all_, one: all_.at[step].set(one), released, row)
        return state, _adapted(kernel, row), released

    room = jax.tree.map(
        lambda leaf: jnp.zeros((inputs.test.shape[0], *leaf.shape), leaf.dtype),
        Released(state.theta, jnp.zeros(inputs.test.shape[1], bool)),
    )
    return jax.lax.fori_loop(0, steps, body, (state, kernel, room))


def _adapted(kernel: Mover, row: Released) -> Mover:
    """The kernel of the next step, if it adapts to what was released."""
    adapt = getattr(kernel, "adapt", None)
    if adapt is None:
        return kernel
    return jax.tree.map(lambda new, old: new.astype(old.dtype), adapt(row), kernel)


def _step(
    model: Model,
    test: Test,
    dtype: str,
    resident: Opened | None,
    state: State,
    kernel: Mover,
    inputs: Inputs,
) -> tuple[State, jax.Array]:
    """One proposal and one test of every chain.

    Guarantee
    ---------
    The next point of a chain, and its log prior, depend on the records through the
    chain's bit alone; the memory depends on them and is not released.
    """
    theta, log_ratio = jax.vmap(partial(_propose, kernel))(state.theta, inputs.proposal)
    log_prior = jax.vmap(lambda point: _log_prior(model, point, dtype))(theta)
    public = log_prior.astype(jnp.float64) - state.log_prior + log_ratio
    read: Any = inputs.batch if resident is None else resident
    move = Move(state.theta, theta, public, inputs.test)
    accepted, memory = test.decide(model, read, state.memory, move)
    proposed = State(theta, log_prior, memory)
    return _choose(accepted, proposed, state), accepted


def _propose(kernel: Mover, theta: Any, words: jax.Array) -> tuple[Any, jax.Array]:
    """Propose a point; its log-ratio is NaN, hence refused, if it is not finite."""
    proposed, log_ratio = kernel.propose(theta, Reader(words))
    proposed = jax.tree.map(lambda new, old: new.astype(old.dtype), proposed, theta)
    finite = jnp.array([jnp.all(jnp.isfinite(x)) for x in jax.tree.leaves(proposed)])
    return proposed, jnp.where(jnp.all(finite), log_ratio, jnp.nan)


def _log_prior(model: Model, theta: Any, dtype: str) -> jax.Array:
    with jax.enable_x64(is_double(dtype)):
        return as_float(model.log_prior(theta), dtype)


def _choose(accepted: jax.Array, proposed: State, current: State) -> State:
    """Take each chain's proposed state where it was accepted."""

    def pick(new: jax.Array, old: jax.Array) -> jax.Array:
        return jnp.where(accepted.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    return jax.tree.map(pick, proposed, current)
