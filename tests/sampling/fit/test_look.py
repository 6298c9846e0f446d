# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A round's look: mean squares beside what the histogram of lengths says of them."""

import numpy as np
import pytest

from dpmcmc.sampling.fit.look import _FLATTEST, _drawn

FOUND, EXPECTED = np.array([0.6, 1.0, 7.0]), np.array([1.0, 2.0, 3.0])


def test_without_noise_squares_are_what_was_found() -> None:
    np.testing.assert_array_equal(_drawn(FOUND, np.zeros(3), EXPECTED), FOUND)


def test_noise_leaves_what_lengths_say() -> None:
    noisy = FOUND + 1e6 * np.array([1.0, -1.0, 0.5])
    found = _drawn(noisy, np.full(3, 1e9), EXPECTED)
    np.testing.assert_allclose(found, EXPECTED, rtol=1e-5)


@pytest.mark.parametrize(("noise", "weight"), [(1.0, 0.5), (3.0, 0.1), (1 / 3, 0.9)])
def test_squares_may_be_as_far_from_lengths_as_these_are_large(
    noise: float, weight: float
) -> None:
    """The mean of a normal number about what is expected, with it as its sd."""
    found = _drawn(FOUND, noise * EXPECTED, EXPECTED)
    np.testing.assert_allclose(found - EXPECTED, weight * (FOUND - EXPECTED))


def test_squares_are_positive() -> None:
    found = _drawn(-FOUND, np.full(3, 1e-3), EXPECTED)
    np.testing.assert_allclose(found, _FLATTEST * EXPECTED)


@pytest.mark.parametrize(("noise", "least"), [(0.5, 0.4), (1.0, 0.5), (10.0, 0.099)])
def test_squares_are_not_less_than_noise_that_counts(
    noise: float, least: float
) -> None:
    found = _drawn(EXPECTED - 20 * noise * EXPECTED, noise * EXPECTED, EXPECTED)
    np.testing.assert_allclose(found, least * EXPECTED, rtol=0.01)


def test_where_no_length_is_seen_no_square_is() -> None:
    found = _drawn(FOUND, np.ones(3), np.zeros(3))
    np.testing.assert_array_equal(found, np.zeros(3))
