# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Planted bugs: each is put into a copy of the package, and must be caught there.

They are kept as data beside this file. A bug is caught by an attack that raises an
alarm, or by a test of what a function does that fails; a crash catches nothing.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from dpmcmc.errors import InputError

__all__ = ["Bug", "Caught", "Edit", "bugs", "caught", "table"]

_SOURCE = Path(__file__).parents[1]
_LONGEST = 300
"""Seconds after which a bug counts as not caught."""

_FAILED = 1
"""Exit code of pytest where a test failed."""


@dataclass(frozen=True)
class Edit:
    """Text of a file that is replaced; it must occur in it once."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Bug:
    """A bug, and what must catch it.

    Attributes
    ----------
    name
        What it breaks.
    edits
        How it is put into the source.
    caught_by
        An attack or check, as "group: name", or a test of this project.
    runs
        How many runs suffice; 0 for those of a quick audit.
    is_quick
        Whether it is planted at every change of the project.
    """

    name: str
    edits: tuple[Edit, ...]
    caught_by: str
    runs: int = 0
    is_quick: bool = False

    @property
    def is_for_a_test(self) -> bool:
        """Whether a test must catch it, which only a checkout of the project has."""
        return self.caught_by.startswith("tests/")


@dataclass(frozen=True)
class Caught:
    """What came of planting a bug.

    Attributes
    ----------
    bug
        The bug.
    is_caught
        Whether it was caught, as it must be.
    seconds
        How soon.
    seen
        Of an attack, the bound on ε and the certified ε; of a test, that it fails.
    """

    bug: Bug
    is_caught: bool
    seconds: float
    seen: str


@cache
def bugs() -> tuple[Bug, ...]:
    """All bugs that are kept."""
    kept = tomllib.loads((_SOURCE / "audit" / "planted.toml").read_text("utf-8"))
    return tuple(
        Bug(edits=tuple(Edit(**edit) for edit in one.pop("edit")), **one)
        for one in kept["bug"]
    )


def caught(bug: Bug | None, by: str | None = None, runs: int = 0) -> Caught:
    """Plant a bug in a copy of the package, and see whether it is caught.

    Parameters
    ----------
    bug
        The bug; None for a copy without one, which nothing should catch.
    by, runs
        What should catch it, and in how many runs, if not as the bug says.
    """
    bug = Bug("none", (), by or "", runs) if bug is None else bug
    with TemporaryDirectory() as place:
        folder = Path(place) / "src"
        _plant(bug, folder)
        begun = time.perf_counter()
        judge = _by_test if bug.is_for_a_test else _by_attack
        is_caught, seen = judge(bug, folder)
        return Caught(bug, is_caught, time.perf_counter() - begun, seen)


def table(found: list[Caught]) -> str:
    """Which check caught which bug, and how soon."""
    lines = [
        "| planted bug | caught by | seconds | seen |",
        "| --- | --- | --- | --- |",
    ]
    for one in found:
        by = one.bug.caught_by if one.is_caught else "**not caught**"
        lines.append(f"| {one.bug.name} | {by} | {one.seconds:.0f} | {one.seen} |")
    return "\n".join(lines)


def _plant(bug: Bug, folder: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(_SOURCE, folder / "dpmcmc", ignore=ignored)
    for edit in bug.edits:
        path = folder / "dpmcmc" / edit.file
        text = path.read_text("utf-8")
        if text.count(edit.old) != 1:
            raise InputError(
                f"the planted bug {bug.name!r} does not fit {edit.file}, which has "
                f"changed: the text to replace occurs {text.count(edit.old)} times. "
                "Write it again in planted.toml."
            )
        path.write_text(text.replace(edit.old, edit.new), "utf-8")


def _run(bug: Bug, folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        # a profile of a broken accountant must not be kept for the true one
        "DPMCMC_CACHE": str(folder.parent / "cache"),
        "DPMCMC_NO_COMPILED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run(
        [sys.executable, *command],
        env=environment,
        cwd=_SOURCE.parents[1] if bug.is_for_a_test else folder,
        capture_output=True,
        text=True,
        timeout=_LONGEST,
        check=False,
    )


def _by_attack(bug: Bug, folder: Path) -> tuple[bool, str]:
    runs = ["--runs", str(bug.runs)] if bug.runs else []
    done = _run(bug, folder, "-m", "dpmcmc.audit.single", bug.caught_by, *runs)
    if done.returncode != 0:
        return False, f"it failed: {done.stderr.strip().splitlines()[-1:]}"
    found = json.loads(done.stdout)
    if found["p_value"] is not None:
        return not found["passed"], f"p = {found['p_value']:.1g}"
    seen = f"ε ≥ {found['bound']:.3g}, certified {found['certified']:.3g}"
    return not found["passed"], seen


def _by_test(bug: Bug, folder: Path) -> tuple[bool, str]:
    done = _run(
        bug, folder, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", bug.caught_by
    )
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    is_caught = done.returncode == _FAILED and bool(failed)
    return is_caught, "the test fails" if is_caught else "the test does not fail"
