# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Residuals by each method of clipping: their range, their sign, their mean."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from residuals import residual_at, steep_log_likelihood

from dpmcmc.influence import (
    Centred,
    Listed,
    Restored,
    Shifted,
    Shrunk,
    Unexplained,
)
from dpmcmc.influence.choices import ConditionalCentring, ModelCorrection, PlainClipping
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Clamp, Preparation
from dpmcmc.model.statistics import Statistics
from dpmcmc.models import linear_regression, two_component_mixture
from dpmcmc.private import Grid

CLIP = 0.01
Y = Listed(("y",), ((0.0, 1.0, 3.0),))
HERE = {"b": np.array([0.31, -0.2])}
THERE = {"b": np.array([0.25, -0.05])}
HOSTILE = [0.0, 1e-30, 40.0, -700.0, 1e8, 1e19, 1e38, 1e300, np.inf, np.nan]


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def log_likelihood(theta, record):
    """Three responses, by weights that are not linear in the predictor."""
    place = jnp.dot(record["x"], theta["b"])
    weights = jnp.array([0.0, 1.0, 3.0]) * place - jnp.sin(place) ** 2
    own = record["y"] * place - jnp.sin(place) ** 2
    return own * jnp.exp(-0.1 * record["y"]) - jax.nn.logsumexp(weights)


def model_of(function, preparation=None):
    return Model(function, lambda _: 0.0, {"b": np.zeros(2)}, preparation=preparation)


def near(bounds, theta=HERE, sums=None):
    """A residual about a point near the given one."""
    centre = jax.tree.map(lambda leaf: leaf + 0.01, theta)
    size = sum(np.size(leaf) for leaf in jax.tree.leaves(theta))
    factor = 0.3 * np.eye(size) + 0.1
    return residual_at(centre, bounds, factor=factor, sums=sums)


STATISTICS = Statistics(
    of_record=lambda record: record["x"] * (record["y"] - 1),
    coefficients=lambda theta: theta["b"],
    constant=lambda theta: 0.01 * jnp.sum(theta["b"]),
    bound=2.0,
)
BASES = {
    "wide": near((50.0, 500.0)),
    "norm-clipped": near((0.1, 0.1)),
    "statistics": Unexplained(STATISTICS, np.zeros(2), 10),
}


def adversarial(count, dtype):
    generator = np.random.default_rng(5)
    x = generator.normal(size=(count, 2)) * 10.0 ** generator.uniform(-3, 2, (count, 1))
    hostile = generator.random((count, 2)) < 0.05
    x[hostile] = generator.choice(HOSTILE, hostile.sum())
    with np.errstate(over="ignore"):
        return jnp.asarray(x.astype(dtype))


def seen(influence, model, record, points, dtype="float64"):
    extras = influence.extras(model, record)
    looks = [influence.look(model, point, record, extras, dtype) for point in points]
    return influence.ratio(*looks, record, extras)


def over_responses(influence, model, x, points, dtype="float64"):
    """A number of each record with each response: (responses, records)."""
    points = [jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), p) for p in points]

    def one(x, y):
        with jax.enable_x64(dtype == "float64"):
            return seen(influence, model, {"x": x, "y": y}, points, dtype)

    values = jnp.asarray(Y.values[0], dtype)
    each = jax.vmap(jax.vmap(one, (0, None)), (None, 0))
    return np.asarray(jax.jit(each)(x, values))


