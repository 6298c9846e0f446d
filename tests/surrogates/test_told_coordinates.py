# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Coordinates that are in the prior alone: found, left out, and still right."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from jax.flatten_util import ravel_pytree
from numpyro import distributions as dist

from dpmcmc import InputError, Model, PythonFunction
from dpmcmc.adapters import from_numpyro
from dpmcmc.influence import Taylor
from dpmcmc.model.relevance import told_coordinates
from dpmcmc.private import Records, Tape
from dpmcmc.surrogates import ControlVariates, Plan, check_release, release
from dpmcmc.surrogates.laplace import laplace

GROUPS, COUNT = 4, 2000
LEVELS = np.array([-0.6, 0.1, 0.4, 1.1])
GROUP = np.random.default_rng(0).integers(0, GROUPS, COUNT).astype(np.int32)
Y = LEVELS[GROUP] + np.random.default_rng(1).normal(size=COUNT)
RECORDS = {"group": GROUP, "y": Y}
START = {"centre": 0.0, "levels": np.zeros(GROUPS), "log_spread": -0.5}
TOLD = np.array([False, True, True, True, True, False])


def log_likelihood(theta, record):
    return -0.5 * (record["y"] - theta["levels"][record["group"]]) ** 2


def log_prior(theta):
    each = (theta["levels"] - theta["centre"]) * jnp.exp(-theta["log_spread"])
    return (
        -jnp.sum(each**2) / 2
        - GROUPS * theta["log_spread"]
        - theta["centre"] ** 2 / 8
        - (theta["log_spread"] + 0.5) ** 2 / 2
    )


MODEL = Model(log_likelihood, log_prior, START)


# Which coordinates


def told(function, start=START):
    model = Model(function, lambda theta: 0.0, start)
    return told_coordinates(model, Records(RECORDS)).tolist()


def test_what_the_log_likelihood_never_reads_is_found():
    assert told(log_likelihood) == TOLD.tolist()
    assert told(jax.jit(log_likelihood)) == TOLD.tolist()

    def with_dead_code(theta, record):
        _ = jnp.exp(theta["log_spread"]) * record["y"]
        return jax.jit(lambda t: (jnp.sum(t["levels"]), t["centre"]))(theta)[0]

    assert told(with_dead_code) == TOLD.tolist()


def test_whatever_may_be_read_counts_as_read():
    def in_a_loop(theta, record):
        def body(carry, level):
            return carry + level * record["y"], theta["centre"]

        return jax.lax.scan(body, 0.0, theta["levels"])[0]

    everything = [True] * 6
    # the loop makes a number of the centre that nobody reads: it is taken as a whole
    assert told(in_a_loop) == [True] * 5 + [False]
    assert told(lambda theta, record: record["y"]) == everything
    assert told(lambda theta, record: theta["missing"]) == everything
    assert told(PythonFunction(lambda theta, record: 0.0)) == everything


def numpyro_model(is_centred):
    def model(group, y):
        centre = numpyro.sample("centre", dist.Normal(0, 2))
        spread = numpyro.sample("spread", dist.LogNormal(-0.5, 0.5))
        with numpyro.plate("groups", GROUPS):
            if is_centred:
                levels = numpyro.sample("levels", dist.Normal(centre, spread))
            else:
                levels = centre + spread * numpyro.sample("unit", dist.Normal(0, 1))
        with numpyro.plate("records", group.shape[0]):
            numpyro.sample("y", dist.Normal(levels[group], 1), obs=y)

    records = Records(RECORDS)
    return from_numpyro(model, COUNT, records.shape_of_one("float32")), records


@pytest.mark.parametrize(("is_centred", "size"), [(True, GROUPS), (False, GROUPS + 2)])
def test_numpyro_models_are_read_too(is_centred, size):
    model, records = numpyro_model(is_centred)
    assert told_coordinates(model, records).sum() == size
    plan = ControlVariates(epsilon=1.0).plan(COUNT, size, 1e-6)
    check_release(model, records, plan, "float32")
    other = ControlVariates(epsilon=1.0).plan(COUNT, size + 1, 1e-6)
    with pytest.raises(InputError, match=f"tell of {size} coordinates of θ"):
        check_release(model, records, other, "float32")


# What is released


def released(model=MODEL, noise=1e-5, seed=1, prior_scale=0.01, centre=None):
    """Expanded a little off the top, with a start that is wrong beyond the levels."""
    start = {"centre": 0.3, "levels": LEVELS + 0.02, "log_spread": -0.9}
    covariance = np.diag(np.where(TOLD, GROUPS / COUNT, prior_scale**2))
    return release(
        model,
        Records(RECORDS),
        Plan(ControlVariates(epsilon=1.0), COUNT, GROUPS, noise),
        Tape.seeded(seed),
        centre=start if centre is None else centre,
        covariance=covariance,
        dtype="float64",
    )


def coordinates(surrogate):
    with jax.enable_x64(True):
        return np.asarray(ravel_pytree(surrogate.mean)[0])


