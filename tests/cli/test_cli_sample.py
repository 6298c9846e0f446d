# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The command ``dpmcmc sample``, and ``report`` and ``rehearse`` beside it."""

import functools
import io
import json
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_jobs import MODEL, RECORDS, entries

from dpmcmc.errors import InputError
from dpmcmc.files import RunFolder
from dpmcmc.ledger import Ledger
from dpmcmc.rehearsal import Choice, Chosen
from dpmcmc.rehearsal.shares import Split
from dpmcmc.workflow import Job

TABLE = "sample model.py:model --data people.csv"
HOW = "--delta 1e-6 --clip 0.01 --steps 20 --chunk 4 --scale 0.3"
CHARGED = "--ledger study.db --data-set people --analyst ana"
SAMPLE = f"{TABLE} {HOW} {CHARGED} --out run"

Command = Callable[..., Any]


def test_a_run_shows_cost_and_budget_then_draws(dpmcmc: Command, folder: Path) -> None:
    said = dpmcmc(f"{SAMPLE} --yes", "--purpose", "to see")
    assert said.code == 0
    assert said.err == ""
    before, _, after = said.out.partition("This run sets aside ")
    assert before.startswith("About to be released:\n  Privacy: ε = ")
    assert "Of the budget of people (ε = 3, δ = 1e-05), 0.00% is spent" in before
    assert "Posterior: 1 × 15 draws" in after
    assert "closed" in after
    assert "to see" in after
    assert said.out.endswith(
        "Draws, statement and report are in run: open run/report.html.\n"
    )
    assert max(map(len, said.out.splitlines())) <= 100
    assert (folder / "run" / "report.html").exists()
    before_again = entries(folder)
    again = dpmcmc("sample --resume --out run --json")
    values = json.loads(again.out)
    assert again.code == 0
    assert again.err == ""
    assert values["folder"] == "run"
    assert values["statement"]["epsilon"] > 0
    assert values["ledger"]["runs"][0]["purpose"] == "to see"
    assert entries(folder) == before_again


def test_a_dry_run_spends_nothing(dpmcmc: Command, folder: Path) -> None:
    said = dpmcmc(f"{SAMPLE} --dry-run")
    assert said.code == 0
    assert "This run sets aside" in said.out
    assert said.err == "Dry run: nothing was spent.\n"
    said = dpmcmc(f"{SAMPLE} --dry-run --json")
    values = json.loads(said.out)
    assert values["statement"]["steps"] == 20
    assert values["ways"] == 1
    assert 0 < values["share"] < 1
    assert values["ledger"]["left"] == 1
    assert not (folder / "run").exists()
    assert entries(folder) == ["register"]


@pytest.mark.parametrize(("more", "chains"), [("", None), ("--chains 1", 1)])
def test_the_number_of_chains_is_left_open_unless_given(
    dpmcmc: Command, monkeypatch: pytest.MonkeyPatch, more: str, chains: int | None
) -> None:
    """A run that chooses for itself then chooses it, too."""
    jobs: list[Job] = []

    def run(job: Job, *_: object, **__: object) -> None:
        jobs.append(job)
        raise InputError("enough.")

    monkeypatch.setattr("dpmcmc.workflow.run", run)
    dpmcmc(f"{TABLE} --epsilon 1 --delta 1e-6 --out run --yes {more}")
    assert [job.chains for job in jobs] == [chains]
    assert [job.settings()["chains"] for job in jobs] == [chains]


def test_a_dry_run_without_a_ledger(dpmcmc: Command, folder: Path) -> None:
    said = dpmcmc(f"{TABLE} {HOW} --out run --dry-run --json")
    assert json.loads(said.out)["ledger"] is None
    assert not (folder / "run").exists()


