# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Progress bars of whatever takes long: shown where asked for, with what is done."""

import re
import sys
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from dpmcmc import ControlVariates, Model, RandomWalk, Variational, choose, rehearse
from dpmcmc import sample_not_private as sample_openly
from dpmcmc.models import normal_mean
from dpmcmc.progress import steps_bar
from dpmcmc.rehearsal import automatic, screening
from dpmcmc.surrogates import SufficientStatistics

MODEL = Model(
    lambda theta, record: -0.5 * (record["x"] - theta) ** 2,
    lambda theta: -0.5 * theta**2,
    0.3,
    simulate=lambda theta, key, record: {"x": theta + jax.random.normal(key)},
)
RECORDS = {"x": np.random.default_rng(4).normal(0.3, 1.0, 2000)}
WAY = {"steps": 50, "clip": 0.4, "proposal": RandomWalk(0.1)}


def labels(shown: str) -> list[str]:
    """The labels of all bars, in order, each once."""
    lines = re.split(r"[\r\n]+", shown)
    found = [re.split(r": +\d+(?:%|\D*cost)", line)[0] for line in lines if "[" in line]
    return list(dict.fromkeys(found))


def test_a_bar_says_what_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    with steps_bar(None, "Trying", shown=True, unit="way") as bar:
        bar.say("Trying to find out")
        bar.expect(2)
        for name in ("one", "other"):
            bar.say(f"Trying {name}")
            bar(1)
    shown = capsys.readouterr().err
    assert "Trying to find out: 0way" in shown
    assert "Trying other:  50%" in shown
    last = re.split(r"[\r\n]+", shown.strip())[-1]
    assert last.startswith("Trying: 100%")
    assert "2/2" in last
    assert last.rstrip().endswith(("way/s]", "s/way]"))
    with steps_bar(2, "Trying", shown=False) as bar:
        bar.say("Trying one")
        bar(2)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("broken_at", range(6))
def test_a_terminal_that_goes_away_ends_no_run(
    monkeypatch: pytest.MonkeyPatch, broken_at: int
) -> None:
    """What it is shown for may be paid for already."""

    class Gone:
        left = broken_at

        def write(self, text: str) -> int:
            self.left -= 1
            if self.left < 0:
                raise BrokenPipeError
            return len(text)

        def flush(self) -> None:
            self.write("")

    monkeypatch.setattr(sys, "stderr", Gone())
    moved = []
    with steps_bar(3, "Trying", shown=True) as bar:
        bar.say("Trying hard")
        bar.expect(2)
        for number in range(2):
            bar(1)
            moved.append(number)
    assert moved == [0, 1]


def run_rehearsal(**settings: Any) -> None:
    rehearse(
        MODEL,
        records=200,
        delta=1e-2,
        ways={"wide": WAY, "wider": WAY},
        reference_steps=50,
        **settings,
    )


def test_a_rehearsal_names_the_way_under_trial(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_rehearsal(tempering=100.0)
    shown = capsys.readouterr().err
    assert labels(shown) == [
        "Rehearsing",
        "Rehearsing the reference, tempered to 100",
        "Rehearsing wide, tempered to 100",
        "Rehearsing wider, tempered to 100",
    ]
    assert "3/3" in shown
    assert re.search(r"run/s\]|s/run\]", shown)
    assert "steps" not in shown
    run_rehearsal(progress=False)
    assert capsys.readouterr().err == ""


class Enough(BaseException):
    """The rest is not looked at."""


def test_one_call_certifies_under_a_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ways that are open are named one after another; then it goes on."""

    def stop(*_: Any, **__: Any) -> None:
        raise Enough

    certified = SimpleNamespace(statement=SimpleNamespace(clip=0.01))
    monkeypatch.setattr(automatic, "check_privately", lambda *_, **__: certified)
    monkeypatch.setattr(automatic, "_choose", stop)
    for progress in (True, False):
        with pytest.raises(Enough):
            choose(MODEL, RECORDS, epsilon=4.0, delta=1e-3, progress=progress)
        said = capsys.readouterr()
        assert said.out == ""
        assert bool(said.err) == progress
        if progress:
            assert labels(said.err) == [
                "Certifying",
                "Certifying: which ways are open",
                "Certifying control variates",
                "Certifying model correction",
                "Certifying plain clipping",
            ]
            assert "5/5" in said.err


def test_shares_are_chosen_under_bars(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = automatic.Settings(MODEL, RECORDS)
    task, _ = automatic._task(settings, 1e-3, 4.0)
    found = automatic.Start(0.3, np.eye(1) / 2000, 0.4, 1e-4, "a start")
    capsys.readouterr()
    for progress in (True, False):
        quiet = automatic.replace(settings, progress=progress)
        splits, _ = screening.screened(
            task._replace(settings=quiet), found, np.float32(0.3), None
        )
        assert list(splits) == ["control variates"]
        shown = capsys.readouterr().err
        assert bool(shown) == progress
        if progress:
            assert labels(shown) == [
                "Finding a start on simulated records",
                "Choosing shares",
                "Choosing shares: simulated records",
                "Choosing shares: control variates",
            ]


def openly(
    model: Model,
    control: Any,
    progress: bool,
    records: Any = RECORDS,
    **settings: Any,
) -> None:
    sample_openly(
        model,
        records,
        seed=1,
        steps=20,
        control=control,
        progress=progress,
        **settings,
    )


@pytest.mark.parametrize("rounds", [1, 3])
def test_control_variates_count_records_and_rounds(
    capsys: pytest.CaptureFixture[str], rounds: int
) -> None:
    start = Variational(epsilon=50.0, steps=20)
    control = ControlVariates(epsilon=50.0, rounds=rounds)
    openly(MODEL, control, progress=True, start=start, clip=0.1)
    shown = capsys.readouterr().err
    label = "Control variates (NOT PRIVATE)"
    assert "Finding a start (NOT PRIVATE)" in labels(shown)
    mine = [one for one in labels(shown) if one.startswith("Control")]
    numbered = [f"{label}, round {k} of 3" for k in (1, 2, 3)]
    assert mine == ([label] if rounds == 1 else [label, *numbered])
    assert f"{2000 * rounds}/{2000 * rounds} [" in shown
    assert " records/s]" in shown
    openly(MODEL, control, progress=False, start=start, clip=0.1)
    assert capsys.readouterr().err == ""


def test_statistics_count_records(capsys: pytest.CaptureFixture[str]) -> None:
    model = normal_mean(np.eye(1), radius=9.0)
    control = SufficientStatistics(epsilon=1.0)
    vectors = {"x": RECORDS["x"][:, None]}
    openly(model, control, progress=True, records=vectors)
    shown = capsys.readouterr().err
    assert "Statistics (NOT PRIVATE): 100%" in shown
    assert "2000/2000 [" in shown
