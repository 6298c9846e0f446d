# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Words become numbers and bits of the stated distributions."""

import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from bisection import accepting_words
from scipy import stats
from scipy.special import expit
from scipy.special import ndtri as scipy_ndtri

from dpmcmc.arithmetic import BIT_SLACK, LOG_ODDS_LIMIT
from dpmcmc.private import Tape
from dpmcmc.private.distributions import Reader, bernoulli, normal, uniform
from dpmcmc.private.tape import Stream

pytestmark = pytest.mark.usefixtures("x64")

FALSE_ALARM = 1e-6
EXTREME_WORDS = np.array([0, 1, 2**11, 2**12, 2**63, 2**64 - 1], np.uint64)

compiled_bernoulli = jax.jit(bernoulli)
compiled_exp = jax.jit(jnp.exp)


def words_of(seed, count):
    return jnp.asarray(Tape.seeded(seed).words(Stream.TEST, 0, 0, count))


def fits(sample, cdf):
    """Whether the largest gap to ``cdf`` is one that may arise by chance.

    By the inequality of Dvoretzky, Kiefer and Wolfowitz (with Massart's constant)
    a gap above √(ln(2/a) / 2n) has probability at most a, for every n.
    """
    limit = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * len(sample)))
    return stats.kstest(sample, cdf).statistic < limit


def test_uniforms_are_uniform():
    """False-alarm rate 1e-6; one part in fifty too wide is found."""
    sample = np.asarray(jax.jit(uniform)(words_of(21, 200_000)))
    assert sample.dtype == np.float64
    assert fits(sample, "uniform")
    assert not fits(sample * 1.02, "uniform")


def test_normals_are_normal():
    """False-alarm rate 1e-6; a scale off by a tenth or a mean by 0.05 is found."""
    sample = np.asarray(jax.jit(normal)(words_of(22, 200_000)))
    assert sample.dtype == np.float64
    assert fits(sample, "norm")
    assert not fits(sample * 1.1, "norm")
    assert not fits(sample / 1.1, "norm")
    assert not fits(sample + 0.05, "norm")


def test_the_tails_of_normals_are_normal():
    """Counts beyond 2, 3 and 4; false-alarm rate 1e-6 for all six together."""
    sample = np.asarray(jax.jit(normal)(words_of(23, 400_000)))
    for limit in (2.0, 3.0, 4.0):
        for count in (np.sum(sample > limit), np.sum(sample < -limit)):
            beyond = stats.norm.sf(limit)
            pvalue = stats.binomtest(int(count), len(sample), beyond).pvalue
            assert pvalue > FALSE_ALARM / 6


def test_no_word_gives_an_end_of_the_interval():
    uniforms = np.asarray(jax.jit(uniform)(jnp.asarray(EXTREME_WORDS)))
    assert uniforms[0] == 2.0**-53
    assert uniforms[-1] == 1 - 2.0**-53
    assert np.all((uniforms > 0) & (uniforms < 1))
    normals = np.asarray(jax.jit(normal)(jnp.asarray(EXTREME_WORDS)))
    assert np.all(np.isfinite(normals))
    assert 8.2 < -normals[0] < 8.3
    assert 8.2 < normals[-1] < 8.3


def test_uniforms_are_exactly_symmetric():
    """The word with every bit turned gives one minus the number, exactly."""
    words = jnp.concatenate([words_of(24, 10_000), jnp.asarray(EXTREME_WORDS)])
    assert jnp.all(uniform(~words) == 1 - uniform(words))


