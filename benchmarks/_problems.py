# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Models with simulated records."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dpmcmc import Model, models


class Problem(NamedTuple):
    """A model that starts away from the truth, and its records."""

    model: Model
    records: Any


def mixture(count: int, seed: int) -> Problem:
    """The paper's mixture."""
    generator = np.random.default_rng(seed)
    noise = generator.standard_normal(count, dtype=np.float32)
    x = (generator.integers(0, 2, count) + 2**0.5 * noise).astype(np.float32)
    model = models.two_component_mixture((-100.0, 100.0))
    return Problem(replace(model, initial={"mean": -0.5, "gap": 2.0}), {"x": x})


def mixture_of_three(count: int, seed: int) -> Problem:
    """Three normals with all of their eight parameters unknown."""
    generator = np.random.default_rng(seed)
    part = generator.choice(3, count, p=[0.3, 0.4, 0.3])
    centre, sd = np.array([-4.0, 0.0, 4.0])[part], np.array([0.8, 1.0, 0.8])[part]
    x = (centre + sd * generator.standard_normal(count)).astype(np.float32)
    return Problem(models.mixture((-8.0, 8.0), components=3), {"x": x})


def poisson(count: int, seed: int) -> Problem:
    """Poisson regression with counts of about two."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((count, 4)).astype(np.float32)
    rate = np.exp(x @ np.array([0.3, -0.3, 0.2, 0.1]) + 0.5)
    y = generator.poisson(rate).astype(np.float32)
    model = models.poisson_regression(4, norm=10.0, most=100.0)
    return Problem(model, {"x": x, "y": y})