def exact_top():
    """Top and covariance of the posterior; it is quadratic but for the prior."""
    with jax.enable_x64(True):
        first = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), START)
        point, unravel = ravel_pytree({**first, "levels": jnp.asarray(LEVELS)})

        def log_posterior(flat):
            theta = unravel(flat)
            each = jax.vmap(log_likelihood, (None, 0))(theta, RECORDS)
            return jnp.sum(each) + log_prior(theta)

        for _ in range(20):
            bend = jax.hessian(log_posterior)(point)
            point = point - jnp.linalg.solve(bend, jax.grad(log_posterior)(point))
        return np.asarray(point), np.linalg.inv(-np.asarray(bend))


@pytest.mark.parametrize("prior_scale", [1e-3, 0.3, 10.0])
def test_the_surrogate_posterior_is_right_whatever_the_start_says_of_the_rest(
    prior_scale,
):
    top, covariance = exact_top()
    surrogate = released(prior_scale=prior_scale)
    assert len(surrogate.total) == GROUPS * (GROUPS + 3) // 2
    flat = coordinates(surrogate)
    deviations = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((flat - top) / deviations, 0, atol=0.01)
    np.testing.assert_allclose(surrogate.covariance, covariance, rtol=0.02, atol=1e-5)


def test_noise_moves_the_rest_only_through_what_is_told():
    """Against the shift of the levels by noise, carried on by the prior."""
    surrogate = released(noise=5.0)
    covariance, noise = surrogate.covariance, surrogate.noise_covariance
    carried = covariance[:, TOLD] @ np.linalg.inv(covariance[np.ix_(TOLD, TOLD)])
    wanted = carried @ noise[np.ix_(TOLD, TOLD)] @ carried.T
    np.testing.assert_allclose(noise, wanted, rtol=1e-6, atol=1e-12)
    # nearly nothing: the levels say little more of their centre than they did
    shares = np.diag(noise) / np.diag(covariance)
    assert np.all(shares[~TOLD] < 0.05 * shares[TOLD].min())


def test_the_distance_is_that_of_what_was_expanded():
    top = coordinates(released())
    at_levels = {"centre": 3.0, "levels": top[1:5], "log_spread": 0.5}
    assert released(centre=at_levels).distance < 0.1
    away = {**at_levels, "levels": top[1:5] + 0.2}
    assert released(centre=away).distance > 5


def test_features_and_vectors_are_of_told_coordinates_alone():
    with jax.enable_x64(True):
        centre = {key: jnp.asarray(value) for key, value in START.items()}
        flat, unravel = ravel_pytree(centre)
        factor = np.zeros((6, GROUPS))
        factor[TOLD] = np.tril(np.full((GROUPS, GROUPS), 0.3)) + np.eye(GROUPS)
        taylor = Taylor(np.asarray(flat), factor, 50.0, 50.0, unravel)
        record = {"group": 2, "y": 0.7}
        vector = taylor.released(log_likelihood, record)
        assert vector.shape == (GROUPS * (GROUPS + 3) // 2,)
        point = {"centre": 9.0, "levels": jnp.array([1.0, 2, 3, 4]), "log_spread": 7.0}
        # the log-likelihood is a parabola, so that its expansion is all of it
        wanted = log_likelihood(point, record) - log_likelihood(centre, record)
        np.testing.assert_allclose(vector @ taylor.features(point), wanted)


# Tops


FUNNELS = {
    "bends up": lambda v: jnp.sum(v[2:] ** 2) - jnp.sum(v[2:] ** 4),
    "flat": lambda v: 0.0 * v[0],
    "not finite": lambda v: jnp.where(v[3] > 9, 0.0, -jnp.inf),
    "not a number": lambda v: jnp.sqrt(v[3] - 5),
    "steep": lambda v: -jnp.sum(jnp.exp(40 * jnp.abs(v))),
    "unbounded": lambda v: v[3] ** 2 + v[2] * v[0],
    "funnel": lambda v: -jnp.sum((v[:2] - v[2]) ** 2) * jnp.exp(-2 * v[3]) - 2 * v[3],
}


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("name", FUNNELS)
def test_no_prior_breaks_the_search_for_the_top(name, size):
    gradient = np.where(np.arange(4) < size, [30.0, -20.0, 10.0, 5.0], 0.0)
    hessian = -np.diag(np.where(np.arange(4) < size, [100.0, 50.0, 9.0, 4.0], 0.0))
    with jax.enable_x64(True):
        top, precision = laplace(gradient, hessian, FUNNELS[name], size)
    assert np.all(np.isfinite(top))
    np.linalg.cholesky(precision)


def test_a_prior_that_bends_up_at_the_start_has_its_top_found():
    """Two coordinates, of which one is the prior's: tops are at v = ±1/√2."""
    with jax.enable_x64(True):
        top, precision = laplace(
            np.array([8.0, 0.0]),
            np.diag([-4.0, 0.0]),
            lambda v: (v[1] + 0.1) ** 2 - (v[1] + 0.1) ** 4,
            1,
        )
    np.testing.assert_allclose(top, [2.0, np.sqrt(0.5) - 0.1], atol=1e-4)
    np.testing.assert_allclose(precision, np.diag([4.0, 4.0]), atol=1e-2)
