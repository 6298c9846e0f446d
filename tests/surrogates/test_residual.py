# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The vector of a record and its residual: bound, sign, and that nothing is lost."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from settings_of_tests import (
    logistic_model,
    logistic_records,
    steep_log_likelihood,
)

from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.influence import Listed, Residual, Taylor
from dpmcmc.private import residual, vectors
from dpmcmc.private.records import Opened
from dpmcmc.surrogates.release import _ITSELF, _VectorOf

Y = Listed(("y",), ((0.0, 1.0),))


def taylor_at(centre, factor=None, bounds=(4.0, 8.0), among=None, part=0.4):
    centre = np.asarray(centre, np.float64)
    factor = np.eye(len(centre)) if factor is None else factor
    _, unravel = ravel_pytree({"b": jnp.zeros(len(centre))})
    return Taylor(centre, factor, *bounds, unravel, among, part)


def integers(model, taylor, records, dtype="float64"):
    """The exact sum that noise is added to."""
    asked = replace(model, log_likelihood=_VectorOf(taylor, model.log_likelihood))
    with jax.enable_x64(True):
        with np.errstate(all="ignore"):
            arrays = {k: jnp.asarray(v.astype(dtype)) for k, v in records.items()}
        batch = Opened(arrays, None)
        return np.asarray(vectors.sum_of_vectors(asked, _ITSELF, dtype, batch, ()))


def squared(vector):
    return sum(int(k) ** 2 for k in vector)


HOSTILE = [0.0, 1.0, -1.0, 1e-30, 40.0, -700.0, 1e8, 1e19, 1e38, 1e300, np.inf, np.nan]


def search(seed, count):
    """A model, a point, a factor, bounds and records, hostile ones among them."""
    generator = np.random.default_rng(seed)
    size, dtype = generator.integers(1, 5), generator.choice(["float32", "float64"])
    model = logistic_model(size)
    if generator.random() < 0.5:
        model = replace(model, log_likelihood=steep_log_likelihood)
    taylor = taylor_at(
        generator.normal(size=size) * 10.0 ** generator.uniform(-2, 1),
        generator.normal(size=(size, size)) + 3 * np.eye(size),
        10.0 ** generator.uniform(-3, 3, 2),
        Y if generator.random() < 0.5 else None,
        generator.choice([0.001, 0.1, 0.4, 0.7, 0.95, 0.999]),
    )
    scale = 10.0 ** generator.uniform(-3, 3, (count, 1))
    records = {
        "x": generator.normal(size=(count, size)) * scale,
        "y": generator.integers(0, 2, count).astype(float),
    }
    hostile = generator.random((count, size)) < 0.1
    records["x"][hostile] = generator.choice(HOSTILE, hostile.sum())
    return model, taylor, records, str(dtype)


def rows_of(model, taylor, records, dtype):
    """Each record's whole numbers, as they are added up."""

    @jax.jit
    def rows(arrays):
        def released(record):
            with jax.enable_x64(dtype == "float64"):
                return taylor.released(model.log_likelihood, record)

        present = jnp.ones(len(arrays["y"]), bool)
        return vectors.bounded_vectors(jax.vmap(released)(arrays), present)

    with jax.enable_x64(True), np.errstate(all="ignore"):
        return np.asarray(
            rows({k: jnp.asarray(v.astype(dtype)) for k, v in records.items()})
        )


def check_sensitivity(seed):
    rows = rows_of(*search(seed, 3000))
    lengths = np.array([squared(row) for row in rows], dtype=object)
    assert lengths.max() <= CLIP_STEPS**2
    # the longest, against all others: what replacing one by the other moves
    longest = rows[np.argsort(lengths)[-20:]]
    moved = max(squared(row - other) for row in longest for other in rows[::10])
    assert moved <= (2 * CLIP_STEPS) ** 2


@pytest.mark.parametrize("seed", range(8))
def test_replacing_a_record_moves_the_sum_by_no_more_than_proved(seed):
    check_sensitivity(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 250))
def test_no_search_finds_a_record_that_moves_the_sum_by_more(seed):
    check_sensitivity(seed)


