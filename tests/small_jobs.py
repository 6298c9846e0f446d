# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Small jobs that the tests of the workflow and of the command line share."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.files import DataFile
from dpmcmc.ledger import Ledger
from dpmcmc.workflow import Job, Outcome, Question, run

RECORDS = 200

MODEL = """\
import dpmcmc
from dpmcmc.workflow import Study

mean = dpmcmc.models.normal(bounds=(-9.0, 11.0), sd=1.0)
model = Study(mean, columns=["x"])
number = 3
"""

STEPS = 40
"""The steps of a run. Each is a chunk: so short a run is cut as finely as can be."""

METHODS: dict[str, dict[str, Any]] = {
    "barker": {"clip": 0.01, "steps": STEPS, "scale": 0.3},
    "gaussian-barker": {"clip": 0.01, "steps": STEPS, "scale": 0.3},
    "minibatch-barker": {"batch": 50, "clip": 0.01, "steps": STEPS, "scale": 0.3},
    "sufficient-statistics": {"epsilon": 1.0},
    "control-variates": {"epsilon": 1.0},
}
"""Settings of a small job by each method."""


class DeclinedError(InputError):
    """What somebody raises who is asked and does not want it."""


def yes(question: Question) -> None:
    """Spend it."""


def no(question: Question) -> None:
    raise DeclinedError("no.")


def make_study(folder: Path) -> None:
    """Write a model, a table, and a ledger that holds many runs."""
    for name, content in _study().items():
        (folder / name).write_bytes(content)


@cache
def _study() -> dict[str, bytes]:
    """The files of a study, made once."""
    with TemporaryDirectory() as place:
        _write_study(Path(place))
        return {path.name: path.read_bytes() for path in Path(place).iterdir()}


def _write_study(folder: Path) -> None:
    (folder / "model.py").write_text(MODEL)
    values = np.random.default_rng(5).normal(1.0, 1.0, RECORDS)
    lines = [f"{value:.6f},{place}" for place, value in enumerate(values)]
    (folder / "people.csv").write_text("\n".join(["x,z", *lines]) + "\n")
    register(folder)


def register(folder: Path, name: str = "people", **changes: Any) -> None:
    settings: dict[str, Any] = {
        "records": RECORDS,
        "epsilon": 3.0,
        "delta": 1e-5,
        **changes,
    }
    with Ledger.open(folder / "study.db") as ledger:
        ledger.register(name, **settings)


def job_in(folder: Path, **changes: Any) -> Job:
    """A job on the study of a folder, charged to its ledger."""
    settings: dict[str, Any] = {
        "model": f"{folder}/model.py:model",
        "data": str(folder / "people.csv"),
        "delta": 1e-6,
        "method": "barker",
        "ledger": str(folder / "study.db"),
        "dataset": "people",
        "analyst": "ana",
        **changes,
    }
    usual = {"epsilon": None, **METHODS.get(settings["method"], {})}
    return Job(**{**usual, **settings})


def without_ledger(folder: Path, **changes: Any) -> Job:
    nothing = {"ledger": None, "dataset": "", "analyst": ""}
    return job_in(folder, **nothing, **changes)


def run_in(folder: Path, **changes: Any) -> Outcome:
    return run(job_in(folder, **changes), folder / "run", ask=yes, progress=False)


def entries(folder: Path) -> list[str]:
    """The kinds of all entries of a folder's ledger."""
    with Ledger.open(folder / "study.db", create=False) as ledger:
        return [entry.kind for entry in ledger.entries()]


def steps_of(outcome: Outcome) -> int:
    posterior = outcome.posterior
    return posterior.accepted.shape[1] + posterior.warmup_accepted.shape[1]


class Died(BaseException):
    """Stands for a process that dies at a known moment."""


@contextmanager
def dying(
    patch: Any, where: Any, name: str, *, at: int, error: type[BaseException] = Died
) -> Iterator[None]:
    """Let a method raise an error when it is called for the ``at``-th time."""
    original, calls = getattr(where, name), []

    def called(*given: Any, **named: Any) -> Any:
        calls.append(None)
        if len(calls) == at:
            raise error
        return original(*given, **named)

    with patch.context() as inside:
        inside.setattr(where, name, called)
        yield


@contextmanager
def counted(patch: Any) -> Iterator[list[None]]:
    """Count how often the values of a data file are read."""
    original, read = DataFile.read_values, list[None]()

    def reads(file: DataFile) -> Any:
        read.append(None)
        return original(file)

    with patch.context() as inside:
        inside.setattr(DataFile, "read_values", reads)
        yield read
