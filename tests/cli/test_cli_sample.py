# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The command ``dpmcmc sample``, and ``report`` beside it."""

import functools
import io
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_jobs import MODEL, RECORDS, STEPS, dying, entries

from dpmcmc.files import RunFolder
from dpmcmc.ledger import Ledger
from dpmcmc.workflow import FolderCheckpoint, Job

TABLE = "sample model.py:model --data people.csv"
HOW = "--delta 1e-6 --method barker --clip 0.01 --steps 20 --scale 0.3"
CHARGED = "--ledger study.db --data-set people --analyst ana"
SAMPLE = f"{TABLE} {HOW} {CHARGED} --out run"

Command = Callable[..., Any]


def test_a_run_shows_stages_and_budget_then_draws(
    dpmcmc: Command, folder: Path
) -> None:
    said = dpmcmc(f"{SAMPLE} --yes", "--purpose", "to see")
    assert said.code == 0
    assert said.err == ""
    before, _, after = said.out.partition("Posterior: ")
    assert "chain  100%" in before
    assert "people (ε = 3, δ = 1e-05)" in before
    assert "to see" in after
    assert max(map(len, said.out.splitlines())) <= 100
    assert (folder / "run" / "report.html").exists()
    before_again = entries(folder)
    again = dpmcmc("sample --resume --out run --json")
    values = json.loads(again.out)
    assert again.code == 0
    assert again.err == ""
    assert values["folder"] == "run"
    assert values["titles"] == ["mean"]
    assert values["statement"]["epsilon"] > 0
    assert values["ledger"]["runs"][0]["purpose"] == "to see"
    assert entries(folder) == before_again


def test_a_dry_run_spends_nothing(dpmcmc: Command, folder: Path) -> None:
    said = dpmcmc(f"{SAMPLE} --dry-run")
    assert said.code == 0
    assert "chain  100%" in said.out
    said = dpmcmc(f"{SAMPLE} --dry-run --json")
    values = json.loads(said.out)
    assert values["statement"]["stages"][0]["numbers"]["steps"] == 20
    assert 0 < values["fraction"] < 1
    assert values["ledger"]["left"] == 1
    assert not (folder / "run").exists()
    assert entries(folder) == ["register"]
    said = dpmcmc(f"{TABLE} {HOW} --out run --dry-run --json")
    assert json.loads(said.out)["ledger"] is None
    assert not (folder / "run").exists()


