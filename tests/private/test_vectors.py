# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors of whole numbers: the bound on one record, and on what it moves a sum by."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from adversarial import HOSTILE, hostile_ratios
from hypothesis import given
from hypothesis import strategies as st
from slopes import LINEAR, SIZE, Slope, bounded

from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.private import vectors
from dpmcmc.private.records import Opened


def squares(integers):
    """Exact, in Python's integers."""
    return [sum(int(k) ** 2 for k in row) for row in integers]


# One record


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(st.data())
def test_no_row_is_longer_than_the_bound(dtype, data):
    rows = data.draw(hostile_ratios(dtype, 24)).reshape(8, SIZE)
    assert max(squares(bounded(rows))) <= CLIP_STEPS**2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hostile_rows_are_bounded_at_every_scale(dtype):
    """A random direction, a random length, and every hostile number beside it."""
    generator = np.random.default_rng(2)
    lengths = 10.0 ** generator.uniform(-9, 9, (20_000, 1))
    rows = (generator.normal(size=(20_000, SIZE)) * lengths).astype(dtype)
    rows[: len(HOSTILE[dtype]), 0] = HOSTILE[dtype]
    found = bounded(rows)
    assert max(squares(found)) <= CLIP_STEPS**2
    with np.errstate(all="ignore"):  # some NaNs signal when they are cast
        wide = rows.astype(np.float64)
    finite = np.all(np.isfinite(rows), axis=1) & (np.abs(wide).max(1) < 1e100)
    norms = np.linalg.norm(wide[finite], axis=1)
    wanted = wide[finite] / np.maximum(norms, 1.0)[:, None]
    # toward zero by less than a step, and no clipped row is thrown away
    np.testing.assert_allclose(found[finite] / CLIP_STEPS, wanted, atol=1.01e-6)
    assert np.all(found[~np.all(np.isfinite(rows), axis=1)] == 0)


def test_a_row_that_is_no_number_or_not_present_counts_for_nothing():
    rows = np.array([[0.5, np.nan, 0], [0.5, np.inf, 0], [0.5, 0, 0], [1e300, 0, 0]])
    found = bounded(rows, np.array([True, True, False, True]))
    assert not found.any()


def test_rounding_never_lengthens():
    generator = np.random.default_rng(3)
    rows = generator.normal(size=(1000, SIZE))
    rows *= 0.9 / np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.all(np.abs(bounded(rows)) <= np.abs(rows) * CLIP_STEPS)


def test_the_bound_holds_even_if_the_clip_does_nothing(monkeypatch):
    """The whole numbers are checked by themselves: too long a row becomes 0."""
    monkeypatch.setattr("jax_privacy.clipping.clip_pytree", lambda row, _: (row, 0))
    found = bounded([[0.8, 0.8, 0.0], [0.5, 0.5, 0.5], [np.nan, 1e30, -1e30]])
    assert squares(found) == [0, 3 * (CLIP_STEPS // 2) ** 2, 0]


def test_a_row_depends_on_no_other():
    generator = np.random.default_rng(4)
    rows = generator.normal(size=(50, SIZE))
    alone = np.concatenate([bounded(rows[i : i + 1]) for i in range(len(rows))])
    np.testing.assert_array_equal(bounded(rows), alone)


# The sum


def exact_sum(records, dtype="float32"):
    with jax.enable_x64(True):
        batch = Opened(np.asarray(records, dtype), None)
        point = np.zeros(SIZE, dtype)
        found = vectors.sum_of_vectors(LINEAR, Slope(), dtype, batch, point)
        assert found.dtype == jnp.int64
        return np.asarray(found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(st.data())
def test_replacing_a_record_moves_the_sum_by_at_most_twice_the_bound(dtype, data):
    rows = data.draw(hostile_ratios(dtype, 7 * SIZE)).reshape(7, SIZE)
    one, other = rows[:6], np.concatenate([rows[:5], rows[6:]])
    name = np.dtype(dtype).name
    change = exact_sum(one, name).astype(object) - exact_sum(other, name).astype(object)
    assert sum(int(k) ** 2 for k in change) <= (2 * CLIP_STEPS) ** 2


def test_the_worst_replacement_moves_it_by_almost_that():
    one, other = np.full((5, SIZE), 1e9), np.full((5, SIZE), 1e9)
    other[2] = -1e9
    change = exact_sum(one) - exact_sum(other)
    assert np.linalg.norm(change) == pytest.approx(2 * CLIP_STEPS, rel=1e-5)
