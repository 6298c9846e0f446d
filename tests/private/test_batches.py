# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Batches: exactly uniform, fresh at every step, the same in any layout."""

import itertools
from math import comb

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.stats import chi2

from dpmcmc.model.model import Model
from dpmcmc.private import (
    BatchDecision,
    Chains,
    CorrectedNoise,
    FullData,
    Grid,
    Minibatch,
    NormalMixture,
    Records,
    supply,
)
from dpmcmc.private.batches import Sampling, draw_batches
from dpmcmc.private.tape import Stream, Tape
from dpmcmc.proposals import RandomWalk

FALSE_ALARM = 1e-6
"""Probability that a right program fails one of the statistical tests here."""


def draw(records, batch, steps, *, seed=1, chain=0, start=0, replacement=False):
    """Batches of some steps; the order within a batch does not matter."""
    sampling = Sampling(records, batch, replacement)
    drawn = draw_batches(Tape.seeded(seed), chain, start, steps, sampling)
    return drawn if replacement else np.sort(drawn, axis=1)


def assert_uniform(counts, steps_of_each):
    """Counts of equally likely outcomes, by chi-square at the false-alarm rate."""
    counts = np.asarray(counts, float)
    expected = steps_of_each / len(counts)
    assert expected > 5
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < chi2.isf(FALSE_ALARM, len(counts) - 1)


SIZES = [
    (5, 1),
    (5, 2),
    (7, 4),
    (1000, 999),
    (1000, 500),
    (300, 150),
    (64, 64),
    (1, 1),
    (2**32 - 2, 40),
    (3_000_000_000, 300),
    (1_000_000, 1000),
]


@pytest.mark.parametrize(("records", "batch"), SIZES)
def test_a_batch_has_no_repeats_and_only_records(records, batch):
    drawn = draw(records, batch, 50)
    assert drawn.shape == (50, batch)
    assert drawn.min() >= 0
    assert drawn.max() < records
    assert np.all(np.diff(drawn, axis=1) > 0)


@pytest.mark.parametrize(("records", "batch"), [(5, 1), (5, 2), (7, 4), (6, 5), (8, 3)])
def test_every_set_is_equally_likely(records, batch):
    steps = 200 * comb(records, batch)
    drawn = draw(records, batch, steps, seed=2)
    sets = list(itertools.combinations(range(records), batch))
    found = dict.fromkeys(sets, 0)
    for row in drawn:
        found[tuple(row.tolist())] += 1
    assert_uniform(list(found.values()), steps)


@pytest.mark.parametrize(
    ("records", "batch", "steps"), [(1000, 999, 20_000), (300, 150, 2000)]
)
def test_each_record_is_included_equally_often(records, batch, steps):
    """Counts of inclusion vary as b/N (1 − b/N) a step; compared by chi-square.

    Inclusions within a step are negatively correlated, which the factor N/(N − 1)
    accounts for: the sum of squared deviations over its variance has N − 1 degrees.
    """
    counts = np.bincount(draw(records, batch, steps, seed=3).ravel(), minlength=records)
    fraction = batch / records
    variance = steps * fraction * (1 - fraction) * records / (records - 1)
    statistic = ((counts - steps * fraction) ** 2).sum() / variance
    assert chi2.ppf(FALSE_ALARM, records - 1) < statistic
    assert statistic < chi2.isf(FALSE_ALARM, records - 1)


@pytest.mark.parametrize(("records", "batch"), [(6, 3), (9, 5)])
def test_each_pair_is_included_equally_often(records, batch):
    steps = 20_000
    drawn = draw(records, batch, steps, seed=4)
    pairs = list(itertools.combinations(range(records), 2))
    inside = np.zeros((steps, records), bool)
    np.put_along_axis(inside, drawn, True, axis=1)
    fraction = batch * (batch - 1) / (records * (records - 1))
    sd = np.sqrt(steps * fraction * (1 - fraction))
    for first, second in pairs:
        together = np.sum(inside[:, first] & inside[:, second])
        # 6 standard deviations: 2e-9 a pair
        assert abs(together - steps * fraction) < 6 * sd


