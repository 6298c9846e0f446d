# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A small study, a finished run, and the command line with what it printed."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from small_jobs import make_study, run_in

from dpmcmc import cli


class Said(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def refusal(self) -> str:
        """The one line by which it refused."""
        assert self.code == 2
        (line,) = self.err.splitlines()
        assert line.startswith("dpmcmc: ")
        assert line.endswith(".")
        return line


Command = Callable[..., Said]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, a table and a ledger, in which commands are run."""
    make_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def _finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    make_study(folder)
    run_in(folder, purpose="a first look")
    return folder


@pytest.fixture
def finished(_finished: Path, folder: Path) -> Path:
    """A folder whose ``run`` is finished, to be spoilt."""
    shutil.copytree(_finished, folder, dirs_exist_ok=True)
    return folder


@pytest.fixture
def dpmcmc(folder: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command line in this process."""

    def run(words: str, *more: str) -> Said:
        try:
            code = cli.main([*words.split(), *more])
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Said(code, *capsys.readouterr())

    return run


@pytest.fixture
def environment() -> dict[str, str]:
    """For commands in processes of their own, on a wide screen."""
    return {**os.environ, "COLUMNS": "90"}
