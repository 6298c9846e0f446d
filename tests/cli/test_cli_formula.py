# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A formula at the command line, and what can be done after its run."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from small_jobs import make_study, yes

from dpmcmc.files import RunFolder
from dpmcmc.workflow import Job, run

Command = Callable[..., Any]

FORMULA = "x ~ z"
HOW = "--delta 1e-6 --method barker --clip 0.01 --steps 20 --scale 0.3"
COLUMNS = {
    "x": {"type": "number", "bounds": [-9, 11]},
    "z": {"type": "number", "bounds": [0, 200]},
}


@pytest.fixture(scope="module")
def _drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("formula")
    make_study(folder)
    job = Job(
        FORMULA,
        str(folder / "people.csv"),
        None,
        1e-6,
        schema={"columns": COLUMNS},
        method="barker",
        clip=0.01,
        steps=20,
        scale=0.3,
    )
    run(job, folder / "run", ask=yes, progress=False)
    return folder / "run"


@pytest.fixture
def drawn(_drawn: Path, folder: Path) -> Path:
    """A folder with the finished run of a formula, and rows to predict."""
    shutil.copytree(_drawn, folder / "run")
    (folder / "new.csv").write_text("z,other\n10,a\n150,b\n")
    return folder


def test_a_formula_is_refused_before_anything_is_read(
    dpmcmc: Command, folder: Path
) -> None:
    words = f"--data people.csv {HOW} --out run --yes"
    for name, columns in {
        "one": {"x": COLUMNS["x"]},
        "both": COLUMNS,
        "more": {**COLUMNS, "w": COLUMNS["x"]},
    }.items():
        (folder / f"{name}.yaml").write_text(json.dumps({"columns": columns}))
    wrong = {
        f"--schema one.yaml {words}": "'z'",
        f"--schema both.yaml --family gamma {words}": "above 0",
        f"--schema both.yaml --columns x,z {words}": "columns",
    }
    for options, named in wrong.items():
        assert named in dpmcmc("sample", FORMULA, *options.split()).refusal
    said = dpmcmc("sample", "x ~ z + w", *f"--schema more.yaml {words}".split())
    assert "'w'" in said.refusal
    said = dpmcmc(f"sample model.py:model --family gamma {words}")
    assert "no formula" in said.refusal
    assert not (folder / "run").exists()


def test_a_formula_is_kept_with_its_run(dpmcmc: Command, drawn: Path) -> None:
    said = dpmcmc("sample --resume --out run --json")
    assert said.code == 0
    values = json.loads(said.out)
    assert list(values["posterior"]) == values["titles"]
    assert set(values["posterior"]["Intercept"]) > {"mean", "sd", "r_hat"}
    posterior = RunFolder.open("run").posterior()
    assert posterior.declared["formula"] == FORMULA
    assert FORMULA in (drawn / "run" / "report.html").read_text()


def test_draws_predictions_and_tables_go_with_their_statement(
    dpmcmc: Command, drawn: Path
) -> None:
    assert dpmcmc("draws run --out draws.csv").code == 0
    table = pd.read_csv("draws.csv")
    assert list(table.columns[:4]) == [".chain", ".iteration", ".draw", "Intercept"]
    assert dpmcmc("predict run --rows new.csv --out p.parquet --responses").code == 0
    assert len(pd.read_parquet("p.parquet")) == 2
    assert dpmcmc("synthesize run --size 30 --tables 2 --out s.csv").code == 0
    assert len(pd.read_csv("s-2.csv")) == 30
    for name in ("draws.csv", "p.parquet", "s-1.csv", "s-2.csv"):
        said = (drawn / f"{name}.statement.txt").read_text()
        assert said.startswith("Privacy: ε =")
    said = dpmcmc("predict run --rows new.csv --json")
    values = json.loads(said.out)
    assert [row["z"] for row in values["rows"]] == [10, 150]
    assert values["statement"]["delta"] <= 1e-6
    assert "private" in dpmcmc("predict run --rows new.csv").out


def test_rows_that_cannot_be_read_are_named(dpmcmc: Command, drawn: Path) -> None:
    (drawn / "lacks.csv").write_text("w\n1\n")
    assert "'z'" in dpmcmc("predict run --rows lacks.csv").refusal
    assert "none.csv" in dpmcmc("predict run --rows none.csv").refusal
    assert ".xls" in dpmcmc("predict run --rows new.xls").refusal
    assert "at least 1" in dpmcmc("synthesize run --size 0 --out s.csv").refusal
    shutil.rmtree(drawn / "run")
    assert "run" in dpmcmc("draws run --out d.csv").refusal


def test_shells_complete_names_of_files(dpmcmc: Command) -> None:
    said = dpmcmc("completion bash")
    assert "_shtab_compgen_files" in said.out
    assert "_shtab_compgen_dirs" in said.out
