# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Labels in jobs: levels by their texts, folders, reports, and runs that go on."""

import json
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import assert_refused
from small_jobs import Died, dying, no, steps_of, without_ledger, yes

from dpmcmc import Posterior, cli
from dpmcmc.files import RunFolder
from dpmcmc.workflow import Outcome, report, resume, run

MODEL = """\
from pathlib import Path

from dpmcmc.models import logistic_regression
from dpmcmc.model.preparation import Clamp, Copy, OneHot, Preparation, Stack
from dpmcmc.workflow import Study
import dataclasses

columns = Preparation({
    "age": Clamp(0, 1),
    "region": OneHot(3, drop_first=True),
    "x": Stack(["age", "region"]),
    "y": Copy("ill"),
})
model = logistic_regression(3, norm=2.0, before=columns)
study = Study(model, levels={"region": ("north", "south & <west>", "east")})
told = Path(__file__).with_name("names.txt")
if told.exists():
    names = {"coefficients": told.read_text().split()}
    model = dataclasses.replace(model, labels=names)
"""
NAMES = ("age", "region=south & <west>", "region=east")


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


def test_levels_of_a_clamped_column_are_not_called_by_their_texts(
    people: Path,
) -> None:
    """Codes beyond a bound are moved to it: one text would stand for several."""
    outcome = run_study(people, bounds={"region": (0.0, 1.0)})
    names = ("age", "region=1", "region=2")
    assert outcome.posterior.labels == {"coefficients": names}


def test_a_job_calls_levels_by_their_texts(people: Path) -> None:
    outcome = run_study(people)
    assert outcome.posterior.labels == {"coefficients": NAMES}
    kept = RunFolder.open(people / "run").posterior()
    assert kept.labels == {"coefficients": NAMES}
    for page in (outcome.report, report(people / "run", title="again")):
        text = page.read_text(encoding="utf-8")
        assert escape("[region=south & <west>]") in text
        assert "<west>" not in text
        assert "coefficients[0]" not in text
    # what a finished run is called by may be changed, at no cost
    path = people / "run" / "posterior.nc"
    replace(kept, labels={"coefficients": ("α", "β", "γ")}).save(path)
    page = report(people / "run")
    assert "[γ]" in page.read_text(encoding="utf-8")
    assert Posterior.load(path).statement == outcome.posterior.statement


def test_the_command_line_says_the_labels(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        f"sample {people}/model.py:study --data {people}/people.csv --delta 1e-6 "
        "--columns age,region,ill --clip 0.01 --steps 20 --scale 0.3 "
        f"--out {people}/run --yes"
    )
    assert cli.main(words.split()) == 0
    assert "coefficients[region=east] " in capsys.readouterr().out
    assert cli.main(f"sample --resume --out {people}/run --json".split()) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["labels"] == {"coefficients": list(NAMES)}


def test_labels_that_do_not_fit_are_refused_before_anything_is_begun(
    people: Path,
) -> None:
    (people / "names.txt").write_text("one two")
    assert_refused(
        lambda: run_study(people, "model", levels={"region": ("north", "east")}),
        "labels has 2 names for 'coefficients', whose shape is (3,)",
    )
    assert not (people / "run").exists()


def test_a_run_goes_on_with_the_labels_that_the_model_has_now(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are in no fact that a run is known by: they change nothing it released."""
    levels = {"region": ("north", "south & <west>", "east")}
    names = people / "names.txt"
    names.write_text("before b c")
    with dying(monkeypatch, RunFolder, "keep", at=12), pytest.raises(Died):
        run_study(people, "model", levels=levels)
    names.write_text("after b c")
    outcome = resume(people / "run", ask=no, progress=False)
    assert outcome.posterior.labels == {"coefficients": ("after", "b", "c")}
    assert 0 < steps_of(outcome) < 40
    assert "[after]" in outcome.report.read_text(encoding="utf-8")
