# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Fifty principal components: accuracy and calibration.

In place of MNIST's sevens and nines: the first 50 principal components of all columns
of UCI Adult, with an intercept, on 12,000 records of the training split. Components
and their scales are those of the test split, which is taken as public.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import dpvi, na_dpvi
from benchmarks.peers.experiments.adult import (
    FILE,
    all_columns,
    measure_all,
    without_privacy,
)
from benchmarks.peers.experiments.base import (
    Experiment,
    Problem,
    interval,
    one_call,
    peer,
)
from benchmarks.peers.experiments.regressions import exact, flat, logistic, model_of
from benchmarks.peers.target import Target

_SIZE, _COUNT = 50, 12_000


@cache
def _components(folder: Path) -> tuple[Any, ...]:
    records, (x, y), _ = all_columns(folder)
    mean = x.mean(0)
    _, _, turned = np.linalg.svd(x - mean, full_matrices=False)
    turned = turned[:_SIZE].T
    scale = np.std((x - mean) @ turned, axis=0)

    def prepared(rows: np.ndarray) -> np.ndarray:
        columns = (rows - mean) @ turned / scale
        return np.column_stack([columns, np.ones(len(rows))]).astype(np.float32)

    train, outcomes = prepared(records["x"][:_COUNT]), records["y"][:_COUNT]
    held = prepared(x), y
    return {"x": train, "y": outcomes}, held, exact(train, outcomes, 1.0)


def make(_: int, folder: Path | None) -> Problem:
    """The table; every run has the same records."""
    assert folder is not None
    records, held, found = _components(folder)
    target = Target(logistic(_SIZE + 1, 1.0), records)
    return Problem(target, found.mean, {"held": held, "sd": found.sd, "exact": found})


_FIT = dpvi.Settings(clip=5.0, scale=250.0, speed=(2 * _SIZE) ** 0.5)

COMPONENTS = Experiment(
    number=9,
    name="components",
    title="50 principal components of UCI Adult, N = 12,000, δ = 1e-5",
    score="error of the calibration curve × 10³",
    epsilons=(1.0, 4.0),
    delta=1e-5,
    make=make,
    methods={
        "dpmcmc, one call": one_call(model_of(_SIZE + 1, 1.0), flat),
        "NA-DPVI": peer(na_dpvi.draws, _FIT),
        "DPVI, aligned": peer(dpvi.draws, replace(_FIT, is_aligned=True)),
        "without privacy": without_privacy,
    },
    measure=measure_all,
    summary=lambda runs: interval(runs, "calibration"),
    published={},
    goal={},
    extras={"accuracy": "accuracy", "width": "sd over that without privacy"},
    needs=FILE,
)
