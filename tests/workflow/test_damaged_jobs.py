# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Damaged folders of jobs: a clear error that names the file, and nothing read."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from small_jobs import counted, entries, no

from dpmcmc.files import FileError
from dpmcmc.ledger import LedgerError
from dpmcmc.workflow import report, resume


def go_on(folder: Path) -> None:
    ledger = str(folder / "study.db")
    resume(folder / "run", ask=no, progress=False, ledger=ledger)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def edit(path: Path) -> None:
    facts = json.loads(path.read_text())
    facts["facts"]["job"]["epsilon"] = 100.0
    path.write_text(json.dumps(facts))


CHUNK = "parts/000010.chain-chunk-000003.npz"


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("run.json", Path.unlink),
        ("run.json", cut),
        ("run.json", edit),
        (CHUNK, flip),
        (CHUNK, cut),
        (CHUNK, Path.unlink),
        ("parts/000000.charged-chain-chunk-000000.npz", flip),
    ],
)
def test_a_damaged_folder_is_not_gone_on_with(
    finished: Path,
    name: str,
    harm: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harm(finished / "run" / name)
    before = entries(finished)
    with counted(monkeypatch) as read, pytest.raises(FileError) as caught:
        go_on(finished)
    assert name.split(".", maxsplit=1)[0].removeprefix("parts/") in str(caught.value)
    assert read == []
    assert entries(finished) == before


@pytest.mark.parametrize("harm", [flip, cut])
def test_a_damaged_posterior_is_made_again_from_the_parts(
    finished: Path, harm: Callable[[Path], None]
) -> None:
    harm(finished / "run" / "posterior.nc")
    with pytest.raises(FileError, match=r"posterior\.nc"):
        report(finished / "run")
    go_on(finished)
    report(finished / "run", ledger=str(finished / "study.db"))


def test_a_run_that_has_not_ended_has_no_report(finished: Path) -> None:
    (finished / "run" / "posterior.nc").unlink()
    with pytest.raises(FileError, match="--resume"):
        report(finished / "run")


def test_an_edited_ledger_is_not_written_to(finished: Path) -> None:
    with sqlite3.connect(finished / "study.db") as rows:
        rows.execute("update dpmcmc_entries set payload = '{}' where number = 4")
    with pytest.raises(LedgerError, match="edited"):
        go_on(finished)
