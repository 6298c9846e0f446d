# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Damaged folders of jobs: a clear error that names the file, and nothing read."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from small_jobs import counted, entries, no

from dpmcmc import InputError
from dpmcmc.workflow import report, resume


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


@pytest.mark.parametrize(
    ("name", "harm", "said"),
    [
        ("run.json", Path.unlink, ["there is no", "run.json", "restore a copy"]),
        ("run.json", cut, ["run.json is damaged, or was edited by hand. Restore"]),
        ("run.json", edit, ["run.json is damaged, or was edited by hand. Restore"]),
        ("parts/000004.chunk-000003.npz", flip, ["000004.chunk-000003.npz is damaged"]),
        ("parts/000004.chunk-000003.npz", cut, ["000004.chunk-000003.npz is damaged"]),
        ("parts/000004.chunk-000003.npz", Path.unlink, ["its file 000004 is missing"]),
    ],
)
def test_a_damaged_folder_is_not_gone_on_with(
    finished: Path,
    name: str,
    harm: Callable[[Path], None],
    said: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harm(finished / "run" / name)
    before = entries(finished)
    with counted(monkeypatch) as opened, pytest.raises(InputError) as caught:
        resume(
            finished / "run",
            ask=no,
            progress=False,
            ledger=str(finished / "study.db"),
        )
    for part in said:
        assert part in str(caught.value)
    assert opened == []
    assert entries(finished) == before


@pytest.mark.parametrize("harm", [flip, cut])
def test_a_damaged_posterior_is_made_again_from_the_parts(
    finished: Path, harm: Callable[[Path], None]
) -> None:
    harm(finished / "run" / "posterior.nc")
    with pytest.raises(InputError) as caught:
        report(finished / "run")
    assert "run/posterior.nc is not a posterior that dpmcmc saved, or" in str(
        caught.value
    )
    assert "makes it again from its parts (--resume)" in str(caught.value)
    resume(finished / "run", ask=no, progress=False)
    report(finished / "run")


def test_a_run_that_has_not_ended_has_no_report(finished: Path) -> None:
    (finished / "run" / "posterior.nc").unlink()
    with pytest.raises(InputError, match=r"has not finished\. Continue it"):
        report(finished / "run")


def test_a_folder_of_another_kind_of_run(finished: Path) -> None:
    from dpmcmc.files import RunFolder

    with RunFolder.open(finished / "run", write=True) as folder:
        folder.note({"job": {"model": "model.py:model"}})
    with pytest.raises(InputError, match="is not the folder of a job that this"):
        report(finished / "run")


def test_an_edited_ledger_is_not_written_to(finished: Path) -> None:
    with sqlite3.connect(finished / "study.db") as rows:
        rows.execute("update dpmcmc_entries set payload = '{}' where number = 4")
    with pytest.raises(InputError, match="edited"):
        resume(
            finished / "run",
            ask=no,
            progress=False,
            ledger=str(finished / "study.db"),
        )
