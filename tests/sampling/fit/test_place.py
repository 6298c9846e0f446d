# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A place: metrics, what a bound may have cut, the prior, and moves."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from oracle import normal_derivatives

from dpmcmc.sampling.fit.basis import Basis
from dpmcmc.sampling.fit.curvature import Curvature
from dpmcmc.sampling.fit.dispersion import Dispersion, Shape
from dpmcmc.sampling.fit.known import Known
from dpmcmc.sampling.fit.place import Place, Setting

RECORDS = 100


def place_of(squares: Any, prior: Any = None, **changes: Any) -> Place:
    squares = np.asarray(squares, float)
    size = len(squares)
    basis = Basis(np.eye(size), np.eye(size), np.zeros((size, 0)))
    setting = Setting(basis, prior, RECORDS, changes.pop("tempering", 1.0))
    changes = {"point": np.zeros(size), "whitening": np.eye(size), **changes}
    return Place(setting, squares=squares, **changes)


def test_at_first_lengths_are_measured_alike_in_all_coordinates() -> None:
    place = place_of([1.0, 16.0], is_first=True)
    np.testing.assert_array_equal(place.metric, 1)
    assert place.typical == pytest.approx(np.sqrt(17))


@given(
    squares=some.lists(some.floats(0.01, 100), min_size=1, max_size=6),
    change=some.lists(some.floats(0.3, 3), min_size=6, max_size=6),
)
def test_no_other_metric_has_less_noise(
    squares: list[float], change: list[float]
) -> None:
    place = place_of(squares)

    def noise(metric: np.ndarray) -> float:
        return float(np.sum(metric**2) * np.sum(place.squares / metric**2))

    other = place.metric * change[: len(squares)]
    assert noise(place.metric) <= noise(other) * (1 + 1e-12)


@given(
    squares=some.lists(some.floats(0.01, 100), min_size=1, max_size=6),
    cut=some.floats(0, 50),
)
def test_what_was_cut_has_its_length(squares: list[float], cut: float) -> None:
    """In g / metric, the root of the variances is the mean length that was cut."""
    place = place_of(squares)
    length = np.sqrt(np.sum(place.cut_variance(cut) / place.metric**2))
    assert length == pytest.approx(cut * place.typical / RECORDS)


def test_what_was_cut_goes_where_gradients_go() -> None:
    found = place_of([1.0, 16.0]).cut_variance(3.0)
    assert found[1] / found[0] == pytest.approx(16.0)


def test_a_prior_counts_per_tempered_record_and_only_downward() -> None:
    hessian = np.diag([-4.0, 2.0])
    prior = SimpleNamespace(at=lambda point: (0.0, np.array([1.0, 2.0]), hessian))
    gradient, curvature = place_of([1.0, 1.0], prior, tempering=0.5).prior
    np.testing.assert_allclose(gradient, np.array([1.0, 2.0]) / 50)
    np.testing.assert_allclose(curvature, np.diag([4.0 / 50, 0.0]), atol=1e-12)


def known_of(mean: np.ndarray, covariance: np.ndarray | None = None) -> Known:
    """A gradient that is known, or with noise."""
    size = len(mean)
    return Known(mean, np.zeros((size, size)) if covariance is None else covariance)


@pytest.mark.parametrize("part", [1.0, 0.3])
def test_a_step_is_taken_in_part(part: float) -> None:
    place = place_of([1.0, 4.0], whitening=np.diag([2.0, 0.5]), point=np.ones(2))
    point, roots = place.moved(np.array([1.0, -1.0]), known_of(np.ones(2)), 0.0, part)
    np.testing.assert_allclose(point, [1 + 2 * part, 1 - 0.5 * part])
    np.testing.assert_array_equal(roots, 1)


def test_a_move_whitens_by_the_curvature_that_was_found() -> None:
    place = place_of([1.0, 4.0], whitening=np.diag([2.0, 0.5]))
    curvature = np.array([[4.0, 1.0], [1.0, 9.0]])
    there = np.array([2.0, -0.5])
    new = place.whitened(there, curvature, np.array([8.0, 1e-6]), np.ones(2))
    np.testing.assert_array_equal(new.point, there)
    turn = np.linalg.solve(place.whitening, new.whitening)
    np.testing.assert_allclose(turn.T @ curvature @ turn, np.eye(2), atol=1e-12)
    assert np.all(new.squares >= 0.3)
    assert not new.is_first


def shaped(place: Place, shape: Shape | None) -> Place:
    """The same of a model of which this is known."""
    return replace(place, setting=replace(place.setting, shape=shape))


# Directions in which third derivatives may be.

SOME_WHITENING = np.array([[1.0, 0.3, 0.0], [0.2, 0.8, 0.1], [0.0, -0.2, 1.2]])


@pytest.mark.parametrize("shape", [None, Shape(None, np.full(3, True))])
def test_where_all_is_bent_a_step_may_change_all(shape: Shape | None) -> None:
    place = shaped(place_of(np.ones(3), whitening=SOME_WHITENING), shape)
    np.testing.assert_allclose(place.bends, np.eye(3) / 3, atol=1e-12)
    assert not place.is_straight


