# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The residual of a record: its sign, and that with the released sums nothing is lost.

Nothing of it is about privacy: whatever it is, the boundary clips it.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from residuals import (
    exact_sums,
    logistic_model,
    logistic_records,
    residual_at,
    steep_log_likelihood,
)

from dpmcmc.influence import residual
from dpmcmc.influence.residual import clip_factor


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def looks_of(influence, model, records, theta):
    def one(record):
        extras = influence.extras(model, record)
        return influence.look(model, theta, record, extras, "float64")

    return np.asarray(jax.jit(jax.vmap(one))(records))


def ratios_of(influence, model, records, theta, proposed):
    current = looks_of(influence, model, records, theta)
    return influence.ratio(current, looks_of(influence, model, records, proposed), 0, 0)


@pytest.mark.parametrize(("size", "kept"), [(3, 10), (8, 0)])
@pytest.mark.parametrize("bounds", [(0.5, 0.5), (1e3, 1e3)])
def test_residuals_and_the_exact_sums_make_the_plain_ratio(
    monkeypatch, size, kept, bounds
):
    """Whatever is norm-clipped stays in the residual; both ways to differentiate."""
    monkeypatch.setattr(residual, "_KEPT", kept)
    model, records = logistic_model(size), logistic_records(50, size)
    generator = np.random.default_rng(1)
    influence = residual_at(
        {"b": generator.normal(size=size) / 5},
        bounds,
        factor=generator.normal(size=(size, size)) + 3 * np.eye(size),
        metric=generator.uniform(0.5, 2, size),
    )
    gradient, hessian = exact_sums(influence, model, records)
    influence = replace(influence, gradient=gradient, hessian=hessian)
    theta, proposed = (
        {"b": jnp.asarray(generator.normal(size=size))} for _ in range(2)
    )
    parts = ratios_of(influence, model, records, theta, proposed)
    found = parts.sum() + influence.public(model, theta, proposed)
    at = jax.vmap(model.log_likelihood, (None, 0))
    plain = at(proposed, records) - at(theta, records)
    np.testing.assert_allclose(found, plain.sum(), rtol=1e-9)


@pytest.mark.parametrize("bounds", [(0.5, 0.5), (1e3, 1e3)])
def test_both_ways_to_take_the_quadratic_agree(monkeypatch, bounds):
    model, records = logistic_model(4), logistic_records(20, 4)
    influence = residual_at({"b": np.array([0.1, -0.2, 0.3, 0.0])}, bounds)
    theta = {"b": jnp.array([0.4, 0.1, 0.5, -0.3])}
    found = []
    for kept in (10, 0):
        monkeypatch.setattr(residual, "_KEPT", kept)
        found.append(looks_of(influence, model, records, theta))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10)


@pytest.mark.parametrize("tempering", [1.0, 0.1])
def test_the_points_exchanged_everything_is_the_negative(tempering):
    model, records = logistic_model(3), logistic_records(20)
    generator = np.random.default_rng(2)
    sums = generator.normal(size=3), np.diag(generator.normal(size=3))
    centre = {"b": np.array([0.3, 0.2, 0.1])}
    influence = residual_at(centre, (0.7, 0.7), sums=sums, tempering=tempering)
    one, other = ({"b": jnp.array(b)} for b in ([0.1, 0.2, 0.3], [0.5, 0.0, 1.0]))
    there = ratios_of(influence, model, records, one, other)
    np.testing.assert_array_equal(
        there, -ratios_of(influence, model, records, other, one)
    )
    public = influence.public(model, one, other)
    assert public == -influence.public(model, other, one)
    whole = replace(influence, tempering=1.0).public(model, one, other)
    np.testing.assert_allclose(public, tempering * whole, rtol=1e-12)


@pytest.mark.parametrize("kept", [10, 0])
def test_a_record_without_finite_derivatives_has_no_quadratic(monkeypatch, kept):
    monkeypatch.setattr(residual, "_KEPT", kept)
    model = replace(logistic_model(2), log_likelihood=steep_log_likelihood)
    record = {"x": np.array([1e4, 0.0]), "y": np.array(1.0)}
    influence = residual_at({"b": np.ones(2)}, (4.0, 8.0))
    extras = influence.extras(model, record)
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(extras)) or kept
    theta = {"b": jnp.array([-1e-4, 0.0])}
    look = influence.look(model, theta, record, extras, "float64")
    np.testing.assert_allclose(look, steep_log_likelihood(theta, record))


def test_a_clipped_vector_is_no_longer_than_its_bound():
    vectors = np.random.default_rng(3).normal(size=(500, 4)) * 3
    factors = jax.vmap(lambda v: clip_factor(v, 2.0))(jnp.asarray(vectors))
    lengths = np.linalg.norm(vectors * np.asarray(factors)[:, None], axis=1)
    np.testing.assert_allclose(
        lengths, np.minimum(np.linalg.norm(vectors, axis=1), 2.0), rtol=1e-12
    )
    for wrong in (np.nan, np.inf, 1e200):
        assert clip_factor(jnp.array([wrong, 0.0]), 2.0) == 0
