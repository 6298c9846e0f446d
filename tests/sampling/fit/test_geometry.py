# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Geometry of released curvature: closed forms, and what holds for any matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from dpmcmc.sampling.fit.geometry import denoised, floored, whitening


def positive(size: int, seed: int, spread: float = 3.0) -> np.ndarray:
    """A positive definite matrix whose coordinates have very different scales."""
    generator = np.random.default_rng(seed)
    factor = generator.normal(size=(size, 2 * size))
    scales = np.exp(generator.normal(0, spread, size))
    return np.asarray(scales[:, None] * (factor @ factor.T) * scales)


def symmetric(size: int, seed: int, scale: float = 1.0) -> np.ndarray:
    """Normal entries, of sd ``scale`` on the diagonal and smaller by √2 off it."""
    entries = np.random.default_rng(seed).normal(size=(size, size))
    return np.asarray(scale * (entries + entries.T) / 2)


# Whitening.


@given(size=some.integers(1, 12), seed=some.integers(0, 10**6))
def test_whitening_makes_the_curvature_one(size: int, seed: int) -> None:
    curvature = positive(size, seed)
    frame = whitening(curvature)
    np.testing.assert_allclose(frame.T @ curvature @ frame, np.eye(size), atol=1e-8)


@given(size=some.integers(2, 8), seed=some.integers(0, 10**6))
def test_each_new_coordinate_stays_near_its_old_one(size: int, seed: int) -> None:
    """The symmetric root of correlations: no rotation of it has a larger trace."""
    curvature = positive(size, seed)
    root = np.sqrt(np.diag(curvature))[:, None] * whitening(curvature)
    np.testing.assert_allclose(root, root.T, atol=1e-8)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]
    assert np.trace(root @ rotation) <= np.trace(root) + 1e-9


def test_whitening_of_a_diagonal_is_one_scale_each() -> None:
    frame = whitening(np.diag([4.0, 100.0, 1e-6]))
    np.testing.assert_allclose(frame, np.diag([0.5, 0.1, 1e3]), atol=1e-12)


def test_a_flat_direction_leaves_the_frame_finite() -> None:
    frame = whitening(np.ones((3, 3)))
    assert np.isfinite(frame).all()


# Denoising.


@given(
    size=some.integers(1, 10),
    seed=some.integers(0, 10**6),
    noise=some.floats(0, 5),
)
def test_denoising_keeps_the_trace_and_the_directions(
    size: int, seed: int, noise: float
) -> None:
    matrix = symmetric(size, seed)
    found = denoised(matrix, noise)
    assert np.trace(found) == pytest.approx(np.trace(matrix), abs=1e-8)
    np.testing.assert_allclose(found @ matrix, matrix @ found, atol=1e-7)


def test_without_noise_nothing_changes() -> None:
    matrix = symmetric(6, 1)
    np.testing.assert_allclose(denoised(matrix, 0.0), matrix, atol=1e-12)


@given(gap=some.floats(0.01, 10), noise=some.floats(0.01, 3))
def test_two_eigenvalues_are_drawn_together_as_the_formula_says(
    gap: float, noise: float
) -> None:
    """Each by σ² gap / (gap² + σ²/2), σ the sd on the diagonal."""
    found = np.linalg.eigvalsh(denoised(np.diag([0.0, gap]), noise))
    pull = noise**2 * gap / (gap**2 + noise**2 / 2)
    np.testing.assert_allclose(found, np.sort([pull, gap - pull]), atol=1e-9)


@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0])
def test_denoising_comes_closer_to_what_was_there(spread: float) -> None:
    """In every one of ten matrices of 30 rows, whatever their spread."""
    noise = 0.2
    for seed in range(10):
        generator = np.random.default_rng(seed)
        basis = np.linalg.qr(generator.normal(size=(30, 30)))[0]
        truth = (basis * (5 + spread * generator.normal(size=30))) @ basis.T
        noisy = truth + symmetric(30, 100 + seed, noise)
        before = np.linalg.norm(noisy - truth)
        assert np.linalg.norm(denoised(noisy, noise) - truth) < before


# A floor.


@given(
    size=some.integers(1, 8), seed=some.integers(0, 10**6), least=some.floats(1e-3, 3)
)
def test_a_floor_keeps_directions_and_makes_all_climb(
    size: int, seed: int, least: float
) -> None:
    matrix = symmetric(size, seed)
    found, values = floored(matrix, least)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=1e-9)
    expected = np.sort(np.maximum(np.abs(values), least))
    np.testing.assert_allclose(np.linalg.eigvalsh(found), expected, atol=1e-9)
    np.testing.assert_allclose(found @ matrix, matrix @ found, atol=1e-8)
