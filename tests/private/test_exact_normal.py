# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Rounded normal noise: its distribution, its words, and the coins it is made of.

Statistical tests have fixed words. Each would fail, over keys of the tape, with the
probability that it states.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmcmc.private import Tape, exact_normal
from dpmcmc.private.exact_normal import rounded_normals
from dpmcmc.private.tape import Stream

FALSE_ALARM = 1e-6


def draw(seed, count, sd):
    return rounded_normals(Tape.seeded(seed), count, sd)


def probabilities(sd, reach):
    """Probabilities of −reach and less, …, reach and more."""
    edges = np.concatenate([[-np.inf], np.arange(-reach, reach) + 0.5, [np.inf]])
    return np.diff(stats.norm.cdf(edges / sd))


@pytest.mark.parametrize(("sd", "reach"), [(1, 4), (2, 8), (7, 26)])
def test_small_sds_have_the_exact_probabilities(sd, reach):
    """Chi-square over every integer; false alarm one in a million."""
    drawn = np.clip(draw(sd, 30_000, sd), -reach, reach)
    counts = np.bincount(drawn + reach, minlength=2 * reach + 1)
    expected = probabilities(sd, reach) * len(drawn)
    assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM


def test_the_chi_square_test_sees_an_sd_that_is_wrong():
    """Rounded noise of sd 2 is not mistaken for one of 2.1."""
    drawn = np.clip(draw(2, 30_000, 2), -8, 8)
    counts = np.bincount(drawn + 8, minlength=17)
    wrong = probabilities(2.1, 8) * len(drawn)
    assert stats.chisquare(counts, wrong).pvalue < FALSE_ALARM


@pytest.mark.parametrize("sd", [2**20, 3 * 2**23 + 1, 2**50])
def test_large_sds_are_normal(sd):
    """Kolmogorov's distance of 25,000 numbers; false alarm one in a million."""
    drawn = draw(5, 25_000, sd) / sd
    assert stats.kstest(drawn, "norm").pvalue > FALSE_ALARM


def test_the_tails_are_as_heavy_as_they_should_be():
    """Counts beyond 2.5 and 3.5 sd; false alarm two in a million."""
    sizes = np.abs(draw(6, 60_000, 2**20)) / 2**20
    for far in (2.5, 3.5):
        expected = stats.binom(len(sizes), 2 * stats.norm.sf(far))
        found = np.sum(sizes > far)
        assert expected.cdf(found) > FALSE_ALARM / 2
        assert expected.sf(found - 1) > FALSE_ALARM / 2


def test_low_bits_are_uniform():
    """Of a wide normal, the last three bits; false alarm one in a million."""
    low = draw(7, 25_000, 2**30) % 8
    counts = np.bincount(low, minlength=8)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_numbers_do_not_follow_from_their_neighbours():
    """Correlation of neighbours, 5 sd: false alarm below one in a million."""
    drawn = draw(8, 25_000, 2**20) / 2**20
    assert abs(np.mean(drawn[1:] * drawn[:-1])) < 5 / math.sqrt(len(drawn))


def frequency(coin, *arguments, tries=25_000, seed=3):
    words = exact_normal.noise_words(Tape.seeded(seed))
    return np.mean([coin(words, *arguments) for _ in range(tries)])


def test_the_half_coin():
    """5 sd: false alarm below one in a million."""
    wanted = math.exp(-0.5)
    spread = math.sqrt(wanted * (1 - wanted) / 25_000)
    assert abs(frequency(exact_normal._half_coin) - wanted) < 5 * spread


@pytest.mark.parametrize("whole", [0, 1, 3])
@pytest.mark.parametrize("digit", [1, 8, 15])
def test_the_coin_that_keeps_a_number(whole, digit):
    """At x = digit/16 up to 2⁻⁶⁴; 5 sd: false alarm below one in a million."""
    x = digit / 16
    wanted = math.exp(-x * (2 * whole + x) / (2 * whole + 2))

    def coin(words):
        return exact_normal._keeps(words, whole, [digit << 60])

    spread = math.sqrt(wanted * (1 - wanted) / 25_000)
    assert abs(frequency(coin) - wanted) < 5 * spread


def test_equal_digits_are_settled_by_further_ones():
    words = iter([5, 9, 4, 1, 2])
    one, other = [7], [7]
    assert exact_normal._is_below(words, one, other)
    assert (one, other) == ([7, 5], [7, 9])
    assert not exact_normal._is_below(iter([3, 3, 8, 1]), [], [])


def test_a_number_at_the_edge_of_rounding_is_settled_by_a_further_digit():
    """3x is ½ at x = 1/6, which lies inside the interval of its first digit."""
    sixth = 2**64 // 6
    assert exact_normal._rounded(iter([0]), 0, [sixth], 3) == 0
    assert exact_normal._rounded(iter([2**64 - 1]), 0, [sixth], 3) == 1
    assert exact_normal._rounded(iter([]), 0, [sixth - 1], 3) == 0
    assert exact_normal._rounded(iter([]), 0, [sixth + 1], 3) == 1


@pytest.mark.parametrize("sd", [1, 3, 1000, 2**20 + 7])
def test_rounding_is_that_of_the_exact_number(sd):
    generator = np.random.default_rng(1)
    for _ in range(300):
        whole = int(generator.integers(0, 4))
        digits = [int(d) for d in generator.integers(0, 2**64, 3, np.uint64)]
        x = sum(Fraction(d, 2 ** (64 * (i + 1))) for i, d in enumerate(digits))
        exact = (whole + x) * sd
        words = iter(digits[1:])
        got = exact_normal._rounded(words, whole, digits[:1], sd)
        assert got == math.floor(exact + Fraction(1, 2))


def test_a_uniform_choice_drops_words_beyond_the_last_multiple():
    assert exact_normal._below(iter([2**64 - 1, 7]), 3) == 1  # 2⁶⁴ mod 3 is 1
    assert exact_normal._below(iter([2**64 - 1]), 4) == 3


def test_words_of_the_noise_are_read_once_and_in_order(monkeypatch):
    calls, inner = [], Tape.words

    def words(self, stream, chain, start, count, attempt=0):
        calls.append((stream, chain, start, attempt))
        return inner(self, stream, chain, start, count, attempt)

    monkeypatch.setattr(Tape, "words", words)
    drawn = rounded_normals(Tape.seeded(1), 500, 2**20)
    assert drawn.dtype == np.int64
    assert len(calls) > 5
    assert calls == [(Stream.NOISE, 0, 256 * k, 0) for k in range(len(calls))]


def test_more_numbers_begin_with_the_same():
    """So that the first ones use their words alone: no number looks ahead."""
    tape = Tape.seeded(1)
    many = rounded_normals(tape, 50, 99)
    np.testing.assert_array_equal(rounded_normals(tape, 7, 99), many[:7])
