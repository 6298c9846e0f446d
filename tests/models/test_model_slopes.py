# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Lipschitz bounds of ready models: never exceeded, and nearly reached."""

import math
from typing import Any

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from jax.flatten_util import ravel_pytree
from model_cases import (
    BOUNDED,
    DIMENSION,
    MORE,
    UNBOUNDED,
    Make,
    draw_points,
    draw_raw,
    prepare,
)

from dpmcmc import Model, models

PAIRS = 200

CASES = [
    pytest.param(make, id=name, marks=[pytest.mark.slow] if name in MORE else [])
    for name, make in BOUNDED.items()
]


def corners(model: Model, generator: np.random.Generator, points: Any) -> Any:
    """Points with each coordinate, by chance, moved to an end of what the prior has.

    Where it has no end, the coordinate is made large.
    """

    def move(name: str, leaf: np.ndarray) -> np.ndarray:
        ends = ends_of(model, name)
        choice = generator.integers(4, size=np.shape(leaf))
        middle = np.asarray(leaf) * np.where(np.isinf(ends[1]), 10.0, 1.0)
        far = np.where(np.isinf(ends), np.array([-40.0, 40.0]), ends)
        return np.select([choice == 0, choice == 1], list(far), middle)

    return {name: move(name, leaf) for name, leaf in points.items()}


def ends_of(model: Model, name: str) -> np.ndarray:
    """Where the prior of a parameter ends."""
    part = model.log_prior.__self__.parts[name]  # type: ignore[attr-defined]
    return np.array([getattr(part, "low", -math.inf), getattr(part, "high", math.inf)])


def slopes(model: Model, points: Any, records: Any) -> jax.Array:
    """Norms of the gradient at each point for the record of the same place."""

    def slope(theta: Any, record: Any) -> jax.Array:
        gradient = jax.grad(model.log_likelihood)(theta, record)
        return jnp.linalg.norm(ravel_pytree(gradient)[0])

    return jax.jit(jax.vmap(slope))(points, records)


@pytest.mark.parametrize("make", CASES)
def test_no_two_points_differ_by_more(make: Make) -> None:
    """Over near and far pairs of points, in the middle and at the ends of the prior."""
    with jax.enable_x64(True):
        model = make()
        assert model.lipschitz is not None

        @jax.jit
        @jax.vmap
        def excess(theta: Any, other: Any, record: Any) -> jax.Array:
            record = model.preparation(record)
            moved = ravel_pytree(jax.tree.map(jnp.subtract, theta, other))[0]
            one = model.log_likelihood(theta, record)
            difference = jnp.abs(one - model.log_likelihood(other, record))
            rounding = 1e-13 * (1 + jnp.abs(one))
            return difference - model.lipschitz * jnp.linalg.norm(moved) - rounding

        points = jax.tree.map(np.asarray, draw_points(model, 1, PAIRS))

        @settings(max_examples=25)
        @given(st.integers(0, 2**31), st.sampled_from([1.0, 0.3, 1e-3]))
        def check(seed: int, nearness: float) -> None:
            generator = np.random.default_rng(seed)
            one = corners(model, generator, points)
            two = corners(model, generator, jax.tree.map(generator.permutation, points))
            near = jax.tree.map(lambda a, b: a + nearness * (b - a), one, two)
            records = draw_raw(model, generator, PAIRS)
            found = np.asarray(excess(one, near, records))
            assert not np.isnan(found).any()
            assert found.max() <= 0

        check()


TIGHT = ("bernoulli", "linear", "poisson")
"""Models whose bound is shown to be tight by each run; the slow tests try the rest."""


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, id=name, marks=[] if name in TIGHT else [pytest.mark.slow])
        for name, make in BOUNDED.items()
    ],
)
def test_the_bound_is_within_a_factor_of_two(make: Make) -> None:
    """Some record has at some point a slope of at least half the bound."""
    with jax.enable_x64(True):
        model = make()
        generator = np.random.default_rng(3)
        count = 20_000
        points = corners(model, generator, draw_points(model, 3, count))
        records = draw_raw(model, generator, count)
        if "y" in records:
            along = np.full((count, DIMENSION), 1e3) * generator.choice(
                [-1, 1], (count, 1)
            )
            records["x"] = np.where(np.arange(count)[:, None] % 2, along, records["x"])
            # all coefficients at the same end, as the derivation has it
            same = points["coefficients"][:, :1] * np.ones(DIMENSION)
            points["coefficients"] = np.where(
                np.arange(count)[:, None] % 2, same, points["coefficients"]
            )
        steepest = float(jnp.max(slopes(model, points, prepare(model, records))))
        assert model.lipschitz is not None
        assert steepest <= model.lipschitz * (1 + 1e-12)
        assert steepest >= model.lipschitz / 2


@pytest.mark.parametrize("make", UNBOUNDED.values(), ids=UNBOUNDED)
def test_a_model_without_a_bound_says_so(make: Make) -> None:
    assert make().lipschitz is None


def test_a_reach_that_overflows_has_no_bound() -> None:
    assert models.poisson_regression(2, norm=10, most=5, within=1e3).lipschitz is None
