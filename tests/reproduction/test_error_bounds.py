# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The bounds hold where the distribution is known, and standardising matters."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from dpmcmc import InputError
from dpmcmc.correction import correction_for
from reproduction.error_bounds import ErrorBounds, error_bounds

CORRECTION = correction_for(2.0)


def two_values(low, high, fraction):
    """Records of which a fraction has the higher log-ratio, the rest the lower."""
    part = Fraction(fraction)
    return np.repeat([high, low], [part.numerator, part.denominator - part.numerator])


def exact_error(low, high, fraction, batch, records):
    """sup_y |P(Δ* + V_nc + V_cor ≤ y) − σ(y − Δ)|, from the binomial."""
    count = np.arange(batch + 1)
    probability = stats.binom.pmf(count, batch, float(Fraction(fraction)))
    part = count / batch
    centre = records * (low + (high - low) * part)
    spread = (records * (high - low)) ** 2 * part * (1 - part) / batch
    delta = records * (low + (high - low) * float(Fraction(fraction)))
    y = delta + np.linspace(-8, 8, 641)
    total = np.zeros_like(y)
    for each, middle, variance in zip(probability, centre, spread, strict=True):
        left = CORRECTION.variance - variance
        total += each * CORRECTION.smoothed_cdf(y - middle, left)
    return float(np.abs(total - expit(y - delta)).max())


@pytest.mark.parametrize("batch", [10, 50, 400])
@pytest.mark.parametrize("fraction", ["1/2", "1/10", "1/50"])
@pytest.mark.parametrize("size", [1.0, 0.5, 0.05])
def test_the_bounds_hold_for_a_distribution_that_is_known(batch, fraction, size):
    # Clipped so that records² · max² / batch = size² ≤ 1.
    high, records = size * math.sqrt(batch) / 1000, 1000
    low = -high
    bounds = error_bounds(
        two_values(low, high, fraction),
        batch=batch,
        records=records,
        correction=CORRECTION,
    )
    error = exact_error(low, high, fraction, batch, records)
    assert error <= bounds.total
    assert error <= bounds.supplement_sum
    assert bounds.total <= bounds.supplement_sum


def test_without_standardising_the_supplement_s_term_is_no_bound():
    # Student's statistic does not change with the scale of the log-ratios; moments of
    # Z = records (ratio − mean) do, so a small scale would promise almost no error.
    values = two_values(-1.0, 1.0, "1/50")
    batch = 25
    scaled = 1e-3 * (values - values.mean())
    promised = (6.4 * (np.abs(scaled) ** 3).mean() + 2 * np.abs(scaled).mean()) / 5
    count = np.arange(batch + 1)
    part = count / batch
    with np.errstate(divide="ignore"):
        student = np.sqrt(batch) * (part - 1 / 50) / np.sqrt(part * (1 - part))
    probability = stats.binom.cdf(count, batch, 1 / 50)
    error = np.abs(probability - stats.norm.cdf(student)).max()
    assert error > 100 * promised
    fixed = error_bounds(values, batch=batch, records=1.0, correction=CORRECTION)
    assert error <= fixed.student


def test_the_clt_terms_ignore_scale_and_shift_and_shrink_with_the_batch():
    ratios = np.random.default_rng(2).gamma(2.0, 1e-3, 5000)
    first, moved, larger = (
        error_bounds(values, batch=batch, records=100, correction=CORRECTION)
        for values, batch in ((ratios, 100), (3 * ratios + 1e-4, 100), (ratios, 10_000))
    )
    assert moved.student == pytest.approx(first.student, rel=1e-9)
    assert moved.normal == pytest.approx(first.normal, rel=1e-9)
    assert larger.student == pytest.approx(first.student / 10, rel=1e-12)
    assert larger.normal == pytest.approx(first.normal / 10, rel=1e-12)


def test_moments_are_those_of_the_given_ratios():
    # For ±1 each standardised absolute moment is 1.
    bounds = error_bounds([-1.0, 1.0], batch=100, records=5.0, correction=CORRECTION)
    assert bounds.student == pytest.approx(0.84)
    assert bounds.normal == pytest.approx(0.0469)
    # σ² = 25/100 and kurtosis 1 leave E|s² − σ²| ≤ σ²/b.
    scale = 1 / (2 * math.sqrt(2 * math.pi * math.e))
    assert bounds.noise == pytest.approx(scale * 0.25 / 100 / (2 - 0.25))
    assert bounds.correction == CORRECTION.sup_error()


def test_a_contracting_chain_has_a_bounded_distance():
    bounds = ErrorBounds(student=0.5, normal=0.03, noise=0.01, correction=0.01)
    assert bounds.stationary_distance(0.5) == pytest.approx(0.1)
    assert bounds.stationary_distance(0.99) == 1
    for contraction in (1.0, -0.1, math.nan):
        with pytest.raises(InputError, match="contraction"):
            bounds.stationary_distance(contraction)


def test_ratios_too_large_for_the_test_have_no_bound():
    bounds = error_bounds(
        [-1.0, 1.0, 0.5], batch=100, records=20.0, correction=CORRECTION
    )
    assert bounds.noise == math.inf
    assert bounds.total == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ratios": [0.1]}, "at least 2"),
        ({"ratios": [[0.1, 0.2]]}, "shape"),
        ({"ratios": [0.1, math.nan]}, "finite"),
        ({"ratios": [0.1, 0.1]}, "all equal"),
        ({"batch": 0}, "batch"),
        ({"records": 0}, "records"),
    ],
)
def test_bad_input_is_refused(changes, message):
    good = {"ratios": [0.1, 0.2], "batch": 10, "records": 5.0}
    with pytest.raises(InputError, match=message):
        error_bounds(**(good | changes), correction=CORRECTION)
