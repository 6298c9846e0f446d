# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A kernel that adapts learns what was released, and the whole chunk tells no more."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from programs import Source, trace_sources

from dpmcmc.model.model import Model
from dpmcmc.private import Chains, FullData, Grid, Records, Tape, moves
from dpmcmc.proposals import Adaptive, RandomWalk

COUNT = 1021  # a prime, so that no other axis has its length


def log_likelihood(theta, record):
    return -((record - theta[0]) ** 2) - theta[1] ** 2


def sources_of_chunk(chains=3):
    """Trace a chunk of steps of adapting chains, and follow the records."""
    model = Model(log_likelihood, lambda theta: -jnp.sum(theta**2), np.zeros(2))
    with jax.enable_x64(True):
        start = jnp.zeros((chains, 2))
        running = Chains(
            model,
            Records(np.zeros(COUNT)),
            Adaptive(RandomWalk(0.1)).fit(start[0]),
            FullData(Grid(0.01)),
            Tape.seeded(1),
            start=start,
            dtype="float64",
            chunk=4,
            devices=jax.devices()[:1],
        )
        arguments = (
            running._resident,
            running._states[0],
            running._kernel,
            running._inputs(0, 4)[0],
        )
        program, shape = jax.make_jaxpr(
            lambda *given: moves.advance(
                model, running._test, "float64", *given, 4, False
            ),
            return_shape=True,
        )(*arguments)
    resident, state, kernel, inputs = jax.tree.map(lambda _: Source.PUBLIC, arguments)

    def of_records(tree):
        return jax.tree.map(lambda _: Source.RECORD, tree)

    state = state._replace(memory=of_records(state.memory))
    flat = jax.tree.leaves((of_records(resident), state, kernel, inputs))
    outputs = trace_sources(program.jaxpr, flat, COUNT, [])
    return jax.tree.unflatten(jax.tree.structure(shape), outputs)


@pytest.mark.parametrize("chains", [1, 3])
def test_a_whole_chunk_releases_nothing_but_what_bits_tell(chains):
    """Nor does a loop end but by bits: a single chain's ends when it moves."""
    state, kernel, released = sources_of_chunk(chains)
    assert set(jax.tree.leaves(released)) == {Source.BIT}
    assert max(jax.tree.leaves(kernel)) == Source.BIT
    assert set(jax.tree.leaves(state[:3])) == {Source.BIT}
    assert set(jax.tree.leaves(state.memory)) == {Source.RECORD}


def test_a_kernel_that_learns_more_is_found(monkeypatch):
    """Were it handed the sums of log-likelihoods, its moves would tell of them."""
    step = moves._step
    seen = []

    def keeps(*given):
        state, accepted = step(*given)
        seen.append(jnp.sum(jnp.round(state.memory).astype(jnp.int64), axis=-1))
        return state, accepted

    def learns(kernel, row, is_step):
        sums = seen.pop().astype(jnp.float64)
        return jax.tree.map(lambda leaf: leaf + jnp.sum(sums) * 1e-9, kernel)

    monkeypatch.setattr(moves, "_step", keeps)
    monkeypatch.setattr(moves, "adapted", learns)
    moves.advance.clear_cache()
    try:
        with pytest.raises(AssertionError, match="sums are added as float64"):
            sources_of_chunk()
    finally:
        moves.advance.clear_cache()
