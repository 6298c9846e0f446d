# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Rounded Laplace noise: lengths, directions, rounding, words, and what leaves with it.

Statistical tests have fixed words. Each would fail, over keys of the tape, with the
probability that it states, or a little less.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import islice

import jax
import numpy as np
import pytest
from answers import SIZE, Gradient, asked, simulated, total_of
from scipy import stats

from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.private import Tape, exact_laplace, release_sum, totals
from dpmcmc.private.exact_laplace import _DIGITS, rounded_laplace
from dpmcmc.private.exact_normal import noise_words, rounded_normal
from dpmcmc.private.sums import exact_sum
from dpmcmc.private.tape import Stream

FALSE_ALARM = 1e-6
DRAWS, SCALE = 10_000, 2**30


@cache
def drawn(dimension: int, scale: int = SCALE) -> np.ndarray:
    """Vectors in units of the scale, each of a tape of its own."""
    tapes = map(Tape.seeded, range(DRAWS))
    found = np.array([rounded_laplace(tape, dimension, scale) for tape in tapes])
    assert found.dtype == np.int64
    return found / scale


def far(mean: float, variance: float, seen: np.ndarray) -> float:
    """How many standard errors an average is away from its mean."""
    return abs(float(np.mean(seen)) - mean) / math.sqrt(variance / len(seen))


EACH = pytest.mark.parametrize("dimension", [1, 2, 3, 8])


@EACH
def test_lengths_are_those_of_laplace(dimension: int) -> None:
    """Kolmogorov's distance from Gamma(d); false alarm one in a million."""
    lengths = np.linalg.norm(drawn(dimension), axis=1)
    assert stats.kstest(lengths, stats.gamma(dimension).cdf).pvalue > FALSE_ALARM


@EACH
@pytest.mark.parametrize("wrong", [0.9, 1.1])
def test_a_scale_that_is_wrong_by_a_tenth_is_seen(dimension: int, wrong: float) -> None:
    lengths = np.linalg.norm(drawn(dimension), axis=1)
    of_other = stats.gamma(dimension, scale=wrong)
    assert stats.kstest(lengths, of_other.cdf).pvalue < FALSE_ALARM


def test_one_number_has_the_laplace_distribution() -> None:
    """Kolmogorov's distance, signs included; false alarm one in a million."""
    assert stats.kstest(drawn(1)[:, 0], "laplace").pvalue > FALSE_ALARM


@pytest.mark.parametrize("dimension", [2, 3, 8])
def test_any_direction_is_as_probable(dimension: int) -> None:
    """Squares of cosines have a Beta distribution, signs are fair coins.

    False alarm two in a million, for each coordinate.
    """
    rows = drawn(dimension)
    cosines = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    expected = stats.beta(0.5, (dimension - 1) / 2)
    for one in cosines.T:
        assert stats.kstest(one**2, expected.cdf).pvalue > FALSE_ALARM
        positive = int(np.sum(one > 0))
        assert stats.binomtest(positive, DRAWS).pvalue > FALSE_ALARM


@EACH
def test_coordinates_have_the_mean_and_covariance_of_theory(dimension: int) -> None:
    """Mean 0, variance d + 1, no correlation; 6 sd, far below one in a million."""
    rows = drawn(dimension)
    # the length is |u| |v|, so that E r⁴ = d(d+1)(d+2)(d+3); E cos⁴ = 3/(d(d+2)), and
    # of two coordinates E cos² cos² is a third of that
    fourth = 3 * (dimension + 1) * (dimension + 3)
    for place, one in enumerate(rows.T):
        assert far(0, dimension + 1, one) < 6
        assert far(dimension + 1, fourth - (dimension + 1) ** 2, one**2) < 6
        for other in rows.T[:place]:
            assert far(0, fourth / 3, one * other) < 6


