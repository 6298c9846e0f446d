# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Which directions records inform, found from the model alone."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from dpmcmc import Model
from dpmcmc.sampling.fit.basis import Basis, basis_of
from dpmcmc.sampling.problem import Problem, make_problem

GROUPS = 5
ADDED = {"log_tau": 0.0, "mu": 0.0, "u": np.zeros(GROUPS)}
GENERATOR = np.random.default_rng(0)
RECORDS = {
    "group": np.arange(50) % GROUPS,
    "x": GENERATOR.normal(size=(50, 3)),
    "y": GENERATOR.normal(size=50),
}


def normal(eta: Any, record: Any) -> Any:
    return -0.5 * (record["y"] - eta) ** 2


FORMS: dict[str, tuple[Callable[..., Any], Any]] = {
    "added": (lambda t, r: normal(t["mu"] + t["u"][r["group"]], r), ADDED),
    "centred": (lambda t, r: normal(t["u"][r["group"]], r), ADDED),
    "slopes": (
        lambda t, r: normal(
            t["u"][r["group"]] + jnp.dot(t["w"][r["group"]], r["x"][:2]), r
        ),
        {"u": np.zeros(GROUPS), "w": np.zeros((GROUPS, 2))},
    ),
    "regression": (
        lambda t, r: normal(t["a"] + t["b"] @ r["x"], r),
        {"a": 0.0, "b": np.zeros(3)},
    ),
    "the same twice": (
        lambda t, r: normal(t["a"] + 3 * t["b"] + t["c"] * r["x"][0], r),
        {"a": 0.0, "b": 0.0, "c": 0.0},
    ),
    "curved": (
        lambda t, r: normal(t["a"] * t["b"] * r["x"][0], r),
        {"a": 1.0, "b": 1.0},
    ),
}
DROPPED = {
    "added": 2,  # log_tau, and a common shift of mu and u
    "centred": 2,  # log_tau and mu
    "slopes": 0,
    "regression": 0,
    "the same twice": 1,
    "curved": 0,
}


@cache
def problem_of(name: str) -> Problem:
    log_likelihood, initial = FORMS[name]
    model = Model(log_likelihood, lambda theta: 0.0, initial)
    return make_problem(model, RECORDS, start=None, precision="float64", devices=None)


@cache
def found(name: str) -> Basis:
    return basis_of(problem_of(name))


@pytest.mark.parametrize("name", FORMS)
def test_directions_that_only_the_prior_knows_are_found(name: str) -> None:
    assert found(name).rest.shape[1] == DROPPED[name]


def test_what_is_in_no_log_likelihood_is_a_direction_by_itself() -> None:
    """Coordinates of the centred form: log_tau, mu, then u."""
    rest = found("centred").rest
    np.testing.assert_array_equal(rest[:2], np.eye(2))
    np.testing.assert_array_equal(rest[2:], 0)


def test_a_common_shift_of_group_effects_is_found() -> None:
    shift = np.array([0.0, 1.0, *[-1.0] * GROUPS])
    rest = found("added").rest
    inside = rest @ np.linalg.lstsq(rest, shift)[0]
    np.testing.assert_allclose(inside, shift, atol=1e-6)


@pytest.mark.parametrize("name", FORMS)
@given(seed=some.integers(0, 10**6))
def test_theta_is_put_together_again(name: str, seed: int) -> None:
    factor, inverse, rest = found(name)
    away = np.random.default_rng(seed).normal(size=len(factor))
    informed = inverse @ away
    left = away - factor @ informed
    others = rest @ np.linalg.lstsq(rest, left)[0] if rest.size else 0 * left
    np.testing.assert_allclose(factor @ informed + others, away, atol=1e-6)
    np.testing.assert_allclose(inverse @ factor, np.eye(factor.shape[1]), atol=1e-6)
    np.testing.assert_allclose(inverse @ rest, 0, atol=1e-6)


@pytest.mark.parametrize("name", ["added", "centred", "the same twice"])
@given(seed=some.integers(0, 10**6))
def test_no_log_likelihood_changes_along_the_rest(name: str, seed: int) -> None:
    problem, rest = problem_of(name), found(name).rest
    generator = np.random.default_rng(seed)
    point = generator.normal(size=len(rest))
    moved = point + rest @ generator.normal(size=rest.shape[1])
    with jax.enable_x64(True):
        each = jax.vmap(problem.model.log_likelihood, (None, 0))
        here, there = (
            each(jax.tree.map(jnp.asarray, problem.unravel(one)), RECORDS)
            for one in (point, moved)
        )
    np.testing.assert_allclose(there, here, rtol=1e-5, atol=1e-5)
