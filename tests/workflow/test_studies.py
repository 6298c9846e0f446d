# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Studies: models in files, and the columns that they read."""

from pathlib import Path

import numpy as np
import pytest
from refusals import assert_refused

import dpmcmc
from dpmcmc.files import FileError
from dpmcmc.model.preparation import Log, Preparation
from dpmcmc.private.records import open_on_host
from dpmcmc.workflow import Study, load_study

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
    loaded = load_study(f"{folder}/model.py:mean")
    assert isinstance(loaded.study.model, dpmcmc.Model)
    assert loaded.study.names() is None
    place = written(
        folder,
        "import dpmcmc\nfrom dpmcmc.workflow import Study\n"
        "known = dpmcmc.models.logistic_regression(2, norm=1.0)\n"
        "model = Study(known, columns=['x', 'y'])\n",
    )
    assert load_study(place).study.names() == ("x", "y")


def test_columns_of_a_function_are_what_it_must_be_given(folder: Path) -> None:
    (folder / "helper_of_this_study.py").write_text("")
    study = load_study(written(folder, NUMPYRO)).study
    assert study.names() == ("x", "y")
    assert Study(study.model, columns=["x"]).names() == ("x",)


def test_what_is_run_is_what_the_file_says_now(folder: Path) -> None:
    """A file that is changed twice in a second would fool a cache of compiled code."""
    for number in (1, 2):
        place = written(folder, f"def model(x{number}):\n    pass\n")
        assert load_study(place).study.names() == (f"x{number}",)
    assert not (folder / "__pycache__").exists()


def test_a_digest_knows_the_file(folder: Path) -> None:
    first = load_study(f"{folder}/model.py:model").digest
    assert load_study(f"{folder}/model.py:model").digest == first
    with (folder / "model.py").open("a") as file:
        file.write("# and more\n")
    assert load_study(f"{folder}/model.py:model").digest != first


@pytest.mark.parametrize(
    ("place", "parts"),
    [
        ("model.py", ["it must be a Python file and a name in it"]),
        ("model.py:", ["it must be a Python file and a name in it"]),
        ("model.py:a b", ["it must be a Python file and a name in it"]),
        ("{0}/absent.py:model", ["there is no file", "absent.py"]),
        ("{0}:model", ["there is no file"]),
        ("{0}/people.csv:model", ["people.csv is no Python file"]),
        ("{0}/model.py:absent", ["model.py has no 'absent'"]),
        ("{0}/model.py:number", ["is a int; it must be a dpmcmc.Model"]),
        ("{0}/model.py:dpmcmc", ["is a module; it must be a dpmcmc.Model"]),
    ],
)
def test_what_is_no_model_in_a_file(folder: Path, place: str, parts: list[str]) -> None:
    assert_refused(lambda: load_study(place.format(folder)), *parts)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 / 0\n", "ZeroDivisionError: division by zero. Mend it; python "),
        ("def model(:\n", "SyntaxError: "),
        ("import there_is_no_such_module\n", "ModuleNotFoundError: No module named"),
        ("raise ValueError('one\\ntwo.')\n", "ValueError: one two. Mend"),
        ("raise SystemExit\n", "cannot be run: SystemExit. Mend it"),
        ("import dpmcmc\ndpmcmc.preparation.Clamp(2, 1)\n", "low is 2"),
    ],
)
def test_a_file_that_cannot_be_run(folder: Path, text: str, said: str) -> None:
    with pytest.raises(FileError) as caught:
        load_study(written(folder, text))
    message = str(caught.value)
    assert said in message
    assert "model.py cannot be run: " in message
    assert "\n" not in message


def test_bounds_clamp_before_anything_else() -> None:
    study = Study(print, columns=["x"], preparation=Preparation({"x": Log()}))
    bounded = study.within({"x": (1.0, 10.0)})
    assert study.within({}) is study
    assert bounded.preparation is not None
    for value, then in ((-50.0, 1.0), (2.0, 2.0), (9999.0, 10.0)):
        prepared = bounded.preparation({"x": np.float64(value)})
        assert float(prepared["x"]) == pytest.approx(np.log(then), rel=1e-6)
    assert bounded.preparation.describe()[0].startswith("x clamped to [1, 10]")


def test_levels_become_places(folder: Path) -> None:
    (folder / "text.csv").write_text("region\nsouth\nnorth\nelsewhere\n")
    study = Study(print, columns=["region"], levels={"region": ["north", "south"]})
    opened = open_on_host(study.read(folder / "text.csv"), "float64")
    np.testing.assert_array_equal(opened.arrays["region"][:2], [1, 0])
    assert opened.present.tolist() == [True, True, False]


def test_integers_stay_integers(folder: Path) -> None:
    (folder / "codes.csv").write_text("group\n2\n0\n")
    study = Study(print, columns=["group"], integers=["group"])
    assert study.open(folder / "codes.csv").schema == {"group": np.dtype(np.int64)}
