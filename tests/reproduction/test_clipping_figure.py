# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Clipped ratios are counted."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from reproduction.clipping_figure import clipped_fractions
from reproduction.drawing import FigureResult
from reproduction.paper_chains import START
from reproduction.paper_mixture import mixture_model, simulate


def test_clipped_fractions_are_those_of_a_normal_tail() -> None:
    """Where the ratio is linear in the record; within 5 standard errors, 1e-6."""
    records = simulate({"mean": 0.0, "gap": 0.0}, 50_000, np.random.default_rng(3))
    points = np.zeros((2, 2))
    directions = np.random.default_rng(4).standard_normal(points.shape)
    flat = replace(
        mixture_model(START),
        log_likelihood=lambda theta, record: theta["mean"] * record["x"] / 2,
    )
    variance, clip = 0.04, 0.15
    (found,) = clipped_fractions(
        flat, records["x"], points, [variance], [clip], np.random.default_rng(4)
    )
    reach = clip / np.abs(variance**0.5 * directions[:, 0] / 2)
    expected = 2 * stats.norm.sf(reach / 2**0.5)
    assert found.fraction == pytest.approx(expected.mean(), abs=5 * 0.5 / 50_000**0.5)
    spread = expected.std(ddof=1) / 2**0.5
    assert found.standard_error == pytest.approx(spread, abs=0.01)


def test_longer_moves_and_narrower_clips_clip_more(
    draw: Callable[[str], FigureResult],
) -> None:
    table = np.reshape(draw("1c").numbers["fraction clipped"], (-1, 3))
    assert np.all(np.diff(table, axis=0) >= 0)
    assert np.all(np.diff(table, axis=1) <= 0)
    assert table[-1, 0] > 0.5
