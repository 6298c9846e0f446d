# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A place: metrics, what a bound may have cut, the prior, and moves."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from dpmcmc.sampling.fit.basis import Basis
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


def test_a_move_whitens_by_the_curvature_that_was_found() -> None:
    place = place_of([1.0, 4.0], whitening=np.diag([2.0, 0.5]))
    curvature = np.array([[4.0, 1.0], [1.0, 9.0]])
    new = place.moved(np.array([1.0, -1.0]), curvature, np.array([8.0, 1e-6]))
    np.testing.assert_allclose(new.point, [2.0, -0.5])
    turn = np.linalg.solve(place.whitening, new.whitening)
    np.testing.assert_allclose(turn.T @ curvature @ turn, np.eye(2), atol=1e-12)
    assert np.all(new.squares >= 0.3)
    assert not new.is_first
