# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Planted bugs are caught: ten at every change, all of them by ``make audit``."""

from collections import Counter
from pathlib import Path

import pytest

import dpmcmc
from dpmcmc.audit.catalogue import GROUPS
from dpmcmc.audit.planted import Bug, Edit, bugs, caught
from dpmcmc.errors import InputError

ROOT = Path(__file__).parents[2]
QUICK = [bug for bug in bugs() if bug.is_quick]


def test_there_are_enough() -> None:
    assert len(bugs()) >= 25
    assert len(QUICK) >= 10
    assert max(Counter(bug.name for bug in bugs()).values()) == 1


def test_every_bug_fits_the_source_and_changes_it() -> None:
    for bug in bugs():
        for edit in bug.edits:
            path = Path(dpmcmc.__file__).parent / edit.file
            assert path.read_text("utf-8").count(edit.old) == 1, bug.name
            assert edit.new != edit.old


def test_what_must_catch_a_bug_exists() -> None:
    known = {
        f"{group}: {trial.name}" for group, make in GROUPS.items() for trial in make()
    }
    for bug in bugs():
        if bug.is_for_a_test:
            file, test = bug.caught_by.split("::")
            assert f"def {test}(" in (ROOT / file).read_text("utf-8")
        else:
            assert bug.caught_by in known


@pytest.mark.parametrize("bug", QUICK, ids=lambda bug: bug.name)
def test_a_bug_is_caught(bug: Bug) -> None:
    found = caught(bug)
    assert found.is_caught, found.seen


@pytest.mark.slow
@pytest.mark.parametrize(
    "bug", [bug for bug in bugs() if not bug.is_quick], ids=lambda bug: bug.name
)
def test_every_other_bug_is_caught(bug: Bug) -> None:
    found = caught(bug)
    assert found.is_caught, found.seen


def test_a_copy_without_a_bug_passes() -> None:
    found = caught(None, "full-data: exact test on all records, 1 decision", 100_000)
    assert not found.is_caught
    assert "certified" in found.seen


def test_a_crash_catches_nothing() -> None:
    crash = Edit("private/tape.py", "os.urandom(32)", "1 // 0")
    found = caught(
        Bug("crash", (crash,), "randomness: words of decisions: of each run")
    )
    assert not found.is_caught
    assert "ZeroDivisionError" in found.seen


def test_a_bug_that_no_longer_fits_is_refused() -> None:
    stale = Edit("private/tape.py", "text that is not there", "")
    with pytest.raises(InputError, match="0 times"):
        caught(Bug("stale", (stale,), "releases: histogram"))
