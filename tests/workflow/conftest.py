# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A small study in a folder, a finished run of it, and a PostgreSQL server."""

import shutil
from pathlib import Path

import pytest
from ledger.conftest import postgres, server  # noqa: F401 - fixtures
from small_jobs import make_study, run_in

from dpmcmc.workflow import Outcome


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model, a table and a ledger."""
    make_study(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def _finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    folder = tmp_path_factory.mktemp("finished")
    make_study(folder)
    return folder, run_in(folder, purpose="a first look")


@pytest.fixture(scope="session")
def outcome(_finished: tuple[Path, Outcome]) -> Outcome:
    """What a finished run with a ledger returned; not to be changed."""
    return _finished[1]


@pytest.fixture
def finished(_finished: tuple[Path, Outcome], folder: Path) -> Path:
    """A folder whose ``run`` is finished, to be spoilt. The ledger is another copy."""
    shutil.copytree(_finished[0], folder, dirs_exist_ok=True)
    return folder
