# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs are plain values: methods by name, paths that hold anywhere, no password."""

import getpass
from pathlib import Path
from typing import Any

import pytest
from small_jobs import METHODS, job_in, register

import dpmcmc
from dpmcmc import InputError
from dpmcmc.cli.options import METHODS as CHOICES
from dpmcmc.files import FileError, RunFolder
from dpmcmc.proposals import Adaptive
from dpmcmc.workflow import Job
from dpmcmc.workflow.job import _METHODS, facts_of, job_of, open_ledger, settled


def job(**settings: Any) -> Job:
    return Job("model.py:model", "people.csv", 1.0, 1e-6, **settings)


def test_a_method_is_named_and_set() -> None:
    made = job(method="barker", clip=0.1, scale=0.2, tempering=50.0).made_method()
    assert isinstance(made, dpmcmc.Barker)
    assert (made.clip, made.tempering) == (0.1, 50.0)
    assert isinstance(made.proposal, Adaptive)
    made = job(method="minibatch-barker", batch=10).made_method()
    assert isinstance(made, dpmcmc.MinibatchBarker)
    assert (made.batch, made.clip, made.proposal) == (10, None, None)
    assert job().made_method() is None


def test_commands_and_jobs_know_the_same_methods() -> None:
    assert tuple(_METHODS) == CHOICES
    assert set(METHODS) <= set(CHOICES)


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "metropolis"},
        {"method": "Barker"},
        {"method": "minibatch-barker"},
        {"method": "barker", "batch": 10},
        {"method": "sufficient-statistics", "clip": 0.1},
        {"clip": 0.1},
        {"scale": 0.1},
    ],
    ids=str,
)
def test_settings_that_a_method_does_not_have_are_refused(settings: dict) -> None:
    with pytest.raises(InputError):
        job(**settings).made_method()


def test_what_the_sampler_is_given() -> None:
    given = job(steps=3, chains=2, warmup=1, start="prior", precision="float64")
    assert given.settings() == {
        "steps": 3,
        "chains": 2,
        "warmup": 1,
        "start": "prior",
        "precision": "float64",
        "method": None,
    }


def test_a_folder_keeps_a_job_and_gives_it_back(folder: Path) -> None:
    whole = settled(
        job_in(
            folder,
            columns=("x", "z"),
            schema={"columns": {"z": {"levels": ["a", "b"]}}},
            chains=2,
            precision="float64",
            purpose="why not",
        )
    )
    with RunFolder.create(folder / "run", {"job": facts_of(whole)}) as made:
        assert job_of(made) == whole
        assert job_of(made, data="other.csv").data == "other.csv"
        made.note({"job": {"model": "model.py:model"}})
        with pytest.raises(FileError):
            job_of(made)


def test_a_schema_is_kept_as_what_it_said(folder: Path) -> None:
    """A run can be resumed without the file."""
    place = folder / "schema.yaml"
    place.write_text("columns: {x: {type: number, bounds: [0, 1]}}")
    kept = settled(job(schema=str(place))).schema
    assert kept == {"columns": {"x": {"type": "number", "bounds": [0.0, 1.0]}}}
    assert settled(settled(job(schema=str(place)))).schema == kept


def test_paths_hold_in_any_folder_and_the_analyst_is_known(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    whole = settled(job(ledger="study.db"))
    assert whole.model == f"{folder}/model.py:model"
    assert whole.data == str(folder / "people.csv")
    assert whole.ledger == str(folder / "study.db")
    assert whole.analyst == getpass.getuser()
    assert settled(whole) == whole
    assert settled(job()).analyst == ""


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
def test_a_folder_keeps_no_password(url: str, kept: str) -> None:
    assert facts_of(settled(job(ledger=url)))["ledger"] == kept


def test_the_only_data_set_of_a_ledger_needs_no_name(folder: Path) -> None:
    with open_ledger(job_in(folder, dataset="")) as (named, ledger):
        assert named.dataset == "people"
        assert ledger is not None
    register(folder, "beasts")
    with (
        pytest.raises(InputError, match="'people', 'beasts'"),
        open_ledger(job_in(folder, dataset="")),
    ):
        pass
