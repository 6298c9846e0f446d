# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Discrete proposals: their exact chances, by enumeration, and what they preserve."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from words import FALSE_ALARM, exact_law, key, moves

from dpmcmc.errors import InputError
from dpmcmc.proposals import BitFlips, CategoricalWalk, IntegerWalk, Swap


def bits(size):
    return [jnp.array(s) for s in itertools.product([False, True], repeat=size)]


def distances(states):
    table = np.array([key(state) for state in states])
    return np.abs(table[:, None] - table[None]).sum(axis=2)


@pytest.mark.parametrize(
    ("size", "count", "grid"), [(3, 1, 3), (4, 2, 12), (3, 3, 6), (4, 3, 12)]
)
def test_bit_flips_reach_each_subset_alike(size, count, grid):
    states = bits(size)
    chances = exact_law(BitFlips(count), states, grid)
    flipped = distances(states) == count
    subsets = flipped[0].sum()
    np.testing.assert_allclose(chances, flipped / subsets, atol=1e-12)


def test_categorical_walk_takes_each_other_value_alike():
    """Two coordinates of 2 and 4 levels: chance 1/2 · 1/(k − 1)."""
    states = [
        {"a": jnp.int32(a), "b": jnp.array([b], jnp.int32)}
        for a, b in itertools.product(range(2), range(4))
    ]
    chances = exact_law(CategoricalWalk({"a": 2, "b": 4}), states, grid=6)
    table = np.array([key(state) for state in states])
    differs = table[:, None] != table[None]
    alone = differs.sum(axis=2) == 1
    expected = alone * np.where(differs[..., 0], 1 / 2, 1 / 2 / 3)
    np.testing.assert_allclose(chances, expected, atol=1e-12)
    np.testing.assert_allclose(chances, chances.T, atol=1e-12)


@pytest.mark.parametrize(("step", "grid"), [(1, 2), (2, 4), (7, 14)])
def test_integer_walk_is_symmetric_at_its_bounds(step, grid):
    """On {2, …, 6}: 1/(2 · step) for each value near, and the rest stays."""
    values = np.arange(2, 7)
    states = [jnp.int32(value) for value in values]
    chances = exact_law(IntegerWalk(step, 2, 6), states, grid)
    apart = np.abs(values[:, None] - values[None])
    expected = ((apart > 0) & (apart <= step)) / (2 * step)
    expected += np.diag(1 - expected.sum(axis=1))
    np.testing.assert_allclose(chances, expected, atol=1e-12)


def test_integer_walk_moves_one_coordinate_of_many():
    """Two coordinates with bounds of their own; still symmetric."""
    states = [jnp.array(s, jnp.int32) for s in itertools.product(range(3), range(5, 9))]
    walk = IntegerWalk(2, np.array([0, 5]), np.array([2, 8]))
    chances = exact_law(walk, states, grid=4)
    np.testing.assert_allclose(chances, chances.T, atol=1e-12)
    table = np.array([key(state) for state in states])
    moved = table[:, None] != table[None]
    assert not np.any(chances[moved.all(axis=2)])
    apart = distances(states)
    near = (apart > 0) & (apart <= 2) & (moved.sum(axis=2) == 1)
    np.testing.assert_allclose(chances[near], 1 / 8)


def test_without_bounds_an_integer_walk_stops_short_of_overflow():
    limits = np.iinfo(np.int32)
    for start in (limits.max - 3, limits.min + 3):
        proposed, _ = moves(IntegerWalk(3), jnp.int32(start), 1000, seed=5)
        inwards = (start - proposed.astype(np.int64)) * np.sign(start)
        assert set(inwards) == {0, 1, 2, 3}


def test_swap_takes_each_pair_alike():
    states = [jnp.array(p) for p in itertools.permutations(range(4))]
    chances = exact_law(Swap(), states, grid=12)
    table = np.array([key(state) for state in states])
    swapped = (table[:, None] != table[None]).sum(axis=2) == 2
    np.testing.assert_allclose(chances, swapped / 6, atol=1e-12)


def test_many_places_are_chosen_alike():
    """Chi-square over 50 places and over 1225 pairs, false-alarm rate 1e-6."""
    theta = jnp.zeros(50, bool)
    proposed, _ = moves(BitFlips(2), theta, 200_000, seed=6)
    first, second = np.nonzero(proposed)[1].reshape(-1, 2).T
    pairs = np.bincount(first * 50 + second, minlength=2500).reshape(50, 50)
    counts = pairs[np.triu_indices(50, 1)]
    assert counts.sum() == 200_000
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    values, _ = moves(CategoricalWalk(1000), jnp.int32(17), 200_000, seed=7)
    counts = np.bincount(values, minlength=1000)
    assert counts[17] == 0
    assert stats.chisquare(np.delete(counts, 17)).pvalue > FALSE_ALARM


@given(
    start=st.lists(st.booleans(), min_size=12, max_size=12),
    count=st.sampled_from([1, 2, 7, 12]),
    seed=st.integers(0, 2**32),
)
def test_as_many_bits_are_flipped_as_asked(start, count, seed):
    theta = {"a": jnp.array(start[:4]).reshape(2, 2), "b": jnp.array(start[4:])}
    proposed, _ = moves(BitFlips(count), theta, 5, seed)
    for row in range(5):
        new = jax.tree.map(lambda leaf, row=row: leaf[row], proposed)
        assert sum(a != b for a, b in zip(key(new), key(theta), strict=True)) == count
        apart = np.linalg.norm(np.subtract(key(new), key(theta)))
        assert apart <= BitFlips(count).reach(theta)


