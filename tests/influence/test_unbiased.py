# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Sums over simulated records: plain clipping is off, the other ways are not.

Records are simulated half-way between two points. A sum of so many numbers is normal;
each test allows five standard errors, a false-alarm rate of 6e-7 over its seeds.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpmcmc.influence.choices import (
    ConditionalCentring,
    ModelCorrection,
    PlainClipping,
    Shrinking,
)
from dpmcmc.model.model import Model
from dpmcmc.models import (
    linear_regression,
    logistic_regression,
    poisson_regression,
    two_component_mixture,
)
from dpmcmc.private import PLAIN, Grid

ERRORS = 5


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def simulated(model, middle, covariates, count, seed):
    keys = jax.random.split(jax.random.key(seed), count)
    if covariates is None:
        template = {"x": jnp.zeros(())}
        return jax.jit(jax.vmap(lambda key: model.simulate(middle, key, template)))(
            keys
        )
    return jax.jit(jax.vmap(lambda key, one: model.simulate(middle, key, one)))(
        keys, covariates
    )


def shapes_of_one(records):
    return {
        name: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype)
        for name, leaf in records.items()
    }


def tempered(clipping, model, records, points, grid):
    """Each record's tempered number by a way of clipping and as it is, and the shift.

    The numbers are clipped as the boundary does, without rounding.
    """
    count = len(records["x"])
    influence = clipping.influence(model, shapes_of_one(records), grid, count)

    def one(influence, record):
        extras = influence.extras(model, record)
        looks = [
            influence.look(model, point, record, extras, "float64") for point in points
        ]
        return grid.scale * influence.ratio(*looks, record, extras)

    ours = jax.jit(jax.vmap(lambda record: one(influence, record)))(records)
    right = jax.jit(jax.vmap(lambda record: one(PLAIN, record)))(records)
    shift = jax.jit(lambda: jnp.asarray(influence.public(model, *points)))()
    clipped = np.clip(np.asarray(ours), -grid.clip, grid.clip)
    return clipped, np.asarray(right), float(shift)


def off(clipping, model, records, points, grid):
    """How far the sum is off, in standard errors, and how far it is off at all."""
    clipped, right, shift = tempered(clipping, model, records, points, grid)
    lost = right - clipped
    total = lost.sum() - shift
    return total / (lost.std() * len(lost) ** 0.5), total


MIXTURE = two_component_mixture((-100.0, 100.0))
HERE, THERE = {"mean": 0.0, "gap": 1.0}, {"mean": 0.004, "gap": 0.99}
POINTS = [jax.tree.map(np.float64, point) for point in (HERE, THERE)]
MIDDLE = {"mean": 0.002, "gap": 0.995}


def test_the_model_tells_what_the_clip_takes():
    """The paper's mixture: 3% of records are clipped, all on one side."""
    records = simulated(MIXTURE, MIDDLE, None, 60_000, seed=1)
    grid = Grid(0.004 * 0.1, scale=0.1)
    share = np.mean(
        np.abs(tempered(PlainClipping(), MIXTURE, records, POINTS, grid)[1]) > grid.clip
    )
    assert 0.01 < share < 0.1
    errors, plain = off(PlainClipping(), MIXTURE, records, POINTS, grid)
    assert abs(errors) > 5 * ERRORS
    errors, ours = off(ModelCorrection(), MIXTURE, records, POINTS, grid)
    assert abs(errors) < 1.2 * ERRORS  # the simulated records err by less than a third
    assert abs(ours) < 0.2 * abs(plain)


@pytest.mark.slow
def test_keys_chosen_for_their_tails_tell_the_same_with_less_error(monkeypatch):
    """Over eight seeds, against keys that are taken as they come.

    A ratio of two variances of 7 degrees of freedom is above 1/4, when it is a
    twentieth, once in 50 sets of seeds; these are fixed.
    """
    grid, shapes = Grid(0.004), {"x": jax.ShapeDtypeStruct((), "float64")}

    def shifts(everywhere):
        monkeypatch.setattr("dpmcmc.influence.expected_loss._EVERYWHERE", everywhere)
        monkeypatch.setattr(
            "dpmcmc.influence.expected_loss._CANDIDATES", everywhere_of[everywhere]
        )
        found = []
        for seed in range(8):
            influence = ModelCorrection(simulated=4096, seed=seed).influence(
                MIXTURE, shapes, grid, 10**4
            )
            found.append(float(influence.public(MIXTURE, *POINTS)))
        return np.array(found)

    everywhere_of = {0.5: 32, 1.0: 1}
    ours, uniform = shifts(0.5), shifts(1.0)
    assert ours.var(ddof=1) < 0.25 * uniform.var(ddof=1)
    error = (ours.var(ddof=1) / 8 + uniform.var(ddof=1) / 8) ** 0.5
    assert abs(ours.mean() - uniform.mean()) < ERRORS * error


@pytest.mark.slow
def test_the_correction_is_right_far_from_where_its_keys_were_chosen():
    """Weights belong to keys: the model's own point matters for the error alone."""
    away = Model(**{**vars(MIXTURE), "initial": {"mean": 3.0, "gap": -2.0}})
    records = simulated(MIXTURE, MIDDLE, None, 20_000, seed=4)
    errors, _ = off(ModelCorrection(), away, records, POINTS, Grid(0.004))
    assert abs(errors) < 1.5 * ERRORS