def test_large_batches_are_spread_over_all_records():
    """A million records in a hundred bins: chi-square of the bin counts."""
    drawn = draw(1_000_000, 1000, 500, seed=5)
    assert_uniform(np.bincount(drawn.ravel() // 10_000, minlength=100), drawn.size)


@pytest.mark.parametrize("records", [5, 7, 100])
def test_with_replacement_every_record_is_equally_likely(records):
    drawn = draw(records, 9, 3000, seed=6, replacement=True)
    assert_uniform(np.bincount(drawn.ravel(), minlength=records), drawn.size)
    first, last = drawn[:, 0], drawn[:, -1]
    if records < 10:
        pairs = np.bincount(first * records + last, minlength=records**2)
        assert_uniform(pairs, len(drawn))


def test_with_replacement_there_are_repeats():
    drawn = np.sort(draw(5, 9, 10, replacement=True), axis=1)
    assert np.all(np.any(np.diff(drawn, axis=1) == 0, axis=1))


@settings(max_examples=40)
@given(
    records=some.integers(1, 400),
    fraction=some.floats(0, 1),
    cut=some.integers(1, 19),
    replacement=some.booleans(),
)
def test_a_step_has_the_same_batch_in_any_chunk(records, fraction, cut, replacement):
    batch = 1 + int(fraction * (records - 1))
    whole = draw(records, batch, 20, replacement=replacement)
    parts = [
        draw(records, batch, cut, replacement=replacement),
        draw(records, batch, 20 - cut, start=cut, replacement=replacement),
    ]
    assert np.array_equal(whole, np.concatenate(parts))


def test_chains_steps_and_tapes_have_batches_of_their_own():
    one = draw(1000, 30, 40)
    assert not np.array_equal(one, draw(1000, 30, 40, chain=1))
    assert not np.array_equal(one, draw(1000, 30, 40, seed=2))
    assert len({tuple(row) for row in one.tolist()}) == 40


def test_no_word_is_read_for_two_purposes(monkeypatch):
    """Addresses of all words read for batches of many steps, cut anyhow."""
    read = []
    words = Tape.words

    def spy(self, stream, chain, start, count, attempt=0):
        read.extend((stream, chain, attempt, start + k) for k in range(count))
        return words(self, stream, chain, start, count, attempt)

    monkeypatch.setattr(Tape, "words", spy)
    for start, steps in [(0, 3), (3, 10), (13, 1), (14, 6)]:
        draw(50, 25, steps, start=start)
    assert len(read) == len(set(read))
    assert {stream for stream, *_ in read} == {Stream.BATCH, Stream.REDRAW}


def test_a_wrong_distribution_is_found():
    """The uniformity test can fail: a draw by remainder favours small numbers."""
    words = Tape.seeded(7).words(Stream.BATCH, 0, 0, 60_000)
    biased = (words.view("<u4") >> 25) % 100
    with pytest.raises(AssertionError):
        assert_uniform(np.bincount(biased, minlength=100), len(biased))


def test_no_record_is_favoured_where_halves_do_not_divide_evenly():
    """N = 3·2³⁰: of four halves one must be refused, else every third is twice as
    likely as the others. Chi-square at the stated false-alarm rate."""
    records = 3 * 2**30
    drawn = draw(records, 64, 500, seed=9, replacement=True)
    assert_uniform(np.bincount(drawn.ravel() % 3, minlength=3), drawn.size)


# The same sets as a plain program


def plain_row(records, batch, step, seed, replacement):
    """A batch by the rule of the boundary, one record at a time, in a Python set."""
    tape, row = Tape.seeded(seed), []
    spare = 4 + int(batch**2 / (2 * records) + batch * (2**32 % records) / 2**32)
    width = -(-batch // 2)
    words = tape.words(Stream.BATCH, 0, step * width, width)
    for attempt in itertools.count():
        halves = words.view("<u4").tolist()[: batch - len(row)]
        for half in halves:
            number, low = divmod(half * records, 2**32)
            if low >= 2**32 % records and (replacement or number not in row):
                row.append(number)
        if len(row) == batch:
            return sorted(row)
        words = tape.words(Stream.REDRAW, 0, step * spare, spare, attempt)
    raise AssertionError("never reached")


@settings(max_examples=40)
@given(
    records=some.integers(1, 300) | some.sampled_from([2**31 + 5, 3_000_000_000]),
    fraction=some.floats(0, 0.5),
    seed=some.integers(0, 10),
    start=some.integers(0, 5),
    replacement=some.booleans(),
)
def test_batches_are_those_of_a_plain_program(
    records, fraction, seed, start, replacement
):
    """From the same words, so that no rewriting changes the bits of a chain."""
    batch = max(1, int(fraction * min(records, 300)))
    drawn = draw(records, batch, 4, seed=seed, start=start, replacement=replacement)
    if batch > records // 2 and not replacement:
        return  # those left out are drawn
    for step, row in enumerate(np.sort(drawn, axis=1).tolist()):
        assert row == plain_row(records, batch, start + step, seed, replacement)


def test_those_left_out_of_a_large_batch_are_those_of_a_plain_program():
    drawn = draw(11, 8, 20, seed=3)
    for step, row in enumerate(drawn.tolist()):
        left_out = plain_row(11, 3, step, 3, replacement=False)
        assert row == sorted(set(range(11)) - set(left_out))


# The batches that a chain is given


def found_records(monkeypatch, replacement):
    """Numbers of the records that steps of three chains are given, in slabs of two."""
    monkeypatch.setattr(supply, "_DRAWS_AT_ONCE", 2 * 8)
    noise = CorrectedNoise(2.0, NormalMixture((0.0,), (0.0,), (1.0,)))
    test = Minibatch(BatchDecision(Grid(1.0), 8, noise), replacement)
    _, resident, source = test.unseal(None, Records(np.arange(100.0)), "float64", [])
    assert resident is None
    sampling = test.sampling(source)
    room = supply.Room(9, 3, 1)
    found = supply.batches_on_host(source, Tape.seeded(3), room, 40, 7, sampling)
    assert not found.arrays[7:].any()
    return found.arrays[:7].astype(int)


@pytest.mark.parametrize("replacement", [False, True])
def test_a_step_is_given_the_records_of_its_own_batch(monkeypatch, replacement):
    """Each chain and step has a batch of its own, drawn as the event says."""
    found = found_records(monkeypatch, replacement)
    assert found.shape == (7, 3, 8)
    sampling = Sampling(100, 8, replacement)
    for chain in range(3):
        drawn = draw_batches(Tape.seeded(3), chain, 40, 7, sampling)
        assert np.array_equal(found[:, chain], drawn)
    rows = {tuple(sorted(row)) for row in found.reshape(-1, 8).tolist()}
    assert len(rows) == 21


def test_two_runs_cannot_share_a_secret_tape():
    def make(tape):
        start = jnp.float32(0)
        return Chains(
            Model(lambda theta, record: theta * record, lambda theta: 0.0, 0.0),
            Records(np.zeros(5)),
            RandomWalk(0.1).fit(start),
            FullData(Grid(0.1)),
            tape,
            start=start[None],
            dtype="float32",
            chunk=2,
            devices=jax.devices()[:1],
        )

    tape = Tape.fresh()
    make(tape)
    with pytest.raises(RuntimeError, match="has been used"):
        make(tape)
