# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The one bit of a step: its log odds move little, its distribution is exact."""

from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import plain
import pytest
from adversarial import HOSTILE, hostile_ratios
from bisection import accepting_words
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.arithmetic import (
    BIT_SLACK,
    CLIP_STEPS,
    LOG_ODDS_LIMIT,
    PUBLIC_LIMIT,
    RECORD_LIMIT,
    log_odds_range,
)
from dpmcmc.private import Grid
from dpmcmc.private.decisions import Evidence, barker, log_odds, total_of

pytestmark = pytest.mark.usefixtures("x64")

CLIPS = [1e-5, 0.003, 0.01, 1 / 3, 1.0, 55.5]
COUNT = 30
UNIT_ROUNDOFF = Fraction(1, 2**53)

compiled_log_odds = jax.jit(log_odds, static_argnames="grid")


@partial(jax.jit, static_argnames=("grid", "block"))
def compiled_barker(word, current, proposed, present, public, grid, block):
    return barker(
        total_of(Evidence(proposed - current, present), grid, block), public, word, grid
    )


def draw_sums(rng, records, size):
    """Pairs of sums of neighbouring data, among them the largest and the odd ones."""
    top = records * CLIP_STEPS
    first = rng.integers(-top, top, size, endpoint=True)
    first[: size // 4] = top - rng.integers(0, 1000, size // 4)
    first[size // 4 : size // 2] = -top + rng.integers(0, 1000, size // 4)
    moves = rng.integers(-2 * CLIP_STEPS, 2 * CLIP_STEPS, size, endpoint=True)
    moves[::3] = 2 * CLIP_STEPS * np.sign(moves[::3])
    return first, np.clip(first + moves, -top, top)


def draw_public(rng, size):
    public = rng.normal(0, 10.0 ** rng.uniform(-3, 7, size))
    public[:4] = [0.0, PUBLIC_LIMIT, -PUBLIC_LIMIT, 1e300]
    return public


@pytest.mark.parametrize("clip", CLIPS)
@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32),
    records=st.one_of(
        st.integers(2, 10**4), st.integers(2, RECORD_LIMIT), st.just(RECORD_LIMIT)
    ),
)
def test_neighbouring_data_have_neighbouring_log_odds(clip, records, seed):
    """In the compiled float64, compared as exact rational numbers."""
    rng = np.random.default_rng(seed)
    grid, size = Grid(clip), 64
    pair, public = draw_sums(rng, records, size), draw_public(rng, size)
    results = [
        np.asarray(compiled_log_odds(jnp.asarray(sums), jnp.asarray(public), grid))
        for sums in pair
    ]
    bound = Fraction(log_odds_range(clip, records))
    for one, other in zip(*results, strict=True):
        assert abs(Fraction(float(one)) - Fraction(float(other))) <= bound


@pytest.mark.parametrize("clip", CLIPS)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), records=st.integers(2, RECORD_LIMIT))
def test_log_odds_round_no_more_than_is_charged(clip, records, seed):
    """Each log odds is within u (3 N B + c) of the exact one."""
    rng = np.random.default_rng(seed)
    sums, public = draw_sums(rng, records, 64)[0], draw_public(rng, 64)
    computed = compiled_log_odds(jnp.asarray(sums), jnp.asarray(public), Grid(clip))
    exact_clip = Fraction(clip)
    bound = UNIT_ROUNDOFF * (3 * records * exact_clip + Fraction(PUBLIC_LIMIT))
    limited = np.clip(public, -PUBLIC_LIMIT, PUBLIC_LIMIT)
    for value, total, part in zip(np.asarray(computed), sums, limited, strict=True):
        exact = int(total) * exact_clip / CLIP_STEPS + Fraction(float(part))
        assert abs(Fraction(float(value)) - exact) <= bound


def test_the_rounding_matters():
    """Some pair moves by more than 2B: the charge for rounding is not for show."""
    rng, clip, records = np.random.default_rng(50), 0.01, RECORD_LIMIT
    first, second = draw_sums(rng, records, 4096)
    public = jnp.asarray(rng.normal(0, 1e5, 4096))
    one = compiled_log_odds(jnp.asarray(first), public, Grid(clip))
    other = compiled_log_odds(jnp.asarray(second), public, Grid(clip))
    assert np.max(np.abs(np.asarray(one) - np.asarray(other))) > 2 * clip