def test_options_are_the_fields_of_a_job(
    dpmcmc: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[Job] = []

    def run(job: Job, *_: object, **__: object) -> None:
        jobs.append(job)
        raise KeyboardInterrupt

    monkeypatch.setattr("dpmcmc.workflow.run", run)
    dpmcmc(f"{TABLE} --epsilon 1 --delta 1e-6 --out run --yes")
    words = (
        f"{SAMPLE} --columns x,z --schema schema.yaml --unit u --most 4 "
        "--batch 5 --tempering 7 --chains 2 --warmup 3 "
        "--start prior --precision float64 --purpose why --only --yes"
    )
    dpmcmc(words)
    assert jobs == [
        Job("model.py:model", "people.csv", 1.0, 1e-6),
        Job(
            "model.py:model",
            "people.csv",
            None,
            1e-6,
            columns=("x", "z"),
            schema="schema.yaml",
            unit="u",
            most=4,
            method="barker",
            clip=0.01,
            batch=5,
            tempering=7.0,
            scale=0.3,
            steps=20,
            chains=2,
            warmup=3,
            start="prior",
            precision="float64",
            ledger="study.db",
            dataset="people",
            analyst="ana",
            purpose="why",
            only=True,
        ),
    ]


def test_nobody_to_ask(dpmcmc: Command, folder: Path) -> None:
    assert "--yes" in dpmcmc(SAMPLE).refusal
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
    assert dpmcmc(SAMPLE).code == 2
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
    assert "Nothing was spent." in said.err
    assert not (folder / "run").exists()


def test_nulls_and_far_values_are_taken_silently(dpmcmc: Command, folder: Path) -> None:
    lines = (folder / "people.csv").read_text().splitlines()
    lines[3], lines[4], lines[5] = ",3", "1e9,4", "what,5"
    (folder / "odd.csv").write_text("\n".join(lines) + "\n")
    (folder / "schema.yaml").write_text(
        "columns:\n  x: {type: number, bounds: [-3, 3], measured_in: cm}\n"
        "  z: {type: integer}\n"
    )
    said = dpmcmc(
        f"sample model.py:model --data odd.csv {HOW} {CHARGED} --out run --yes "
        "--schema schema.yaml --columns x --json"
    )
    assert said.code == 0
    statement = json.loads(said.out)["statement"]
    assert statement["prepared"] == [
        "x: number in cm, clamped to [-3, 3], then clamped to [-9, 11]"
    ]
    assert statement["records"] == RECORDS
    page = (folder / "run" / "report.html").read_text("utf-8")
    assert "<td>cm</td>" in page
    assert "integer" not in page


def test_a_chain_that_never_moved_is_shown_as_one(
    dpmcmc: Command, folder: Path
) -> None:
    """No effective draws and no R-hat, and no warning of those who compute them."""
    words = SAMPLE.replace("--scale 0.3", "--scale 1e6")
    said = dpmcmc(f"{words} --yes")
    assert (said.code, said.err) == (0, "")
    assert "0% accepted" in said.out
    posterior = RunFolder.open("run").posterior()
    assert not posterior.accepted.any()
    assert posterior.summary()["ess_bulk"].isna().all()
    assert posterior.summary()["r_hat"].isna().all()
    page = (folder / "run" / "report.html").read_text("utf-8")
    assert "no step was accepted" in page
    assert dpmcmc("report run").code == 0


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
        ("people.csv", "people.txt", "people.txt"),
        ("model.py:model", "absent.py:model", "absent.py"),
        ("model.py:model", "model.py:absent", "absent"),
        ("model.py:model", "model.py", "model.py"),
        ("model.py:model", "model.py:mean", "has no types"),
        ("study.db", "absent.db", "absent.db"),
        ("--data-set people", "--data-set folk", "'people'"),
        ("--delta 1e-6", "", "--delta"),
        ("--data people.csv", "", "--data"),
        ("model.py:model", "", "MODEL"),
        ("--delta 1e-6", "--delta 7", "7.0"),
        ("--clip 0.01", "--columns y", "'y'"),
        ("--clip 0.01", "--schema absent.yaml", "absent.yaml"),
        ("--clip 0.01", "--schema people.csv", "people.csv"),
        ("--clip 0.01", "--batch 5", "batch"),
        ("--method barker", "", "method"),
        ("--steps 20", "--steps 20000", "budget"),
        (CHARGED, "--only", "ledger"),
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


def test_a_broken_model_file(dpmcmc: Command, folder: Path) -> None:
    (folder / "model.py").write_text("def model(:\n")
    assert "SyntaxError" in wrong(dpmcmc, folder, SAMPLE)


def test_a_ledger_that_can_only_be_read(dpmcmc: Command, folder: Path) -> None:
    url = f"sqlite:///file:{folder}/study.db?mode=ro&uri=true"
    assert "ledger" in wrong(dpmcmc, folder, f"{SAMPLE.replace('study.db', url)} --yes")


def test_a_ledger_that_is_held(
    dpmcmc: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = functools.partial(Ledger.open, timeout=0.1)
    monkeypatch.setattr(Ledger, "open", staticmethod(quick))
    other = sqlite3.connect(folder / "study.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert "locked" in dpmcmc(f"{SAMPLE} --yes").refusal
    other.close()
    assert not (folder / "run").exists()
    assert entries(folder) == ["register"]


def test_a_ledger_that_is_no_ledger(dpmcmc: Command, folder: Path) -> None:
    assert "people.csv" in wrong(
        dpmcmc, folder, SAMPLE.replace("study.db", "people.csv")
    )


def test_a_folder_that_is_in_use_or_taken(dpmcmc: Command, finished: Path) -> None:
    before = entries(finished)
    assert "--resume" in dpmcmc(f"{SAMPLE} --yes").refusal
    with RunFolder.open("run", write=True):
        assert "in use" in dpmcmc("sample --resume --out run").refusal
    (finished / "full").mkdir()
    (finished / "full" / "thing").write_text("")
    line = dpmcmc(f"{SAMPLE.replace('--out run', '--out full')} --yes").refusal
    assert "'thing'" in line
    assert entries(finished) == before


def test_a_run_that_loses_its_budget_fails_and_can_go_on(
    dpmcmc: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, calls = FolderCheckpoint.keep, []

    def keep(self: FolderCheckpoint, stage: str, part: Any) -> None:
        original(self, stage, part)
        calls.append(part)
        if len(calls) == 1:
            with Ledger.open("study.db") as ledger:
                (view,) = ledger.overview("people").runs
                ledger.release(view.run, "bo")

    monkeypatch.setattr(FolderCheckpoint, "keep", keep)
    said = dpmcmc(f"{SAMPLE} --yes")
    assert said.code == 1
    assert "released" in said.err
    assert said.err.endswith("  dpmcmc sample --resume --out run\n")
    before = entries(folder)
    said = dpmcmc("sample --resume --out run --dry-run")
    assert said.code == 0
    assert entries(folder) == before
    assert dpmcmc("sample --resume --out run").code == 0
    assert entries(folder).count("charge") == 20


def test_a_failure_is_named_by_its_kind(
    dpmcmc: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dying(monkeypatch, FolderCheckpoint, "keep", at=3, error=MemoryError):
        said = dpmcmc(f"{SAMPLE} --yes")
    assert said.code == 1
    assert "MemoryError" in said.err
    assert "Traceback" not in said.err
    assert said.err.endswith("  dpmcmc sample --resume --out run\n")


def test_a_result_that_is_not_usable_has_its_own_code(
    dpmcmc: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objection = "dpmcmc.sampling.sufficient_statistics._Sum.objection"
    monkeypatch.setattr(objection, lambda *_: "the noise hides everything.")
    words = f"{TABLE} --delta 1e-6 --epsilon 1 --method sufficient-statistics {CHARGED}"
    said = dpmcmc(f"{words} --out run --yes")
    assert said.code == 3
    assert "the noise hides everything." in " ".join(said.err.split())
    assert "run/statement.txt" in said.err
    assert "--resume" not in said.err
    assert (folder / "run" / "statement.txt").exists()
    assert entries(folder)[1:] == ["reserve", "charge", "close"]
    assert dpmcmc("sample --resume --out run").code == 3


def test_going_on_takes_no_settings(dpmcmc: Command, finished: Path) -> None:
    line = dpmcmc("sample --resume --out run --epsilon 2 --data-set q --only").refusal
    assert "--epsilon, --data-set, --only" in line
    assert "absent" in dpmcmc("sample --resume --out absent").refusal


def test_going_on_with_another_model(dpmcmc: Command, finished: Path) -> None:
    (finished / "other.py").write_text(MODEL + "\n")
    assert "other.py" in dpmcmc("sample other.py:model --resume --out run").refusal


def test_a_report_anew(dpmcmc: Command, finished: Path) -> None:
    page = finished / "run" / "report.html"
    page.unlink()
    said = dpmcmc("report run --ledger study.db", "--title", "Means of 2026")
    assert (said.code, said.err) == (0, "")
    assert "<title>Means of 2026" in page.read_text()
    assert "absent" in dpmcmc("report absent").refusal
    assert "absent.db" in dpmcmc("report run --ledger absent.db").refusal


def test_a_chain_of_many_chunks_is_charged_for_each(
    dpmcmc: Command, finished: Path
) -> None:
    assert entries(finished).count("charge") == STEPS
