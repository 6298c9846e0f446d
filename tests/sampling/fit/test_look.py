# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A round's look: how it is paid for, and mean squares beside lengths."""

import jax.numpy as jnp
import numpy as np
import pytest

from dpmcmc import Model, sample_not_private
from dpmcmc.sampling.fit.hessians import IN_CONE
from dpmcmc.sampling.fit.look import _FLATTEST, _LONG, _SHORT, CLOSE, _drawn, _parts

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


@pytest.mark.parametrize("fraction", [0.01, CLOSE])
@pytest.mark.parametrize("size", [1, 2, 12, 50])
@pytest.mark.parametrize("longer", [1.0, IN_CONE])
def test_parts_make_the_error_of_a_step_least(
    size: int, fraction: float, longer: float
) -> None:
    """The error of a gradient is as √d, that of a Hessian as d times the step."""
    gradient, squares, hessian = _parts(size, fraction, longer)
    assert gradient + squares + hessian == pytest.approx(1)
    step = _SHORT if fraction == CLOSE else _LONG

    def error(gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
        return size / gradient + (step * size / longer) ** 2 / hessian

    moved = np.linspace(-0.9, 0.9, 19) * min(gradient, hessian)
    assert np.argmin(error(gradient + moved, hessian - moved)) == 9


def test_a_dozen_coefficients_are_found_with_few_records() -> None:
    """Intervals are at most five times as wide as without privacy; they were seven.

    Where Hessians had a fifth of a round, what it said of d (d + 1)/2 entries was
    noise, and steps led astray.
    """
    model = Model(
        lambda t, r: (
            -t["log_sd"]
            - 0.5 * ((r["y"] - r["x"] @ t["slopes"]) * jnp.exp(-t["log_sd"])) ** 2
        ),
        lambda t: -0.125 * (jnp.sum(t["slopes"] ** 2) + t["log_sd"] ** 2),
        {"slopes": np.zeros(11), "log_sd": 0.0},
    )
    for seed in (0, 2):
        generator = np.random.default_rng(seed)
        slopes = 0.3 * generator.normal(size=11)
        x = generator.normal(size=(5000, 11))
        y = x @ slopes + 0.15 * generator.normal(size=5000)
        posterior = sample_not_private(
            model, {"x": x, "y": y}, epsilon=1, delta=1e-5, seed=seed, progress=False
        )
        draws = posterior.draws["slopes"].reshape(-1, 11)
        assert np.mean(draws.std(axis=0)) < 5 * 0.15 / np.sqrt(5000)
        mode = np.linalg.lstsq(x, y)[0]
        assert np.all(np.abs(draws.mean(axis=0) - mode) < 3 * draws.std(axis=0))
