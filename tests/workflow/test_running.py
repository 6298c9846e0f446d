# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A job from its files to its report, with a ledger and without."""

import json
from pathlib import Path
from typing import Any

import pytest
from small_jobs import (
    RECORDS,
    STEPS,
    DeclinedError,
    Died,
    counted,
    dying,
    entries,
    job_in,
    no,
    register,
    run_in,
    steps_of,
    without_ledger,
    yes,
)

from dpmcmc import InputError, NotUsableError, Posterior, Statement, StoppedError
from dpmcmc.accounting import BarkerBit
from dpmcmc.files import RunFolder
from dpmcmc.ledger import Ledger, OverBudgetError
from dpmcmc.workflow import (
    FolderCheckpoint,
    LedgerCheckpoint,
    Outcome,
    Question,
    how_it_stands,
    interrupted,
    report,
    resume,
    run,
)


def test_a_job_leaves_draws_a_statement_and_a_report(outcome: Outcome) -> None:
    folder = outcome.folder
    assert steps_of(outcome) == STEPS
    statement = Posterior.load(folder / "posterior.nc").statement
    assert statement == outcome.posterior.statement
    assert (folder / "statement.txt").read_text() == f"{statement}\n"
    assert Statement.from_json((folder / "statement.json").read_text()) == statement
    page = outcome.report.read_text()
    assert "<title>a first look" in page
    assert "model.py:model" in page
    assert str(folder.parent) not in page  # where it ran is nobody's business
    kept = [part for part in RunFolder.open(folder).parts() if "charged" not in part]
    assert kept == [f"chain-chunk-{number:06d}" for number in range(STEPS)]


def test_the_ledger_was_charged_for_every_chunk_and_closed(outcome: Outcome) -> None:
    kinds = ["register", "reserve", *["charge"] * STEPS, "close"]
    assert entries(outcome.folder.parent) == kinds
    assert outcome.standing is not None
    (view,) = outcome.standing.runs
    assert (view.state, view.analyst, view.purpose) == ("closed", "ana", "a first look")
    assert outcome.standing.spent == view.spent > 0
    assert outcome.standing.reserved == 0


SCHEMA = {"columns": {"x": {"type": "number", "bounds": [-5, 5]}}}


def test_a_job_without_a_ledger(folder: Path) -> None:
    asked: list[Question] = []
    job = without_ledger(folder, method="barker", schema=SCHEMA)
    outcome = run(job, folder / "run", ask=asked.append, progress=False)
    assert outcome.standing is None
    assert (asked[0].standing, asked[0].fraction) == (None, None)
    statement = outcome.posterior.statement
    assert statement.is_private
    assert statement.prepared == (
        "x: number, clamped to [-5, 5], then clamped to [-9, 11]",
    )
    assert "chain" in [row.name for row in statement.stages]
    assert entries(folder) == ["register"]
    assert outcome.report.exists()


def test_the_question_shows_cost_and_budget(folder: Path) -> None:
    asked: list[Question] = []

    def ask(question: Question) -> None:
        asked.append(question)
        no(question)

    with pytest.raises(DeclinedError):
        run(job_in(folder), folder / "run", ask=ask, progress=False)
    (question,) = asked
    (chain,) = question.statement.stages
    assert (chain.numbers["steps"], chain.fraction) == (STEPS, 1.0)
    assert question.standing is not None
    assert question.fraction is not None
    assert 0 < question.fraction < 0.2
    said = how_it_stands(question.standing)
    for part in ("people", "ε = 3", "0.00%", "100.00%"):
        assert part in said


