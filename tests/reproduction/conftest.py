# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One small experiment, and each figure of it, made when a test first asks."""

import io
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from matplotlib.image import imread

from reproduction.drawing import FigureResult
from reproduction.paper_chains import FULL, Experiment
from reproduction.reproduce import FIGURES

TINY = replace(
    FULL,
    records=4000,
    steps=1200,
    runs=3,
    fractions=(1e-3, 1e-2),
    counts=(1000, 20_000),
    pairs=8,
    fits=2,
    iterations=300,
    variances=(1.5, 2.0),
    agreement=(100.0,),
    agreement_length=0.01,
)


Draw = Callable[[str], FigureResult]


@pytest.fixture(scope="session")
def experiment() -> Experiment:
    return Experiment(TINY, progress=False)


@pytest.fixture(scope="session")
def draw(experiment: Experiment) -> Draw:
    """Make a figure by its name, once for all tests, and see that there is something.

    Where a chain in it is not private, red is seen.
    """

    @cache
    def made(name: str) -> FigureResult:
        drawn = FIGURES[name][1](experiment)
        buffer = io.BytesIO()
        drawn.picture.savefig(buffer, dpi=150)
        buffer.seek(0)
        pixels = imread(buffer)[..., :3]
        assert min(pixels.shape[:2]) > 500
        assert pixels.std() > 0.05
        red = np.abs(pixels - np.array([0xB0, 0x00, 0x20]) / 255).max(axis=-1) < 0.02
        assert (red.sum() > 100) == (name in {"2", "3", "agreement"})
        assert len({len(column) for column in drawn.numbers.values()}) == 1
        assert drawn.noted
        return drawn

    return made
