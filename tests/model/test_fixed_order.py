# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A record's bits do not depend on how many records stand beside it."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpmcmc.model.fixed_order import fixed_model, in_order_of, sum_in_order
from dpmcmc.model.model import Model

MODEL = Model(lambda theta, x: -((x - theta) ** 2), lambda theta: 0.0, 0.0)
FIXED = fixed_model(MODEL)
WEIGHTS = np.random.default_rng(3).normal(size=(7, 7)).astype(np.float32)


def gradient(x: jax.Array) -> jax.Array:
    """A product, a gradient, a loop and a norm."""
    first = jax.grad(lambda w: jax.nn.softplus(x @ w @ x))(WEIGHTS)
    looped, _ = jax.lax.scan(lambda a, row: (a + row @ x, None), 0.0, first)
    return jnp.append(first @ x, looped * jnp.linalg.norm(x))


def of_rows(model: Model, rows: jax.Array) -> jax.Array:
    return jax.vmap(in_order_of(model, gradient))(rows)


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(3001, 7)).astype(np.float32)


def test_a_row_has_the_same_bits_among_any_number(rows: np.ndarray) -> None:
    compiled = jax.jit(of_rows, static_argnames="model")
    whole = np.asarray(compiled(FIXED, rows))
    for size in (17, 1024, 1501):
        some = np.asarray(compiled(FIXED, rows[:size]))
        np.testing.assert_array_equal(some, whole[:size])


def expected(x: jax.Array) -> jax.Array:
    """A mean over nodes with weights, which are divided by their sum."""
    scale = jnp.exp(x[1])
    nodes = x[0] + scale * jnp.linspace(-8.0, 8.0, 33)
    logs = -(jnp.log(scale**2) + (nodes - x[0]) ** 2 / scale**2) / 2
    weights = jax.nn.softmax(logs)
    return jnp.append(logs - jnp.max(logs), weights @ (nodes / scale + 1.0))


def test_divisions_and_exponentials_have_the_same_bits(rows: np.ndarray) -> None:
    """Compilers divide many numbers by one otherwise in long arrays and in short."""
    compiled = jax.jit(jax.vmap(in_order_of(FIXED, expected)))
    whole = np.asarray(compiled(rows[:601]))
    for size in (1, 5, 90, 300):
        np.testing.assert_array_equal(compiled(rows[:size]), whole[:size])


def test_it_is_the_same_function(rows: np.ndarray) -> None:
    plain = of_rows(MODEL, rows[:50])
    np.testing.assert_allclose(of_rows(FIXED, rows[:50]), plain, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("count", [1, 64, 65, 200])
def test_terms_are_added_from_first_to_last(count: int) -> None:
    terms = np.random.default_rng(7).normal(size=(3, count)).astype(np.float32)
    total: Any = terms[:, 0]
    for place in range(1, count):
        total = total + terms[:, place]
    np.testing.assert_array_equal(jax.jit(sum_in_order)(terms), total)


@pytest.mark.parametrize(
    "spec", ["bij,bjk->bik", "ij,kj->ik", "i,j->ij", "abi,cbi->ac"]
)
def test_products_of_any_axes(spec: str) -> None:
    rng = np.random.default_rng(9)
    sizes = dict(zip("abcijk", (2, 3, 2, 4, 5, 3), strict=True))
    left, right = spec.split("->", maxsplit=1)[0].split(",")
    given = [rng.normal(size=[sizes[axis] for axis in axes]) for axes in (left, right)]
    product = in_order_of(FIXED, partial(jnp.einsum, spec))
    np.testing.assert_allclose(product(*given), np.einsum(spec, *given), rtol=1e-5)


def test_a_model_has_one_twin() -> None:
    assert fixed_model(MODEL) is FIXED
    assert FIXED.fixed_order
    assert not MODEL.fixed_order
