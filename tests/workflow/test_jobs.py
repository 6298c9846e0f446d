# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A job from its files to its report, with a ledger and without."""

import getpass
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dp_accounting.dp_event import SelfComposedDpEvent
from small_jobs import (
    RECORDS,
    STEPS,
    DeclinedError,
    counted,
    entries,
    job_in,
    no,
    register,
    run_in,
    steps_of,
    without_ledger,
    yes,
)

from dpmcmc import InputError, Posterior
from dpmcmc.accounting import BarkerBit
from dpmcmc.files import RunFolder
from dpmcmc.ledger import Ledger, OverBudgetError
from dpmcmc.workflow import (
    Job,
    Outcome,
    Question,
    how_it_stands,
    report,
    run,
    running,
)
from dpmcmc.workflow.job import facts_of, job_of, settled


def test_a_job_leaves_draws_a_statement_and_a_report(outcome: Outcome) -> None:
    folder = outcome.folder
    assert steps_of(outcome) == STEPS
    assert Posterior.load(folder / "posterior.nc").statement.is_private
    assert (folder / "statement.txt").read_text().startswith("Privacy: ε = ")
    assert json.loads((folder / "statement.json").read_text())
    page = outcome.report.read_text()
    assert "<title>a first look" in page
    assert "model.py:model" in page
    assert str(folder.parent) not in page  # where it ran is nobody's business
    assert RunFolder.open(folder).parts()[-2:] == ("chunk-000008", "chunk-000009")


def test_the_ledger_was_charged_for_every_chunk_and_closed(outcome: Outcome) -> None:
    assert entries(outcome.folder.parent) == [
        "register",
        "reserve",
        *["charge"] * 10,
        "close",
    ]
    assert outcome.standing is not None
    (view,) = outcome.standing.runs
    assert (view.state, view.analyst, view.purpose) == ("closed", "ana", "a first look")
    assert outcome.standing.spent == view.spent > 0
    assert outcome.standing.reserved == 0


def test_a_job_without_a_ledger(folder: Path) -> None:
    asked: list[Question] = []
    job = without_ledger(folder, columns=("x",), bounds={"x": (-5.0, 5.0)})
    outcome = run(job, folder / "run", ask=asked.append, progress=False)
    assert outcome.standing is None
    assert asked[0].standing is None
    assert asked[0].share is None
    assert steps_of(outcome) == STEPS
    assert "x clamped to [-5, 5]" in outcome.posterior.statement.text
    assert entries(folder) == ["register"]


def test_whoever_is_asked_sees_cost_and_budget(folder: Path) -> None:
    asked: list[Question] = []

    def ask(question: Question) -> None:
        asked.append(question)
        no(question)

    with pytest.raises(DeclinedError):
        run(job_in(folder), folder / "run", ask=ask, progress=False)
    (question,) = asked
    assert question.ways == 1
    assert question.statement.steps == STEPS
    assert question.standing is not None
    assert question.share is not None
    assert 0 < question.share < 0.2
    said = how_it_stands(question.standing)
    assert said == (
        "Of the budget of people (ε = 3, δ = 1e-05), 0.00% is spent, 0.00% reserved by "
        "open runs, and 100.00% left."
    )