@pytest.mark.parametrize("seed", [3, 4])
def test_the_sum_is_that_of_the_rows(seed):
    model, taylor, records, dtype = search(seed, 64)
    total = rows_of(model, taylor, records, dtype).sum(0)
    np.testing.assert_array_equal(integers(model, taylor, records, dtype), total)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("part", [0.001, 0.1, 0.4, 0.7, 0.95, 0.999])
def test_the_bound_is_met_so_that_no_smaller_one_would_hold(part, dtype):
    """Two records that pull opposite ways as far as they may.

    A gradient at its bound and a Hessian at its own make a vector of length 1.
    """
    size, model = 2, logistic_model(2)
    model = replace(
        model, log_likelihood=lambda t, r: r["y"] * jnp.sum(t["b"] ** 3 + t["b"] ** 2)
    )
    taylor = taylor_at([50.0, 50.0], bounds=(1.0, 1.0), part=part)
    plus, minus = ({"x": np.zeros((1, size)), "y": np.array([y])} for y in (1.0, -1.0))
    one, other = (integers(model, taylor, record, dtype) for record in (plus, minus))
    assert squared(one - other) > (1.9999 * CLIP_STEPS) ** 2
    assert squared(one - other) <= (2 * CLIP_STEPS) ** 2
    lengths = [np.sqrt(squared(each)) / CLIP_STEPS for each in (one[:2], one[2:])]
    np.testing.assert_allclose(lengths, [np.sqrt(1 - part**2), part], atol=1e-5)


def looks_of(influence, model, records, theta):
    def one(record):
        extras = influence.extras(model, record)
        return influence.look(model, theta, record, extras, "float64")

    return np.asarray(jax.jit(jax.vmap(one))(records))


def ratios_of(influence, model, records, theta, proposed):
    current = looks_of(influence, model, records, theta)
    return influence.ratio(current, looks_of(influence, model, records, proposed), 0, 0)


@pytest.mark.parametrize(
    ("size", "listed", "kept"),
    [(3, False, 6), (3, True, 6), (8, False, 6), (8, False, 0)],
)
def test_residuals_and_the_exact_sum_make_the_plain_ratio(
    monkeypatch, size, listed, kept
):
    """Where nothing is clipped, shortened or noisy; both ways to take derivatives."""
    monkeypatch.setattr(residual, "_KEPT", kept)
    model, records = logistic_model(size), logistic_records(50, size)
    generator = np.random.default_rng(1)
    with jax.enable_x64(True):
        taylor = taylor_at(
            generator.normal(size=size) / 5,
            generator.normal(size=(size, size)) + 3 * np.eye(size),
            (1e4, 1e5),
            Y if listed else None,
        )
        released = jax.vmap(lambda one: taylor.released(model.log_likelihood, one))
        total = np.asarray(jax.jit(released)(records)).sum(0)
        influence = Residual(taylor, total, tempering=1.0)
        theta, proposed = (
            {"b": jnp.asarray(generator.normal(size=size))} for _ in range(2)
        )
        parts = ratios_of(influence, model, records, theta, proposed)
        found = parts.sum() + influence.public(model, theta, proposed)
        at = jax.vmap(model.log_likelihood, (None, 0))
        plain = at(proposed, records) - at(theta, records)
        np.testing.assert_allclose(found, plain.sum(), rtol=1e-9)


@pytest.mark.parametrize("bounds", [(0.5, 0.5), (1e3, 1e3)])
@pytest.mark.parametrize("listed", [False, True])
def test_all_ways_to_take_the_surrogate_agree(monkeypatch, bounds, listed):
    model, records = logistic_model(4), logistic_records(20, 4)
    with jax.enable_x64(True):
        taylor = taylor_at(
            [0.1, -0.2, 0.3, 0.0], bounds=bounds, among=Y if listed else None
        )
        influence = Residual(taylor, np.zeros(14))
        theta = {"b": jnp.array([0.4, 0.1, 0.5, -0.3])}
        found = []
        for kept in (6, 0):
            monkeypatch.setattr(residual, "_KEPT", kept)
            found.append(looks_of(influence, model, records, theta))
        np.testing.assert_allclose(found[1], found[0], rtol=1e-10)


