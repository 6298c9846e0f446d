# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The Makefile says what is missing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


def run_make(
    folder: Path, target: str, python: str
) -> subprocess.CompletedProcess[str]:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    return subprocess.run(
        ["make", target, f"PYTHON={python}"],
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("target", ["demo", "test"])
def test_an_old_python_is_named(tmp_path: Path, target: str) -> None:
    old = tmp_path / "oldpython"
    old.write_text(
        "#!/bin/sh\n"
        'case "$*" in *version_info*) exit 1;; -V) echo "Python 3.9.2";; esac\n'
    )
    old.chmod(0o755)
    result = run_make(tmp_path, target, str(old))
    assert result.returncode != 0
    assert "needs Python 3.11 or newer" in result.stdout
    assert "Python 3.9.2" in result.stdout
    assert f"make PYTHON=python3.11 {target}" in result.stdout


def test_no_python_at_all_is_said(tmp_path: Path) -> None:
    result = run_make(tmp_path, "demo", "no-such-python")
    assert result.returncode != 0
    assert "there is no 'no-such-python' here" in result.stdout


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ([], ["all"]),
        (["FULL=1"], ["all", "--full"]),
        (["FIGURES=2 3"], ["2", "3"]),
    ],
)
def test_figures_are_quick_unless_asked(settings: list[str], words: list[str]) -> None:
    said = subprocess.run(
        ["make", "--dry-run", "--always-make", "reproduce", *settings],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},  # not the flags of a make that runs this
        capture_output=True,
        text=True,
        check=True,
    )
    *_, last = said.stdout.splitlines()
    assert last.split()[1:] == ["-m", "reproduction", *words]