def test_a_model_without_derivatives_can_be_corrected():
    def log_likelihood(theta, record):
        @jax.custom_jvp
        def square(x):
            return x**2

        @square.defjvp
        def _(*_):
            raise TypeError("no derivative here")

        return -square(record["x"] - theta) / 2

    def simulate(theta, key, record):
        return {"x": theta + jax.random.normal(key)}

    model = Model(log_likelihood, lambda _: 0.0, 0.0, simulate=simulate)
    influence = ModelCorrection(simulated=100).influence(
        model, {"x": jax.ShapeDtypeStruct((), "float64")}, Grid(0.01), 100
    )
    weights = np.frombuffer(influence.part.weights, np.float32)
    np.testing.assert_array_equal(weights, 1)


def test_the_correction_back_is_the_negative_and_it_is_smooth():
    """Bit for bit, and the same at every call: it is a function of the two points.

    Common random numbers: a small change of a point makes a small change of it.
    """
    influence = ModelCorrection(simulated=500).influence(
        MIXTURE, {"x": jax.ShapeDtypeStruct((), "float64")}, Grid(0.004), 10**6
    )
    points = [jax.tree.map(jnp.asarray, point) for point in (HERE, THERE)]
    public = jax.jit(lambda one, other: influence.public(MIXTURE, one, other))
    there, back = public(*points), public(*points[::-1])
    assert float(there) == -float(back) != 0
    assert float(public(*points)) == float(there)
    assert float(public(points[0], points[0])) == 0
    nudged = {**points[1], "mean": points[1]["mean"] + 1e-9}
    assert abs(public(points[0], nudged) - there) < 1e-3 < abs(there)


def test_a_simulated_record_that_is_impossible_does_not_refuse_the_move():
    def log_likelihood(theta, record):
        inside = jnp.abs(record["x"] - theta) < 1
        return jnp.where(inside, 0.0, -jnp.inf)

    def simulate(theta, key, record):
        return {"x": theta + jax.random.uniform(key, minval=-1, maxval=1)}

    uniform = Model(log_likelihood, lambda _: 0.0, 0.0, simulate=simulate)
    influence = ModelCorrection(simulated=1000).influence(
        uniform, {"x": jax.ShapeDtypeStruct((), "float64")}, Grid(0.01), 100
    )
    shift = influence.public(uniform, jnp.asarray(0.0), jnp.asarray(0.1))
    assert np.isfinite(shift)


def covariates(count, dimension):
    rng = np.random.default_rng(7)
    x = jnp.asarray(rng.exponential(size=(count, dimension)) - 1)
    return {"x": x, "y": jnp.zeros(count)}


@pytest.mark.parametrize(
    ("clipping", "tempering"), [(ConditionalCentring(), 1.0), (Shrinking(), 0.1)]
)
def test_logistic_regression_keeps_its_mean(clipping, tempering):
    model = logistic_regression(2, norm=20.0)
    here = {"coefficients": np.array([0.5, -0.5]), "intercept": np.array(-1.5)}
    there = {"coefficients": np.array([0.52, -0.49]), "intercept": np.array(-1.51)}
    middle = jax.tree.map(lambda a, b: (a + b) / 2, here, there)
    records = simulated(model, middle, covariates(40_000, 2), 40_000, seed=2)
    grid = Grid(0.02 * tempering, scale=tempering)
    errors, plain = off(PlainClipping(), model, records, (here, there), grid)
    assert abs(errors) > 2 * ERRORS
    errors, ours = off(clipping, model, records, (here, there), grid)
    assert abs(errors) < ERRORS
    assert abs(ours) < 0.2 * abs(plain)


LINEAR = linear_regression(2, norm=20.0, bounds=(-50.0, 50.0))
POISSON = poisson_regression(2, norm=20.0, most=1000.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "move", "clip"),
    [
        (LINEAR, {"coefficients": 0.01, "intercept": 0.0, "log_sd": 0.01}, 0.05),
        (POISSON, {"coefficients": 0.005, "intercept": 0.01}, 0.03),
    ],
    ids=["linear", "poisson"],
)
def test_drawn_responses_keep_the_mean(model, move, clip):
    """Responses that cannot be listed: drawn for each record, at a point near by."""
    start = {**model.initial, "coefficients": np.array([0.3, -0.2])}
    if "log_sd" in start:
        start["log_sd"] = np.array(0.1)
    nudged = {**start, "intercept": np.asarray(start["intercept"] + 0.02)}
    model = Model(**{**vars(model), "initial": jax.tree.map(np.float64, nudged)})
    here = jax.tree.map(np.float64, start)
    there = {name: here[name] + move[name] for name in here}
    middle = {name: here[name] + move[name] / 2 for name in here}
    records = simulated(model, middle, covariates(100_000, 2), 100_000, seed=3)
    grid = Grid(clip)
    errors, plain = off(PlainClipping(), model, records, (here, there), grid)
    assert abs(errors) > 2 * ERRORS
    errors, ours = off(ConditionalCentring(), model, records, (here, there), grid)
    assert abs(errors) < ERRORS
    assert abs(ours) < 0.2 * abs(plain)


def test_records_have_drawn_responses_of_their_own():
    """By their covariates alone: a record's own response must not choose them."""
    records = covariates(50, 2)
    shapes = shapes_of_one(records)
    influence = ConditionalCentring(simulated=3).influence(
        LINEAR, shapes, Grid(0.01), 50
    )
    other = {**records, "y": records["y"] + 1}
    drawn, again = (
        jax.vmap(lambda record: influence.extras(LINEAR, record).chosen)(one)
        for one in (records, other)
    )
    noise = np.concatenate([np.asarray(chosen.responses["y"]) for chosen in drawn])
    inside = noise[np.abs(noise) < 50]  # the others are clamped
    assert len(np.unique(inside)) == len(inside) > 100
    for chosen, same in zip(drawn, again, strict=True):
        np.testing.assert_array_equal(chosen.responses["y"], same.responses["y"])
