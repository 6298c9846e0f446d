# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The grid is the tempered posterior of the simulated records."""

import numpy as np
import pytest
from scipy import stats

from dpmcmc import InputError
from reproduction.paper_chains import START, Experiment
from reproduction.paper_mixture import TRUTH, mixture_model, simulate
from reproduction.tempered_grid import tempered_grid


def test_simulated_records_have_the_moments_of_the_model() -> None:
    """Each moment is within 5 standard errors: a false alarm in a million."""
    count = 200_000
    x = simulate(TRUTH, count, np.random.default_rng(5))["x"].astype(float)
    variance = 2 + TRUTH["gap"] ** 2 / 4
    mean = TRUTH["mean"] + TRUTH["gap"] / 2
    assert abs(x.mean() - mean) < 5 * np.sqrt(variance / count)
    assert abs(x.var() - variance) < 5 * variance * np.sqrt(2 / count)


def test_tempered_to_almost_nothing_the_posterior_is_the_prior() -> None:
    x = simulate(TRUTH, 1000, np.random.default_rng(1))["x"]
    grid = tempered_grid(
        mixture_model(START), x, 1e-6, mean=(-16, 16), gap=(-6, 6), points=401
    )
    assert grid.moments()["mean"] == pytest.approx((0.0, 10**0.5), abs=2e-3)
    assert grid.moments()["gap"] == pytest.approx((0.0, 1.0), abs=2e-3)


def test_the_grid_agrees_with_a_sum_over_records(experiment: Experiment) -> None:
    """Bins change the log-density by less than a thousandth."""
    grid, sizes = experiment.grid, experiment.sizes
    sd = 2**0.5
    x = experiment.records["x"].astype(float)

    def log_density(row: int, column: int) -> float:
        mean, gap = grid.mean[row], grid.gap[column]
        both = stats.norm.pdf(x, mean, sd) + stats.norm.pdf(x, mean + gap, sd)
        prior = stats.norm.logpdf(mean, 0, 10**0.5) + stats.norm.logpdf(gap)
        return float(sizes.tempered / sizes.records * np.log(both).sum() + prior)

    cells = [(80, 90), (95, 70), (70, 120)]
    exact = np.array([log_density(*cell) for cell in cells])
    found = np.log([grid.weights[cell] for cell in cells])
    np.testing.assert_allclose(np.diff(found), np.diff(exact), atol=1e-3)


def test_contours_hold_their_probability_and_draws_follow_the_grid(
    experiment: Experiment,
) -> None:
    grid = experiment.grid
    outer, inner = grid.levels((0.5, 0.95))
    for level, probability in ((outer, 0.95), (inner, 0.5)):
        held = grid.weights[grid.weights >= level].sum()
        assert held == pytest.approx(probability, abs=0.01)
    draws = grid.draw(20_000, np.random.default_rng(2))
    for column, (mean, sd) in zip(draws.T, grid.moments().values(), strict=True):
        assert column.mean() == pytest.approx(mean, abs=5 * sd / 20_000**0.5)
        assert column.std() == pytest.approx(sd, rel=0.05)
    low, high = grid.reach("gap")
    assert ((draws[:, 1] >= low) & (draws[:, 1] <= high)).mean() > 0.999


def test_a_grid_that_is_too_narrow_is_refused(experiment: Experiment) -> None:
    with pytest.raises(InputError, match="edge of the grid"):
        tempered_grid(experiment.model, experiment.records["x"], 100.0, gap=(-0.5, 0.5))