@pytest.mark.parametrize("dimension", [2, 3, 8])
def test_coordinates_share_one_length(dimension: int) -> None:
    """E x²y² is (d + 1)(d + 3), not (d + 1)²: 6 sd from the one, far from the other."""
    rows = drawn(dimension)
    expected = (dimension + 1) * (dimension + 3)
    # E r⁸ = (d + 7)!/(d − 1)!, and E cos⁴ cos⁴ = 9/(d(d+2)(d+4)(d+6))
    eighth = math.perm(dimension + 7, 8)
    angle = math.prod(dimension + k for k in (0, 2, 4, 6)) / 9
    variance = eighth / angle - expected**2
    together = np.mean(
        [rows[:, i] ** 2 * rows[:, j] ** 2 for i in range(dimension) for j in range(i)],
        axis=0,
    )
    # an average over pairs scatters at most as widely as one pair
    assert far(expected, variance, together) < 6
    ranks = stats.spearmanr(np.abs(rows[:, 0]), np.abs(rows[:, 1]))
    assert ranks.statistic > 0
    assert ranks.pvalue < FALSE_ALARM


def test_a_scale_of_one_has_the_probabilities_of_rounded_laplace() -> None:
    """Chi-square over every integer from −5 to 5; false alarm one in a million."""
    whole = np.clip(drawn(1, 1)[:, 0], -5, 5).astype(int)
    counts = np.bincount(whole + 5, minlength=11)
    edges = np.concatenate([[-np.inf], np.arange(-5, 5) + 0.5, [np.inf]])
    expected = DRAWS * np.diff(stats.laplace.cdf(edges))
    assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM


@pytest.mark.parametrize("scale", [1, 7, 2**20 + 3, 2**50])
def test_numbers_are_the_exact_product_rounded_once(scale: int) -> None:
    """Read again from the same words, as fractions: length times normal number.

    The product has an error of a unit in the last digit.
    """
    for seed in range(100):
        found = rounded_laplace(Tape.seeded(seed), SIZE, scale)
        words = noise_words(Tape.seeded(seed))
        one = 2**_DIGITS
        fine = [Fraction(rounded_normal(words, one), one) for _ in range(SIZE + 1)]
        square = scale**2 * sum(number**2 for number in fine)
        sd = math.isqrt(square.numerator * one**2 // square.denominator) + 1
        assert Fraction(sd - 1, one) ** 2 <= square <= Fraction(sd, one) ** 2
        for number in found:
            exact = Fraction(rounded_normal(words, sd), one)
            assert abs(exact - int(number)) <= Fraction(1, 2)


def test_rounding_is_to_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A half goes up; one digit less stays; lengths are as they should be."""
    half = 2 ** (_DIGITS - 1)
    fine = [half, half - 1, -half, -half - 1, 5 * half, 0]
    given: list[int] = []

    def stub(words: Iterator[int], sd: int) -> int:
        del words
        given.append(sd)
        return 3 * 2**_DIGITS if len(given) <= 7 else fine[len(given) - 8]

    monkeypatch.setattr(exact_laplace, "rounded_normal", stub)
    found = rounded_laplace(Tape.seeded(0), 6, 5)
    assert found.tolist() == [1, 0, 0, -1, 3, 0]
    assert given[:7] == [2**_DIGITS] * 7
    assert set(given[7:]) == {math.isqrt(25 * 7 * 9 * 2 ** (2 * _DIGITS)) + 1}


def test_the_widest_noise_fits_its_integers() -> None:
    """At the largest scale of the promise, thousands of coordinates."""
    count = 3000
    scale = math.floor(2**51 / math.sqrt(count + 1))
    found = rounded_laplace(Tape.seeded(3), count, scale)
    # the length is at most a twentieth away from √(d + 1): 6 sd of it are less
    sd = np.std(found / scale)
    assert sd == pytest.approx(math.sqrt(count + 1), rel=0.15)
    assert np.all(np.abs(found) < 2.0**62)


def test_numbers_depend_on_the_tape_alone() -> None:
    first, again, other = (
        rounded_laplace(Tape.seeded(seed), 20, SCALE) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again, strict=True)
    assert not np.any(first == other)
    assert first.shape == (20,)
    assert first.dtype == np.int64


def test_words_of_the_noise_are_read_once_and_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[tuple[Stream, int, int, int]] = []
    inner = Tape.words

    def words(
        self: Tape, stream: Stream, chain: int, start: int, count: int, attempt: int = 0
    ) -> np.ndarray:
        calls.append((stream, chain, start, attempt))
        return inner(self, stream, chain, start, count, attempt)

    monkeypatch.setattr(Tape, "words", words)
    rounded_laplace(Tape.seeded(1), 300, SCALE)
    assert len(calls) > 5
    assert calls == [(Stream.NOISE, 0, 256 * k, 0) for k in range(len(calls))]


# Sums with it


def test_what_leaves_is_the_total_and_laplace_noise() -> None:
    vectors, _ = simulated(50)
    total = total_of(exact_sum, Gradient(), vectors)
    scale = math.ceil(2.7 * CLIP_STEPS * (1 + 2.0**-50))
    noise = rounded_laplace(Tape.seeded(1), SIZE, scale)
    found = asked(release_sum, Gradient(), vectors, noise=2.7, laplace=True)
    np.testing.assert_array_equal(found, (total + noise) / CLIP_STEPS, strict=True)


def test_of_no_record_the_noise_alone_leaves() -> None:
    nobody = np.full((4, SIZE), np.nan)
    noise = rounded_laplace(Tape.seeded(1), SIZE, CLIP_STEPS + 1)
    found = asked(release_sum, Gradient(), nobody, laplace=True)
    np.testing.assert_array_equal(found, noise / CLIP_STEPS, strict=True)


def test_the_worst_replacement_moves_it_by_two() -> None:
    """With one tape the noise is the same, so that the difference is the move."""
    table = np.full((5, SIZE), 1e9)
    other = table.copy()
    other[2] = -1e9
    first, second = (
        asked(release_sum, Gradient(), one, noise=0.5, laplace=True)
        for one in (table, other)
    )
    assert np.linalg.norm(first - second) == pytest.approx(2, rel=1e-5)
    assert np.linalg.norm(first - second) <= 2 * (1 + 2.0**-40)


@pytest.mark.parametrize("noise", [0.0, -1.0, np.nan, np.inf, 2.0**31])
def test_nothing_leaves_without_noise(noise: float) -> None:
    with pytest.raises(ValueError, match="is no noise"):
        asked(release_sum, Gradient(), np.ones((5, SIZE)), noise=noise, laplace=True)


def test_noise_that_a_division_rounded_down_is_still_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A noise of 2/s, as floats, makes a shift of no more than s, as real numbers."""
    found: list[int] = []

    def no_noise(tape: Tape, count: int, scale: int) -> np.ndarray:
        del tape
        found.append(scale)
        return np.zeros(count, np.int64)

    monkeypatch.setattr(totals, "rounded_laplace", no_noise)
    for places in range(1, 100):
        noise = 2.0**-12 * (1 + places * 2.0**-8)  # a whole number of steps
        shift = float(np.nextafter(2 / noise, 0))
        given = {"noise": 2 / shift, "laplace": True}
        asked(release_sum, Gradient(), np.ones((1, SIZE)), **given)
        assert Fraction(2 * CLIP_STEPS, found[-1]) <= Fraction(shift)


def test_settings_and_devices_change_nothing() -> None:
    vectors, _ = simulated(20)
    before = jax.config.jax_enable_x64
    found = [
        asked(release_sum, Gradient(), vectors, laplace=True, tape=Tape.seeded(seed))
        for seed in (7, 7)
    ]
    np.testing.assert_array_equal(*found, strict=True)
    assert jax.config.jax_enable_x64 == before
    assert len(list(islice(noise_words(Tape.seeded(7)), 3))) == 3
