# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The bounded walk is uniform, and never farther than it says, rounding included."""

import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from words import FALSE_ALARM, moves, propose_all

import dpmcmc
from dpmcmc.errors import InputError
from dpmcmc.proposals import BoundedWalk

THETA = {"a": jnp.float32(1.0), "b": jnp.array([2.0, 3.0], jnp.float32)}
COUNT = 100_000


def flat_moves(proposal, theta=THETA, seed=1):
    proposed, log_ratio = moves(proposal, theta, COUNT, seed)
    assert not np.any(log_ratio)
    moved = jax.tree.map(
        lambda new, old: np.reshape(np.float64(new) - np.float64(old), (COUNT, -1)),
        proposed,
        theta,
    )
    return np.hstack(jax.tree.leaves(moved))


def assert_law(sample, law):
    """Kolmogorov–Smirnov, with a false-alarm rate of 1e-6."""
    assert stats.kstest(sample, law.cdf).pvalue > FALSE_ALARM


def test_a_ball_is_filled_uniformly():
    """‖move‖³/r³ and, in three dimensions, each coordinate of the direction."""
    moved = flat_moves(BoundedWalk(0.5))
    lengths = np.linalg.norm(moved, axis=1)
    assert_law((lengths / 0.5) ** 3, stats.uniform())
    for direction in (moved / lengths[:, None]).T:
        assert_law(direction, stats.uniform(-1, 2))
    # a walk that took u for u^(1/3) is found
    assert stats.kstest(lengths / 0.5, stats.uniform().cdf).pvalue < FALSE_ALARM


def test_a_ball_in_one_dimension_is_an_interval():
    moved = flat_moves(BoundedWalk(0.25), jnp.float32(0.0))
    assert_law(moved[:, 0], stats.uniform(-0.25, 0.5))


@pytest.mark.parametrize(
    ("radius", "widths"),
    [(0.5, [0.5, 0.5, 0.5]), ({"a": 2, "b": [0.1, 3.0]}, [2, 0.1, 3.0])],
    ids=["number", "tree"],
)
def test_a_box_is_filled_uniformly(radius, widths):
    """Each coordinate is uniform; pairs are uncorrelated, within z/√n."""
    moved = flat_moves(BoundedWalk(radius, shape="box"))
    for column, width in zip(moved.T, widths, strict=True):
        assert_law(column, stats.uniform(-width, 2 * width))
    z = stats.norm.isf(FALSE_ALARM / 2 / 3)
    apart = np.corrcoef(moved.T)[np.triu_indices(3, 1)]
    assert np.all(np.abs(apart) < z / math.sqrt(COUNT))


@pytest.mark.parametrize("shape", ["ball", "box"])
def test_it_seldom_stays_where_numbers_are_fine_enough(shape):
    """Held are the moves that rounding would take beyond: here some in 10⁵."""
    moved = flat_moves(BoundedWalk(0.5, shape=shape))
    assert np.mean(np.all(moved == 0, axis=1)) < 1e-4


def test_a_move_that_rounding_would_lengthen_is_not_made():
    """Near 10⁸ float32 has steps of 8: a move of 5 would be stored as one of 8."""
    theta = jnp.float32(1e8)
    assert set(flat_moves(BoundedWalk(5.0), theta)[:, 0]) == {0.0}
    assert set(flat_moves(BoundedWalk(9.0), theta)[:, 0]) == {-8.0, 0.0, 8.0}
    assert set(flat_moves(BoundedWalk(9.0, "box"), theta)[:, 0]) == {-8.0, 0.0, 8.0}


uniforms = st.floats(2**-53, 1 - 2**-53) | st.sampled_from([2**-53, 1 - 2**-53])


@settings(max_examples=50)
@given(data=st.data())
@pytest.mark.parametrize(
    ("precision", "double"), [("float32", False), ("float32", True), ("float64", True)]
)
@pytest.mark.parametrize("shape", ["ball", "box"])
def test_reach_bounds_the_exact_distance_of_stored_points(
    shape, precision, double, data
):
    """Compared in rational arithmetic, at any size of θ."""
    width = 32 if precision == "float32" else 64
    numbers = st.floats(-1024, 1024, width=width) | st.floats(-1e9, 1e9, width=width)
    radius = data.draw(st.floats(1e-6, 1e6) | st.floats(1e-30, 1e30))
    start = data.draw(st.lists(numbers, min_size=3, max_size=3))
    words = data.draw(st.lists(uniforms, min_size=4, max_size=4))
    with jax.enable_x64(double):
        theta = jnp.array(start, precision)
        walk = BoundedWalk(radius, shape=shape)
        kernel = walk.fit(theta)
        row = np.array([words if shape == "ball" else words[:3]])
        proposed = np.asarray(propose_all(kernel, theta, row).theta)[0]
        reach = Fraction(walk.reach(theta))
    parts = [
        Fraction(float(new)) - Fraction(float(old))
        for new, old in zip(proposed, np.asarray(theta), strict=True)
    ]
    assert sum(part**2 for part in parts) <= reach**2
    if shape == "box":
        assert all(abs(part) <= Fraction(radius) for part in parts)


@pytest.mark.parametrize(
    ("shape", "precision"), [("ball", "float32"), ("box", "float64")]
)
def test_reach_holds_along_a_compiled_chain(shape, precision):
    """Every step of a run, where compilers fuse operations and θ is large."""
    model = dpmcmc.Model(
        lambda theta, record: 0.0 * record,
        lambda theta: 0.0,
        initial=np.array([3e4, -1e-3, 700.0]),
    )
    walk = BoundedWalk(0.01, shape=shape)
    run = dpmcmc.sample_not_private(
        model,
        np.zeros(2),
        steps=2000,
        warmup=0,
        method=dpmcmc.Barker(proposal=walk),
        precision=precision,
        seed=23,
        progress=False,
    )
    chain = [[Fraction(x) for x in row] for row in run.draws["theta"][0].tolist()]
    reach = Fraction(walk.reach(jnp.zeros(3))) ** 2
    farthest = max(
        sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
        for one, other in itertools.pairwise(chain)
    )
    assert float(reach) * 0.5 < farthest <= reach


def test_reach_is_the_radius_or_the_corner_of_the_box():
    assert BoundedWalk(0.3).reach(THETA) == 0.3
    assert BoundedWalk(2.0, "box").reach(THETA) == pytest.approx(math.sqrt(12))
    widths = {"a": 1.0, "b": [2.0, 2.0]}
    assert 3 < BoundedWalk(widths, "box").reach(THETA) < 3 * (1 + 1e-15)


@pytest.mark.parametrize(
    ("walk", "parts"),
    [
        (BoundedWalk(0.0), ["radius is 0.0", "above 0", 'shape="box"']),
        (BoundedWalk(math.nan), ["radius is nan", "above 0"]),
        (BoundedWalk(np.ones(3)), ["radius is array", 'shape="box"']),
        (BoundedWalk(1.0, shape="cube"), ["shape is 'cube'", "'ball' or 'box'"]),
        (BoundedWalk([1.0, 1.0], "box"), ["radius is", "θ is {a: float32[scalar]"]),
        (BoundedWalk({"a": 1, "b": -1.0}, "box"), ["half-width", "above 0"]),
        (BoundedWalk(1e-60), ["radius moves", "in float32 it must be"]),
        (BoundedWalk(1e60, "box"), ["radius moves", "in float32 it must be"]),
    ],
)
def test_a_radius_that_cannot_be_is_refused(walk, parts):
    with pytest.raises(InputError) as caught:
        walk.fit(THETA)
    for part in parts:
        assert part in str(caught.value)
