# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The audit itself: what it attacks, how tight it is, and what it says."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from dpmcmc.accounting import Certificate, GaussianRelease
from dpmcmc.audit import Attack, Audit, Check, Size, audit, plot_audit
from dpmcmc.audit.attack import attempt
from dpmcmc.audit.bounds import Scores
from dpmcmc.audit.catalogue import GROUPS
from dpmcmc.audit.default_run import default_run_attacks
from dpmcmc.audit.planted import bugs
from dpmcmc.cli import main
from dpmcmc.errors import InputError

FAST = ("full-data", "batches", "methods", "releases", "protection", "randomness")
"""Attacks that take seconds. With the fixed keys of tests, they come out alike."""


@pytest.fixture(scope="module")
def found() -> Audit:
    return audit(Size.QUICK, groups=FAST)


def test_no_certificate_is_broken(found: Audit) -> None:
    assert [one.name for one in found.findings if not one.passed] == []
    for one in found.findings:
        assert one.bound is None or one.bound <= one.certified


def test_certificates_that_should_be_tight_are(found: Audit) -> None:
    tight = {one.name: one.tightness for one in found.findings if one.goal is not None}
    assert len(tight) >= 10
    goals = {one.name: one.goal for one in found.findings}
    assert {name for name, part in tight.items() if part < goals[name]} == set()


def test_every_kind_of_release_is_attacked(found: Audit) -> None:
    attacked = {
        type(event)
        for group in FAST
        for trial in GROUPS[group]()
        if isinstance(trial, Attack)
        for event in trial.events
    }
    assert {kind.__name__ for kind in attacked} == {
        "BarkerBit",
        "GaussianBarkerBit",
        "MinibatchBit",
        "GaussianRelease",
        "LaplaceRelease",
    }


def test_whoever_is_protected_is_attacked() -> None:
    """A record of a person, one that may be missing, in parts, or there at all."""
    names = " ".join(trial.name for trial in GROUPS["protection"]())
    for what in ("persons", "one more", "one less", "missing", "in parts"):
        assert what in names


@pytest.mark.slow
def test_the_default_run_is_tight() -> None:
    """At least 70%, of runs that are as many as in a whole audit.

    The bound scatters by about 0.02 of the certified ε then.
    """
    (attack,) = default_run_attacks()
    found = attempt(attack, attack.runs[Size.WHOLE], 100)
    assert found.passed
    assert found.goal == 0.7
    assert found.tightness >= 0.7


def certain(runs: int) -> Scores:
    return Scores(np.ones(runs), np.zeros(runs))


def test_a_broken_certificate_is_an_alarm() -> None:
    attack = Attack(
        "all is told", {GaussianRelease(1.0): 1}, 1e-5, certain, {Size.QUICK: 9}, 0.5
    )
    assert attempt(attack, 5, 100).passed
    alarm = attempt(attack, 100_000, 100)
    assert not alarm.passed
    assert alarm.bound > alarm.certified
    told = str(Audit((alarm,), Size.QUICK))
    assert "ALARM" in told
    assert "1 alarm." in told


def test_a_certificate_that_is_no_number_is_an_alarm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attack = Attack(
        "no number", {GaussianRelease(1.0): 1}, 1e-5, certain, {Size.QUICK: 9}, 0.5
    )
    broken = Certificate(math.nan, 1e-5, "broken")
    monkeypatch.setattr("dpmcmc.audit.attack.certify_epsilon", lambda *_: broken)
    assert not attempt(attack, 9, 100).passed


def test_no_more_runs_are_made_at_once_than_memory_holds() -> None:
    made: list[int] = []

    def play(runs: int) -> Scores:
        made.append(runs)
        return Scores(np.zeros(runs, np.int8), np.zeros(runs, np.int8))

    attack = Attack("many", {GaussianRelease(1.0): 1}, 1e-5, play, {Size.QUICK: 9}, 0.5)
    assert attempt(attack, 7_000_000, 100).runs == 7_000_000
    assert made == [3_000_000, 3_000_000, 1_000_000]


def test_randomness_that_is_none_is_an_alarm() -> None:
    check = Check("the same again", lambda runs: 1e-9, {Size.QUICK: 1})
    assert not attempt(check, 1, 100).passed


def test_unknown_attacks_are_refused() -> None:
    with pytest.raises(InputError, match="'everything'"):
        audit(groups=["everything"])


def test_the_picture(found: Audit, tmp_path: Path) -> None:
    path = tmp_path / "audit.png"
    figure = plot_audit(found, path)
    assert path.read_bytes().startswith(b"\x89PNG")
    attacks = [one for one in found.findings if one.certified is not None]
    assert len(figure.axes[0].patches) == len(attacks)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--quick", "--only", "randomness", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["passed"] is True
    assert [one["name"] for one in told["findings"]] == [
        one.name for one in GROUPS["randomness"]()
    ]


def test_the_command_refuses_unknown_attacks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["audit", "--only", "nothing"]) == 2
    assert "full-data" in capsys.readouterr().err


def test_no_part_of_the_page_is_lost() -> None:
    """Tables are written between marks, and everything about them stays."""
    page = (Path(__file__).parents[2] / "docs" / "audit.md").read_text("utf-8")
    for name in ("again", "attacks", "bugs"):
        first, last = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        assert page.count(first) == page.count(last) == 1
        assert page.index(first) < page.index(last)
    for bug in bugs():
        assert f"| {bug.name} |" in page