@pytest.mark.parametrize("exists", [False, True])
def test_a_run_that_is_declined_leaves_nothing(
    folder: Path, exists: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = folder / "run"
    if exists:
        out.mkdir()
    with counted(monkeypatch) as read, pytest.raises(DeclinedError):
        run(job_in(folder), out, ask=no, progress=False)
    assert read == []
    assert out.exists() == exists
    assert not exists or list(out.iterdir()) == []
    assert entries(folder) == ["register"]


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": "persons"},
        {"dataset": ""},
        {"dataset": "beasts"},
        {"dataset": "small"},
        {"ledger": "absent.db"},
        {"ledger": None},
        {"only": True, "ledger": None, "dataset": ""},
        {"data": "absent.csv"},
        {"data": None},
        {"columns": ("y",)},
        {"schema": {"columns": {"q": {"type": "number"}}}},
        {"schema": {"columns": {"x": {"type": "number", "bounds": [1, 0]}}}},
        {"schema": "absent.yaml"},
        {"delta": 2.0},
        {"scale": -1.0},
        {"scale": None},
        {"method": "metropolis"},
        {"method": "minibatch-barker", "batch": 10**6},
        {"clip": None, "steps": None, "epsilon": -1.0},
        {"start": "elsewhere"},
        {"precision": "float16"},
        {"chains": 0},
    ],
    ids=str,
)
def test_what_is_refused_reads_nothing_and_asks_nobody(
    folder: Path, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    register(folder, "beasts", records=300)
    register(folder, "small", epsilon=0.05)
    monkeypatch.chdir(folder)

    def never(question: Question) -> None:
        raise AssertionError("was asked")

    with counted(monkeypatch) as read, pytest.raises(InputError):
        run(job_in(folder, **changes), folder / "run", ask=never, progress=False)
    assert read == []
    assert not (folder / "run").exists()
    assert entries(folder) == ["register"] * 3


def test_a_run_that_comes_second_while_somebody_thinks_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(folder, "small", epsilon=0.4)
    job = job_in(folder, dataset="small", steps=60)

    def meanwhile(question: Question) -> None:
        with Ledger.open(folder / "study.db") as ledger:
            ledger.reserve("small", {BarkerBit(0.01, RECORDS): 60}, analyst="bo")

    with counted(monkeypatch) as read, pytest.raises(OverBudgetError):
        run(job, folder / "run", ask=meanwhile, progress=False)
    assert read == []
    assert not (folder / "run").exists()
    assert entries(folder).count("reserve") == 1


def test_an_only_run_takes_the_whole_budget(folder: Path) -> None:
    outcome = run_in(folder, only=True)
    assert outcome.standing is not None
    assert outcome.standing.spent == 1
    with pytest.raises(OverBudgetError):
        run(job_in(folder), folder / "other", ask=yes, progress=False)
    assert not (folder / "other").exists()


def test_a_folder_that_holds_things_is_refused_and_kept(folder: Path) -> None:
    with pytest.raises(InputError):
        run(job_in(folder), folder, ask=yes, progress=False)
    assert (folder / "model.py").exists()
    assert entries(folder) == ["register"]


def test_a_report_is_written_anew(finished: Path) -> None:
    page = finished / "run" / "report.html"
    page.unlink()
    assert report(finished / "run", title="Ages & means") == page
    assert "<title>Ages &amp; means" in page.read_text()


def test_what_is_not_usable_is_kept_and_the_rest_is_given_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objection = "dpmcmc.sampling.sufficient_statistics._Sum.objection"
    monkeypatch.setattr(objection, lambda *_: "the noise hides everything.")
    job = job_in(folder, method="sufficient-statistics")
    with pytest.raises(NotUsableError) as caught:
        run(job, folder / "run", ask=yes, progress=False)
    assert caught.value.stage == "sum"
    kept = RunFolder.open(folder / "run")
    assert kept.parts() == ("charged-sum-sum", "sum-sum")
    assert not (folder / "run" / "posterior.nc").exists()
    statement = json.loads((folder / "run" / "statement.json").read_text())
    assert [row["name"] for row in statement["stages"]] == ["sum", "chain"]
    assert (folder / "run" / "statement.txt").exists()
    assert entries(folder)[1:] == ["reserve", "charge", "close"]
    # To go on says the same, reads nothing and charges nothing.
    with counted(monkeypatch) as read, pytest.raises(NotUsableError):
        resume(folder / "run", ask=no, progress=False)
    assert read == []
    assert entries(folder).count("charge") == 1


def test_a_reservation_of_a_dead_process_is_given_back_when_not_usable(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_in(folder, method="sufficient-statistics")
    with monkeypatch.context() as dead:
        dead.setattr(LedgerCheckpoint, "give_back", lambda self: None)
        with dying(dead, FolderCheckpoint, "keep", at=2), pytest.raises(Died):
            run(job, folder / "run", ask=yes, progress=False)
    assert entries(folder)[-1] == "charge"
    objection = "dpmcmc.sampling.sufficient_statistics._Sum.objection"
    monkeypatch.setattr(objection, lambda *_: "the noise hides everything.")
    with pytest.raises(NotUsableError):
        resume(folder / "run", ask=no, progress=False)
    assert entries(folder)[-2:] == ["resume", "close"]


def test_a_run_that_fails_says_how_to_go_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        dying(monkeypatch, FolderCheckpoint, "keep", at=6, error=RuntimeError),
        pytest.raises(StoppedError) as caught,
    ):
        run(job_in(folder), folder / "run", ask=yes, progress=False)
    assert isinstance(caught.value.__cause__, RuntimeError)
    (note,) = caught.value.__notes__
    assert note == interrupted(folder / "run")
    assert note.endswith(f"dpmcmc sample --resume --out {folder / 'run'}")
    assert entries(folder)[-1] == "close"
    outcome = resume(folder / "run", ask=no, progress=False)
    charges = entries(folder).count("charge")
    assert charges == STEPS
    assert 5 < steps_of(outcome) < STEPS


def test_a_first_charge_that_is_refused_leaves_a_run_that_can_go_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        dying(monkeypatch, FolderCheckpoint, "charge", at=1, error=InputError),
        counted(monkeypatch) as read,
        pytest.raises(InputError),
    ):
        run_in(folder)
    assert read == []
    assert entries(folder) == ["register", "reserve", "close"]
    assert steps_of(resume(folder / "run", ask=no, progress=False)) == STEPS
