# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The bracket of the sup-error holds the supremum, and is narrow."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from dpmcmc.correction import Correction
from dpmcmc.correction.sup_error import _interval, bracket_sup_error, error_at


def parts(mixture, variance):
    scales = np.hypot(mixture.widths, np.sqrt(variance))
    return np.array(mixture.centres), scales, np.array(mixture.weights)


@given(
    st.lists(
        st.tuples(st.floats(0.01, 20.0), st.floats(0.0, 2.0), st.floats(1e-3, 1.0)),
        min_size=1,
        max_size=6,
    ),
    st.floats(0.05, 3.2),
)
def test_a_dense_grid_finds_nothing_above_the_bracket(components, variance):
    centres, widths, weights = map(np.array, zip(*components, strict=True))
    mixture = parts(Correction.symmetric(variance, centres, widths, weights), variance)
    bracket = bracket_sup_error(*mixture)
    dense = np.abs(error_at(np.linspace(0, 50, 50_001), *mixture)).max()
    # Between points 10⁻³ apart the error curves by at most 0.25/C + 0.1.
    missed = (1e-3) ** 2 / 8 * (0.25 / variance + 0.1)
    assert dense <= bracket.upper
    assert bracket.lower <= dense + missed
    assert bracket.upper - bracket.lower <= 1.01e-4 * bracket.lower + 1.01e-11


def test_the_supremum_of_one_normal_is_found_between_its_bounds():
    # N(0, 3) against the logistic: where the two densities cross.
    def gap(y):
        return mpmath.ncdf(y / mpmath.sqrt(3)) - 1 / (1 + mpmath.exp(-y))

    top = mpmath.findroot(lambda y: mpmath.diff(gap, y), 1.2)
    bracket = bracket_sup_error([0.0], [np.sqrt(3)], [1.0])
    assert bracket.lower <= abs(gap(top)) <= bracket.upper
    assert bracket.upper == pytest.approx(float(abs(gap(top))), rel=1.01e-4)


def test_a_far_atom_is_not_lost_in_the_tail():
    far = bracket_sup_error([-200.0, 0.0, 200.0], [1.8] * 3, [0.05, 0.9, 0.05])
    # Almost all of an atom's weight is missing at y = 150.
    assert far.lower >= 0.05 - 1e-12


def test_the_stated_bounds_on_fourth_derivatives_hold():
    x = np.linspace(0, 12, 120_001)
    bell = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    t = 2 * expit(x) - 1
    # Both have slopes below 3, so points 10⁻⁴ apart miss at most 3·10⁻⁴/2.
    assert np.abs((x**3 - 3 * x) * bell).max() + 1.5e-4 < 0.551
    assert np.abs((1 - t**2) * t * (3 * t**2 - 2) / 4).max() + 1.5e-4 < 0.13


def test_the_curvature_used_is_that_of_the_error():
    mixture = (np.array([-1.0, 0.0, 1.0]), np.array([1.0, 1.2, 1.0]), np.full(3, 1 / 3))
    y, step = np.linspace(0, 6, 13), 1e-3
    around = [error_at(y + k * step, *mixture) for k in (-2, -1, 0, 1, 2)]
    second = (around[3] - 2 * around[2] + around[1]) / step**2
    third = (around[4] - 2 * around[3] + 2 * around[1] - around[0]) / (2 * step**3)
    _, bend = _interval(y, 0.5, *mixture)
    # Differences err by step² times a higher derivative, and rounding / step³.
    assert bend == pytest.approx(np.abs(second) + 0.5 * np.abs(third), abs=1e-5)
