# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What rounds know of a gradient adds up as in a Kalman filter."""

import numpy as np
import pytest

from dpmcmc.sampling.fit.curvature import Curvature
from dpmcmc.sampling.fit.known import Known

SIZE = 3
ANYWHERE = np.eye(SIZE) / SIZE
"""Where third derivatives may be."""


def known(mean: float, sd: float) -> Known:
    return Known(np.full(SIZE, mean), sd**2 * np.eye(SIZE))


def test_two_looks_are_weighted_by_their_precision() -> None:
    found = known(1.0, 2.0).combined(known(0.0, 1.0))
    np.testing.assert_allclose(found.mean, 0.2)
    np.testing.assert_allclose(found.covariance, 0.8 * np.eye(SIZE))


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_many_looks_are_one_with_their_precision_added(order: list[int]) -> None:
    """Matrices that do not commute; the means agree, so that nothing is doubted."""
    generator = np.random.default_rng(1)
    roots = generator.normal(size=(3, SIZE, SIZE))
    looks = [Known(np.ones(SIZE), root @ root.T + np.eye(SIZE)) for root in roots]
    first, *others = (looks[at] for at in order)
    for other in others:
        first = other.combined(first)
    precision = sum(np.linalg.inv(look.covariance) for look in looks)
    np.testing.assert_allclose(np.linalg.inv(first.covariance), precision)
    np.testing.assert_allclose(first.mean, np.ones(SIZE))


def test_what_is_contradicted_counts_for_little() -> None:
    """A look 100 sd from what was known: it is believed itself."""
    found = known(100.0, 1.0).combined(known(0.0, 1.0))
    np.testing.assert_allclose(found.mean, 100.0, rtol=1e-3)
    np.testing.assert_allclose(np.diag(found.covariance), 1.0, rtol=1e-3)


def test_a_step_leaves_what_the_curvature_says() -> None:
    curvature = Curvature(np.diag([1.0, 2.0, 3.0]), np.zeros((SIZE, SIZE)))
    step = np.array([0.1, 0.0, 0.0])
    found = known(0.3, 0.0).after(step, curvature, ANYWHERE)
    np.testing.assert_allclose(found.mean, [0.2, 0.3, 0.3])


def test_noise_of_the_curvature_is_multiplied_by_the_step() -> None:
    """Against simulated noise: sd 0.5 on the diagonal, 0.5/√2 off it; 20,000 draws.

    Variances have a standard error of 1%: within 6%, and third derivatives.
    """
    generator = np.random.default_rng(2)
    noise = 0.5 * generator.normal(size=(20_000, SIZE, SIZE))
    noise = (noise + noise.swapaxes(1, 2)) / 2
    diagonal = np.arange(SIZE)
    noise[:, diagonal, diagonal] = 0.5 * generator.normal(size=(20_000, SIZE))
    step = np.array([0.02, -0.01, 0.03])
    expected = np.cov((noise @ step).T)
    curvature = Curvature(np.eye(SIZE), 0.5 * np.eye(SIZE))
    found = known(0.0, 0.0).after(step, curvature, ANYWHERE).covariance
    third = np.sum(step**2) ** 2 / SIZE
    scale = np.trace(expected) / SIZE
    np.testing.assert_allclose(
        found - third * np.eye(SIZE), expected, atol=0.06 * scale
    )


@pytest.mark.parametrize("bends", [np.zeros((SIZE, SIZE)), np.diag([0.0, 1.0, 0.0])])
def test_third_derivatives_are_where_the_model_has_them(bends: np.ndarray) -> None:
    """Their variance is the fourth power of the step's length, in standard units."""
    curvature = Curvature(np.diag([4.0, 1.0, 1.0]), np.zeros((SIZE, SIZE)))
    found = known(0.0, 1.0).after(np.array([1.0, 0.0, 1.0]), curvature, bends)
    np.testing.assert_allclose(found.covariance, np.eye(SIZE) + 25 * bends)


def test_other_coordinates() -> None:
    """Gradients turn by the transpose, so that gᵀ v is the same."""
    turn = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 3.0]])
    one = Known(np.array([1.0, -2.0, 0.5]), np.diag([1.0, 2.0, 3.0]))
    v = np.array([0.3, 0.1, -0.2])
    other = one.turned(turn)
    assert other.mean @ v == pytest.approx(one.mean @ (turn @ v))
    square = (turn @ v) @ one.covariance @ (turn @ v)
    assert v @ other.covariance @ v == pytest.approx(square)
