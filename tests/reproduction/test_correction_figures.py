# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The supplement's figures: the linear programme is best, and ridge has gaps."""

from collections.abc import Callable

import numpy as np
import pytest

from dpmcmc.correction import Correction
from reproduction.correction_figures import log_density
from reproduction.drawing import FigureResult

Draw = Callable[[str], FigureResult]


def arrays(drawn: FigureResult) -> dict[str, np.ndarray]:
    return {name: np.array(column) for name, column in drawn.numbers.items()}


@pytest.mark.slow
def test_errors_against_the_variance(draw: Draw) -> None:
    found = arrays(draw("4"))
    assert found["C"].tolist() == [1.5, 2.0]
    assert np.all(found["programme"] < found["mixture"])
    assert np.all(found["mixture"] < found["ridge"])
    assert np.all(found["mixture, standard error"] > 0)
    assert np.all(found["programme, seconds"] > 0)


@pytest.mark.slow
def test_log_densities_show_gaps_only_in_ridge(draw: Draw) -> None:
    found = arrays(draw("5"))
    ridge = found["ridge, C = 1.5"]
    assert 0.2 < np.isinf(ridge).mean() < 0.8
    assert np.isfinite(found["mixture, C = 1.5"]).all()
    # One x for each cell of width 0.005: the ridge density integrates to 1.
    _, cells = np.unique(np.rint(found["x"] / 0.005), return_index=True)
    assert (np.exp(ridge[cells]) * 0.005).sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.slow
def test_cdfs_and_their_differences(draw: Draw) -> None:
    found = arrays(draw("6"))
    largest = {
        method: np.abs(found[method] - found["logistic"]).max()
        for method in ("ridge", "mixture", "programme")
    }
    assert largest["programme"] <= 6.0e-4
    assert largest["programme"] < largest["mixture"] < 2e-3
    assert largest["ridge"] > 3e-2


def test_the_density_is_the_slope_of_the_cdf() -> None:
    smooth = Correction.symmetric(1.0, [0.4, 2.0], [0.5, 1.5], [0.7, 0.3])
    x, step = np.linspace(-5, 5, 11), 1e-5
    above, below = (smooth.smoothed_cdf(x + side, 0.0) for side in (step, -step))
    # Central difference: h²/6 times the third derivative (< 10), and rounding 1e-16/h.
    slope = (above - below) / (2 * step)
    assert np.exp(log_density(smooth, x)) == pytest.approx(slope, abs=2e-10)
