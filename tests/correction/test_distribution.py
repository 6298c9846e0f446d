# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A correction is exactly symmetric, evaluates its law, and samples it."""

import math
from dataclasses import FrozenInstanceError, replace

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from dpmcmc.correction import Correction, symmetric_mixture
from dpmcmc.errors import InputError

MIXED = symmetric_mixture(
    2.0,
    np.array([0.0, 1.0, 3.0]),
    np.array([0.0, 0.5, 2.0]),
    np.array([0.5, 0.3, 0.2]),
    "by hand",
)
SMOOTH = symmetric_mixture(
    1.0, np.array([0.4, 2.0]), np.array([0.5, 1.5]), np.array([0.7, 0.3]), "by hand"
)


@given(
    st.lists(
        st.tuples(st.floats(1e-6, 30.0), st.floats(0.0, 3.0), st.floats(1e-12, 1.0)),
        min_size=1,
        max_size=30,
    ),
    st.booleans(),
)
def test_a_mixture_is_exactly_symmetric_and_its_weights_sum_to_one(parts, centred):
    centres, widths, weights = (np.array(part) for part in zip(*parts, strict=True))
    if centred:
        centres[0] = 0.0
    made = symmetric_mixture(1.5, centres, widths, weights, "by hand")
    assert math.fsum(made.weights) == 1
    assert made.weights == made.weights[::-1]
    assert made.centres == tuple(-centre for centre in reversed(made.centres))
    # A symmetric law has as much above x as below −x, here away from its atoms.
    assert made.smoothed_cdf(0.7, 0.1) == pytest.approx(
        1 - made.smoothed_cdf(-0.7, 0.1), abs=1e-14
    )


def test_components_without_weight_are_left_out():
    made = symmetric_mixture(
        1.0, np.array([0.0, 2.0]), np.zeros(2), np.array([1.0, 0.0]), "by hand"
    )
    assert made.centres == (0.0,)


def test_a_centre_below_zero_is_not_lost_in_silence():
    with pytest.raises(InputError, match=r"-1\.0"):
        symmetric_mixture(1.0, np.array([0.0, -1.0]), np.zeros(2), np.ones(2), "x")


def test_the_cdf_agrees_with_arbitrary_precision():
    x = np.array([-30.0, -2.0, -0.1, 0.3, 5.0])
    for variance in (0.3, 2.0):
        exact = [
            sum(
                p * mpmath.ncdf((y - m) / mpmath.sqrt(s**2 + variance))
                for m, s, p in zip(
                    MIXED.centres, MIXED.widths, MIXED.weights, strict=True
                )
            )
            for y in x
        ]
        assert MIXED.smoothed_cdf(x, variance) == pytest.approx(
            [float(value) for value in exact], rel=1e-13
        )


def test_the_cdf_jumps_at_an_atom():
    below, at = MIXED.cdf(np.array([-1e-12, 0.0]))
    assert at - below == pytest.approx(0.5, abs=1e-11)
    assert MIXED.cdf(0.0).shape == ()
    assert MIXED.cdf(np.zeros((2, 3))).shape == (2, 3)


def test_the_density_is_the_slope_of_the_cdf():
    x = np.linspace(-5, 5, 11)
    slope = (SMOOTH.cdf(x + 1e-5) - SMOOTH.cdf(x - 1e-5)) / 2e-5
    # Central difference: h²/6 times the third derivative (< 10), and rounding 1e-16/h.
    assert SMOOTH.density(x) == pytest.approx(slope, abs=2e-10)
    assert np.exp(SMOOTH.log_density(x)) == pytest.approx(SMOOTH.density(x), rel=1e-12)
    assert SMOOTH.log_density(1000.0) == -np.inf
    with pytest.raises(InputError, match="atoms"):
        MIXED.density(0.0)


def test_the_variance_is_the_second_moment():
    moment, _ = quad(lambda x: x**2 * float(SMOOTH.density(x)), -40, 40, limit=200)
    assert SMOOTH.correction_variance == pytest.approx(moment, rel=1e-7)
    assert SMOOTH.mean == 0


def test_draws_follow_the_law():
    generator = np.random.default_rng(5)
    n = 200_000
    draws = SMOOTH.sample(generator.random(n), generator.random(n))
    # Kolmogorov–Smirnov with a false-alarm rate of 1e-6, for the fixed seed.
    assert stats.kstest(draws, SMOOTH.cdf).pvalue > 1e-6
    narrow = replace(SMOOTH, widths=tuple(0.9 * width for width in SMOOTH.widths))
    assert stats.kstest(draws, narrow.cdf).pvalue < 1e-6


def test_draws_of_atoms_need_no_second_uniform():
    atoms = symmetric_mixture(
        2.0, np.array([0.0, 3.0]), np.zeros(2), np.array([0.8, 0.2]), "by hand"
    )
    choice = np.array([0.0, 0.0999, 0.1001, 0.8999, 0.9001, 1 - 2.0**-53])
    assert atoms.sample(choice).tolist() == [-3.0, -3.0, 0.0, 0.0, 3.0, 3.0]


def test_mixed_draws_keep_atoms_exact():
    draws = MIXED.sample(np.array([0.5, 0.95]), np.array([1e-300, 0.5]))
    assert draws.tolist() == [0.0, 3.0]


@pytest.mark.parametrize(
    ("choice", "normal", "message"),
    [
        ([1.0], [0.5], "below 1"),
        ([-0.1], [0.5], "at least 0"),
        ([0.5], [0.0], "strictly between"),
        ([0.5], None, "as many"),
        ([0.5], [0.5, 0.5], "as many"),
        ([np.nan], [0.5], "at least 0"),
    ],
)
def test_bad_uniforms_are_refused(choice, normal, message):
    with pytest.raises(InputError, match=message):
        MIXED.sample(choice, normal)


@pytest.mark.parametrize("variance", [-0.1, math.nan, math.inf])
def test_a_bad_added_variance_is_refused(variance):
    with pytest.raises(InputError, match="variance"):
        MIXED.smoothed_cdf(0.0, variance)


@pytest.mark.parametrize(
    "changes",
    [
        {"weights": (0.5, 0.6)},
        {"weights": (0.4, 0.6)},
        {"weights": (1.0, 0.0)},
        {"centres": (-1.0, 1.1)},
        {"centres": (1.0, -1.0)},
        {"widths": (0.1, 0.2)},
        {"widths": (-0.1, -0.1)},
        {"widths": (0.1,)},
        {"centres": (-math.inf, math.inf)},
        {"variance": 3.3},
        {"centres": (), "widths": (), "weights": ()},
    ],
)
def test_a_correction_that_is_none_cannot_be_built(changes):
    good = {
        "variance": 1.0,
        "centres": (-1.0, 1.0),
        "widths": (0.1, 0.1),
        "weights": (0.5, 0.5),
        "method": "by hand",
    }
    Correction(**good)
    with pytest.raises(InputError):
        Correction(**(good | changes))


def test_a_correction_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        MIXED.variance = 1.0
