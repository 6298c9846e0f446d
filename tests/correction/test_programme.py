# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The linear programme reaches the least sup-error there is, by its own dual."""

import math
import time

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import expit, ndtr

from dpmcmc.correction import correction_for, linear_programme
from dpmcmc.correction.sup_error import error_at
from dpmcmc.errors import InputError


@pytest.mark.parametrize(
    ("variance", "most"),
    [
        (0.5, 3e-7),
        (1.0, 2e-7),
        (1.5, 2.9e-5),
        (2.0, 6.0e-4),
        (2.5, 3.6e-3),
        (3, 1.4e-2),
    ],
)
def test_the_sup_error_is_small_and_the_fit_quick(variance, most):
    begun = time.perf_counter()
    fit = linear_programme(variance)
    assert time.perf_counter() - begun < 20  # seconds, on a machine that is busy
    assert fit.sup_error() <= most
    assert math.fsum(fit.weights) == 1


@pytest.mark.parametrize(
    "variance", [1.0, 1.26, 1.37, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0, 3.2]
)
def test_no_other_distribution_does_better(variance):
    fit = linear_programme(variance)
    # The lower bound itself is looser for errors as small as those at C = 1.
    slack = 1.05 if variance < 1.2 else 1.005
    assert fit.sup_error() <= slack * least_sup_error(fit)


def test_the_sup_error_grows_with_the_variance():
    # V_cor of a larger C, plus the normal of the difference, serves a smaller one.
    errors = [linear_programme(c).sup_error() for c in np.arange(1.25, 3.25, 0.1)]
    assert errors == sorted(errors)
    # And smoothly: a fit that misses an atom is off by a fifth, which would bend the
    # logarithms by 0.2 before and after it, and by −0.4 at it.
    bends = np.diff(np.log(errors), 2)
    assert bends.min() > -0.3
    assert bends.max() < 0.1


def least_sup_error(fit):
    """A lower bound for every symmetric distribution, proven by duality.

    For numbers λ_i with Σ|λ_i| ≤ 1, any distribution has a sup-error of at least
    Σ λ_i (σ(−y_i) − F̄(y_i)) ≥ Σ λ_i σ(−y_i) − max_m Σ λ_i F̄_m(y_i), where F̄_m is the
    upper tail with atoms at ±m. The points are where the fit's error is extreme.
    """
    scale = math.sqrt(fit.variance)
    parts = (np.array(fit.centres), np.full(len(fit.centres), scale), fit.weights)
    grid = np.linspace(0, 40, 20_001)
    error = np.abs(error_at(grid, *parts))
    inner = (error[1:-1] >= error[:-2]) & (error[1:-1] > error[2:])
    y = grid[1:-1][inner & (error[1:-1] > 0.5 * error.max())]

    def tails(places):
        column = places[:, None]
        return (ndtr((column - y) / scale) + ndtr((-column - y) / scale)) / 2

    # Maximise t with t ≤ Σ λ_i (σ(−y_i) − F̄_m(y_i)) at each m; λ = a − b. Counted in
    # units of the fit's error, which may be below a solver's tolerance.
    # The bound is tightest at the atoms, so they are among the places.
    places = np.union1d(np.linspace(0, 60, 3001), np.abs(fit.centres))
    gain = (expit(-y) - tails(places)) / error.max()
    size = len(y)
    answer = linprog(
        np.r_[np.zeros(2 * size), -1.0],
        A_ub=np.block(
            [
                [-gain, gain, np.ones((len(gain), 1))],
                [np.ones((1, 2 * size)), np.zeros((1, 1))],
            ]
        ),
        b_ub=np.r_[np.zeros(len(gain)), 1.0],
        bounds=[(0, None)] * (2 * size) + [(None, None)],
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
        },
    )
    dual = answer.x[:size] - answer.x[size : 2 * size]
    dual /= np.abs(dual).sum()
    # |d²/dm² F̄_m| ≤ 1/(√(2πe) C), so little hides between places 2·10⁻⁴ apart; beyond
    # 60 the tails of all y ≤ 40 have reached their limit.
    hidden = (2e-4) ** 2 / 8 / (math.sqrt(2 * math.pi * math.e) * fit.variance)
    dense = (expit(-y) - tails(np.linspace(0, 60, 300_001))) @ dual
    return float(dense.min() - hidden)


def test_the_optimum_alternates():
    fit = linear_programme(2.0)
    assert len(fit.centres) == 5
    parts = (np.array(fit.centres), np.full(5, math.sqrt(2)), np.array(fit.weights))
    error = error_at(np.linspace(0, 24, 24_001), *parts)
    inner = np.flatnonzero(np.diff(np.sign(np.diff(error)))) + 1
    tops = error[inner][np.abs(error[inner]) > 0.5 * np.abs(error).max()]
    # Two places, two weights and the error itself: five extrema of equal size.
    assert len(tops) == 5
    assert np.abs(tops) == pytest.approx(np.full(5, np.abs(tops).max()), rel=1e-4)
    assert np.array_equal(np.sign(tops[1:]), -np.sign(tops[:-1]))


@pytest.mark.parametrize("variance", [1e-6, 0.3])
def test_small_variances_inherit_the_sum_of_a_half(variance):
    y = np.linspace(-5, 5, 21)
    half, small = correction_for(0.5), linear_programme(variance)
    assert small.sup_error() <= 1e-10
    assert small.smoothed_cdf(y, variance) == pytest.approx(
        half.smoothed_cdf(y, 0.5), abs=3e-11
    )
    # Each is within its sup-error, below 1.5e-11, of the logistic cdf.
    assert min(small.widths) > 0


def test_a_fit_is_the_same_each_time():
    assert linear_programme(1.7) == linear_programme(1.7)


@pytest.mark.parametrize(
    "variance", [0, -1.0, math.pi**2 / 3, 4, math.nan, math.inf, "2", None, True]
)
def test_an_impossible_variance_is_refused(variance):
    with pytest.raises(InputError, match=r"C is .* between 0 and π²/3 = 3\.2899"):
        linear_programme(variance)
