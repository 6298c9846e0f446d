# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A user's function as a proposal, with or without a ratio, or a clear refusal."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from words import moves

from dpmcmc.errors import InputError
from dpmcmc.proposals import Custom, Proposed

THETA = {"x": jnp.float32(1.0), "k": jnp.array([1, 2], jnp.int32)}


def shifted(theta, by):
    return {"x": theta["x"] + by, "k": theta["k"]}


@pytest.mark.parametrize(
    ("propose", "ratio"),
    [
        (lambda theta, noise: shifted(theta, 1.0), 0.0),
        (lambda theta, noise: (shifted(theta, 1.0), 0.5), 0.5),
        (lambda theta, noise: Proposed(shifted(theta, 1.0), jnp.float32(0.5)), 0.5),
        (lambda theta, noise: shifted(theta, 2 * noise.uniforms(3)[2].round()), 0.0),
    ],
    ids=["point", "pair", "proposed", "noise"],
)
def test_a_function_returns_a_point_or_a_point_with_its_ratio(propose, ratio):
    proposed, log_ratio = moves(Custom(propose), THETA, 10, seed=17)
    assert proposed["x"].dtype == np.float32
    assert proposed["k"].dtype == np.int32
    assert np.all(np.isin(proposed["x"], [1.0, 2.0, 3.0]))
    assert np.all(log_ratio == ratio)


def test_a_pair_as_theta_is_not_taken_for_a_point_with_its_ratio():
    theta = (jnp.float32(1.0), jnp.float32(2.0))
    swap = Custom(lambda theta, noise: (theta[1], theta[0]))
    proposed, log_ratio = moves(swap, theta, 3, seed=18)
    assert np.all(proposed[0] == 2.0)
    assert np.all(proposed[1] == 1.0)
    assert not np.any(log_ratio)
    weighed = Custom(lambda theta, noise: ((theta[1], theta[0]), 0.25))
    assert np.all(moves(weighed, theta, 3, seed=18)[1] == 0.25)


def test_float64_noise_does_not_change_the_precision_of_the_chain():
    walk = Custom(lambda theta, noise: theta + noise.normals(2))
    proposed, _ = moves(walk, jnp.zeros(2, jnp.float32), 5, seed=19)
    assert proposed.dtype == np.float32


@pytest.mark.parametrize(
    ("propose", "parts"),
    [
        (0.1, ["propose is a float", "Pass the function itself"]),
        (lambda theta, noise: theta["y"], ["KeyError", "test_custom.py"]),
        (lambda theta: theta, ["TypeError"]),
        (lambda theta, noise: theta["x"], ["propose returns float32[scalar]"]),
        (lambda theta, noise: (theta, jnp.zeros(2)), ["one real number"]),
        (lambda theta, noise: (theta, 1j), ["one real number"]),
        (lambda theta, noise: (theta, 0.0, 0.0), ["propose returns"]),
        (
            lambda theta, noise: {**theta, "k": theta["k"] * 0.5},
            ["k: float32[2]", "kinds of numbers of θ"],
        ),
        (lambda theta, noise: {**theta, "x": jnp.zeros(3)}, ["x: float32[3]"]),
        (
            lambda theta, noise: theta if theta["x"] > 0 else shifted(theta, 1.0),
            ["propose failed with", "operations that JAX can trace"],
        ),
    ],
)
def test_refusals(propose, parts):
    with pytest.raises(InputError) as caught:
        Custom(propose).fit(THETA)
    assert caught.value.__cause__ is None
    assert "\n" not in str(caught.value)
    for part in parts:
        assert part in str(caught.value)


def test_a_mover_is_compiled_once_for_one_function():
    walk = Custom(lambda theta, noise: theta + noise.normals(1)[0])
    theta = jnp.float32(0.0)
    one, other = walk.fit(theta), walk.fit(theta)
    assert jax.tree.structure(one) == jax.tree.structure(other)