def test_nobody_to_ask(dpmcmc: Command, folder: Path) -> None:
    said = dpmcmc(SAMPLE)
    assert "Give --yes to go on without asking" in said.refusal
    assert not (folder / "run").exists()
    assert entries(folder) == ["register"]


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("answer", ["n\n", "\n", "yess\n", ""])
def test_anything_but_yes_is_no(
    dpmcmc: Command, folder: Path, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    said = dpmcmc(SAMPLE)
    assert said.code == 2
    assert said.err == "Spend this? [y/N] dpmcmc: declined, and nothing was done.\n"
    assert not (folder / "run").exists()
    assert entries(folder) == ["register"]


def test_ctrl_c_at_the_question_spends_nothing(
    dpmcmc: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed() -> str:
        raise KeyboardInterrupt

    terminal = Terminal()
    monkeypatch.setattr(terminal, "readline", pressed)
    monkeypatch.setattr("sys.stdin", terminal)
    said = dpmcmc(SAMPLE)
    assert said.code == 130
    assert said.err.endswith("\ndpmcmc: interrupted. Nothing was spent.\n")
    assert not (folder / "run").exists()


def test_nulls_and_far_values_are_taken_silently(dpmcmc: Command, folder: Path) -> None:
    lines = (folder / "people.csv").read_text().splitlines()
    lines[3], lines[4], lines[5] = ",3", "1e9,4", "what,5"
    (folder / "odd.csv").write_text("\n".join(lines) + "\n")
    said = dpmcmc(
        f"sample model.py:model --data odd.csv {HOW} {CHARGED} --out run --yes "
        "--bounds x=-3:3 --columns x"
    )
    assert said.code == 0
    assert said.err == ""
    assert "x clamped to [-3, 3]" in said.out
    assert f"any one of the {RECORDS} records" in said.out


def wrong(dpmcmc: Command, folder: Path, words: str) -> str:
    """How a command is refused, with nothing spent and no folder left."""
    before = entries(folder)
    line = dpmcmc(words).refusal
    assert entries(folder) == before
    assert not (folder / "run" / "run.json").exists()
    return str(line)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("people.csv", "absent.csv", "absent.csv"),
        ("people.csv", "people.txt", "data files end in one of"),
        ("model.py:model", "absent.py:model", "there is no file"),
        ("model.py:model", "model.py:absent", "model.py has no 'absent'"),
        ("model.py:model", "model.py", "a Python file and a name in it"),
        ("study.db", "absent.db", "absent.db' does not exist"),
        ("--data-set people", "--data-set folk", "the ledger has 'people'"),
        ("--delta 1e-6", "", "--delta is missing"),
        ("--data people.csv", "", "--data is missing"),
        ("model.py:model", "", "FILE:NAME is missing"),
        ("--delta 1e-6", "--delta 7", "delta is 7.0"),
        ("--chunk 4", "--columns y", "has no column 'y'"),
        ("--chunk 4", "--bounds x", "--bounds is 'x'; it must be a name and a value"),
        ("--chunk 4", "--bounds x=1", "--bounds is x=1; it must be two numbers"),
        ("--chunk 4", "--levels x=", "--levels is 'x='; it must be a name and"),
        ("--steps 20", "--steps 20000", "the run asks for"),
        (CHARGED, "--only", "are for runs with a ledger"),
    ],
    ids=str,
)
def test_what_is_refused_in_one_line(
    dpmcmc: Command, folder: Path, old: str, new: str, said: str
) -> None:
    assert old in SAMPLE
    assert said in wrong(dpmcmc, folder, f"{SAMPLE.replace(old, new)} --yes")


def test_text_where_numbers_are_needed(dpmcmc: Command, folder: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"x": ["a", "b"]}), folder / "text.parquet")
    line = wrong(dpmcmc, folder, SAMPLE.replace("people.csv", "text.parquet"))
    assert "'x'" in line
    assert "text" in line


def test_a_broken_model_file(dpmcmc: Command, folder: Path) -> None:
    (folder / "model.py").write_text("def model(:\n")
    assert "model.py cannot be run: SyntaxError" in wrong(dpmcmc, folder, SAMPLE)


def test_a_ledger_that_can_only_be_read(dpmcmc: Command, folder: Path) -> None:
    url = f"sqlite:///file:{folder}/study.db?mode=ro&uri=true"
    line = wrong(dpmcmc, folder, f"{SAMPLE.replace('study.db', url)} --yes")
    assert "cannot be written by this user" in line


