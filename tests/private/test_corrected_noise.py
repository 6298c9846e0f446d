# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's tests on the compiled arithmetic: distribution, sensitivity, refusal."""

import functools
import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra.numpy import arrays
from scipy.special import ndtr as scipy_ndtr

from dpmcmc.arithmetic import CLIP_STEPS, log_odds_range
from dpmcmc.correction import correction_for
from dpmcmc.private.decisions import (
    BatchDecision,
    CorrectedNoise,
    Evidence,
    gaussian_barker,
    minibatch_barker,
    total_of,
)
from dpmcmc.private.distributions import NormalMixture, mixture_bernoulli
from dpmcmc.private.ratios import Grid, clip_to_grid, sums_of_steps
from dpmcmc.private.tape import Stream, Tape

FITTED = correction_for(2.0)
MIXTURE = NormalMixture(FITTED.centres, FITTED.widths, FITTED.weights)
NOISE = CorrectedNoise(2.0, MIXTURE)
WORDS = Tape.seeded(11).words(Stream.TEST, 0, 0, 200_000)

ADVERSARIAL = some.sampled_from(
    [0.0, -0.0, math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, 1.0, -1.0, 0.3]
)


def exact_probability(place, variance, mixture=MIXTURE):
    """F(place) with fifty digits."""
    with mpmath.workdps(50):
        total = mpmath.mpf(0)
        for centre, width, weight in zip(
            mixture.centres, mixture.widths, mixture.weights, strict=True
        ):
            spread = mpmath.sqrt(mpmath.mpf(variance) + mpmath.mpf(width) ** 2)
            gap = (mpmath.mpf(place) - mpmath.mpf(centre)) / spread
            total += mpmath.mpf(weight) * mpmath.ncdf(gap)
        return total


def probability(place, variance, mixture=MIXTURE):
    """The exact probability of the computed bit: the smallest word that refuses.

    The bit is monotone in the word, so it is found by bisection on the word.
    """
    with jax.enable_x64(True):
        bit = jax.jit(lambda w, p, v: mixture_bernoulli(w, p, v, mixture))
        low = np.zeros(np.shape(place), np.uint64)
        high = np.full(np.shape(place), 2**53, np.uint64)
        while np.any(high - low > 1):
            middle = (low + high) // 2
            true = np.asarray(
                bit(jnp.asarray(middle << np.uint64(11)), place, variance)
            )
            low, high = np.where(true, middle, low), np.where(true, high, middle)
    return np.where(np.asarray(bit_at_zero(place, variance, mixture)), high, 0)


def bit_at_zero(place, variance, mixture):
    with jax.enable_x64(True):
        zero = jnp.zeros(np.shape(place), jnp.uint64)
        return mixture_bernoulli(
            zero, jnp.asarray(place), jnp.asarray(variance), mixture
        )


def test_the_probability_of_a_bit_is_within_its_slack():
    """At a thousand places and variances, against fifty digits."""
    generator = np.random.default_rng(1)
    places = np.concatenate([generator.normal(0, 6, 900), np.linspace(-40, 40, 100)])
    variances = np.concatenate([generator.uniform(1, 2, 900), np.full(100, 1.0)])
    computed = probability(places, variances)
    slack = 2.0**-48 + len(MIXTURE.centres) * 2.0**-53
    for place, variance, count in zip(places, variances, computed, strict=True):
        error = abs(mpmath.mpf(int(count)) / 2**53 - exact_probability(place, variance))
        assert error <= slack


def test_wide_components_and_small_variances_are_within_the_slack_too():
    wide = NormalMixture(
        (-3.0, -1.0, 1.0, 3.0), (0.5, 0.1, 0.1, 0.5), (0.1, 0.4, 0.4, 0.1)
    )
    places = np.linspace(-8, 8, 81)
    variances = np.full(81, 2.0**-20)
    slack = 2.0**-48 + 4 * 2.0**-53
    for place, count in zip(places, probability(places, variances, wide), strict=True):
        exact = exact_probability(place, 2.0**-20, wide)
        assert abs(mpmath.mpf(int(count)) / 2**53 - exact) <= slack


