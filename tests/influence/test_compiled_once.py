# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One compiled program of a chunk serves all clips, scales, centres and sums."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from residuals import residual_at

from dpmcmc.influence.choices import ConditionalCentring, Shrinking
from dpmcmc.model.model import Model
from dpmcmc.private import (
    PLAIN,
    BatchDecision,
    Chains,
    CorrectedNoise,
    FullData,
    Grid,
    Minibatch,
    NormalMixture,
    Records,
    Tape,
)
from dpmcmc.private.decisions import log_odds
from dpmcmc.private.ratios import clip_to_grid
from dpmcmc.proposals import RandomWalk

COUNT, SIZE = 60, 2
_, UNRAVEL = ravel_pytree({"b": jnp.zeros(SIZE)})
NOISE = CorrectedNoise(2.0, NormalMixture((0.0,), (0.5,), (1.0,)))
GRIDS = [Grid(1e-3), Grid(0.05), Grid(0.7, scale=0.11)]


class Counting:
    """A log-likelihood that knows how often it was traced."""

    def __init__(self):
        self.traced = 0

    def __call__(self, theta, record):
        self.traced += 1
        place = jnp.dot(record["x"], theta["b"])
        return record["y"] * place - jax.nn.softplus(place)


def simulate(theta, key, record):
    chance = jax.nn.sigmoid(jnp.dot(record["x"], theta["b"]))
    drawn = jax.random.uniform(key) < chance
    return {**record, "y": drawn.astype(record["y"].dtype)}


def model_of(simulate=simulate, values=(0.0, 1.0)):
    return Model(
        Counting(),
        lambda theta: -0.5 * jnp.sum(theta["b"] ** 2),
        {"b": np.zeros(SIZE)},
        simulate=simulate,
        responses={"y": values},
    )


def shapes():
    return {
        "x": jax.ShapeDtypeStruct((SIZE,), "float32"),
        "y": jax.ShapeDtypeStruct((), "float32"),
    }


def residual(number):
    """Another centre, factor, metric, bounds, sums and power for each."""
    rng = np.random.default_rng(number)
    made = residual_at(
        {"b": rng.normal(size=SIZE)},
        (1.0 + number, 4.0 + number),
        factor=np.eye(SIZE) + 0.1 * rng.normal(size=(SIZE, SIZE)),
        metric=rng.uniform(1, 2, SIZE),
        sums=(rng.normal(size=SIZE), -np.eye(SIZE)),
        tempering=0.5 + number,
    )
    return replace(made, unravel=UNRAVEL)


def clipped(clipping, base=lambda _: PLAIN):
    return lambda model, grid, number: FullData(
        grid,
        influence=clipping.influence(model, shapes(), grid, COUNT, base(number)),
    )


METHODS = {
    "plain": (model_of, lambda _, grid, __: FullData(grid, influence=PLAIN)),
    "gaussian": (model_of, lambda _, grid, __: FullData(grid, NOISE)),
    "minibatch": (
        model_of,
        lambda _, grid, __: Minibatch(BatchDecision(grid, 8, NOISE)),
    ),
    "shrinking": (model_of, clipped(Shrinking())),
    "centred": (model_of, clipped(ConditionalCentring())),
    "restored": (lambda: model_of(values=None), clipped(ConditionalCentring(2))),
    "residual": (
        model_of,
        lambda _, grid, number: FullData(grid, influence=residual(number)),
    ),
    "residual, centred": (model_of, clipped(ConditionalCentring(), residual)),
}


def run(model, test, steps=50):
    rng = np.random.default_rng(0)
    data = {"x": rng.normal(size=(COUNT, SIZE)), "y": rng.integers(0, 2, COUNT) * 1.0}
    start = {"b": jnp.zeros(SIZE)}
    chains = Chains(
        model,
        Records(data),
        RandomWalk(1.0).fit(start),
        test,
        Tape.seeded(3),
        start=jax.tree.map(lambda leaf: leaf[None], start),
        dtype="float32",
        chunk=60,
        devices=jax.devices()[:1],
    )
    return np.asarray(chains.advance(steps).theta["b"])


@pytest.mark.parametrize("method", METHODS)
def test_one_program_serves_all_numbers_of_a_method(method):
    make, test_of = METHODS[method]
    model = make()
    tests = [test_of(model, grid, number) for number, grid in enumerate(GRIDS)]
    first = run(model, tests[0])
    traced = model.log_likelihood.traced
    assert traced > 0
    others = [run(model, test) for test in tests[1:]]
    assert model.log_likelihood.traced == traced
    run(model, tests[0], steps=55)
    assert model.log_likelihood.traced == traced
    # so that it is seen that they are not all run with the numbers of the first
    assert any(not np.array_equal(first, other) for other in others)


def test_a_program_that_held_its_clip_would_be_found():
    """So that the test above can fail: other steps of the grid are another program."""
    model = model_of()
    run(model, FullData(Grid(0.01)))
    traced = model.log_likelihood.traced
    run(model, FullData(Grid(0.01, steps=2**19)))
    assert model.log_likelihood.traced > traced


@pytest.mark.parametrize("grid", GRIDS)
def test_numbers_handed_over_and_compiled_in_make_the_same_bits(grid):
    """Scaling by a power of two is exact, so that it does not matter who does it."""

    rng = np.random.default_rng(1)
    for dtype in ("float32", "float64"):
        with jax.enable_x64(True):
            ratios = jnp.asarray(rng.normal(0, grid.clip, 4096), dtype)
            sums = jnp.asarray(rng.integers(-(2**50), 2**50, 4096))
            public, present = jnp.asarray(rng.normal(size=4096)), jnp.ones(4096, bool)
            pairs = [
                [
                    jax.jit(clip_to_grid, **how)(ratios, present, grid),
                    jax.jit(log_odds, **how)(sums, public, grid),
                ]
                for how in ({}, {"static_argnames": "grid"})
            ]
        for handed, held in zip(*pairs, strict=True):
            np.testing.assert_array_equal(handed, held)