@pytest.mark.parametrize("tempering", [1.0, 0.1])
def test_the_points_exchanged_everything_is_the_negative(tempering):
    model, records = logistic_model(3), logistic_records(20)
    with jax.enable_x64(True):
        taylor = taylor_at([0.3, 0.2, 0.1], bounds=(0.7, 0.7))
        total = np.random.default_rng(2).normal(size=9)
        influence = Residual(taylor, total, tempering)
        one, other = (
            {"b": jnp.array([0.1, 0.2, 0.3])},
            {"b": jnp.array([0.5, 0.0, 1.0])},
        )
        there = ratios_of(influence, model, records, one, other)
        back = ratios_of(influence, model, records, other, one)
        np.testing.assert_array_equal(there, -back)
        public = influence.public(model, one, other)
        assert public == -influence.public(model, other, one)
        untempered = Residual(taylor, total, 1.0).public(model, one, other)
        np.testing.assert_allclose(public, tempering * untempered, rtol=1e-12)


def test_a_record_without_finite_derivatives_has_no_surrogate():
    model = replace(logistic_model(2), log_likelihood=steep_log_likelihood)
    record = {"x": np.array([1e4, 0.0]), "y": np.array(1.0)}
    with jax.enable_x64(True):
        taylor = taylor_at([1.0, 1.0])
        assert not np.any(taylor.released(model.log_likelihood, record))
        influence = Residual(taylor, np.zeros(5))
        assert not np.any(influence.extras(model, record))
        theta = {"b": jnp.array([-1e-4, 0.0])}
        look = influence.look(
            model, theta, record, influence.extras(model, record), "float64"
        )
        np.testing.assert_allclose(look, steep_log_likelihood(theta, record))


def test_centring_keeps_the_mean_over_responses():
    """By exact expectation: Σ_y p(y | x) u = 0, as for the gradient itself."""
    model, records = logistic_model(3), logistic_records(200)
    centre = np.array([0.5, -0.5, 0.2])

    def mean_of(taylor, x):
        chance = jax.nn.sigmoid(jnp.dot(x, centre))
        vectors = [
            taylor.released(model.log_likelihood, {"x": x, "y": jnp.asarray(y)})[:3]
            for y in (0.0, 1.0)
        ]
        return (1 - chance) * vectors[0] + chance * vectors[1]

    with jax.enable_x64(True):
        plain = taylor_at(centre, bounds=(1.0, 50.0))
        means, biased = (
            np.asarray(jax.jit(jax.vmap(lambda x, t=t: mean_of(t, x)))(records["x"]))
            for t in (replace(plain, among=Y), plain)
        )
    assert np.abs(biased).sum() > 1
    np.testing.assert_allclose(means, 0, atol=1e-12)


def test_centring_makes_the_slope_of_the_mean_right_too():
    """About the centre: d/dθ E_θ[w g + m] = −(H + E[(1 − w) g gᵀ])."""
    model, size = logistic_model(2), 2
    x, centre = jnp.array([1.2, 0.7]), np.array([0.3, 0.1])
    with jax.enable_x64(True):
        taylor = taylor_at(centre, bounds=(0.5, 50.0), among=Y)

        def mean_at(theta):
            chance = jax.nn.sigmoid(jnp.dot(x, theta))
            both = [
                taylor.released(model.log_likelihood, {"x": x, "y": jnp.asarray(y)})
                for y in (0.0, 1.0)
            ]
            return (1 - chance) * both[0] + chance * both[1]

        at = jnp.asarray(centre)
        slope = jax.jit(jax.jacfwd(lambda t: mean_at(t)[:size]))(at)
        entries = np.asarray(jax.jit(mean_at)(at))[size:] / taylor.multiples()
    hessian = np.zeros((size, size))
    hessian[taylor.entries()] = hessian.T[taylor.entries()] = entries
    hessian *= taylor.hessian_scale / taylor.gradient_scale
    np.testing.assert_allclose(slope, -hessian, rtol=1e-8, atol=1e-12)
