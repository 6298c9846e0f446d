# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs that are killed: never less charged than read, and always able to go on."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def killed(folder: Path, kills: int, seed: int) -> "subprocess.Popen[str]":
    folder.mkdir()
    worker = [sys.executable, str(HERE / "kill_worker.py"), str(folder)]
    paths = [str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [*worker, str(kills), str(seed)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )


def found(worker: "subprocess.Popen[str]") -> dict[str, Any]:
    shown, _ = worker.communicate()
    assert worker.returncode == 0
    values: dict[str, Any] = json.loads(shown.splitlines()[-1])
    assert values["problems"] == []
    assert not values["forked after JAX"]
    return values


def test_two_kills(tmp_path: Path) -> None:
    values = found(killed(tmp_path / "study", 2, seed=3))
    assert len(values["died"]) == 2
    assert values["events"] > 60


@pytest.mark.slow
def test_two_hundred_kills(tmp_path: Path) -> None:
    workers = [killed(tmp_path / f"study-{seed}", 100, seed) for seed in (1, 2)]
    values = [found(worker) for worker in workers]
    died = [part for each in values for part in each["died"]]
    assert len(died) == 200
    assert sum(each["finished"] for each in values) >= 20
    # They were killed at all kinds of moments.
    assert len(set(died)) >= 20
    assert {"reserved", "asking"} & set(died)