def chances(model, x, points):
    """The geometric mean of two likelihoods, normalised over the responses."""

    def log(x, y):
        record = {"x": x, "y": y}
        return sum(model.log_likelihood(point, record) for point in points) / 2

    each = jax.vmap(jax.vmap(log, (0, None)), (None, 0))
    return np.asarray(jax.nn.softmax(each(x, jnp.asarray(Y.values[0])), axis=0))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(
    ("kind", "function"),
    [
        (Centred, log_likelihood),
        (Shrunk, steep_log_likelihood),
    ],
)
def test_every_response_is_in_range_and_their_mean_is_kept(kind, base, function):
    model, x = model_of(function), adversarial(1000, "float64")
    points, base = (HERE, THERE), BASES[base]
    ours = over_responses(kind(Y, CLIP, base), model, x, points)
    right = over_responses(base, model, x, points)
    weights = chances(model, x, points)
    usable = np.all(np.isfinite(right) & np.isfinite(weights), axis=0)
    mean = np.sum(weights * right, axis=0)
    fits = usable & (np.abs(mean) <= CLIP)
    assert fits.sum() > 100
    assert np.all(np.abs(ours[:, usable]) <= CLIP * (1 + 1e-9))
    kept = np.sum(weights * ours, axis=0)
    np.testing.assert_allclose(kept[fits], mean[fits], rtol=1e-9, atol=1e-13)
    # so that it is seen that there was something to be kept
    plain = np.sum(weights * np.clip(right, -CLIP, CLIP), axis=0)
    assert np.abs(plain - mean)[fits].max() > 0.1 * CLIP


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(("kind", "dtype"), [(Centred, "float64"), (Shrunk, "float32")])
def test_the_way_back_counts_for_the_negative(kind, base, dtype):
    """Bit for bit, whatever the record, infinities and NaN included."""
    model, x = model_of(steep_log_likelihood), adversarial(500, dtype)
    influence = kind(Y, CLIP, BASES[base])
    there, back = (
        over_responses(influence, model, x, points, dtype)
        for points in ((HERE, THERE), (THERE, HERE))
    )
    assert there.dtype == dtype
    np.testing.assert_array_equal(there, -back)


def test_a_record_is_prepared_once():
    """Responses are of prepared records: a residual must not prepare them again."""
    shown = Preparation({"x": Clamp(-1.0, 1.0), "y": Clamp(0.0, 1.0)})
    raw = {"x": jnp.array([3.0, -0.5]), "y": jnp.array(0.9)}
    influence = Shrunk(Y, CLIP, BASES["norm-clipped"])

    def looks(model, record):
        extras = influence.extras(model, record)
        return influence.look(model, THERE, record, extras, "float64")

    ours = looks(model_of(log_likelihood, shown), raw)
    right = looks(model_of(log_likelihood), shown(raw))
    jax.tree.map(np.testing.assert_array_equal, ours, right)
    assert len({float(one) for one in (*ours.others, *ours.logs)}) == 6


def test_the_quadratic_of_a_response_is_its_own():
    model, influence = model_of(log_likelihood), Shrunk(Y, CLIP, BASES["norm-clipped"])
    record = {"x": jnp.array([0.5, -2.0]), "y": jnp.array(1.0)}
    extras = influence.extras(model, record)
    for value, found in zip(Y.values[0], extras.others, strict=True):
        own = influence.base.extras(model, {**record, "y": jnp.array(value)})
        np.testing.assert_array_equal(found, own)
    assert not np.array_equal(extras.others[0], extras.others[2])
    np.testing.assert_array_equal(extras.own, extras.others[1])


def test_a_residual_without_the_response_is_clipped_plainly():
    """A logistic regression: its surrogate holds all that the response tells."""

    def logistic(theta, record):
        place = jnp.dot(record["x"], theta["b"])
        return record["y"] * place - jax.nn.softplus(place)

    pair = Listed(("y",), ((0.0, 1.0),))
    model, x = model_of(logistic), adversarial(300, "float64")
    x = jnp.where(jnp.abs(x) < 50, x, 1.0)
    base = near((50.0, 50.0))
    ours, right = (
        over_responses(each, model, x, (HERE, THERE))[:2]
        for each in (Shrunk(pair, CLIP, base), base)
    )
    assert np.mean(np.abs(right) > CLIP) > 0.02
    np.testing.assert_allclose(ours, np.clip(right, -CLIP, CLIP), atol=1e-9)


# Sums over simulated records, as in test_unbiased: five standard errors

ERRORS = 5


def off(clipping, base, model, records, points, grid):
    """How far the sum of clipped residuals is off: in standard errors, and at all."""
    count = len(records["x"])
    one = {
        name: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype)
        for name, leaf in records.items()
    }
    influence = clipping.influence(model, one, grid, count, base)
    ours, right = (
        jax.jit(jax.vmap(lambda record, f=f: seen(f, model, record, points)))(records)
        for f in (influence, base)
    )
    shift = influence.public(model, *points) - base.public(model, *points)
    lost = np.asarray(right - jnp.clip(ours, -grid.clip, grid.clip))
    total = lost.sum() - float(shift)
    return total / (lost.std() * count**0.5), total


