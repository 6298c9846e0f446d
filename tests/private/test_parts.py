# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Sums of vectors in parts: what is in a cone counts half, whatever bits it holds."""

from dataclasses import dataclass
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from adversarial import HOSTILE, hostile_ratios
from answers import InParts, asked, total_of
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.private import Parts, release_sum, sums
from dpmcmc.private.sums import bounded_vectors, exact_sum

FREE, POSITIVE, FACTOR = 3, 2, 3
UNIT = CLIP_STEPS / 29
"""Integers for each unit of an outer product."""


def bounded(free, positive, factor, present=None):
    """The integers of each record; a part that is None has length 0."""
    count = next(len(part) for part in (free, positive, factor) if part is not None)
    given = (free, positive, factor)
    none = np.zeros((count, 0))
    parts = (none if part is None else np.asarray(part) for part in given)
    present = np.ones(count, bool) if present is None else present
    with jax.enable_x64(True):
        vectors = Parts(*map(jnp.asarray, parts))
        return np.asarray(jax.jit(bounded_vectors)(vectors, jnp.asarray(present)))


def split(rows, free=FREE):
    """Free and cone coordinates as Python's integers."""
    whole = rows.astype(object)
    return whole[:, :free], whole[:, free:]


def check(rows, free=FREE, positive=POSITIVE):
    """All that the boundary claims of rows, exactly."""
    assert rows.dtype == np.int64
    outside, cone = split(rows, free)
    lengths = 2 * (outside**2).sum(axis=1) + (cone**2).sum(axis=1)
    assert max(lengths) <= 2 * CLIP_STEPS**2
    assert np.all(rows[:, free : free + positive] >= 0)
    assert np.min(cone @ cone.T) >= 0
    whole = rows.astype(object)
    pairs = combinations(range(len(rows)), 2)
    apart = max(((whole[one] - whole[other]) ** 2).sum() for one, other in pairs)
    assert apart <= (2 * CLIP_STEPS) ** 2


def random_parts(count, seed=0, dtype=np.float64, size=FACTOR):
    """Parts of all lengths and directions."""
    generator = np.random.default_rng(seed)

    def rows(width):
        lengths = 10.0 ** generator.uniform(-4, 4, (count, 1))
        return (generator.normal(size=(count, width)) * lengths).astype(dtype)

    return rows(FREE), rows(POSITIVE), rows(size)


