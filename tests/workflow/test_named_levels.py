# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Levels of text columns stand by their texts: in draws, folders, reports, commands."""

import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_jobs import without_ledger, yes

from dpmcmc import InputError, cli
from dpmcmc.files import RunFolder
from dpmcmc.workflow import Outcome, run

MODEL = """\
from dpmcmc.models import logistic_regression
from dpmcmc.model.preparation import Clamp, Copy, OneHot, Preparation, Stack
from dpmcmc.workflow import Study

columns = Preparation({
    "age": Clamp(0, 1),
    "region": OneHot(3, drop_first=True),
    "x": Stack(["age", "region"]),
    "y": Copy("ill"),
})
model = logistic_regression(3, norm=2.0, before=columns)
schema = {"columns": {"region": {"levels": ["north", "south & <west>", "east"]}}}
study = Study(model, schema=schema)
"""
NAMES = ["age", "region=south & <west>", "region=east"]
TITLES = [*(f"coefficients[{name}]" for name in NAMES), "intercept"]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A folder with a study whose levels are texts, and its table."""
    (tmp_path / "model.py").write_text(MODEL)
    generator = np.random.default_rng(4)
    texts = ["north", "south & <west>", "east"]
    lines = [
        f"{generator.random():.3f},{texts[place % 3]},{place % 2}"
        for place in range(150)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["age,region,ill", *lines]) + "\n")
    return tmp_path


def run_study(folder: Path, name: str = "study", **changes: Any) -> Outcome:
    model, columns = f"{folder}/model.py:{name}", ("age", "region", "ill")
    job = without_ledger(folder, model=model, columns=columns, **changes)
    return run(job, folder / "run", ask=yes, progress=False)


def test_a_job_calls_levels_by_their_texts(people: Path) -> None:
    outcome = run_study(people)
    assert outcome.posterior.titles == TITLES
    assert RunFolder.open(people / "run").posterior().titles == TITLES
    text = outcome.report.read_text(encoding="utf-8")
    assert escape("[region=south & <west>]") in text
    assert "<west>" not in text
    assert "coefficients[0]" not in text


def test_levels_that_the_job_declares(people: Path) -> None:
    levels = ["north", "south & <west>", "east"]
    schema = {"columns": {"region": {"levels": levels}}}
    outcome = run_study(people, "model", schema=schema)
    assert outcome.posterior.titles == TITLES


def test_the_command_line_says_the_texts(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        f"sample {people}/model.py:study --data {people}/people.csv --delta 1e-6 "
        "--columns age,region,ill --method barker --clip 0.01 --steps 20 --scale 0.3 "
        f"--out {people}/run --yes"
    )
    assert cli.main(words.split()) == 0
    assert "coefficients[region=east] " in capsys.readouterr().out
    assert cli.main(f"sample --resume --out {people}/run --json".split()) == 0
    assert json.loads(capsys.readouterr().out)["titles"] == TITLES


def test_levels_that_do_not_fit_the_table_are_refused(people: Path) -> None:
    with pytest.raises(InputError):
        run_study(people, schema={"columns": {"height": {"levels": ["low", "high"]}}})
    assert not (people / "run").exists()
