# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What tight clipping leaves: shrunk if it is like noise, believed if it is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from dpmcmc.sampling.fit.excess import Excess, Sizes, shrunken

SIZE = 4
CURVATURE = np.eye(SIZE)
FLAT = np.zeros(SIZE), np.zeros((SIZE, SIZE))
ALIKE = np.ones(SIZE)
VARIANCE = np.full(SIZE, 0.01)


def shrink(
    far: np.ndarray, near: np.ndarray | None = None, lost: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    near = np.zeros(SIZE) if near is None else near
    return shrunken(Excess(near, far, VARIANCE, lost), CURVATURE, FLAT, ALIKE)[:2]


def test_no_excess_is_none_and_its_variance_falls_far_below_the_noise() -> None:
    gradient, variance = shrink(np.zeros(SIZE))
    np.testing.assert_allclose(gradient, 0, atol=1e-12)
    assert np.all(variance < 0.15 * VARIANCE)


def test_an_excess_as_large_as_noise_is_shrunk() -> None:
    far = 0.1 * np.array([1.0, -1.0, 1.0, -1.0])
    gradient, variance = shrink(far)
    assert np.all(np.abs(gradient) < 0.5 * np.abs(far))
    assert np.all(np.sign(gradient) == np.sign(far))
    assert np.all(variance < VARIANCE)


def test_a_large_excess_is_believed() -> None:
    far = 0.1 * np.array([30.0, -30.0, 30.0, 30.0])
    gradient, variance = shrink(far)
    np.testing.assert_allclose(gradient, far, rtol=0.01)
    np.testing.assert_allclose(variance, VARIANCE, rtol=0.1)


def test_what_a_step_leaves_to_the_excess_is_not_shrunk() -> None:
    """A right model, a step s away: near holds (1 − lost) s of it, far lost · s."""
    step, lost = np.array([2.0, 0.0, -1.0, 1.0]), 0.3
    gradient, _ = shrink(lost * step, (1 - lost) * step, lost)
    np.testing.assert_allclose(gradient, step, rtol=0.01)


@given(
    far=some.lists(some.floats(-3, 3), min_size=SIZE, max_size=SIZE),
    size=some.floats(0.1, 10),
)
def test_units_do_not_matter(far: list[float], size: float) -> None:
    row = np.array(far)
    gradient, variance = shrink(row)
    scaled = Excess(np.zeros(SIZE), size * row, size**2 * VARIANCE, 0.0)
    again, more, _ = shrunken(scaled, CURVATURE, FLAT, 7 * ALIKE)
    np.testing.assert_allclose(again, size * gradient, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(more, size**2 * variance, rtol=1e-6)


@pytest.mark.parametrize("size", [0.03, 0.15, 0.6])
def test_a_gradient_lies_between_near_and_both_together(size: float) -> None:
    near, far = np.full(SIZE, 0.2), np.full(SIZE, size)
    gradient, _ = shrink(far, near)
    assert np.all(gradient > near)
    assert np.all(gradient < near + far)


def test_the_error_to_come_is_that_of_noise_or_of_the_excess_itself() -> None:
    """Of one size τ² and noise V it is V τ² / (V + τ²) for each coordinate."""
    sizes = Sizes(np.full((1, SIZE), 4.0), np.ones(1))
    assert sizes.error(VARIANCE) == pytest.approx(SIZE * 0.04 / 4.01)
    assert sizes.error(1e9 * VARIANCE) == pytest.approx(4.0 * SIZE, rel=1e-6)


@pytest.mark.parametrize(("times", "least", "most"), [(0.0, 0.0, 0.4), (30, 0.95, 1)])
def test_a_large_excess_asks_for_its_noise_and_none_for_little(
    times: float, least: float, most: float
) -> None:
    far = times * 0.1 * np.array([1.0, -1.0, 1.0, -1.0])
    excess = Excess(np.zeros(SIZE), far, VARIANCE, 0.0)
    _, _, sizes = shrunken(excess, CURVATURE, FLAT, ALIKE)
    assert least < sizes.error(VARIANCE) / VARIANCE.sum() <= most