@pytest.mark.slow
@given(
    low=st.integers(-(2**31) + 9, 2**31 - 12),
    width=st.integers(1, 2**32),
    place=st.floats(0, 1),
    step=st.integers(1, 8),
    seed=st.integers(0, 2**32),
)
def test_an_integer_walk_keeps_its_bounds_and_moves_at_most_its_step(
    low, width, place, step, seed
):
    high = min(low + width, 2**31 - 9)
    start = low + int(place * (high - low))
    walk = IntegerWalk(step, low, high)
    proposed, _ = moves(walk, jnp.int32(start), 20, seed)
    assert proposed.dtype == np.int32
    wide = proposed.astype(np.int64)
    assert np.all((low <= wide) & (wide <= high))
    assert np.all(np.abs(wide - start) <= walk.reach(jnp.int32(start)))


@given(
    entries=st.lists(st.integers(-5, 5), min_size=6, max_size=6),
    seed=st.integers(0, 2**32),
)
def test_a_swap_keeps_the_entries(entries, seed):
    theta = jnp.array(entries, jnp.int32)
    proposed, _ = moves(Swap(), theta, 10, seed)
    assert np.array_equal(np.sort(proposed, axis=1), np.sort([entries] * 10, axis=1))


def test_a_swap_of_a_matrix_swaps_rows():
    theta = {"order": jnp.arange(6.0, dtype=jnp.float32).reshape(3, 2)}
    proposed, _ = moves(Swap(), theta, 100, seed=8)
    rows = {tuple(map(tuple, order.tolist())) for order in proposed["order"]}
    a, b, c = (0.0, 1.0), (2.0, 3.0), (4.0, 5.0)
    assert rows == {(b, a, c), (c, b, a), (a, c, b)}


def test_reach():
    assert CategoricalWalk({"a": 2, "b": 7}).reach(
        {"a": jnp.int32(0), "b": jnp.zeros(2, jnp.int32)}
    ) == pytest.approx(6)
    assert 2 <= BitFlips(4).reach(jnp.zeros(5, bool)) < 2 + 1e-9
    assert IntegerWalk(3).reach(jnp.int32(0)) == 3
    with pytest.raises(InputError, match="count is 'two'"):
        BitFlips("two").reach(jnp.zeros(5, bool))
    with pytest.raises(InputError, match=r"step is 0\.5"):
        IntegerWalk(0.5).reach(jnp.int32(0))


WHOLE = jnp.array([1, 2], jnp.int32)


@pytest.mark.parametrize(
    ("proposal", "theta", "parts"),
    [
        (BitFlips(), WHOLE, ["BitFlips moves booleans", "int32[2]", "Blocks"]),
        (BitFlips(), {"x": jnp.float32(0)}, ["θ holds x: float32[scalar]"]),
        (BitFlips(0), jnp.zeros(2, bool), ["count is 0", "at least 1"]),
        (BitFlips(3), jnp.zeros(2, bool), ["count is 3", "holds 2 booleans"]),
        (CategoricalWalk(3), jnp.float32(0), ["moves whole numbers", "Blocks"]),
        (CategoricalWalk(3), jnp.array(True), ["moves whole numbers", "bool"]),
        (CategoricalWalk(1), WHOLE, ["levels is 1", "at least 2"]),
        (CategoricalWalk(2.5), WHOLE, ["levels is 2.5", "whole number"]),
        (CategoricalWalk([3, 3, 3]), WHOLE, ["levels is [3, 3, 3]", "int32[2]"]),
        (CategoricalWalk(2), WHOLE, ["levels is 2", "θ starts with 1 to 2"]),
        (IntegerWalk(0), WHOLE, ["step is 0", "at least 1"]),
        (IntegerWalk(1.5), WHOLE, ["step is 1.5", "whole number"]),
        (IntegerWalk(2**30), WHOLE, ["step is 1073741824", "in int32"]),
        (IntegerWalk(1, 3, 3), WHOLE, ["low is 3 and high is 3", "below high"]),
        (IntegerWalk(1, -(2**40), 3), WHOLE, ["low is -1099511627776", "from -2147"]),
        (IntegerWalk(1, 2, 9), WHOLE, ["low is 2", "θ starts with 1 to 2"]),
        (IntegerWalk(1, 0.5), WHOLE, ["low is 0.5", "whole number"]),
        (IntegerWalk(), jnp.zeros(2), ["moves whole numbers", "float32[2]"]),
        (Swap(), jnp.int32(1), ["at least two entries", "int32[scalar]"]),
        (Swap(), jnp.zeros(1), ["at least two entries", "float32[1]"]),
        (Swap(), {"a": WHOLE, "b": WHOLE}, ["one array", "Blocks"]),
    ],
)
def test_refusals(proposal, theta, parts):
    with pytest.raises(InputError) as caught:
        proposal.fit(theta)
    for part in parts:
        assert part in str(caught.value)
