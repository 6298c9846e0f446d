# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Many processes and one budget: as many run as it holds, in SQLite and PostgreSQL."""

import subprocess
import sys
from pathlib import Path

import pytest
from small_jobs import RECORDS, STEPS, job_in, make_study, no, steps_of, yes

from dpmcmc.accounting import BarkerBit
from dpmcmc.ledger import Ledger
from dpmcmc.workflow import resume, run

RACERS, FIT, CLIP = 16, 5, 0.02


@pytest.mark.slow
def test_sixteen_race_for_a_budget_of_five(folder: Path) -> None:
    steps = _steps_for(folder)
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "dpmcmc.cli", "sample", "model.py:model"),
                *("--data", "people.csv", "--delta", "1e-6", "--scale", "0.3"),
                *("--method", "barker", "--clip", str(CLIP), "--steps", str(steps)),
                *("--ledger", "study.db", "--data-set", "race", "--analyst", "ana"),
                *("--out", f"run-{number}", "--yes"),
            ],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(RACERS)
    ]
    ends = [(process.communicate()[1], process.returncode) for process in processes]
    assert sorted(code for _, code in ends) == [0] * FIT + [2] * (RACERS - FIT)
    assert all("budget of 'race'" in said for said, code in ends if code == 2)
    folders = [path for path in folder.glob("run-*") if path.is_dir()]
    assert len(folders) == FIT
    with Ledger.open(folder / "study.db", create=False) as ledger:
        assert ledger.verify().ok
        view = ledger.overview("race")
    assert [one.state for one in view.runs] == ["closed"] * FIT
    assert 0.8 < view.spent <= 1


def _steps_for(folder: Path) -> int:
    """How many steps take between a sixth and a fifth of a budget."""
    with Ledger.open(folder / "study.db") as ledger:
        ledger.register("race", records=RECORDS, epsilon=1, delta=1e-5)
        bit = BarkerBit(CLIP, RECORDS)

        def fraction(steps: int) -> float:
            return ledger.quote("race", {bit: steps})

        steps = 1
        while fraction(steps + 1) <= 1 / FIT:
            steps += 1
        assert fraction(steps) > 1 / (FIT + 1)
    return steps


@pytest.mark.slow
def test_a_job_charged_in_postgresql(postgres: str, tmp_path: Path) -> None:
    make_study(tmp_path)
    with Ledger.open(postgres) as ledger:
        ledger.register("people", records=RECORDS, epsilon=3, delta=1e-5)
    job = job_in(tmp_path, ledger=postgres, analyst="bo")
    outcome = run(job, tmp_path / "run", ask=yes, progress=False)
    again = resume(tmp_path / "run", ask=no, progress=False)
    assert steps_of(outcome) == steps_of(again)
    assert again.standing == outcome.standing
    with Ledger.open(postgres, create=False) as ledger:
        kinds = [entry.kind for entry in ledger.entries()]
        assert ledger.verify().ok
    assert kinds == ["register", "reserve", *["charge"] * STEPS, "close"]