def frequencies(scale=1.0):
    """Accepted fraction at each place of a grid; noise may have a wrong scale."""
    places = np.linspace(-6, 6, 25)
    with jax.enable_x64(True):
        bit = jax.jit(
            lambda w, p: mixture_bernoulli(w, p, jnp.full_like(p, 1.4), MIXTURE)
        )
        fractions = [
            float(
                jnp.mean(bit(jnp.asarray(WORDS), jnp.full(len(WORDS), place / scale)))
            )
            for place in places
        ]
    return places, np.array(fractions)


def worst_error(places, fractions):
    expected = FITTED.smoothed_cdf(places, 1.4)
    errors = np.sqrt(expected * (1 - expected) / len(WORDS))
    return np.max(np.abs(fractions - expected) / errors)


def test_the_frequency_of_a_bit_is_its_distribution():
    """Every place within 6 standard errors: a false alarm of 5e-8 over 25 places."""
    assert worst_error(*frequencies()) < 6


def test_noise_of_a_wrong_scale_is_found():
    assert worst_error(*frequencies(scale=1.1)) > 6


def test_the_distribution_is_close_to_logistic():
    places = np.linspace(-20, 20, 401)
    logistic = 1 / (1 + np.exp(-places))
    gap = np.max(np.abs(probability(places, np.full(401, 2.0)) / 2**53 - logistic))
    assert gap <= FITTED.sup_error() + 1e-12


# What one record of a batch can do


BATCH = 12
GRID = Grid(1.0, scale=3.0)


@functools.cache
def traced_test():
    """The test's arithmetic up to Δ* and s², compiled once."""
    seen = {}

    def spy(word, place, variance, mixture):
        seen["place"], seen["variance"] = place, variance
        return word < 0

    decision = BatchDecision(GRID, BATCH, NOISE)

    def both(ratios):
        evidence = Evidence(ratios, jnp.ones(BATCH, bool))
        minibatch_barker(evidence, jnp.float64(0.3), jnp.uint64(0), decision)
        return seen["place"], 2.0 - seen["variance"]

    with jax.enable_x64(True), pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpmcmc.private.decisions.mixture_bernoulli", spy)
        return jax.jit(both).lower(jnp.zeros(BATCH)).compile()


def place_and_variance(ratios):
    """Δ* and s² as the test computes them."""
    with jax.enable_x64(True):
        return [float(value) for value in traced_test()(jnp.asarray(ratios))]


values = ADVERSARIAL | some.floats(-1, 1)


@settings(max_examples=25)
@given(arrays(np.float64, BATCH, elements=values), some.integers(0, BATCH - 1), values)
def test_one_record_moves_a_batch_no_further_than_is_paid_for(ratios, who, other):
    """The shift of Δ* and of s² stay inside the bounds the accountants use."""
    place, spread = place_and_variance(ratios)
    changed = ratios.copy()
    changed[who] = other
    new_place, new_spread = place_and_variance(changed)
    assert abs(place - new_place) <= log_odds_range(1 / math.sqrt(BATCH), BATCH)
    assert abs(spread - new_spread) <= 4 * (BATCH - 1) / BATCH**2 + 2.0**-46
    assert 0 <= spread <= 1
    assert 0 <= new_spread <= 1


def test_the_bounds_are_attained():
    low = np.full(BATCH, -1.0)
    high = low.copy()
    high[0] = 1.0
    place, spread = place_and_variance(low)
    new_place, new_spread = place_and_variance(high)
    assert new_place - place == pytest.approx(2 / math.sqrt(BATCH))
    assert new_spread - spread == pytest.approx(4 * (BATCH - 1) / BATCH**2)


