# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Many processes at once, and processes that are killed."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ledger_cases import most_steps, opened

from dpmcmc.ledger import Ledger

WORKER = Path(__file__).with_name("ledger_worker.py")


def work(*arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-W", "error", str(WORKER), *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not found.pop("jax"), "the ledger needs no JAX"
    return found


def test_sixteen_race_for_a_budget_that_fits_five(place: str) -> None:
    with opened(place) as ledger:
        # A sixth would need more than is left, whatever the order.
        steps = most_steps(ledger) * 2 // 11
        fates = Counter(work("race", place, 16, steps)["fates"])
        assert fates == {"ran": 5, "refused": 11}
        assert ledger.verify().problems == ()
        overview = ledger.overview("people")
    assert len(overview.runs) == 5
    assert overview.reserved == 0
    assert 0.9 < overview.spent < 0.92


def test_many_begin_one_ledger(place: str) -> None:
    assert work("create", place, 8)["codes"] == [0] * 8
    with Ledger.open(place, create=False) as ledger:
        assert len(ledger.datasets()) == 8
        assert ledger.verify().ok


def check_kills(place: str, kills: int, seed: int) -> None:
    findings = work("kill", place, kills, seed)["findings"]
    assert len(findings) == kills
    # One charge may be stored whose writer was killed before it learned so.
    assert all(heard <= stored <= heard + 1 for heard, stored, _ in findings)
    assert all(problems == [] for *_, problems in findings)
    assert findings[-1][1] > kills / 2, "too few charges to learn anything"


def test_what_was_acknowledged_outlives_a_kill(sqlite: str) -> None:
    check_kills(sqlite, 30, seed=1)


@pytest.mark.slow
def test_what_was_acknowledged_outlives_two_hundred_kills(place: str) -> None:
    check_kills(place, 200, seed=2)