def test_where_nothing_is_bent_a_step_changes_nothing() -> None:
    place = place_of(np.ones(3), whitening=SOME_WHITENING)
    place = shaped(place, Shape(None, np.full(3, False)))
    np.testing.assert_array_equal(place.bends, np.zeros((3, 3)))
    assert place.is_straight


@pytest.mark.parametrize("bent", [0, 1, 2])
def test_one_that_is_bent_moves_gradients_along_one_axis(bent: int) -> None:
    """In v, a change of the derivative by coordinate j is in proportion to row j."""
    place = place_of(np.ones(3), whitening=SOME_WHITENING)
    place = shaped(place, Shape(None, np.arange(3) == bent))
    change = place.whitening.T @ np.eye(3)[bent]
    axis = change / np.linalg.norm(change)
    np.testing.assert_allclose(place.bends, np.outer(axis, axis), atol=1e-12)


def test_two_that_are_bent_share_what_a_step_may_change() -> None:
    place = place_of(np.ones(3), whitening=SOME_WHITENING)
    bends = shaped(place, Shape(None, np.array([True, False, True]))).bends
    np.testing.assert_allclose(np.linalg.eigvalsh(bends), [0, 0.5, 0.5], atol=1e-12)
    there = np.linalg.solve(place.whitening.T, bends)
    np.testing.assert_allclose(there[1], 0, atol=1e-12)


# A normal regression whose log sd is unknown, in closed form.


