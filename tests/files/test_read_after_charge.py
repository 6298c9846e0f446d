# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Values of a data file are read after the run was agreed to and charged."""

from pathlib import Path
from typing import Any

import pytest
from small_jobs import DeclinedError, entries, job_in, make_study, no, run_in

from dpmcmc import StoppedError
from dpmcmc.files import DataFile, FileError
from dpmcmc.workflow import run


@pytest.fixture
def charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What the ledger held whenever values were read."""
    make_study(tmp_path)
    found: list[list[str]] = []
    original = DataFile.read_values

    def read_values(file: DataFile) -> Any:
        found.append(entries(tmp_path))
        return original(file)

    monkeypatch.setattr(DataFile, "read_values", read_values)
    return found


def test_a_run_that_is_declined_reads_no_value(
    tmp_path: Path, charged: list[list[str]]
) -> None:
    with pytest.raises(DeclinedError):
        run(job_in(tmp_path), tmp_path / "run", ask=no, progress=False)
    assert charged == []


def test_a_run_reads_the_values_once_and_after_its_first_charge(
    tmp_path: Path, charged: list[list[str]]
) -> None:
    run_in(tmp_path)
    assert charged == [["register", "reserve", "charge"]]


def test_a_file_that_changes_before_it_is_read_stops_the_run(
    tmp_path: Path, charged: list[list[str]]
) -> None:
    """What was charged stays charged, and the error tells of no value."""

    def ask(_: object) -> None:
        with (tmp_path / "people.csv").open("a") as file:
            file.write("7777,1\n")

    with pytest.raises(StoppedError) as caught:
        run(job_in(tmp_path), tmp_path / "run", ask=ask, progress=False)
    assert isinstance(caught.value.__cause__, FileError)
    assert "7777" not in f"{caught.value} {caught.value.__cause__}"
    assert len(charged) == 1