@settings(max_examples=25)
@given(arrays(np.float64, BATCH, elements=values))
def test_place_and_variance_are_those_of_the_rounded_ratios(ratios):
    """Against plain integers of Python."""
    with jax.enable_x64(True):
        steps = np.asarray(
            clip_to_grid(jnp.asarray(ratios), jnp.ones(BATCH, bool), GRID)
        )
        first, second = sums_of_steps(jnp.asarray(steps))
    numbers = [int(k) for k in steps]
    assert int(first) == sum(numbers)
    assert int(second) == sum(k * k for k in numbers)
    scaled = np.array(numbers, float) / CLIP_STEPS
    place, spread = place_and_variance(ratios)
    assert place == pytest.approx(scaled.sum() / math.sqrt(BATCH) + 0.3, abs=1e-12)
    assert spread == pytest.approx(scaled.var(), abs=1e-12)


def test_sums_of_the_largest_batch_are_exact():
    with jax.enable_x64(True):
        most = jnp.full(2**22, CLIP_STEPS, jnp.int32)
        first, second = jax.jit(sums_of_steps)(most)
    assert (int(first), int(second)) == (2**42, 2**62)


# The whole test


def decide(log_likelihoods, public, word, test):
    """Bits for many words at once, with the same evidence for each."""
    current = jnp.zeros(log_likelihoods.shape[-1])
    present = jnp.ones(log_likelihoods.shape[-1], bool)
    evidence = Evidence(jnp.asarray(log_likelihoods) - current, present)

    def one(word, public):
        return test(evidence, public, word)

    return np.asarray(jax.jit(jax.vmap(one))(jnp.asarray(word), jnp.asarray(public)))


def minibatch(evidence, public, word):
    return minibatch_barker(evidence, public, word, BatchDecision(GRID, BATCH, NOISE))


def gaussian(evidence, public, word):
    return gaussian_barker(
        total_of(evidence, Grid(0.5), BATCH), public, word, Grid(0.5), NOISE
    )


@pytest.mark.parametrize("test", [minibatch, gaussian])
@pytest.mark.parametrize("public", [math.nan, math.inf, -math.inf])
def test_a_public_part_that_is_not_finite_refuses_whatever_the_records(test, public):
    with jax.enable_x64(True):
        for ratio in (-1.0, 0.0, 1.0, math.nan):
            bits = decide(
                np.full(BATCH, ratio), np.full(1000, public), WORDS[:1000], test
            )
            assert not bits.any()


def test_the_bit_of_each_test_has_its_distribution():
    """Within 6 standard errors, a false alarm of 1e-8."""
    ratios = np.linspace(-0.2, 0.28, BATCH)
    public = np.full(len(WORDS), 0.7)
    scaled = np.clip(3 * ratios, -1, 1)
    expected = {
        minibatch: FITTED.smoothed_cdf(
            scaled.sum() / math.sqrt(BATCH) + 0.7, 2 - scaled.var()
        ),
        gaussian: FITTED.smoothed_cdf(np.clip(ratios, -0.5, 0.5).sum() + 0.7, 2.0),
    }
    with jax.enable_x64(True):
        for test, own in expected.items():
            fraction = decide(ratios, public, WORDS, test).mean()
            assert abs(fraction - own) < 6 * math.sqrt(own * (1 - own) / len(WORDS))


def test_noise_never_vanishes_without_privacy():
    """C = 1 and a batch whose own variance is 1: V_cor alone is left."""
    fitted = correction_for(1.0)
    noise = CorrectedNoise(
        1.0, NormalMixture(fitted.centres, fitted.widths, fitted.weights)
    )
    ratios = np.array([1.0, -1.0] * (BATCH // 2))

    def test(evidence, public, word):
        return minibatch_barker(
            evidence, public, word, BatchDecision(GRID, BATCH, noise)
        )

    with jax.enable_x64(True):
        fraction = decide(ratios, np.full(len(WORDS), 0.4), WORDS, test).mean()
    gaps = (0.4 - np.array(fitted.centres)) / np.hypot(fitted.widths, 2.0**-10)
    expected = np.sum(np.array(fitted.weights) * scipy_ndtr(gaps))
    error = math.sqrt(expected * (1 - expected) / len(WORDS))
    assert abs(fraction - expected) < 6 * error
