# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Studies: models in files, and the columns that they read."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import assert_refused
from small_jobs import RECORDS, job_in

import dpmcmc
from dpmcmc import InputError, Records, Schema
from dpmcmc.files import FileError
from dpmcmc.model.preparation import Clamp, Log, Preparation
from dpmcmc.private.opening import open_on_host
from dpmcmc.workflow import Study, load_study, study_of

NUMPYRO = """\
import helper_of_this_study
from dataclasses import dataclass


@dataclass
class Kind:
    '''A dataclass asks for the module that it is in.'''

    name: "str" = "a"


def model(x, y=None, *more, scale=1.0, **others):
    pass
"""


def written(folder: Path, text: str) -> str:
    (folder / "model.py").write_text(text)
    return f"{folder}/model.py:model"


def test_a_model_a_study_and_a_function_are_read(folder: Path) -> None:
    study, _ = load_study(f"{folder}/model.py:mean")
    assert isinstance(study.model, dpmcmc.Model)
    assert study.names() is None
    place = written(
        folder,
        "import dpmcmc\nfrom dpmcmc.workflow import Study\n"
        "known = dpmcmc.models.logistic_regression(2, norm=1.0)\n"
        "model = Study(known, columns=['x', 'y'])\n",
    )
    assert load_study(place)[0].names() == ("x", "y")


def test_columns_of_a_function_are_what_it_must_be_given(folder: Path) -> None:
    (folder / "helper_of_this_study.py").write_text("")
    study, _ = load_study(written(folder, NUMPYRO))
    assert study.names() == ("x", "y")
    assert Study(study.model, columns=["x"]).names() == ("x",)
    assert Study(dpmcmc.NumPyro(study.model, plate="people")).names() == ("x", "y")


def test_what_is_run_is_what_the_file_says_now(folder: Path) -> None:
    """A file that is changed twice in a second would fool a cache of compiled code."""
    for number in (1, 2):
        place = written(folder, f"def model(x{number}):\n    pass\n")
        assert load_study(place)[0].names() == (f"x{number}",)
    assert not (folder / "__pycache__").exists()


def test_a_digest_knows_the_file(folder: Path) -> None:
    _, first = load_study(f"{folder}/model.py:model")
    assert load_study(f"{folder}/model.py:model")[1] == first
    with (folder / "model.py").open("a") as file:
        file.write("# and more\n")
    assert load_study(f"{folder}/model.py:model")[1] != first


@pytest.mark.parametrize(
    "place",
    [
        "model.py",
        "model.py:",
        "model.py:a b",
        "{0}/absent.py:model",
        "{0}:model",
        "{0}/people.csv:model",
        "{0}/model.py:absent",
        "{0}/model.py:number",
        "{0}/model.py:dpmcmc",
        "{0}/model.py:Study",
    ],
)
def test_what_is_no_model_in_a_file(folder: Path, place: str) -> None:
    assert_refused(lambda: load_study(place.format(folder)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 / 0\n", "ZeroDivisionError: division by zero. "),
        ("def model(:\n", "SyntaxError: "),
        ("import there_is_no_such_module\n", "ModuleNotFoundError: No module named"),
        ("raise ValueError('one\\ntwo.')\n", "ValueError: one two. "),
        ("raise SystemExit\n", "SystemExit. "),
        ("import dpmcmc\ndpmcmc.preparation.Clamp(2, 1)\n", "low is 2"),
    ],
)
def test_a_file_that_cannot_be_run(folder: Path, text: str, said: str) -> None:
    with pytest.raises(FileError) as caught:
        load_study(written(folder, text))
    message = str(caught.value)
    assert said in message
    assert "model.py" in message
    assert "\n" not in message


def test_what_a_job_adds_to_a_study(folder: Path) -> None:
    study, digest = study_of(
        job_in(
            folder,
            columns=("x", "z"),
            schema={"columns": {"z": {"levels": ["a", "b"]}}},
        )
    )
    assert digest == load_study(f"{folder}/model.py:model")[1]
    assert study.names() == ("x", "z")
    assert study.declared.columns["z"].levels == ("a", "b")


def normal(bounds: tuple[float, float]) -> dpmcmc.Model:
    return dpmcmc.models.normal(bounds=bounds, sd=1.0)


def numpyro_model(x: Any) -> None:
    """Stands for one; nothing runs it here."""


@pytest.mark.parametrize(
    "model",
    [
        normal((0.0, 5.0)),
        dpmcmc.NumPyro(numpyro_model, preparation=Preparation({"x": Clamp(0, 5)})),
    ],
    ids=["model", "numpyro"],
)
def test_a_preparation_comes_before_the_model_s_own(model: Any) -> None:
    before = Preparation({"x": [Clamp(1.0, 10.0), Log()]})
    made = Study(model, preparation=before).prepared_model()
    assert type(made) is type(model)
    for value, then in ((-50.0, 0.0), (2.0, np.log(2.0)), (9999.0, np.log(10.0))):
        prepared = made.preparation({"x": np.float64(value)})
        assert float(prepared["x"]) == pytest.approx(then, rel=1e-6, abs=1e-6)


def test_a_function_is_a_numpyro_model() -> None:
    before = Preparation({"x": Clamp(0, 1)})
    made = Study(numpyro_model, preparation=before).prepared_model()
    assert isinstance(made, dpmcmc.NumPyro)
    assert made.model is numpyro_model
    assert made.preparation is before


def test_levels_are_called_by_their_texts() -> None:
    coords = {"place": ["x", "z=0", "z=1", "z=2", "w=0"]}
    model = dpmcmc.NumPyro(numpyro_model, coords=coords)
    schema = Schema({"z": {"levels": ["north", "south"]}, "w": {"levels": ["a", "b"]}})
    made = schema.applied_to(Study(model, schema=schema).prepared_model())
    assert made.coords == {"place": ["x", "z=north", "z=south", "z=2", "w=a"]}
    before = Preparation({"z": Clamp(0, 1)})
    changed = Study(model, schema=schema, preparation=before).prepared_model()
    assert schema.applied_to(changed).coords["place"][1:3] == ["z[0]", "z[1]"]


def test_zeros_stand_in_for_the_records(folder: Path) -> None:
    study, _ = load_study(f"{folder}/model.py:model")
    zeros = study.stand_in(folder / "people.csv", None)
    assert set(zeros) == {"x"}
    assert zeros["x"].shape == (RECORDS,)
    assert not zeros["x"].any()
    assert study.stand_in(None, 7)["x"].shape == (7,)
    assert study.stand_in(folder / "people.csv", 7)["x"].shape == (7,)
    assert Study(normal((0.0, 1.0))).stand_in(None, 7) == 7
    for data, records in ((None, None), (None, 0)):
        with pytest.raises(InputError):
            study.stand_in(data, records)


def test_levels_become_places(folder: Path) -> None:
    (folder / "text.csv").write_text("region\nsouth\nnorth\nelsewhere\n")
    schema = Schema({"region": {"levels": ["north", "south"]}})
    study = Study(print, columns=["region"], schema=schema)
    records = Records(study.open(folder / "text.csv"))
    opened = open_on_host(records, "float64")
    np.testing.assert_array_equal(opened.arrays["region"][:2], [1, 0])
    assert opened.present.tolist() == [True, True, False]


def test_integers_stay_integers(folder: Path) -> None:
    (folder / "codes.csv").write_text("group\n2\n0\n")
    schema = Schema({"group": {"type": "integer"}})
    study = Study(print, columns=["group"], schema=schema)
    assert study.open(folder / "codes.csv").dtypes == {"group": np.dtype(np.int64)}
