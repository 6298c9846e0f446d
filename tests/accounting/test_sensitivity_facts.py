# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How far apart two records' vectors can be, where their form is known."""

import math

import numpy as np
import pytest
from scipy import optimize


def semidefinite(random, size, bound):
    """A negative semidefinite matrix of Frobenius norm at most ``bound``."""
    rank = random.integers(1, size + 1)
    factor = random.normal(size=(size, rank)) * random.exponential(size=rank)
    matrix = -factor @ factor.T
    return (
        matrix
        * (bound * random.choice([1.0, random.random()]))
        / np.linalg.norm(matrix)
    )


@pytest.mark.parametrize("size", [1, 2, 5])
def test_semidefinite_matrices_are_at_most_root_two_bounds_apart(size):
    random = np.random.default_rng(size)
    furthest = max(
        np.linalg.norm(semidefinite(random, size, 1) - semidefinite(random, size, 1))
        for _ in range(3000)
    )
    assert furthest <= math.sqrt(2) * (1 + 1e-12)
    if size > 1:  # two orthogonal directions
        corners = (
            np.diag([-1.0] + [0.0] * (size - 1)),
            np.diag([0.0, -1.0] + [0.0] * (size - 2)),
        )
        assert np.linalg.norm(corners[0] - corners[1]) == pytest.approx(math.sqrt(2))


def squared_distance(parameters, a, b):
    """Between two records with one predictor: α e and −β e eᵀ, in the plane."""
    alpha, beta, angle, other_alpha, other_beta = parameters
    e = np.array([1.0, 0.0])
    f = np.array([math.cos(angle), math.sin(angle)])
    gradient = a * (math.tanh(alpha) * e - math.tanh(other_alpha) * f)
    beta, other_beta = (b * (1 + math.tanh(x)) / 2 for x in (beta, other_beta))
    hessian = beta * np.outer(e, e) - other_beta * np.outer(f, f)
    return float(np.sum(gradient**2) + np.sum(hessian**2))


@pytest.mark.parametrize("ratio", [0.1, 0.29, 0.5, 1.0, 1.5, 1 + math.sqrt(0.5)])
def test_one_predictor_moves_both_by_no_more_than_the_formula(ratio):
    """Random starts, each climbed to the top: none passes 4a² + b²."""
    a, b = 1.3, 1.3 * math.sqrt(ratio)
    limit = 4 * a**2 + b**2
    random = np.random.default_rng(5)
    best = 0.0
    for start in random.normal(0, 2, (40, 5)):
        found = optimize.minimize(
            lambda x: -squared_distance(x, a, b), start, method="Nelder-Mead"
        )
        best = max(best, -found.fun)
    assert 0.999 * limit < best <= limit * (1 + 1e-9)


def test_beyond_its_range_the_formula_is_passed():
    """At b² = 2.2 a² two Hessians that are not parallel are further apart."""
    a, b = 1.0, math.sqrt(2.2)
    turn = a**2 / (2 * b**2)
    value = squared_distance([20.0, 20.0, math.acos(turn), -20.0, 20.0], a, b)
    assert value > 1.005 * (4 * a**2 + b**2)
    assert value == pytest.approx(2 * a**2 + 2 * b**2 + a**4 / (2 * b**2))