@pytest.mark.parametrize("exists", [False, True])
def test_a_run_that_is_declined_leaves_nothing(
    folder: Path, exists: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = folder / "run"
    if exists:
        out.mkdir()
    with counted(monkeypatch) as opened, pytest.raises(DeclinedError):
        run(job_in(folder), out, ask=no, progress=False)
    assert opened == []
    assert out.exists() == exists
    assert not exists or list(out.iterdir()) == []
    assert entries(folder) == ["register"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"dataset": "persons"}, "the data set is 'persons'; the ledger has 'people'"),
        ({"dataset": None}, "None; the ledger has 'people', 'beasts', 'small'"),
        ({"dataset": "beasts"}, "reads 200 records; 'beasts' is registered with 300"),
        ({"dataset": "small"}, "the run asks for"),
        ({"ledger": "absent.db"}, "absent.db' does not exist"),
        ({"ledger": None}, "dataset and only are for runs with a ledger"),
        ({"only": True, "ledger": None, "dataset": None}, "but none was given"),
        ({"data": "absent.csv"}, "absent.csv"),
        ({"columns": ("y",)}, "has no column 'y'"),
        ({"bounds": {"q": (0.0, 1.0)}}, "'q'"),
        ({"bounds": {"x": (1.0, 0.0)}}, "low"),
        ({"delta": 2.0}, "delta is 2.0"),
        ({"scale": -1.0}, "scale is -1"),
        ({"batch": 10**6, "clip": None}, "batch is 1000000"),
        ({"clip": None, "steps": None, "epsilon": -1.0}, "epsilon is -1.0"),
    ],
    ids=str,
)
def test_what_is_refused_reads_nothing_and_asks_nobody(
    folder: Path,
    changes: dict[str, Any],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register(folder, "beasts", records=300)
    register(folder, "small", epsilon=0.05)
    monkeypatch.chdir(folder)

    def never(question: Question) -> None:
        raise AssertionError("was asked")

    with counted(monkeypatch) as opened, pytest.raises(InputError) as caught:
        run(job_in(folder, **changes), folder / "run", ask=never, progress=False)
    assert said in str(caught.value)
    assert opened == []
    assert not (folder / "run").exists()
    assert entries(folder) == ["register"] * 3


def test_a_run_that_comes_second_while_somebody_thinks_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(folder, "small", epsilon=0.4)
    job = job_in(folder, dataset="small", steps=60)

    def meanwhile(question: Question) -> None:
        with Ledger.open(folder / "study.db") as ledger:
            total = SelfComposedDpEvent(BarkerBit(0.01, RECORDS), 60)
            ledger.reserve("small", total, analyst="bo")

    with (
        counted(monkeypatch) as opened,
        pytest.raises(OverBudgetError),
    ):
        run(job, folder / "run", ask=meanwhile, progress=False)
    assert opened == []
    assert not (folder / "run").exists()
    assert entries(folder).count("reserve") == 1


def test_the_only_data_set_of_a_ledger_needs_no_name(folder: Path) -> None:
    asked: list[Question] = []

    def ask(question: Question) -> None:
        asked.append(question)
        no(question)

    job = job_in(folder, dataset=None)
    with pytest.raises(DeclinedError):
        run(job, folder / "run", ask=ask, progress=False)
    assert asked[0].standing is not None
    assert asked[0].standing.dataset == "people"
    outcome = run(job, folder / "run", ask=yes, progress=False)
    assert job_of(RunFolder.open(outcome.folder)).dataset == "people"


def test_an_only_run_takes_the_whole_budget(folder: Path) -> None:
    outcome = run_in(folder, only=True)
    assert outcome.standing is not None
    assert outcome.standing.spent == 1
    with pytest.raises(OverBudgetError, match="only run ever"):
        run(job_in(folder), folder / "other", ask=yes, progress=False)
    assert not (folder / "other").exists()


def test_a_folder_keeps_a_job_and_gives_it_back(folder: Path) -> None:
    job = settled(
        job_in(
            folder,
            columns=("x", "z"),
            levels={"z": ("a", "b")},
            bounds={"x": (-1.0, 1.5)},
            chains=2,
            warmup=3,
            precision="float64",
            purpose="why not",
        )
    )
    with RunFolder.create(folder / "run", {"job": facts_of(job)}) as made:
        assert job_of(made) == job
    assert job_of(RunFolder.open(folder / "run"), data="other.csv").data == "other.csv"


def test_paths_hold_in_any_folder_and_the_analyst_is_known(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    job = settled(Job("model.py:model", "people.csv", 1.0, 1e-6, ledger="study.db"))
    assert job.model == f"{folder}/model.py:model"
    assert job.data == str(folder / "people.csv")
    assert job.ledger == str(folder / "study.db")
    assert job.analyst == getpass.getuser()
    assert settled(job) == job


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("postgresql://ana:secret@host/study", "postgresql://ana@host/study"),
        ("postgresql://ana@host:5432/study", "postgresql://ana@host:5432/study"),
        ("postgresql://host/study?a=1", "postgresql://host/study?a=1"),
        ("postgresql://host/s?password=secret&a=1", "postgresql://host/s?a=1"),
        ("postgresql://host/s?a=1&password=secret", "postgresql://host/s?a=1"),
        ("postgresql://u:sec/ret@host/s", "postgresql://u@host/s"),
        ("postgresql+psycopg://u:s:c/r%40t@h:5/s", "postgresql+psycopg://u@h:5/s"),
        ("postgresql://host/s?sslpassword=secret&a=1", "postgresql://host/s?a=1"),
        ("postgresql://host/s?PassFile=%2Fhome%2Fana", "postgresql://host/s"),
    ],
)
def test_a_folder_keeps_no_password(folder: Path, url: str, kept: str) -> None:
    assert facts_of(settled(job_in(folder, ledger=url)))["ledger"] == kept


def test_a_folder_that_holds_things_is_refused_and_kept(folder: Path) -> None:
    with pytest.raises(InputError, match="holds other things"):
        run(job_in(folder), folder, ask=yes, progress=False)
    assert (folder / "model.py").exists()
    assert entries(folder) == ["register"]


@pytest.mark.parametrize("has_ledger", [True, False])
def test_a_report_prices_what_was_charged(
    finished: Path, monkeypatch: pytest.MonkeyPatch, has_ledger: bool
) -> None:
    told: dict[str, Any] = {}
    monkeypatch.setattr(running, "write_report", lambda *_, **given: told.update(given))
    if has_ledger:
        statement = RunFolder.open(finished / "run").posterior().statement
        report(finished / "run")
        (entry,) = told["budget"].entries
        assert entry.share > 0
    else:
        done = run(
            job_in(finished, ledger=None, dataset=None, analyst=None),
            finished / "other",
            ask=yes,
            progress=False,
        )
        statement = done.posterior.statement
        assert told["budget"] is None
    (part,) = told["parts"]
    assert part.name == "accept-or-reject bits"
    assert part.epsilon == statement.epsilon


def test_a_report_is_written_anew(finished: Path) -> None:
    page = finished / "run" / "report.html"
    page.unlink()
    assert report(finished / "run", title="Ages & means") == page
    assert "<title>Ages &amp; means" in page.read_text()


@pytest.mark.slow
def test_an_automatic_job_reserves_every_way_and_rehearses(folder: Path) -> None:
    asked: list[Question] = []
    job = Job(
        f"{folder}/model.py:model",
        str(folder / "people.csv"),
        2.0,
        1e-6,
        columns=("x",),
        ledger=str(folder / "study.db"),
        dataset="people",
        analyst="bo",
    )
    register(folder, "more", epsilon=6.0)
    outcome = run(job, folder / "run", ask=asked.append, progress=False)
    assert asked[0].ways > 1
    assert outcome.posterior.statement.records == RECORDS
    assert outcome.standing is not None
    assert asked[0].share is not None
    assert outcome.standing.spent <= asked[0].share + 1e-4
    assert np.isfinite(outcome.posterior.draws["mean"]).all()
