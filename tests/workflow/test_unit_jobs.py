# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs that protect units: from a file to the report, and what a ledger refuses."""

from pathlib import Path

import pytest
from small_jobs import METHODS, job_in, make_study, no, register, yes

from dpmcmc import InputError, Schema
from dpmcmc.cli import main
from dpmcmc.ledger import Ledger
from dpmcmc.ledger.refusals import LedgerError
from dpmcmc.workflow import Study, run, study_of

PERSONS = 40


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A table of 200 rows of 40 persons, whose ids are texts."""
    make_study(tmp_path)
    header, *rows = (tmp_path / "people.csv").read_text().split()
    named = [f"{row},p{place % PERSONS}" for place, row in enumerate(rows)]
    text = "\n".join([f"{header},person", *named])
    (tmp_path / "people.csv").write_text(text + "\n")
    register(tmp_path, "persons", records=PERSONS, unit="person")
    return tmp_path


def test_a_job_protects_units_and_says_so(study: Path) -> None:
    job = job_in(
        study,
        dataset="persons",
        unit="person",
        most=3,
        method="barker",
        **METHODS["barker"],
    )
    outcome = run(job, study / "out", ask=yes, progress=False)
    statement = outcome.posterior.statement
    assert (statement.records, statement.unit, statement.most) == (40, "person", 3)
    assert outcome.standing is not None
    assert (outcome.standing.records, outcome.standing.unit) == (40, "person")
    page = outcome.report.read_text()
    assert "40 units (by person)" in page
    assert "200 records" not in page
    assert "replaced by any other" in page


@pytest.mark.parametrize(
    "settings",
    [{"dataset": "persons"}, {"dataset": "people", "unit": "person", "most": 3}],
    ids=["records", "units"],
)
def test_a_ledger_refuses_a_run_that_protects_something_else(
    study: Path, settings: dict
) -> None:
    job = job_in(study, method="barker", **{**METHODS["barker"], **settings})
    with pytest.raises(LedgerError, match="protects"):
        run(job, study / "out", ask=no, progress=False)
    assert not (study / "out").exists()


def test_a_study_may_say_the_unit(study: Path) -> None:
    job = job_in(study, unit="person", most=2)
    found, _ = study_of(job)
    assert (found.schema.unit, found.schema.most) == ("person", 2)
    assert len(found.records(study / "people.csv")) == PERSONS


def test_units_are_not_rehearsed(study: Path) -> None:
    schema = Schema(unit="person", most=2)
    found = Study(lambda x: None, columns=["x"], schema=schema)
    with pytest.raises(InputError, match="single records"):
        found.stand_in(study / "people.csv", None)


def test_the_command_line_registers_and_plans_units(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(study / "new.db")
    told = [place, "persons", "--records", "40", "--unit", "person"]
    main(["ledger", "register", *told, "--epsilon", "3", "--delta", "1e-6"])
    with Ledger.open(place) as ledger:
        assert ledger.overview("persons").unit == "person"
    assert "40 units (by person)" in capsys.readouterr().out
    asked = [f"{study / 'model.py'}:model", "--data", str(study / "people.csv")]
    asked += ["--unit", "person", "--most", "3", "--delta", "1e-6", "--method"]
    asked += ["barker", "--clip", "0.01", "--scale", "0.3", "--steps", "10"]
    code = main(["sample", *asked, "--out", str(study / "run"), "--dry-run"])
    assert code == 0
    assert "40 units (by person)" in " ".join(capsys.readouterr().out.split())