def decide(word, proposed, public, clip=0.01, current=None, present=None):
    """Bits for ratios of shape (…, COUNT), with current log-likelihoods zero."""
    current = np.zeros_like(proposed) if current is None else current
    present = np.ones(proposed.shape[-1], bool) if present is None else present
    return compiled_barker(
        jnp.asarray(word, jnp.uint64),
        *map(jnp.asarray, (current, proposed, present)),
        jnp.asarray(public),
        Grid(clip),
        10,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("public", [np.nan, np.inf, -np.inf])
@given(data=st.data())
@settings(max_examples=30)
def test_a_public_part_that_is_not_finite_refuses_whatever_the_data(
    data, public, dtype
):
    ratios = data.draw(hostile_ratios(dtype, 3 * COUNT)).reshape(3, COUNT)
    ratios[0] = np.inf
    words = np.array([0, 1, data.draw(st.integers(0, 2**64 - 1))], np.uint64)
    assert not np.any(decide(words, ratios, np.full(3, public)))


def test_the_same_data_are_accepted_with_a_finite_public_part():
    """So that the test above can fail."""
    ratios = np.full((3, COUNT), np.inf)
    assert np.all(decide(np.zeros(3, np.uint64), ratios, np.zeros(3)))


def exact_probability(ratios, clip, public):
    """σ of the exact clipped log odds, by mpmath."""
    total = sum(plain.clipped_steps(ratios, clip))
    odds = mpmath.mpf(total) * mpmath.mpf(clip) / CLIP_STEPS + mpmath.mpf(public)
    odds = max(-LOG_ODDS_LIMIT, min(LOG_ODDS_LIMIT, odds))
    return 1 / (1 + mpmath.exp(-odds))


def words_that_accept(ratios, public, clip):
    """How many of 2⁵³ uniforms accept, for each row of ratios."""
    return accepting_words(
        lambda word: decide(word, ratios, public, clip), size=len(ratios)
    )


@pytest.mark.parametrize("clip", [0.01, 1.0])
def test_the_distribution_of_the_bit(clip):
    """P(accept), counted in words, is σ(Δ) of the exact sum up to the slack.

    From hostile log-likelihoods to the bit: 400 data sets, and public parts of all
    sizes. The rounding of the log odds is the only thing added to the slack.
    """
    rng = np.random.default_rng(51)
    ratios = rng.normal(0, 2 * clip, (400, COUNT))
    hostile = rng.random(ratios.shape) < 0.1
    ratios[hostile] = rng.choice(HOSTILE[np.float64], int(hostile.sum()))
    public = rng.normal(0, 3, 400) * rng.choice([1, 1, 10], 400)
    counts = words_that_accept(ratios, public, clip)
    rounding = 2.0**-53 * (3 * COUNT * clip + np.abs(public))
    with mpmath.workprec(200):
        for row, count, part, error in zip(
            ratios, counts, public, rounding, strict=True
        ):
            # σ rises by at most a quarter of what its argument rises by
            allowed = BIT_SLACK + float(error) / 4
            exact = exact_probability(row, clip, float(part))
            assert abs(mpmath.mpf(count) / 2**53 - exact) <= allowed


def test_neighbours_have_neighbouring_probabilities():
    """For any substituted record, P′ lies in [σ(Δ − η), σ(Δ + η)] up to the slack.

    Δ here is the log odds of P itself, both counted in words: nothing is known but
    the bits.
    """
    rng, clip, size = np.random.default_rng(52), 0.5, 400
    ratios = rng.normal(0, clip, (size, COUNT))
    neighbour = ratios.copy()
    where = rng.integers(0, COUNT, size)
    ratios[np.arange(size), where] = rng.choice(HOSTILE[np.float64], size)
    neighbour[np.arange(size), where] = rng.choice(HOSTILE[np.float64], size)
    public = rng.normal(0, 4, size)
    one = words_that_accept(ratios, public, clip)
    other = words_that_accept(neighbour, public, clip)
    eta = log_odds_range(clip, COUNT)
    farthest = 0
    with mpmath.workprec(200):
        for a, b in zip(one, other, strict=True):
            p, q = mpmath.mpf(a) / 2**53, mpmath.mpf(b) / 2**53
            odds = mpmath.log(p / (1 - p))
            low, high = (1 / (1 + mpmath.exp(-odds - s * eta)) for s in (-1, 1))
            assert low - 3 * BIT_SLACK <= q <= high + 3 * BIT_SLACK
            farthest = max(farthest, abs(mpmath.log(q / (1 - q)) - odds))
    assert farthest > 0.999 * eta  # hostile records do reach the bound


def test_what_is_not_present_does_not_matter():
    rng = np.random.default_rng(53)
    present = np.arange(COUNT) < COUNT - 7
    ratios = rng.normal(0, 0.01, (50, COUNT))
    words = rng.integers(0, 2**64, 50, np.uint64, endpoint=False)
    expected = decide(words, ratios, np.zeros(50), present=present)
    for value in HOSTILE[np.float64]:
        changed = np.where(present, ratios, value)
        bits = decide(words, changed, np.zeros(50), present=present)
        assert np.array_equal(bits, expected)
    everything = decide(
        np.full(50, 2**62, np.uint64), np.where(present, 0, 1), np.zeros(50), clip=5.0
    )
    assert np.all(everything)


def test_log_likelihoods_that_are_both_infinite_say_nothing():
    """inf − inf is NaN, which is no step in either direction."""
    infinite = np.full((1, COUNT), -np.inf)
    word = np.array([2**63 - 2**11], np.uint64)  # accepts at even odds, barely
    assert decide(word, infinite, np.zeros(1), current=infinite)[0]
    assert not decide(word + 2**11, infinite, np.zeros(1), current=infinite)[0]
