# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A step on residuals, and sums in blocks: records are mixed by integer sums alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from programs import Source, trace_sources

from dpmcmc.influence import Listed, Residual, Taylor
from dpmcmc.model.model import Model
from dpmcmc.private import (
    Chains,
    FullData,
    Grid,
    Records,
    Tape,
    residual,
    vectors,
)
from dpmcmc.private import chains as chains_module
from dpmcmc.private.records import Opened
from dpmcmc.proposals import RandomWalk

COUNT = 1021  # a prime, so that no other axis has its length
SIZE = 2


def log_likelihood(theta, record):
    return -0.5 * (record["y"] - theta["a"] * record["x"]) ** 2 - jnp.exp(theta["b"])


def sources_of_step(dtype, among=None, chains=3):
    model = Model(log_likelihood, lambda t: -(t["a"] ** 2), {"a": 0.0, "b": 0.0})
    with jax.enable_x64(True):
        start = {"a": jnp.zeros((), dtype), "b": jnp.zeros((), dtype)}
        _, unravel = ravel_pytree(start)
        taylor = Taylor(np.zeros(SIZE), np.eye(SIZE), 3.0, 5.0, unravel, among)
        influence = Residual(taylor, np.ones(5))
        running = Chains(
            model,
            Records({"x": np.ones(COUNT), "y": np.zeros(COUNT)}),
            RandomWalk(0.1).fit(start),
            FullData(Grid(0.01), influence=influence),
            Tape.seeded(1),
            start=jax.tree.map(lambda leaf: jnp.stack([leaf] * chains), start),
            dtype=dtype,
            chunk=2,
            devices=jax.devices()[:1],
        )
        inputs = jax.tree.map(lambda leaf: leaf[0], running._inputs(0, 2))
        arguments = running._access.resident, running._state, running._kernel, inputs

        def step(*given):
            return chains_module._step(model, running._test, dtype, *given)

        program, shape = jax.make_jaxpr(step, return_shape=True)(*arguments)
    resident, state, kernel, inputs = jax.tree.map(lambda _: Source.PUBLIC, arguments)

    def of_records(tree):
        return jax.tree.map(lambda _: Source.RECORD, tree)

    state = state._replace(memory=of_records(state.memory))
    flat = jax.tree.leaves((of_records(resident), state, kernel, inputs))
    sums = []
    outputs = trace_sources(program.jaxpr, flat, COUNT, sums)
    return jax.tree.unflatten(jax.tree.structure(shape), outputs), sums


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kept", [6, 0])
@pytest.mark.parametrize("among", [None, Listed(("y",), ((0.0, 1.0),))])
def test_a_step_releases_nothing_but_what_a_bit_tells(monkeypatch, dtype, kept, among):
    monkeypatch.setattr(residual, "_KEPT", kept)
    (state, accepted), sums = sources_of_step(dtype, among)
    assert accepted == Source.BIT
    assert set(jax.tree.leaves(state.theta)) == {Source.BIT}
    assert state.log_prior == Source.BIT
    assert set(jax.tree.leaves(state.memory)) == {Source.RECORD}
    assert [str(kind) for kind in sums] == ["int32", "int64"]


def test_a_residual_that_takes_records_together_is_found(monkeypatch):
    inner = Residual.look

    def together(self, model, theta, record, extras, dtype):
        shown = inner(self, model, theta, record, extras, dtype)
        return shown - jax.lax.pmean(shown, "records")

    monkeypatch.setattr(Residual, "look", together)
    with pytest.raises(NameError, match="records"):
        sources_of_step("float32")


class Itself:
    def __call__(self, log_likelihood, public):
        return log_likelihood(public)


@pytest.mark.parametrize("count", [16, 17, 31, 32, 33, 100])
@pytest.mark.parametrize("has_missing", [False, True])
def test_blocks_add_up_to_the_whole(monkeypatch, count, has_missing):
    """Every record counts once, however the blocks fall."""
    rows = np.random.default_rng(0).normal(size=(count, 3))
    model = Model(lambda _, record: record, lambda _: 0.0, 0.0)
    present = np.arange(count) % 5 > 0 if has_missing else None
    found = []
    for numbers in (2**20, 3 * 16):
        monkeypatch.setattr(vectors, "_NUMBERS_AT_ONCE", numbers)
        vectors.sum_of_vectors.clear_cache()
        with jax.enable_x64(True):
            batch = Opened(jnp.asarray(rows), present)
            total = vectors.sum_of_vectors(model, Itself(), "float64", batch, ())
        found.append(np.asarray(total))
    vectors.sum_of_vectors.clear_cache()
    np.testing.assert_array_equal(*found)
    assert found[0].dtype == np.int64
