# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of chains on streamed records: a step goes through all blocks once.

Nothing is kept of a record from step to step: blocks are looked at from both points.
The host leads, and waits for each block.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import Sharding

from dpmcmc.model.model import Model
from dpmcmc.private.acceptance import FullData, Move
from dpmcmc.private.moves import Inputs, Released, State
from dpmcmc.private.opening import Opened
from dpmcmc.private.placing import placed
from dpmcmc.private.proposing import Mover, adapted, choose, proposed_move

__all__ = ["Stream", "advance_streamed"]


class Stream(NamedTuple):
    """Streamed records: all their blocks, from the first on, and where points are."""

    blocks: Callable[[], Iterator[Opened]]
    placement: Sharding


def advance_streamed(
    model: Model,
    test: FullData,
    dtype: str,
    stream: Stream,
    state: State,
    kernel: Mover,
    inputs: Inputs,
    steps: int,
) -> tuple[State, Mover, Released]:
    """Run ``steps`` steps, of as many rows of inputs.

    Guarantee
    ---------
    As for `moves.advance`: each bit is decided by the sum over all blocks, so over all
    records, of the integers that `decisions.barker` takes; nothing else of the records
    reaches a point or a kernel. How often a loop runs follows from public numbers.
    """
    rows = []
    for step in range(steps):
        given = model, dtype, state, kernel, inputs, step
        move, log_prior = placed(_proposed(*given), stream.placement)
        total = _nothing(move.word)
        for block in stream.blocks():
            total = placed(_added(model, test, block, move, total), stream.placement)
            jax.block_until_ready(total)  # one block is used at a time
        decided = _decided(model, test, state, kernel, move, log_prior, total)
        state, kernel, row = placed(decided, stream.placement)
        rows.append(row)
    return state, kernel, _stacked(rows)


@partial(jax.jit, static_argnames=("model", "dtype"))
def _proposed(
    model: Model,
    dtype: str,
    state: State,
    kernel: Mover,
    inputs: Inputs,
    step: int,
) -> tuple[Move, jax.Array]:
    now = jax.tree.map(
        lambda all_: jax.lax.dynamic_index_in_dim(all_, step, keepdims=False), inputs
    )
    return proposed_move(model, dtype, kernel, state[:2], now[:2])


@jax.jit
def _nothing(word: jax.Array) -> jax.Array:
    """A sum of no records, for each chain."""
    return jnp.zeros(word.shape, jnp.int64)


@partial(jax.jit, static_argnames="model")
def _added(
    model: Model, test: FullData, block: Opened, move: Move, total: jax.Array
) -> jax.Array:
    return total + test.total_of_block(model, block, move.current, move.proposed)


@partial(jax.jit, static_argnames="model")
def _decided(
    model: Model,
    test: FullData,
    state: State,
    kernel: Mover,
    move: Move,
    log_prior: jax.Array,
    total: jax.Array,
) -> tuple[State, Mover, Released]:
    accepted = test.bits(model, total, move)
    theta, log_prior = choose(accepted, (move.proposed, log_prior), state[:2])
    row = Released(theta, accepted)
    state = state._replace(theta=theta, log_prior=log_prior)
    return state, adapted(kernel, row, jnp.bool_(True)), row


@jax.jit
def _stacked(rows: list[Any]) -> Released:
    stacked: Released = jax.tree.map(lambda *leaves: jnp.stack(leaves), *rows)
    return stacked