class Regression:
    """Mean derivatives of records at a point of (b, log sd), and a place there."""

    scaling = Dispersion(2, 1.0, 2.0, np.full(3, True))
    bent = np.array([False, False, True])

    def __init__(self, seed: int = 0) -> None:
        generator = np.random.default_rng(seed)
        x = generator.normal(size=(RECORDS, 2))
        y = x @ [1.0, -2.0] + 3 * generator.normal(size=RECORDS)
        self.x, self.y = x, y
        self.derivatives = normal_derivatives(x, y)
        self.whitening = generator.normal(size=(3, 3)) + 2 * np.eye(3)
        self.point = np.array([0.5, 0.5, 0.2])

    def at(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean gradient, curvature, and mean squares of gradients."""
        gradients, hessians = self.derivatives(theta)
        squares = np.mean(gradients**2, axis=0)
        return gradients.mean(axis=0), -hessians.mean(axis=0), squares

    def place(self, whitening: np.ndarray) -> Place:
        flat = SimpleNamespace(at=lambda _: (0.0, np.zeros(3), np.zeros((3, 3))))
        place = place_of(np.ones(3), flat, whitening=whitening, point=self.point)
        return shaped(place, Shape(self.scaling, self.bent))


@pytest.mark.parametrize("part", [1.0, 0.25])
def test_a_coordinate_that_scales_goes_where_its_gradient_says(part: float) -> None:
    """The log sd to that of the residuals; the others stay."""
    given = Regression()
    gradient, _, _ = given.at(given.point)
    place, nowhere = given.place(given.whitening), np.zeros(3)
    slope = known_of(given.whitening.T @ gradient)
    point, roots = place.moved(nowhere, slope, 0.0, part)
    sd = np.sqrt(np.mean((given.y - given.x @ given.point[:2]) ** 2))
    expected = given.point.copy()
    expected[2] += part * (np.log(sd) - given.point[2])
    np.testing.assert_allclose(point, expected)
    np.testing.assert_allclose(roots, np.exp(given.point[2] - point[2]))


@pytest.mark.parametrize("whitening", [np.eye(3), SOME_WHITENING])
def test_one_exact_step_leads_to_the_mode(whitening: np.ndarray) -> None:
    """Least squares, and the sd of what they leave: others move before the scale."""
    given = Regression()
    gradient, curvature, _ = given.at(given.point)
    place = given.place(whitening)
    known = known_of(whitening.T @ gradient)
    seen = Curvature(whitening.T @ curvature @ whitening, np.zeros((3, 3)))
    move = np.linalg.solve(place.apart(seen, known).mean, known.mean)
    point, _ = place.moved(move, known, 0.0, 1.0)
    b, (squares,), *_ = np.linalg.lstsq(given.x, given.y)
    mode = np.append(b, np.log(squares / RECORDS) / 2)
    np.testing.assert_allclose(point, mode, atol=1e-12)


def test_a_part_of_a_step_gains_what_a_parabola_says() -> None:
    """Of the residuals' mean square, 1 − (1 − part)² of all that can be gained."""
    given, part = Regression(), 0.25
    gradient, curvature, _ = given.at(given.point)
    place, known = given.place(np.eye(3)), known_of(gradient)
    alone = place.apart(Curvature(curvature, np.zeros((3, 3))), known).mean
    point, _ = place.moved(np.linalg.solve(alone, gradient), known, 0.0, part)
    squares = np.mean((given.y - given.x @ point[:2]) ** 2)
    whole = np.log(squares) / 2 - given.point[2]
    np.testing.assert_allclose(point[2], given.point[2] + part * whole)


def test_noise_of_its_gradient_is_its_own() -> None:
    """Of all noise in v only that along the coordinate counts: here a sd of 1."""
    given = Regression()
    place = given.place(given.whitening)
    gradient, turn = np.array([0.1, 0.2, 0.6]), given.whitening
    noise = turn.T @ np.diag([25.0, 49.0, 1.0]) @ turn
    known = known_of(turn.T @ gradient, noise)
    point, _ = place.moved(np.zeros(3), known, 0.0, 1.0)
    assert point[2] == pytest.approx(given.point[2] + np.log(1.3) / 2)


def test_a_step_of_noise_alone_gains_nothing() -> None:
    """Its square is what noise makes of it: what the others seem to gain is noise."""
    given = Regression()
    place, step = given.place(np.eye(3)), np.array([0.3, -0.2, 0.0])
    length = float(np.sqrt(step @ step))
    known = known_of(step)
    still, _ = place.moved(np.zeros(3), known_of(np.zeros(3)), 0.0, 1.0)
    noisy, _ = place.moved(step, known, length, 1.0)
    assert noisy[2] == still[2]
    clear, _ = place.moved(step, known, 0.0, 1.0)
    assert clear[2] < still[2]


def test_coordinates_that_do_not_scale_keep_their_curvature() -> None:
    given = Regression()
    only = given.scaling._replace(scaled=np.array([False, True, True]))
    place = shaped(given.place(np.eye(3)), Shape(only, given.bent))
    gradient = known_of(np.array([0.0, 0.0, 1.0]))
    _, roots = place.moved(np.zeros(3), gradient, 0.0, 1.0)
    np.testing.assert_allclose(roots, [1, np.sqrt(1 / 2), np.sqrt(1 / 2)])


@pytest.mark.parametrize("whitening", [np.eye(3), SOME_WHITENING])
def test_a_scale_apart_loses_its_coupling_alone(whitening: np.ndarray) -> None:
    """Of a log sd with coefficients: twice the gradient by these.

    Its own curvature follows from its gradient, and nothing of it is uncertain.
    """
    given = Regression()
    gradient, curvature, _ = given.at(given.point)
    coupling = np.zeros((3, 3))
    coupling[2, :2] = coupling[:2, 2] = 2 * gradient[:2]
    assert np.linalg.norm(coupling) > 0.5
    wrong = curvature + np.diag([0, 0, 5.0])
    seen = Curvature(whitening.T @ wrong @ whitening, whitening.T @ whitening)
    found = given.place(whitening).apart(seen, known_of(whitening.T @ gradient))
    expected = whitening.T @ (curvature - coupling) @ whitening
    np.testing.assert_allclose(found.mean, expected, atol=1e-12)
    noise = whitening.T @ np.diag([1.0, 1.0, 0.0]) @ whitening
    np.testing.assert_allclose(found.noise, noise, atol=1e-12)


def test_nothing_is_lost_at_the_mode() -> None:
    """Least squares, and the sd of what they leave: gradients are zero there."""
    given = Regression()
    b, (squares,), *_ = np.linalg.lstsq(given.x, given.y)
    mode = np.append(b, np.log(squares / RECORDS) / 2)
    gradient, curvature, _ = given.at(mode)
    np.testing.assert_allclose(gradient, 0, atol=1e-12)
    turn = given.whitening
    whitened = turn.T @ curvature @ turn
    seen = Curvature(whitened, np.zeros((3, 3)))
    found = given.place(turn).apart(seen, known_of(turn.T @ gradient))
    np.testing.assert_allclose(found.mean, whitened, atol=1e-12)


@pytest.mark.parametrize("shape", [None, Shape(None, np.full(3, True))])
def test_without_a_scale_no_curvature_changes(shape: Shape | None) -> None:
    given = Regression()
    gradient, curvature, _ = given.at(given.point)
    place, seen = shaped(given.place(given.whitening), shape), Curvature.whitened(3)
    seen = replace(seen, mean=curvature)
    assert place.apart(seen, known_of(gradient)) is seen


def test_curvature_is_whitened_as_it_is_after_the_scale_has_changed() -> None:
    given = Regression()
    _, curvature, _ = given.at(given.point)
    there = given.point + np.array([0, 0, 0.7])
    place, turn = given.place(given.whitening), given.whitening
    roots = np.full(3, np.exp(-0.7))
    new = place.whitened(there, turn.T @ curvature @ turn, np.ones(3), roots)
    _, scaled, _ = given.at(there)
    found = new.whitening.T @ scaled @ new.whitening
    np.testing.assert_allclose(found, np.eye(3), atol=1e-12)


def test_gradients_are_as_long_as_they_are_after_the_scale_has_changed() -> None:
    """Of the coefficients: they are divided by the variance of the noise."""
    given = Regression()
    _, curvature, squares = given.at(given.point)
    there = given.point - np.array([0, 0, 0.7])
    place, roots = given.place(np.eye(3)), np.full(3, np.exp(0.7))
    new = place.whitened(there, np.diag(np.diag(curvature)), squares, roots)
    expected = np.diag(new.whitening) ** 2 * given.at(there)[2]
    np.testing.assert_allclose(new.squares[:2], expected[:2])
