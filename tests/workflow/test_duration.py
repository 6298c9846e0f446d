# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How long a run will take is told before it is agreed to, and nothing is read."""

from pathlib import Path
from typing import Any

import pytest
from small_jobs import DeclinedError, counted, make_study, without_ledger

from dpmcmc.cli.sample_command import _duration
from dpmcmc.workflow import Job, Question, run
from dpmcmc.workflow import duration as module

MANY = 10**6


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_study(tmp_path)
    return tmp_path


def asked(job: Job, folder: Path) -> Question:
    """What somebody is asked who does not want the run."""
    seen: list[Question] = []

    def ask(question: Question) -> None:
        seen.append(question)
        raise DeclinedError("no.")

    with pytest.raises(DeclinedError):
        run(job, folder / "run", ask=ask, progress=False)
    return seen[0]


def long_job(folder: Path, **changes: Any) -> Job:
    return without_ledger(folder, **{"clip": 1e-5, "steps": MANY, **changes})


def test_a_long_run_is_timed_on_made_up_records(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice as many decisions take twice as long, but for what is compiled."""
    monkeypatch.setattr(module, "_value_time", lambda problem: 1e-6)
    with counted(monkeypatch) as read:
        one = asked(long_job(folder), folder).seconds
        two = asked(long_job(folder, steps=2 * MANY), folder).seconds
    assert read == []
    assert one is not None
    assert two is not None
    assert two - module._COMPILING == pytest.approx(2 * (one - module._COMPILING))


def test_the_timing_is_of_the_model(folder: Path) -> None:
    seconds = asked(long_job(folder), folder).seconds
    assert seconds is not None
    assert module._COMPILING < seconds < 3600


@pytest.mark.parametrize("method", ["control-variates", "barker"])
def test_records_of_persons_and_fits_are_timed_too(
    folder: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SHORT", 1)
    changes: dict[str, Any] = {"unit": "z", "most": 2}
    if method == "barker":
        changes |= {"method": method, "clip": 1e-5, "steps": 100, "scale": 0.3}
    else:
        changes |= {"method": method}
    question = asked(without_ledger(folder, **changes), folder)
    assert question.statement.unit == "z"
    assert question.seconds is not None
    assert question.seconds > module._COMPILING


def test_a_short_run_needs_no_timing(folder: Path) -> None:
    assert asked(without_ledger(folder), folder).seconds is None


def test_a_batch_reads_less(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SHORT", 1)
    monkeypatch.setattr(module, "_value_time", lambda problem: 1.0)
    whole = asked(without_ledger(folder, clip=1e-5), folder).seconds
    part = asked(without_ledger(folder, method="minibatch-barker"), folder).seconds
    assert whole is not None
    assert part is not None
    assert 3.9 < (whole - 10) / (part - 10) < 4.1


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (5, "less than a minute"),
        (61, "about 1 minute on"),
        (299, "about 5 minutes"),
        (3500, "about 1 hour on"),
        (10**5, "about 1 day"),
    ],
)
def test_durations_are_rough(seconds: float, words: str) -> None:
    assert words in _duration(seconds)
