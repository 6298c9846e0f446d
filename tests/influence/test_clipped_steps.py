# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A step with each method of clipping: records are mixed by integer sums alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from programs import Source, trace_sources
from residuals import residual_at

from dpmcmc.influence import Residual, Unexplained, unbiased
from dpmcmc.influence import residual as residual_module
from dpmcmc.influence.choices import (
    ConditionalCentring,
    ModelCorrection,
    PlainClipping,
    Shrinking,
)
from dpmcmc.model.model import Model
from dpmcmc.model.statistics import Statistics
from dpmcmc.private import PLAIN, Chains, FullData, Grid, Records, Tape
from dpmcmc.private import moves as steps_module
from dpmcmc.proposals import RandomWalk

COUNT = 1021  # a prime, so that no other axis has its length
SIMULATED = 7
LISTED = {"y": (0.0, 1.0, 3.0)}
METHODS = {
    "plain": (PlainClipping(), None),
    "model correction": (ModelCorrection(simulated=SIMULATED), None),
    "centring, listed": (ConditionalCentring(), LISTED),
    "centring, drawn": (ConditionalCentring(simulated=2), {"y": None}),
    "shrinking": (Shrinking(), LISTED),
}


def log_likelihood(theta, record):
    return -0.5 * (record["y"] - theta["mean"] * record["x"]) ** 2 - theta["other"]


def blind(theta, record):
    return log_likelihood(theta, {"x": 1.0, "y": record["y"]})


def simulate(theta, key, record):
    return {**record, "y": theta["mean"] * record["x"] + jax.random.normal(key)}


def simulate_blind(theta, key, record):
    return {**record, "y": theta["mean"] + jax.random.normal(key)}


def plain(_):
    return PLAIN


def residual(dtype):
    """What a second-order expansion misses, with gradients norm-clipped."""
    start = {"mean": jnp.zeros((), dtype), "other": jnp.zeros((), dtype)}
    return residual_at(start, (0.5, 0.5), sums=(np.ones(2), np.ones((2, 2))))


def unexplained(_):
    """What two numbers of a record miss."""
    statistics = Statistics(
        of_record=lambda record: jnp.stack([record["x"], record["y"]]),
        coefficients=lambda theta: jnp.stack([theta["mean"], theta["other"]]),
        constant=lambda theta: -theta["other"],
        bound=1.0,
    )
    return Unexplained(statistics, np.ones(2), COUNT)


BASES = {"ratio": plain, "residual": residual, "statistics": unexplained}


def sources_of_step(method, dtype="float32", chains=3, base="ratio"):
    clipping, responses = METHODS[method]
    is_whole = method == "model correction"
    model = Model(
        blind if is_whole else log_likelihood,
        lambda theta: -(theta["mean"] ** 2),
        {"mean": 0.0, "other": 0.0},
        simulate=simulate_blind if is_whole else simulate,
        responses=responses,
    )
    records = Records({"x": np.ones(COUNT), "y": np.zeros(COUNT)})
    grid = Grid(0.01)
    with jax.enable_x64(True):
        one_record = records.shape_of_one(dtype)
        number = BASES[base](dtype)
        influence = clipping.influence(model, one_record, grid, COUNT, number)
        start = {"mean": jnp.zeros((), dtype), "other": jnp.zeros((), dtype)}
        running = Chains(
            model,
            records,
            RandomWalk(0.1).fit(start),
            FullData(grid, influence=influence),
            Tape.seeded(1),
            start=jax.tree.map(lambda leaf: jnp.stack([leaf] * chains), start),
            dtype=dtype,
            chunk=2,
            devices=jax.devices()[:1],
        )
        inputs = jax.tree.map(lambda leaf: leaf[0], running._inputs(0, 2)[0])
        arguments = running._resident, running._states[0], running._kernel, inputs

        def step(*given):
            return steps_module._step(model, running._test, dtype, *given)

        program, shape = jax.make_jaxpr(step, return_shape=True)(*arguments)
    resident, state, kernel, inputs = jax.tree.map(lambda _: Source.PUBLIC, arguments)

    def of_records(tree):
        return jax.tree.map(lambda _: Source.RECORD, tree)

    state = state._replace(memory=of_records(state.memory))
    flat = jax.tree.leaves((of_records(resident), state, kernel, inputs))
    sums = []
    outputs = trace_sources(program.jaxpr, flat, COUNT, sums)
    return jax.tree.unflatten(jax.tree.structure(shape), outputs), sums


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("base", "dtype"),
    [
        ("ratio", "float32"),
        ("residual", "float64"),
        ("statistics", "float32"),
    ],
)
def test_a_step_releases_nothing_but_what_a_bit_tells(base, method, dtype):
    (state, accepted), sums = sources_of_step(method, dtype, base=base)
    assert accepted == Source.BIT
    assert set(jax.tree.leaves(state.theta)) == {Source.BIT}
    assert state.log_prior == Source.BIT
    assert set(jax.tree.leaves(state.memory)) == {Source.RECORD}
    assert [str(kind) for kind in sums] == ["int32", "int64"]


@pytest.mark.parametrize("method", ["centring, listed", "shrinking"])
@pytest.mark.parametrize("base", BASES)
def test_a_mean_taken_over_records_instead_of_responses_is_found(
    monkeypatch, base, method
):
    """The influence sees one record under vmap: it has no axis of records."""

    def over_records(weights, numbers):
        return jax.lax.psum(numbers[0], "records")

    monkeypatch.setattr(unbiased, "mean_over", over_records)
    with pytest.raises(NameError, match="records"):
        sources_of_step(method, base=base)


def test_derivatives_along_a_move_keep_records_apart_too(monkeypatch):
    """As they are taken where a model has many predictors."""
    monkeypatch.setattr(residual_module, "_KEPT", 0)
    (_, accepted), sums = sources_of_step("plain", base="residual")
    assert accepted == Source.BIT
    assert [str(kind) for kind in sums] == ["int32", "int64"]


def test_a_residual_that_takes_records_together_is_found(monkeypatch):
    inner = Residual.look

    def together(self, model, theta, record, extras, dtype):
        shown = inner(self, model, theta, record, extras, dtype)
        return shown - jax.lax.pmean(shown, "records")

    monkeypatch.setattr(Residual, "look", together)
    with pytest.raises(NameError, match="records"):
        sources_of_step("plain", base="residual")
