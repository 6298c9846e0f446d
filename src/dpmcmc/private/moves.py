# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of chains: pure functions from a state and random words to the next state."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from dpmcmc.model.model import Model
from dpmcmc.private.acceptance import FullData
from dpmcmc.private.minibatch import Minibatch
from dpmcmc.private.opening import Opened
from dpmcmc.private.proposing import (
    Mover,
    adapted,
    choose,
    log_priors,
    proposed_move,
)

__all__ = [
    "UNROLLED",
    "Inputs",
    "Released",
    "State",
    "Test",
    "advance",
    "initial_state",
]

UNROLLED = 4
"""Steps that are written out in a turn of a loop over whole chunks."""

Test = FullData | Minibatch
"""What decides on a move: a closed list, of which docs/proofs are about."""


class Released(NamedTuple):
    """What leaves the boundary: points after each step, and the accepted bits.

    Arrays have a leading axis of steps, then one of chains.
    """

    theta: Any
    accepted: Any


class State(NamedTuple):
    """Where the chains are, and what the test keeps of the records there.

    A single chain has two memories, of which that at ``turn`` is kept. A step writes
    what records show at the proposed point over the other, which takes its turn if the
    point is accepted: nothing is copied. For several chains ``turn`` is None.
    """

    theta: Any
    log_prior: jax.Array
    turn: jax.Array | None
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
    log_prior = log_priors(model, theta, dtype)
    memory = test.remember(model, resident, theta)
    if len(log_prior) > 1 or not jax.tree.leaves(memory):
        return State(theta, log_prior, None, memory)
    # a copy is placed as what it is a copy of; no step reads it before it is written
    both = memory, jax.lax.optimization_barrier(memory)
    return State(theta, log_prior, jnp.int32(0), both)


class _Carry(NamedTuple):
    """What a loop over steps hands on, with the number of the next step."""

    step: jax.Array
    state: State
    kernel: Mover
    released: Released


@partial(jax.jit, static_argnames=("model", "dtype", "whole"), donate_argnames="state")
def advance(
    model: Model,
    test: Test,
    dtype: str,
    resident: Opened | None,
    state: State,
    kernel: Mover,
    inputs: Inputs,
    steps: int,
    whole: bool,
) -> tuple[State, Mover, Released]:
    """Run ``steps`` steps, of as many rows of inputs; if ``whole``, look at all rows.

    Guarantee
    ---------
    The kernel of a step is a function of the first kernel and of what earlier steps
    released: it is handed nothing else. How often a loop runs follows from ``steps``
    and from accepted bits.
    """
    rows, chains = inputs.test.shape

    def one(carry: _Carry, memory: Any) -> tuple[_Carry, jax.Array, Any]:
        """One step from a memory; also the bits, and what to keep where accepted."""
        step, state, kernel, released = carry
        now = jax.tree.map(
            lambda all_: jax.lax.dynamic_index_in_dim(all_, step, keepdims=False),
            inputs,
        )
        given = state._replace(memory=memory)
        moved, accepted = _step(model, test, dtype, resident, given, kernel, now)
        is_step = jnp.full(chains, step < steps)  # rows beyond change nothing
        accepted &= is_step
        theta, log_prior = choose(is_step, moved[:2], state[:2])
        row = Released(theta, accepted)
        released = jax.tree.map(
            lambda all_, new: jax.lax.dynamic_update_index_in_dim(all_, new, step, 0),
            released,
            row,
        )
        kernel = adapted(kernel, row, step < steps)
        state = state._replace(theta=theta, log_prior=log_prior)
        return _Carry(step + 1, state, kernel, released), accepted, moved.memory

    def together(_: int, carry: _Carry) -> _Carry:
        """A step of all chains: each takes the new memory where it accepts."""
        old = carry.state.memory
        carry, accepted, new = one(carry, old)
        memory = choose(accepted, new, old)
        return carry._replace(state=carry.state._replace(memory=memory))

    def stay(turn: int, carry: _Carry) -> _Carry:
        """Steps of a single chain from one memory to the other, until it moves."""

        def body(carry: _Carry) -> _Carry:
            both = carry.state.memory
            carry, accepted, new = one(carry, both[turn])
            both = (both[0], new) if turn == 0 else (new, both[1])
            after = jnp.where(accepted[0], 1 - turn, turn).astype(jnp.int32)
            return carry._replace(state=carry.state._replace(turn=after, memory=both))

        return jax.lax.while_loop(
            lambda carry: (carry.step < steps) & (carry.state.turn == turn),
            body,
            carry,
        )

    room = jax.tree.map(
        lambda leaf: jnp.zeros((rows, *leaf.shape), leaf.dtype),
        Released(state.theta, jnp.zeros(chains, bool)),
    )
    carry = _Carry(jnp.int64(0), state, kernel, room)
    if state.turn is not None:
        carry = jax.lax.while_loop(
            lambda carry: carry.step < steps, lambda now: stay(1, stay(0, now)), carry
        )
    else:
        # An accelerator is through all rows before it could be asked after each.
        last, unroll = (rows, UNROLLED) if whole else (steps, None)
        carry = jax.lax.fori_loop(0, last, together, carry, unroll=unroll)
    return carry.state, carry.kernel, carry.released


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

    The memory that is returned belongs to the proposed points.

    Guarantee
    ---------
    The next point of a chain, and its log prior, depend on the records through the
    chain's bit alone; the memory depends on them and is not released.
    """
    move, log_prior = proposed_move(model, dtype, kernel, state[:2], inputs[:2])
    read: Any = inputs.batch if resident is None else resident
    accepted, memory = test.decide(model, read, state.memory, move)
    theta, log_prior = choose(accepted, (move.proposed, log_prior), state[:2])
    return State(theta, log_prior, state.turn, memory), accepted
