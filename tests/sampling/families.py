# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Ready models with sufficient statistics, and raw records for each."""

import numpy as np

from dpmcmc import models

SIZE = 3

FAMILIES = {
    "bernoulli": models.bernoulli,
    "normal": lambda: models.normal((-4, 6)),
    "normal, known sd": lambda: models.normal((-4, 6), sd=2.0),
    "normal mean": lambda: models.normal_mean(
        np.diag([1.0, 4.0, 9.0]) + 0.5, radius=5.0, centre=[1.0, 0.0, -1.0]
    ),
    "poisson": lambda: models.poisson(9),
    "categorical": lambda: models.categorical(4),
    "linear": lambda: models.linear_regression(SIZE, norm=2.0, bounds=(-5, 8)),
    "linear, known sd": lambda: models.linear_regression(
        SIZE, norm=2.0, bounds=(-5, 8), sd=1.5
    ),
    "linear, no intercept": lambda: models.linear_regression(
        SIZE, norm=2.0, bounds=(-5, 8), intercept=False
    ),
}

HOSTILE = np.array(
    [0.0, 1.0, -1.0, 1e-30, 40.0, -700.0, 1e8, 1e19, 1e38, 1e300, np.inf, np.nan]
)


def records_of(model, generator, count, hostile=False):
    """Raw records of any size, some beyond every bound; or of the ends of floats."""
    columns = {"x": ()} if model.preparation is None else model.preparation.columns
    size = 10.0 ** generator.uniform(-2, 2, size=count)
    found = {}
    for name in columns:
        is_vector = name == "x" and (len(columns) > 1 or _is_vector(model))
        shape = (count, SIZE) if is_vector else (count,)
        values = generator.standard_normal(shape)
        values = values * size.reshape(-1, *[1] * (len(shape) - 1))
        if hostile:
            chosen = generator.choice(HOSTILE, shape)
            values = np.where(generator.random(shape) < 0.7, chosen, values)
        elif _is_coded(model):
            values = generator.integers(0, 4, count).astype(float)
        found[name] = values
    return found


def _is_vector(model):
    return np.ndim(getattr(model.initial, "get", lambda _: 0)("mean")) == 1


def _is_coded(model):
    return "logits" in getattr(model.initial, "keys", lambda: ())()
