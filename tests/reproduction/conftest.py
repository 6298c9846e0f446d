# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One small experiment, and all figures made of it, for the tests of each."""

import csv
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from reproduction.paper_chains import FULL, Experiment
from reproduction.reproduce import reproduce

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


@dataclass(frozen=True)
class Made:
    """A folder of figures, and the summary."""

    folder: Path
    summary: str

    def columns(self, name: str) -> dict[str, np.ndarray]:
        """The numbers of a figure, as they were written."""
        with (self.folder / f"figure_{name}.csv").open(encoding="utf-8") as file:
            heading, *rows = csv.reader(file)
        return dict(zip(heading, np.array(rows, float).T, strict=True))


@pytest.fixture(scope="session")
def experiment() -> Experiment:
    return Experiment(TINY, progress=False)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, experiment: Experiment) -> Made:
    folder = tmp_path_factory.mktemp("figures") / "new"
    return Made(folder, reproduce(["all"], folder, experiment))