def test_normals_are_the_inverse_cdf():
    words = jnp.concatenate([words_of(25, 100_000), jnp.asarray(EXTREME_WORDS)])
    normals, expected = np.asarray(normal(words)), scipy_ndtri(uniform(words))
    np.testing.assert_allclose(normals, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(np.asarray(normal(~words)), -normals, rtol=1e-12)


GRID = np.array([-9.0, -5.0, -3.0, -2.0, -1.0, -0.5, -0.1, 0.0])
GRID = np.concatenate([GRID, -GRID[:-1]])
DRAWS = 100_000


def are_logistic(log_odds_of_bit):
    """Whether bits at each Δ of the grid come with frequency σ(Δ).

    One exact binomial test for each Δ; false-alarm rate 1e-6 for all together.
    """
    words = words_of(26, len(GRID) * DRAWS).reshape(len(GRID), DRAWS)
    bits = compiled_bernoulli(words, jnp.asarray(log_odds_of_bit)[:, None])
    counts = np.asarray(jnp.sum(bits, axis=1))
    pvalues = [
        stats.binomtest(int(count), DRAWS, expit(delta)).pvalue
        for count, delta in zip(counts, GRID, strict=True)
    ]
    return min(pvalues) > FALSE_ALARM / len(GRID)


def test_bits_come_with_the_probability_of_the_logistic_distribution():
    assert are_logistic(GRID)


@pytest.mark.parametrize("scale", [1.1, 1 / 1.1])
def test_a_wrong_noise_scale_is_found(scale):
    """Δ + sV > 0 is Δ/s + V > 0: the noise too wide or too narrow by a tenth."""
    assert not are_logistic(GRID / scale)


def test_a_shifted_noise_is_found():
    assert not are_logistic(GRID + 0.05)


def test_the_probability_of_a_logistic_bit_is_within_its_slack():
    """|P(bit) − σ(Δ)| ≤ 2⁻⁵¹ for 4000 Δ, P the exact count of words over 2⁶⁴.

    P is found by bisection on the compiled test itself: the bit falls once from
    true to false as the word grows.
    """
    rng = np.random.default_rng(27)
    log_odds = np.concatenate(
        [
            np.linspace(-40, 40, 1601),
            rng.uniform(-40, 40, 1000),
            rng.normal(0, 2, 1200),
            np.geomspace(1e-300, 1, 100),
            -np.geomspace(1e-17, 1, 99),
        ]
    )
    counts = accepting_words(compiled_bernoulli, jnp.asarray(log_odds))
    with mpmath.workprec(200):
        for count, delta in zip(counts, log_odds, strict=True):
            exact = 1 / (1 + mpmath.exp(-mpmath.mpf(float(delta))))
            assert abs(mpmath.mpf(count) / 2**53 - exact) <= BIT_SLACK, delta


def test_beyond_the_limit_the_probability_stays():
    """Clipping the log odds, so that no probability is exactly 0 or 1 by overflow."""
    far = jnp.array([LOG_ODDS_LIMIT, 41.0, 1e6, 1e300, jnp.inf])
    assert len(set(accepting_words(compiled_bernoulli, far))) == 1
    assert set(accepting_words(compiled_bernoulli, -far)) == {1}


def test_even_odds_are_exactly_even():
    assert accepting_words(compiled_bernoulli, jnp.array([0.0, -0.0])) == [2**52, 2**52]


def test_a_probability_never_falls_as_the_log_odds_grow():
    """Up to its slack: a bit cannot tell more than its log odds."""
    log_odds = np.sort(np.random.default_rng(28).uniform(-41, 41, 4000))
    counts = np.array(accepting_words(compiled_bernoulli, jnp.asarray(log_odds)))
    assert np.all(np.diff(counts) >= -2 * BIT_SLACK * 2**53)


def test_a_bit_without_odds_is_false():
    words = jnp.asarray(EXTREME_WORDS)
    assert not jnp.any(compiled_bernoulli(words, jnp.full(len(words), jnp.nan)))


@pytest.mark.parametrize("shape", [(-1,), (-1, 1, 3), ()])
def test_compiled_exp_errs_by_at_most_four_units(shape):
    """What the slack of a bit assumes, on this device: exp on [−40, 0].

    Against mpmath; as a vector, as a matrix with an odd last axis, and one by one.
    """
    rng = np.random.default_rng(29)
    points = np.concatenate(
        [np.linspace(-40, 0, 6001), rng.uniform(-40, 0, 4000), rng.uniform(-1, 0, 2000)]
    )
    if shape == ():
        points = points[::30]
        computed = np.array([float(compiled_exp(x)) for x in points])
    else:
        points = points[: len(points) // 3 * 3]
        computed = np.asarray(compiled_exp(points.reshape(shape))).ravel()
    with mpmath.workprec(120):
        for x, y in zip(points, computed, strict=True):
            exact = mpmath.exp(mpmath.mpf(float(x)))
            unit = float(np.spacing(float(exact)))
            assert abs(mpmath.mpf(float(y)) - exact) <= 4 * unit, x


def test_a_reader_reads_words_in_order_and_once():
    words = words_of(30, 7)
    reader = Reader(words)
    read = [reader.normals(2), reader.uniforms(3), reader.normals(2)]
    expected = [normal(words[:2]), uniform(words[2:5]), normal(words[5:])]
    for got, want in zip(read, expected, strict=True):
        assert jnp.array_equal(got, want)
    assert reader.position == 7
