# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Noisy sums: integer vectors of bounded length, exact totals, and what leaves."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from adversarial import HOSTILE, hostile_ratios
from answers import SIZE, Gradient, asked, simulated, total_of
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.private import Parts, Tape, release_sum, sums
from dpmcmc.private.exact_normal import rounded_normals
from dpmcmc.private.sums import bounded_vectors, exact_sum


def bounded(rows, present=None):
    rows = np.asarray(rows)
    present = np.ones(len(rows), bool) if present is None else present
    with jax.enable_x64(True):
        vectors = Parts(jnp.asarray(rows), *[jnp.zeros((len(rows), 0))] * 2)
        found = jax.jit(bounded_vectors)(vectors, jnp.asarray(present))
        return np.asarray(found)


def squares(integers):
    """Exact, in Python's integers."""
    return [sum(int(k) ** 2 for k in row) for row in integers]


# One record


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=40)
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
    """The integers are checked by themselves: too long a row becomes 0."""
    monkeypatch.setattr(sums, "_MARGIN", 1e9)
    found = bounded([[0.8, 0.8, 0.0], [0.5, 0.5, 0.5], [np.nan, 1e30, -1e30]])
    assert squares(found) == [0, 3 * (CLIP_STEPS // 2) ** 2, 0]


def test_the_longest_row_is_bounded():
    """Squares of 2²⁰ coordinates at the end of the grid still fit their sum."""
    assert squares(bounded(np.full((1, 2**20), 1e6)))[0] <= CLIP_STEPS**2


# Exact totals


def by_numpy(vectors):
    """The exact sum of clipped vectors, in plain NumPy, one record at a time."""
    total = np.zeros(SIZE, np.int64)
    for vector in vectors:
        length = np.linalg.norm(vector)
        clipped = vector if length <= 1 else vector * ((1 - 2.0**-40) / length)
        total += np.trunc(clipped * CLIP_STEPS).astype(np.int64)
    return total


def test_the_total_is_that_of_plain_numpy():
    vectors, _ = simulated(2000)
    # dividing and multiplying by the length may round a coordinate to the next step
    found = total_of(exact_sum, Gradient(), vectors)
    assert np.abs(found - by_numpy(vectors)).max() <= 2
    exact = np.round(vectors * 2**10) / 2**12  # no longer than 1, and on the grid
    exact /= np.maximum(1, 2.0 ** np.ceil(np.log2(np.linalg.norm(exact, axis=1))))[
        :, None
    ]
    np.testing.assert_array_equal(
        total_of(exact_sum, Gradient(), exact), by_numpy(exact)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=40)
@given(st.data())
def test_replacing_a_record_moves_the_total_by_at_most_twice_the_bound(dtype, data):
    rows = data.draw(hostile_ratios(dtype, 7 * SIZE)).reshape(7, SIZE)
    one, other = rows[:6], np.concatenate([rows[:5], rows[6:]])
    name = np.dtype(dtype).name
    change = total_of(exact_sum, Gradient(), one, name).astype(object) - total_of(
        exact_sum, Gradient(), other, name
    ).astype(object)
    assert sum(int(k) ** 2 for k in change) <= (2 * CLIP_STEPS) ** 2


def test_the_worst_replacement_moves_it_by_almost_that():
    one, other = np.full((5, SIZE), 1e9), np.full((5, SIZE), 1e9)
    other[2] = -1e9
    change = total_of(exact_sum, Gradient(), one) - total_of(
        exact_sum, Gradient(), other
    )
    assert np.linalg.norm(change) == pytest.approx(2 * CLIP_STEPS, rel=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_a_record_answers_does_not_depend_on_others(dtype):
    """Even where it differentiates: the total is that of records one by one."""
    vectors, _ = simulated(40)
    alone = [
        total_of(exact_sum, Gradient(), vectors[i : i + 1], dtype) for i in range(40)
    ]
    together = total_of(exact_sum, Gradient(), vectors, dtype)
    np.testing.assert_array_equal(together, sum(alone))


# What leaves


def test_what_leaves_is_the_total_and_rounded_normal_noise():
    vectors, _ = simulated(50)
    total = total_of(exact_sum, Gradient(), vectors)
    noise = rounded_normals(Tape.seeded(1), SIZE, int(np.ceil(2.7 * CLIP_STEPS)))
    found = asked(release_sum, Gradient(), vectors, noise=2.7)
    np.testing.assert_array_equal(found, (total + noise) / CLIP_STEPS, strict=True)


@pytest.mark.parametrize("missing", [0, 1, 60])
def test_a_record_with_a_missing_value_counts_for_nothing(missing):
    """The column that is missing is not the one that the measure reads."""
    other = pd.array([None] * missing + [0.5] * (100 - missing), "Float64")
    table = pd.DataFrame({"a": np.full(100, 0.5), "b": other})

    @dataclass(frozen=True)
    class First:
        def __call__(self, model, record, public):
            return record["a"][None]

    noise = rounded_normals(Tape.seeded(1), 1, CLIP_STEPS + 1)[0] / CLIP_STEPS
    found = asked(release_sum, First(), table)
    assert found[0] == 0.5 * (100 - missing) + noise


def test_hostile_records_neither_raise_nor_warn():
    rows = np.resize(HOSTILE[np.float64], (40, SIZE))
    with jax.debug_nans(True), np.errstate(all="raise"):
        assert np.all(np.isfinite(asked(release_sum, Gradient(), rows)))


@dataclass(frozen=True)
class MeanOfAll:
    """A question about more than one record, which has no name to ask by."""

    def __call__(self, model, record, public):
        return jax.lax.pmean(record, "records")


@dataclass(frozen=True)
class Matrix:
    """An answer that is no vector."""

    def __call__(self, model, record, public):
        return jnp.outer(record, record)


@pytest.mark.parametrize(
    ("question", "error"), [(MeanOfAll(), NameError), (Matrix(), ValueError)]
)
def test_a_question_about_others_or_of_another_shape_is_refused(question, error):
    with pytest.raises(error):
        asked(release_sum, question, np.ones((5, SIZE)))


def test_settings_of_the_user_stay():
    before = jax.config.jax_enable_x64
    asked(release_sum, Gradient(), np.ones((2, SIZE)), dtype="float64")
    asked(release_sum, Gradient(), np.ones((2, SIZE)), dtype="float32")
    assert jax.config.jax_enable_x64 == before
