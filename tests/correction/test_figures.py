# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The supplement's figures are drawn, and their numbers tell its story."""

import numpy as np
import pytest
from matplotlib.image import imread

from dpmcmc.errors import InputError
from dpmcmc.experiments.correction_figures import (
    approximation_errors,
    cdfs,
    log_densities,
)


def is_drawn(path):
    pixels = imread(path)[..., :3]
    return pixels.std() > 0.05 and min(pixels.shape[:2]) > 500


def test_errors_against_the_variance(tmp_path):
    table = approximation_errors(tmp_path / "errors.png", variances=(1.5, 2.0), runs=1)
    assert is_drawn(tmp_path / "errors.png")
    assert table["C"] == [1.5, 2.0]
    for programme, mixture, ridge in zip(
        table["linear_programme"],
        table["gaussian_mixture"],
        table["ridge"],
        strict=True,
    ):
        assert programme < mixture < ridge
    assert np.isnan(table["gaussian_mixture_sem"]).all()
    with pytest.raises(InputError, match="runs"):
        approximation_errors(runs=0)


def test_log_densities_show_gaps_only_in_ridge(tmp_path):
    table = log_densities(tmp_path / "densities.png", variances=(1.0, 1.5))
    assert is_drawn(tmp_path / "densities.png")
    x = np.array(table["x"])
    ridge = np.array(table["ridge, C = 1.5"])
    assert 0.2 < np.isinf(ridge).mean() < 0.8
    assert np.isfinite(table["gaussian_mixture, C = 1.5"]).all()
    # One x for each cell of width 0.005: the ridge density integrates to 1.
    _, cells = np.unique(np.rint(x / 0.005), return_index=True)
    assert (np.exp(ridge[cells]) * 0.005).sum() == pytest.approx(1, abs=1e-9)


def test_cdfs_and_their_differences(tmp_path):
    table = cdfs(tmp_path / "cdfs.png")
    assert is_drawn(tmp_path / "cdfs.png")
    logistic = np.array(table["logistic"])
    worst = {
        method: np.abs(np.array(table[method]) - logistic).max()
        for method in ("ridge", "gaussian_mixture", "linear_programme")
    }
    assert worst["linear_programme"] <= 6.0e-4
    assert worst["linear_programme"] < worst["gaussian_mixture"] < 2e-3
    assert worst["ridge"] > 3e-2
