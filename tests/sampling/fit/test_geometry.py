# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Geometry of released curvature: closed forms, and what holds for any matrix."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as some

from dpmcmc.sampling.fit.geometry import whitening


def positive(size: int, seed: int, spread: float = 3.0) -> np.ndarray:
    """A positive definite matrix whose coordinates have very different scales."""
    generator = np.random.default_rng(seed)
    factor = generator.normal(size=(size, 2 * size))
    scales = np.exp(generator.normal(0, spread, size))
    return np.asarray(scales[:, None] * (factor @ factor.T) * scales)


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
