# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Noisy histograms: one record, at most one count in each, whatever it answers."""

import math
from dataclasses import dataclass
from itertools import product

import jax.numpy as jnp
import numpy as np
import pytest
from adversarial import HOSTILE, hostile_ratios
from answers import BINS, SIZE, Named, asked, simulated, total_of
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.private import Tape, release_counts
from dpmcmc.private.exact_normal import rounded_normals
from dpmcmc.private.histograms import exact_counts


def counts_of(records, dtype="float64"):
    return total_of(exact_counts, Named(), records, dtype)


def by_numpy(records):
    """Exact counts in plain NumPy, one record and one histogram at a time."""
    counts = np.zeros((SIZE, BINS), np.int64)
    for record in records:
        for row, number in enumerate(record):
            if 0 <= number < BINS:
                counts[row, int(number)] += 1
    return CLIP_STEPS * counts


def test_counts_are_those_of_plain_numpy():
    _, numbers = simulated(3000)
    np.testing.assert_array_equal(counts_of(numbers), by_numpy(numbers))


ENDS = [
    -1.0,
    -0.0,
    0.0,
    0.5,
    BINS - 1,
    BINS - 2.0**-40,
    BINS,
    2.0**31,
    2.0**32,
    2.0**63,
]


@pytest.mark.parametrize("number", [*ENDS, *HOSTILE[np.float64]])
def test_a_number_out_of_range_is_in_no_bin(number):
    found = counts_of(np.full((1, SIZE), number))
    if 0 < abs(number) < np.finfo(float).tiny:
        number = 0.0  # as devices may compare it
    inside = bool(0 <= number < BINS)
    assert found.sum() == SIZE * CLIP_STEPS * inside
    assert not inside or np.all(found[:, int(number)] == CLIP_STEPS)


@settings(max_examples=40)
@given(st.data())
def test_replacing_a_record_moves_no_more_than_the_event_says(data):
    rows = data.draw(hostile_ratios(np.float64, 7 * SIZE)).reshape(7, SIZE)
    one, other = rows[:6], np.concatenate([rows[:5], rows[6:]])
    change = (counts_of(one) - counts_of(other)).astype(object) // CLIP_STEPS
    assert sum(int(k) ** 2 for k in change.ravel()) <= 2 * SIZE


def test_every_pair_of_neighbours_of_a_small_case():
    """All answers of one record, in bins and out of them: √(2h) is reached."""
    answers = [-1.0, 0.0, 1.0, BINS - 1, BINS, np.nan, np.inf]
    fixed = [[1.0] * SIZE, [0.0, np.nan, 2.0]]
    totals = [
        counts_of(np.array([*fixed, answer])) // CLIP_STEPS
        for answer in product(answers, repeat=SIZE)
    ][::3]
    worst = max(((one - other) ** 2).sum() for one in totals for other in totals)
    assert worst == 2 * SIZE


def test_what_leaves_is_the_counts_and_rounded_normal_noise():
    _, numbers = simulated(50)
    noise = rounded_normals(Tape.seeded(1), SIZE * BINS, 3 * CLIP_STEPS + 1)
    wanted = (by_numpy(numbers) + noise.reshape(SIZE, BINS)) / CLIP_STEPS
    found = asked(release_counts, Named(), numbers, noise=3.0)
    np.testing.assert_array_equal(found, wanted, strict=True)
    assert found.shape == (SIZE, BINS)


def test_a_record_that_is_not_present_is_in_no_bin():
    numbers = np.ma.masked_equal(np.full((20, SIZE), 2.0), np.nan)
    numbers.mask = np.zeros((20, SIZE), bool)
    numbers.mask[:7, 0] = True  # one missing coordinate is enough
    found = asked(release_counts, Named(), numbers, noise=2.0**-20)
    np.testing.assert_allclose(found[:, 2], 13, atol=1e-4)


@dataclass(frozen=True)
class OneNumber:
    """An answer that is no vector of bins."""

    count: int = BINS

    def __call__(self, model, record, public):
        return jnp.sum(record)


def test_an_answer_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="must be a vector"):
        asked(release_counts, OneNumber(), np.ones((5, SIZE)))


def test_the_stated_sensitivity_is_that_of_the_event():
    """h histograms move by √2 each, in directions of their own."""
    one, other = np.zeros((1, SIZE)), np.full((1, SIZE), 1.0)
    change = (counts_of(one) - counts_of(other)) / CLIP_STEPS
    assert np.linalg.norm(change) == pytest.approx(math.sqrt(2 * SIZE))
