# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Ridge regression solves Seita et al.'s equations, and fails for large C."""

import numpy as np
import pytest
from scipy.special import expit, ndtr

from dpmcmc import InputError
from reproduction.ridge_fit import ridge


def by_matrices(variance, reach, intervals, penalty):
    """The regression as it is written down, with dense matrices."""
    atoms = np.linspace(-reach, reach, intervals + 1)
    points = np.linspace(-2 * reach, 2 * reach, 2 * intervals + 1)
    matrix = ndtr((points[:, None] - atoms) / np.sqrt(variance))
    normal = matrix.T @ matrix + penalty * np.eye(len(atoms))
    weights = np.maximum(np.linalg.solve(normal, matrix.T @ expit(points)), 0.0)
    return atoms, weights / weights.sum()


@pytest.mark.parametrize("variance", [0.5, 1.0, 2.0])
def test_the_weights_solve_the_dense_equations(variance):
    atoms, weights = by_matrices(variance, 8.0, 240, 3.0)
    fit = ridge(variance, reach=8.0, step=16 / 240, penalty=3.0)
    symmetric = (weights + weights[::-1]) / 2
    y = np.linspace(-12, 12, 49)
    expected = ndtr((y[:, None] - atoms) / np.sqrt(variance)) @ symmetric
    # Both solve the same equations to about 1e-9 of weights that sum to 1.
    assert fit.smoothed_cdf(y, variance) == pytest.approx(expected, abs=1e-8)
    assert len(fit.centres) == np.count_nonzero(symmetric)


@pytest.mark.slow
def test_negative_weights_become_gaps_that_widen_with_the_variance():
    kept = [len(ridge(variance).centres) for variance in (0.5, 1.0, 1.5, 2.0)]
    assert kept == sorted(kept, reverse=True)
    assert kept[-1] < 0.7 * 4001 < kept[0]


def test_the_variance_is_too_high_beyond_one():
    logistic = np.pi**2 / 3
    assert second_moment(ridge(1.0)) == pytest.approx(logistic - 1, rel=0.05)
    assert second_moment(ridge(2.0)) > 2 * (logistic - 2)


def second_moment(fit):
    return np.square(fit.centres) @ fit.weights


@pytest.mark.slow
def test_ridge_does_well_up_to_one_and_badly_at_two():
    assert ridge(0.5).sup_error() < ridge(1.0).sup_error() < 1e-3
    assert ridge(2.0).sup_error() > 3e-2


def test_an_impossible_variance_is_refused():
    with pytest.raises(InputError, match=r"C is 3\.5"):
        ridge(3.5)