def test_a_ledger_that_is_held(
    dpmcmc: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = functools.partial(Ledger.open, timeout=0.1)
    monkeypatch.setattr(Ledger, "open", staticmethod(quick))
    other = sqlite3.connect(folder / "study.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    said = dpmcmc(f"{SAMPLE} --yes")
    assert "is locked by another process for longer" in said.refusal
    other.close()
    assert not (folder / "run").exists()
    assert entries(folder) == ["register"]


def test_a_ledger_that_is_no_ledger(dpmcmc: Command, folder: Path) -> None:
    line = wrong(dpmcmc, folder, SAMPLE.replace("study.db", "people.csv"))
    assert "is damaged, or is no ledger" in line


def test_a_folder_that_is_in_use_or_taken(dpmcmc: Command, finished: Path) -> None:
    before = entries(finished)
    assert "holds a run already. Continue" in dpmcmc(f"{SAMPLE} --yes").refusal
    with RunFolder.open("run", write=True):
        assert "is in use" in dpmcmc("sample --resume --out run").refusal
    (finished / "full").mkdir()
    (finished / "full" / "thing").write_text("")
    line = dpmcmc(f"{SAMPLE.replace('--out run', '--out full')} --yes").refusal
    assert "full holds other things, such as 'thing'" in line
    assert entries(finished) == before


def test_a_run_that_loses_its_budget_says_what_it_kept(
    dpmcmc: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, calls = RunFolder.keep, []

    def keep(self: RunFolder, part: str, arrays: Any) -> None:
        original(self, part, arrays)
        calls.append(part)
        if len(calls) == 1:
            with Ledger.open("study.db") as ledger:
                (view,) = ledger.overview("people").runs
                ledger.release(view.run, "bo")

    monkeypatch.setattr(RunFolder, "keep", keep)
    words = SAMPLE.replace("--steps 20", "--steps 60")
    said = dpmcmc(f"{words} --yes")
    assert said.code == 2
    told = " ".join(said.err.split())
    assert "is released: it holds no budget any more" in told
    assert "What was begun stays paid for, and what was made is kept." in told
    assert said.err.endswith("  dpmcmc sample --resume --out run\n")
    before = entries(folder)
    said = dpmcmc("sample --resume --out run --dry-run")
    assert said.code == 0
    assert said.err.startswith("Dry run. What was begun stays paid for")
    assert entries(folder) == before
    assert dpmcmc("sample --resume --out run").code == 0
    assert entries(folder).count("charge") == 15


def test_going_on_takes_no_settings(dpmcmc: Command, finished: Path) -> None:
    line = dpmcmc("sample --resume --out run --epsilon 2 --data-set q --only").refusal
    assert "--resume came with --epsilon, --data-set, --only. Leave that out" in line
    assert "there is no folder absent" in dpmcmc("sample --resume --out absent").refusal


def test_going_on_with_another_model(dpmcmc: Command, finished: Path) -> None:
    (finished / "other.py").write_text(MODEL + "\n")
    line = dpmcmc("sample other.py:model --resume --out run").refusal
    assert "is not what it was when run was begun" in line


def test_a_report_anew(dpmcmc: Command, finished: Path) -> None:
    page = finished / "run" / "report.html"
    page.unlink()
    said = dpmcmc("report run --ledger study.db", "--title", "Means of 2026")
    assert said == (0, "The report is in run/report.html.\n", "")
    assert "<title>Means of 2026" in page.read_text()
    assert "there is no folder absent" in dpmcmc("report absent").refusal
    said = dpmcmc("report run --ledger absent.db")
    assert "absent.db' does not exist" in said.refusal


@pytest.mark.slow
def test_a_rehearsal_on_simulated_records(dpmcmc: Command, folder: Path) -> None:
    (folder / "model.py").write_text(
        "from dpmcmc import models\nmodel = models.normal(bounds=(0, 100), sd=12)\n"
    )
    words = "rehearse model.py:model --records 20000 --columns x --epsilon 1"
    said = dpmcmc(f"{words} --delta 1e-6 --plot p.png --json")
    assert said.code == 0
    values = json.loads(said.out)
    assert values["way"] in [one["name"] for one in values["trials"]]
    assert values["tried"] == [one["name"] for one in values["trials"]]
    assert any(one["usable"] for one in values["trials"])
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("is_terminal", "more", "shown"),
    [(True, "", True), (True, "--json", False), (False, "", False)],
)
def test_a_rehearsal_shows_bars_on_a_terminal_alone(
    dpmcmc: Command,
    monkeypatch: pytest.MonkeyPatch,
    is_terminal: bool,
    more: str,
    shown: bool,
) -> None:
    """And whatever is shown, what is printed is the choice."""
    chosen = Chosen("control variates", Split(0.95, 0.15, 5.0), 312.0)
    choice = Choice(chosen, {}, ("control variates",), "it is good", None)
    told: list[bool] = []

    def rehearsed(*_: object, progress: bool, **__: object) -> Choice:
        told.append(progress)
        return choice

    monkeypatch.setattr("dpmcmc.workflow.rehearse", rehearsed)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    said = dpmcmc(f"rehearse a.py:b --epsilon 1 --delta 1e-6 {more}")
    assert told == [shown]
    assert said.err == ""
    if not more:
        assert said.out == f"{choice}\n"
        return
    assert json.loads(said.out) == {
        "way": "control variates",
        "chosen": {
            "share": 0.95,
            "hessian_part": 0.15,
            "gradient_bound": 5.0,
            "tempering": 312.0,
            "chains": 1,
        },
        "words": chosen.words,
        "reason": "it is good",
        "tried": ["control variates"],
        "trials": [],
    }


def test_a_rehearsal_reads_no_record(dpmcmc: Command, folder: Path) -> None:
    words = "rehearse model.py:model --epsilon 1 --delta 1e-6"
    said = dpmcmc(f"{words} --data people.csv --columns x --json --plot p.png")
    assert "there is no picture p.png: nothing was rehearsed" in said.refusal
    values = json.loads(said.out)
    assert values["trials"] == []
    said = dpmcmc(f"{words} --records {RECORDS} --columns x")
    assert said.code == 0
    shown = " ".join(said.out.split())
    assert shown.startswith(f"Way: {values['way']}; not rehearsed")
    assert "the shape of the records is not known" in dpmcmc(words).refusal
    assert "records is 0" in dpmcmc(f"{words} --records 0 --columns x").refusal