MIXTURE = replace(
    two_component_mixture((-100.0, 100.0)), initial={"mean": 0.0, "gap": 1.0}
)
ONE, OTHER = {"mean": 0.0, "gap": 1.0}, {"mean": 0.004, "gap": 0.99}


def mixture_residual(bound):
    sums = np.ones(2), np.ones((2, 2))
    return near((bound, 30.0), MIXTURE.initial, sums)


@pytest.mark.slow
def test_simulated_records_tell_what_the_clip_takes_of_residuals():
    """Gradients are norm-clipped, so that residuals are long, skewed, and clipped."""
    middle = jax.tree.map(lambda a, b: (a + b) / 2, ONE, OTHER)
    keys = jax.random.split(jax.random.key(1), 50_000)
    records = jax.jit(
        jax.vmap(lambda key: MIXTURE.simulate(middle, key, {"x": jnp.zeros(())}))
    )(keys)
    points = [jax.tree.map(np.float64, point) for point in (ONE, OTHER)]
    settings = mixture_residual(0.3), MIXTURE, records, points, Grid(0.002)
    errors, plain = off(PlainClipping(), *settings)
    assert abs(errors) > 5 * ERRORS
    errors, ours = off(ModelCorrection(), *settings)
    assert abs(errors) < 1.5 * ERRORS  # simulated records err by less than half
    assert abs(ours) < 0.2 * abs(plain)


@pytest.mark.slow
def test_what_simulated_records_tell_of_the_way_back_is_the_negative():
    one = {"x": jax.ShapeDtypeStruct((), "float64")}
    base = mixture_residual(0.3)
    influence = ModelCorrection(simulated=200).influence(
        MIXTURE, one, Grid(0.002), 10**5, base
    )
    public = jax.jit(lambda a, b: influence.public(MIXTURE, a, b))
    points = [jax.tree.map(jnp.asarray, point) for point in (ONE, OTHER)]
    there, back = public(*points), public(*points[::-1])
    assert float(there) == -float(back)
    assert float(there) != float(base.public(MIXTURE, *points))


@pytest.mark.parametrize("listed", [False, True])
def test_the_public_part_of_a_decision_is_in_it_once(listed):
    """However residuals are clipped: else steps would decide on what is left alone."""
    base = mixture_residual(0.3)
    points = [jax.tree.map(jnp.asarray, point) for point in (ONE, OTHER)]
    expected = float(base.public(MIXTURE, *points))
    assert expected != 0
    if listed:
        ways = [kind(Y, 0.1, base) for kind in (Centred, Restored, Shrunk)]
    else:
        ways = [Shifted(lambda *_: jnp.asarray(0.125), base)]
        expected += 0.125
    for way in ways:
        assert float(way.public(MIXTURE, *points)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_drawn_responses_keep_most_of_the_mean_of_residuals():
    model = linear_regression(2, norm=20.0, bounds=(-50.0, 50.0))
    start = {**model.initial, "coefficients": np.array([0.3, -0.2]), "log_sd": 0.1}
    model = replace(model, initial=jax.tree.map(np.float64, start))
    here = model.initial
    move = {"coefficients": 0.01, "intercept": 0.0, "log_sd": 0.01}
    there = {name: here[name] + move[name] for name in here}
    middle = {name: here[name] + move[name] / 2 for name in here}
    x = jnp.asarray(np.random.default_rng(7).exponential(size=(25_000, 2)) - 1)
    keys = jax.random.split(jax.random.key(3), len(x))
    records = jax.jit(
        jax.vmap(lambda key, x: model.simulate(middle, key, {"x": x, "y": 0.0 * x[0]}))
    )(keys, x)
    base = near((0.6, 30.0), here)
    settings = base, model, records, (here, there), Grid(0.03)
    errors, plain = off(PlainClipping(), *settings)
    assert abs(errors) > 2 * ERRORS
    errors, ours = off(ConditionalCentring(), *settings)
    assert abs(errors) < ERRORS
    assert abs(ours) < 0.3 * abs(plain)
