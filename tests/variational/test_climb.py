# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Climbing the evidence bound, on sums that a test makes up: no record anywhere."""

import jax
import numpy as np
import pytest

from dpmcmc.variational.climb import Problem, climb
from dpmcmc.variational.guides import GuideGradient

TOLD = np.array([[0.5, 0.2], [0.2, 0.3]])
TOP = np.array([0.4, -0.8])
RECORDS = 10_000


class Parabola:
    """Sums of a log-likelihood that is a parabola, with a given noise on them."""

    def __init__(self, gradient, noise):
        self._gradient, self._noise = gradient, noise
        self._generator = np.random.default_rng(1)

    def release(self, public):
        def average(theta):
            return -0.5 * (theta - TOP) @ TOLD @ (theta - TOP)

        with jax.enable_x64(True):
            vector = np.asarray(self._gradient(average, public))
        return 100 * vector + self._noise * self._generator.normal(size=vector.shape)

    def normals(self, count):
        return self._generator.normal(size=count)


def climbed(noise=1e-9, full=True, **changes):
    gradient = GuideGradient(lambda flat: flat, 2, full)
    settings = {
        "gradient": gradient,
        "log_prior": lambda theta: -0.5 * theta @ theta,
        "start": np.zeros(2),
        "scale": np.ones(2),
        "dtype": "float64",
        "batch": 100,
        "noise_multiplier": noise,
        "tempered": float(RECORDS),
        "steps": 200,
        "pairs": 1,
        "clip": 4.0,
        "learning_rate": 0.05,
        "told": np.array([True, True]),
    }
    problem = Problem(**{**settings, **changes})
    steps = []
    found = climb(problem, Parabola(gradient, noise), steps.append)
    assert steps == [1] * problem.steps
    return found


PRECISION = RECORDS * TOLD + np.eye(2)


@pytest.mark.parametrize("rate", [0.02, 0.05, 0.2])
def test_without_noise_it_is_the_posterior_whatever_the_learning_rate(rate):
    mean, covariance = climbed(learning_rate=rate)
    wanted = np.linalg.solve(PRECISION, RECORDS * TOLD @ TOP)
    deviations = np.sqrt(np.diag(np.linalg.inv(PRECISION)))
    assert np.all(np.abs(mean - wanted) < 0.01 * deviations)
    np.testing.assert_allclose(covariance, np.linalg.inv(PRECISION), rtol=1e-6)


def test_a_mean_field_guide_has_the_diagonal_of_the_precision():
    _, covariance = climbed(full=False)
    np.testing.assert_allclose(covariance, np.diag(1 / np.diag(PRECISION)), rtol=1e-6)


@pytest.mark.parametrize("scale", [0.3, 30.0])
def test_a_scale_that_is_off_is_made_up_for(scale):
    mean, covariance = climbed(scale=np.full(2, scale))
    wanted = np.linalg.solve(PRECISION, RECORDS * TOLD @ TOP)
    assert np.all(np.abs(mean - wanted) < 0.01)
    np.testing.assert_allclose(covariance, np.linalg.inv(PRECISION), rtol=1e-6)


def test_noise_does_not_make_the_guide_far_too_wide():
    """Noise as large as all that is told: deviations stay within a factor of two."""
    _, covariance = climbed(noise=40.0)
    deviations = np.sqrt(np.diag(np.linalg.inv(PRECISION)))
    assert np.all(np.sqrt(np.diag(covariance)) < 2 * deviations)


def test_the_guide_is_no_wider_than_the_scale():
    _, covariance = climbed(tempered=1e-3, log_prior=lambda theta: 0.0 * theta[0])
    assert np.all(np.linalg.eigvalsh(covariance) <= 1 + 1e-9)


def test_where_records_tell_nothing_the_prior_leads_alone():
    """However large the noise is there: it is thrown away."""
    told = np.array([True, False])
    log_prior = lambda theta: -2.0 * (theta[1] - 0.3) ** 2  # noqa: E731
    mean, covariance = climbed(
        noise=0.5, told=told, log_prior=log_prior, steps=400, learning_rate=0.02
    )
    np.testing.assert_allclose(mean[1], 0.3, atol=0.05)
    np.testing.assert_allclose(covariance[1], [0.0, 0.25], atol=1e-9)
