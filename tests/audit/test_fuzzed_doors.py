# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Doors under fuzzing: data files, run folders, ledgers, model files, arguments.

Whatever comes in, there is an answer or a refusal: never a traceback, never a message
with a value of a record, never a value that was read without a charge in the ledger.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import feather
from small_jobs import MODEL, counted, make_study, run_in

from dpmcmc import Schema, cli
from dpmcmc.errors import InputError
from dpmcmc.files import DataFile
from dpmcmc.ledger import Ledger
from dpmcmc.workflow.study import load_study

SECRET = 424242.5
"""A value of a record, which no message may hold."""

CODES = {0, 1, 2, 3, 130}

Damage = list[tuple[str, float, int]]


def damages() -> st.SearchStrategy[Damage]:
    kinds = st.sampled_from(["flip", "write", "cut", "drop", "double", "add"])
    places = st.floats(0, 1, exclude_max=True)
    one = st.tuples(kinds, places, st.integers(0, 255))
    return st.lists(one, min_size=1, max_size=4)


def damaged(data: bytes, damage: Damage) -> bytes:
    """Bytes flipped, overwritten, cut off, left out, doubled or added."""
    for kind, place, byte in damage:
        at = int(place * len(data))
        before, after = data[:at], data[at:]
        data = {
            "flip": before
            + bytes([(after[:1] or b"\0")[0] ^ (1 << byte % 8)])
            + after[1:],
            "write": before + bytes([byte]) + after[1:],
            "cut": before,
            "drop": before + after[1 + byte :],
            "double": before + after[: 1 + byte] + after,
            "add": before + bytes([byte]) * (1 + byte % 7) + after,
        }[kind]
    return data


def fuzz(examples: int) -> Callable[[Any], Any]:
    """Try as many examples, or more by the environment, as ``make audit`` does."""
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    times = int(os.environ.get("DPMCMC_FUZZ", "1"))
    return settings(max_examples=times * examples, suppress_health_check=checks)


TABLE = pa.table({"x": [SECRET] * 40, "group": ["secretly"] * 40})
WRITERS: dict[str, Callable[[Path], object]] = {
    ".parquet": lambda path: pq.write_table(TABLE, path),
    ".feather": lambda path: feather.write_feather(TABLE, path, compression="zstd"),
    ".csv": lambda path: path.write_text("x,group\n" + f"{SECRET},secretly\n" * 40),
}


@pytest.fixture(scope="module", params=list(WRITERS))
def whole(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Path:
    path = tmp_path_factory.mktemp("whole") / f"people{request.param}"
    WRITERS[request.param](path)
    return path


@fuzz(150)
@given(damage=damages())
def test_damaged_data_files(whole: Path, tmp_path: Path, damage: Damage) -> None:
    path = tmp_path / whole.name
    path.write_bytes(damaged(whole.read_bytes(), damage))
    refusal = None
    try:
        schema = Schema({"group": {"levels": ["a", "secretly"]}})
        file = DataFile(path, ["x", "group"], schema=schema)
        found, present = file.read_values()
    except InputError as refused:
        refusal = refused
    if refusal is None:
        assert {len(column) for column in found.values()} == {len(file)}
        assert present.shape == (len(file),)
    else:
        assert "424242" not in str(refusal)
        assert "secretly" not in str(refusal)
        assert refusal.__cause__ is None


@fuzz(80)
@given(damage=damages())
def test_damaged_model_files(tmp_path: Path, damage: Damage) -> None:
    path = tmp_path / "model.py"
    path.write_bytes(damaged(MODEL.encode(), damage))
    told = str(path)
    try:
        load_study(f"{path}:model")
    except InputError as refused:
        told = str(refused)
    assert str(path) in told


NUMBERS = ["nan", "inf", "-1", "0", "1e-400", "1e400", "1", "0.5", "x", "", "٣", "1_0"]
OPTIONS = [
    "--epsilon",
    "--delta",
    "--clip",
    "--steps",
    "--records",
    "--batch",
    "--width",
]


def ended(words: list[str]) -> int:
    """Run a command; the code with which it ended."""
    try:
        return cli.main(words)
    except SystemExit as stop:
        return int(stop.code or 0)


@fuzz(60)
@given(
    given_=st.dictionaries(
        st.sampled_from(OPTIONS), st.sampled_from([*NUMBERS, "100"]), max_size=6
    )
)
def test_arguments_of_plan(given_: dict[str, str]) -> None:
    words = [word for pair in given_.items() for word in pair]
    assert ended(["plan", *words]) in CODES


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a finished run, to be copied and spoilt."""
    folder = tmp_path_factory.mktemp("study")
    make_study(folder)
    run_in(folder, steps=4)
    return folder


@pytest.fixture
def here(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(study, tmp_path, dirs_exist_ok=True)
    return tmp_path


def charges(folder: Path) -> int:
    """The charges of a ledger; −1 if it cannot be read any more."""
    try:
        with Ledger.open(folder / "study.db", create=False) as ledger:
            return sum(entry.kind == "charge" for entry in ledger.entries())
    except InputError:
        return -1


SAMPLE = (
    "sample model.py:model --data people.csv --delta 1e-6 --method barker --scale 0.3 "
    "--ledger study.db --data-set people --analyst ana --yes"
)


@fuzz(25)
@given(
    given_=st.dictionaries(
        st.sampled_from(["--epsilon", "--clip", "--steps", "--chains", "--warmup"]),
        st.sampled_from(NUMBERS),
        max_size=4,
    ),
)
def test_arguments_of_sample(
    here: Path, monkeypatch: pytest.MonkeyPatch, given_: dict[str, str]
) -> None:
    words = [word for pair in given_.items() for word in pair]
    before = charges(here)
    shutil.rmtree(here / "other", ignore_errors=True)
    with counted(monkeypatch) as read:
        assert ended([*SAMPLE.split(), "--out", "other", *words]) in CODES
    assert not read or charges(here) > before


@fuzz(15)
@given(damage=damages(), place=st.integers(0, 10**6))
def test_damaged_run_folders(
    study: Path,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    damage: Damage,
    place: int,
) -> None:
    files = sorted(path for path in (study / "run").rglob("*") if path.is_file())
    chosen = files[place % len(files)]
    harmed = here / chosen.relative_to(study)
    harmed.write_bytes(damaged(chosen.read_bytes(), damage))
    before = charges(here)
    for words in ("report run --out page.html", "sample --resume --out run --yes"):
        assert ended(words.split()) in CODES
    assert charges(here) == before  # the run had ended: nothing more is bought
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    harmed.write_bytes(chosen.read_bytes())


@fuzz(20)
@given(damage=damages())
def test_damaged_ledgers(
    study: Path,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    damage: Damage,
) -> None:
    """A ledger is refused, or it is as good as new: values are read after a charge."""
    ledger = here / "study.db"
    ledger.write_bytes(damaged((study / "study.db").read_bytes(), damage))
    before = charges(here)
    for words in ("ledger show study.db", "ledger verify study.db"):
        assert ended(words.split()) in CODES
    shutil.rmtree(here / "other", ignore_errors=True)
    with counted(monkeypatch) as read:
        words = f"{SAMPLE} --out other --clip 1e-5 --steps 2"
        assert ended(words.split()) in CODES
    assert not read or charges(here) > before
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    for spoilt in here.glob("study.db*"):
        spoilt.unlink()


def test_the_secret_is_in_the_file(whole: Path) -> None:
    found, _ = DataFile(whole, ["x"]).read_values()
    np.testing.assert_array_equal(found["x"], SECRET)
