# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a record is asked: derivatives in the guide, weighed and read back."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpmcmc.variational.guides import GuideGradient, Points

CURVATURE = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 4.0]])
CENTRE = np.array([0.3, -0.2, 1.0])


def quadratic(theta):
    off = theta - CENTRE
    return -0.5 * off @ CURVATURE @ off


def points(mean, pairs=2):
    moves = np.random.default_rng(1).normal(size=(pairs, 3)) * 0.1
    thetas = np.concatenate([mean + moves, mean - moves])
    return Points(thetas, np.array([0.5, 2.0, 1.0]), np.asarray(7.0))


@pytest.mark.parametrize("full", [True, False])
def test_what_is_read_back_is_what_was_asked(full):
    mean = np.array([1.0, 0.0, 0.5])
    gradient, public = GuideGradient(lambda flat: flat, 3, full), points(mean)
    with jax.enable_x64(True):
        vector = np.asarray(gradient(quadratic, public))
    slope, curvature = gradient.read(vector, public)
    np.testing.assert_allclose(slope, -CURVATURE @ (mean - CENTRE), rtol=1e-12)
    wanted = -CURVATURE if full else -np.diag(np.diag(CURVATURE))
    np.testing.assert_allclose(curvature, wanted, rtol=1e-12)
    assert len(vector) == (9 if full else 6)


def test_the_length_of_a_vector_is_that_of_slope_and_matrix():
    """In units of the weights and the radius; the matrix counts 0.4/√d as much."""
    public = points(np.zeros(3))
    gradient = GuideGradient(lambda flat: flat, 3, True)
    with jax.enable_x64(True):
        vector = np.asarray(gradient(quadratic, public))
    slope = (CURVATURE @ CENTRE) * public.weights
    matrix = CURVATURE * public.weights * public.weights[:, None]
    wanted = np.sqrt(np.sum(slope**2) + 0.16 / 3 * np.sum(matrix**2)) / 7
    assert np.linalg.norm(vector) == pytest.approx(wanted, rel=1e-12)


def test_derivatives_are_means_over_the_points():
    """f = Σ θ⁴: slope and curvature by hand at each of the points."""
    public = points(np.array([0.4, -0.7, 0.1]))
    gradient = GuideGradient(lambda flat: flat, 3, True)
    with jax.enable_x64(True):
        slope, curvature = gradient.derivatives(lambda t: jnp.sum(t**4), public)
    np.testing.assert_allclose(slope, np.mean(4 * public.thetas**3, axis=0), rtol=1e-12)
    wanted = np.diag(np.mean(12 * public.thetas**2, axis=0))
    np.testing.assert_allclose(curvature, wanted, rtol=1e-12, atol=1e-12)