# What is claimed


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=60)
@given(st.data())
def test_any_two_records_are_at_most_two_bounds_apart(dtype, data):
    width = FREE + POSITIVE + FACTOR
    rows = data.draw(hostile_ratios(dtype, 8 * width)).reshape(8, width)
    check(bounded(*np.split(rows, [FREE, FREE + POSITIVE], axis=1)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [0, 1, 7])
def test_hostile_parts_are_bounded_at_every_scale(dtype, size):
    parts = random_parts(600, seed=3, dtype=dtype, size=size)
    for part in parts:
        hostile = HOSTILE[dtype][: len(part)]
        part[: len(hostile)] = hostile[:, None]
        part[len(hostile) : 2 * len(hostile), :1] = hostile[:, None][:, : part.shape[1]]
    check(bounded(*parts))


@pytest.mark.parametrize(("free", "positive"), [(0, 3), (3, 0), (0, 0), (1, 2)])
def test_parts_may_be_empty(free, positive):
    _, _, factor = random_parts(50, seed=4)
    generator = np.random.default_rng(5)
    rows = generator.normal(size=(50, free)), generator.normal(size=(50, positive))
    check(bounded(*rows, factor), free, positive)


def test_the_bound_holds_even_if_the_clip_does_nothing(monkeypatch):
    monkeypatch.setattr(sums, "_MARGIN", 1e9)
    found = bounded(*random_parts(300, seed=6))
    check(found)
    assert np.any(found != 0)


def test_products_of_integers_make_a_cone_exactly():
    """⟨c, c′⟩ = 840.5 (w · w′)² + 0.5 Σ wᵢ² w′ᵢ², by Python's integers."""
    generator = np.random.default_rng(7)
    one, other = (generator.integers(-300, 301, (200, 6)) for _ in range(2))
    with jax.enable_x64(True):
        first, second = (
            np.asarray(sums._outer(jnp.asarray(part))).astype(object)
            for part in (one, other)
        )
    rows, columns = np.triu_indices(6)
    kept = np.clip(one, -226, 226).astype(object)
    times = np.where(rows == columns, 29, 41)
    assert np.array_equal(first, times * kept[:, rows] * kept[:, columns])
    limited = np.clip(other, -226, 226).astype(object)
    products = (kept * limited).sum(axis=1)
    expected = 1681 * products**2 + (kept**2 * limited**2).sum(axis=1)
    assert np.array_equal(2 * (first * second).sum(axis=1), expected)
    assert min(expected) >= 0


def test_the_longest_rows_are_bounded():
    """Squares of all coordinates together fit an int64, at the end of every grid."""
    size, rest = 1447, 2**20 - 1447 * 1448 // 2
    huge = [np.full((1, width), 1e6) for width in (rest // 2, rest // 2, size)]
    found = bounded(*huge)
    outside, cone = split(found, rest // 2)
    assert 2 * (outside**2).sum() + (cone**2).sum() <= 2 * CLIP_STEPS**2
    most = 2**20 * max(2 * CLIP_STEPS**2, (41 * sums._MOST_ROOT**2) ** 2, sums._MOST**2)
    assert most < 2**62


def test_rows_depend_on_their_own_row_alone():
    parts = random_parts(40, seed=8)
    together = bounded(*parts)
    for row in range(40):
        alone = bounded(*(part[row : row + 1] for part in parts))
        np.testing.assert_array_equal(alone[0], together[row])


def test_a_record_with_no_number_or_not_present_counts_for_nothing():
    rows = [np.full((5, width), 0.1) for width in (FREE, POSITIVE, FACTOR)]
    for place, part in enumerate(rows):
        part[place, 0] = [np.nan, np.inf, -np.inf][place]
    found = bounded(*rows, np.array([True, True, True, False, True]))
    assert not found[:4].any()
    assert found[4].all()


def test_what_should_be_positive_is():
    """Negative numbers are 0, and take nothing from the others."""
    found = bounded([[0.5], [0.5]], [[-1e6, 0.25], [0.0, -0.25]], None)
    half, quarter = CLIP_STEPS // 2, CLIP_STEPS // 4
    np.testing.assert_array_equal(found, [[half, 0, quarter], [half, 0, 0]])


# Nothing is lost


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 5, 57])
def test_no_long_record_is_thrown_away(dtype, size):
    """Rounding to the nearest may lengthen a factor: the clip leaves room for it."""
    generator = np.random.default_rng(9)
    count = 2_000
    factor = generator.normal(size=(count, size)) * 10.0 ** generator.uniform(
        0, 6, (count, 1)
    )
    # All at half a step beyond a whole number: each entry is rounded up.
    factor[:20] = np.linspace(0.5, 2, 20)[:, None]
    least = 1 - 2.05 * np.sqrt(size) / np.sqrt(UNIT) / 2**0.25
    for others in (0.0, 1e3):
        free = others * generator.normal(size=(count, FREE))
        positive = np.abs(others * generator.normal(size=(count, POSITIVE)))
        found = bounded(
            free.astype(dtype), positive.astype(dtype), factor.astype(dtype)
        )
        outside, cone = split(found)
        squares = 2 * (outside**2).sum(axis=1) + (cone**2).sum(axis=1)
        length = np.sqrt((squares / (2 * CLIP_STEPS**2)).astype(float))
        squared = np.sum(free**2, axis=1) + np.sum(positive**2, axis=1) / 2
        whole = np.sqrt(squared + np.sum(factor**2, axis=1) ** 2 / 2)
        is_long = whole > 1
        assert is_long.sum() > count / 2
        # but for what rounding may add, taken twice: it may shorten as well
        assert np.all(length[is_long] > least)


def test_what_is_not_too_long_is_as_it_was():
    generator = np.random.default_rng(10)
    parts = [generator.uniform(0, 0.2, (500, n)) for n in (FREE, POSITIVE, FACTOR)]
    found = bounded(*parts)
    np.testing.assert_array_equal(found[:, :FREE], np.trunc(parts[0] * CLIP_STEPS))
    cone = np.trunc(parts[1] * CLIP_STEPS)
    np.testing.assert_array_equal(found[:, FREE : FREE + POSITIVE], cone)
    root = np.round(parts[2] * np.sqrt(UNIT)).astype(int)
    rows, columns = np.triu_indices(FACTOR)
    products = np.where(rows == columns, 29, 41) * root[:, rows] * root[:, columns]
    np.testing.assert_array_equal(found[:, FREE + POSITIVE :], products)


def test_outer_products_are_unbiased():
    """In 5 sd of their mean; rounding adds 1/12 of a step's square on the diagonal."""
    generator = np.random.default_rng(11)
    factor = 0.3 * generator.normal(size=(100_000, FACTOR))
    factor = factor[np.sum(factor**2, axis=1) < 1]
    found = bounded(None, None, factor) / CLIP_STEPS
    rows, columns = np.triu_indices(FACTOR)
    exact = factor[:, rows] * factor[:, columns]
    missed = found * np.where(rows == columns, 1, 29 / 41) - exact
    expected = np.where(rows == columns, 1 / 12 / UNIT, 0)
    error = missed.std(axis=0) / np.sqrt(len(factor))
    assert np.all(np.abs(missed.mean(axis=0) - expected) < 5 * error)
    assert np.max(np.abs(expected)) < 1e-4 * np.mean(exact[:, 0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (([9.0], [0, 0], [0, 0]), ([-9.0], [0, 0], [0, 0])),
        (([0.0], [9, 0], [0, 0]), ([0.0], [0, 9], [0, 0])),
        (([0.0], [0, 0], [9, 0]), ([0.0], [0, 0], [0, 9])),
        (([9.0], [9, 0], [3, 0]), ([-9.0], [0, 9], [0, 3])),
    ],
    ids=["free", "positive", "factor", "all"],
)
def test_the_worst_pairs_are_almost_two_bounds_apart(one, other):
    """Free parts that are opposite, and parts in the cone at a right angle."""
    parts = (np.array(pair, float) for pair in zip(one, other, strict=True))
    found = bounded(*parts).astype(float)
    apart = np.linalg.norm(found[0] - found[1])
    assert 0.985 * 2 * CLIP_STEPS < apart <= 2 * CLIP_STEPS


# Totals


def test_the_total_is_that_of_plain_numpy():
    generator = np.random.default_rng(12)
    records = generator.uniform(0, 0.4, (300, 3))
    found = total_of(exact_sum, InParts(), records)
    root = np.round(records[:, 2] * np.sqrt(UNIT)).astype(int)
    expected = [*np.trunc(records[:, :2] * CLIP_STEPS).sum(0), (29 * root**2).sum()]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=30)
@given(st.data())
def test_replacing_a_record_moves_the_total_by_at_most_twice_the_bound(dtype, data):
    rows = data.draw(hostile_ratios(dtype, 7 * 3)).reshape(7, 3)
    one, other = rows[:6], np.concatenate([rows[:5], rows[6:]])
    name = np.dtype(dtype).name
    first, second = (
        total_of(exact_sum, InParts(), part, name).astype(object)
        for part in (one, other)
    )
    assert ((first - second) ** 2).sum() <= (2 * CLIP_STEPS) ** 2


@dataclass(frozen=True)
class Matrices:
    """Parts that are no vectors."""

    def __call__(self, model, record, public):
        return Parts(record, record[:0], jnp.outer(record, record))


def test_parts_that_are_no_vectors_are_refused():
    with pytest.raises(ValueError, match="must be a vector"):
        asked(release_sum, Matrices(), np.ones((5, 3)))
