# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The run folder: what is kept comes back, in order, and nothing is overwritten."""

import json
from pathlib import Path

import arviz
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from saved import STATEMENT, posterior_of

from dpmcmc import InputError, Statement
from dpmcmc.files import FileError, RunFolder
from dpmcmc.files.parts import decode, encode

FACTS = {"model": "income", "epsilon": 1.0, "chains": 4, "bounds": [0, 1], "note": None}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run"


def test_what_is_kept_comes_back_in_order(path: Path) -> None:
    kept = {
        "start": {"theta": np.arange(3.0), "group/scale": np.float32(2)},
        "chunk-000001": {"bits": np.array([True, False]), "θ": np.ones((2, 0, 3))},
        "chunk-000000": {},
    }
    with RunFolder.create(path, FACTS) as folder:
        for part, values in kept.items():
            folder.keep(part, values)
        assert folder.parts() == tuple(kept)
    again = RunFolder.open(path)
    assert again.facts == FACTS
    assert again.parts() == ("start", "chunk-000001", "chunk-000000")
    for part, values in kept.items():
        found = again.read(part)
        assert list(found) == list(values)
        for name, array in values.items():
            np.testing.assert_array_equal(found[name], np.asarray(array), strict=True)


DTYPES = st.one_of(
    arrays.boolean_dtypes(),
    arrays.integer_dtypes(endianness="?"),
    arrays.unsigned_integer_dtypes(endianness="?"),
    arrays.floating_dtypes(endianness="?"),
    arrays.complex_number_dtypes(endianness="?"),
    arrays.unicode_string_dtypes(endianness="?"),
    arrays.byte_string_dtypes(),
)
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
ARRAYS = DTYPES.flatmap(lambda dtype: arrays.arrays(dtype, SHAPES))
NAMES = st.text(max_size=10).filter(str.isprintable)
PARTS = st.dictionaries(NAMES | st.sampled_from(["x", "x.npy", "file", "a/b"]), ARRAYS)


@given(PARTS)
def test_any_arrays_come_back_bit_for_bit(values: dict[str, np.ndarray]) -> None:
    data = encode(values, "here")
    assert data == encode(values, "here")
    found = decode(data, "here")
    assert list(found) == list(values)
    for name, array in values.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()


def test_numpy_reads_a_part_by_itself(path: Path) -> None:
    with RunFolder.create(path, {}) as folder:
        folder.keep("start", {"theta": np.arange(3), "a/b": np.eye(2)})
    with np.load(path / "parts" / "000000.start.npz") as found:
        assert sorted(found) == ["a/b", "theta"]
        np.testing.assert_array_equal(found["theta"], np.arange(3))


def test_arrays_that_are_not_contiguous(path: Path) -> None:
    values = np.arange(12).reshape(3, 4)
    with RunFolder.create(path, {}) as folder:
        folder.keep("a", {"t": values.T, "s": values[::2, ::-1]})
        np.testing.assert_array_equal(folder.read("a")["t"], values.T)
        np.testing.assert_array_equal(folder.read("a")["s"], values[::2, ::-1])


@pytest.mark.parametrize(
    "values",
    [np.array([object()]), np.array([(1, 2.0)], [("a", int), ("b", float)])],
)
def test_arrays_that_cannot_be_kept(path: Path, values: np.ndarray) -> None:
    with (
        RunFolder.create(path, {}) as folder,
        pytest.raises(InputError, match="only booleans, numbers and text can be kept"),
    ):
        folder.keep("start", {"it": values})
    assert RunFolder.open(path).parts() == ()


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "\ud800", "x" * 1001, 3])
def test_names_that_cannot_be_kept(path: Path, name: str) -> None:
    with (
        RunFolder.create(path, {}) as folder,
        pytest.raises(InputError, match="at most 1000 printable characters"),
    ):
        folder.keep("start", {name: np.ones(1)})


@pytest.mark.parametrize("part", ["", "../up", "a/b", ".hidden", "a b", "x" * 101, 7])
def test_names_of_parts_that_are_none(path: Path, part: str) -> None:
    with (
        RunFolder.create(path, {}) as folder,
        pytest.raises(InputError, match="the name must be 1 to 100 letters"),
    ):
        folder.keep(part, {})


def test_a_part_is_kept_once(path: Path) -> None:
    with RunFolder.create(path, {}) as folder:
        folder.keep("start", {"a": np.zeros(1)})
        with pytest.raises(FileError, match="holds the part 'start' already"):
            folder.keep("start", {"a": np.ones(1)})
        assert folder.read("start")["a"] == 0


def test_a_part_that_is_not_there(path: Path) -> None:
    with RunFolder.create(path, {}) as folder:
        with pytest.raises(FileError, match="no part 'end'; it holds none"):
            folder.read("end")
        folder.keep("start", {})
        with pytest.raises(FileError, match="no part 'end'; it holds 'start'"):
            folder.read("end")


def test_facts_can_be_added_and_changed(path: Path) -> None:
    with RunFolder.create(path, FACTS) as folder:
        folder.keep("start", {"a": np.ones(1)})
        folder.note({"ledger_run": "k3x9", "chains": 2})
        folder.facts["chains"] = 100  # a copy
    again = RunFolder.open(path)
    assert again.facts == {**FACTS, "ledger_run": "k3x9", "chains": 2}
    assert again.read("start")["a"] == 1


@pytest.mark.parametrize("facts", [{"a": np.ones(2)}, {"a": float("nan")}, 3, [1]])
def test_facts_that_are_no_json(path: Path, facts: dict) -> None:
    with pytest.raises(InputError, match="they must be a mapping of plain JSON"):
        RunFolder.create(path, facts)
    assert not path.exists()


def test_a_posterior_comes_back_with_its_statement(path: Path) -> None:
    posterior = posterior_of()
    with RunFolder.create(path, {}) as folder:
        folder.save_posterior(posterior)
    again = RunFolder.open(path).posterior()
    np.testing.assert_array_equal(again.draws["mean"], posterior.draws["mean"])
    assert again.statement == posterior.statement
    text = (path / "statement.txt").read_text(encoding="utf-8")
    assert text == f"{STATEMENT}\n"
    content = (path / "statement.json").read_text(encoding="utf-8")
    assert Statement.from_json(content) == STATEMENT
    assert json.loads(content)["epsilon"] == 1.0
    assert arviz.from_netcdf(str(path / "posterior.nc")).posterior.sizes["draw"] == 10


def test_a_posterior_may_be_saved_again(path: Path) -> None:
    with RunFolder.create(path, {}) as folder:
        for seed in (0, 1):
            folder.save_posterior(posterior_of(seed))
            np.testing.assert_array_equal(
                folder.posterior().draws["mean"], posterior_of(seed).draws["mean"]
            )


def test_there_are_the_files_that_are_named_and_no_others(path: Path) -> None:
    with RunFolder.create(path, FACTS) as folder:
        folder.keep("start", {})
        folder.save_posterior(posterior_of())
    named = {"run.json", "parts", "posterior.nc", "statement.txt", "statement.json"}
    assert {file.name for file in path.iterdir()} == {*named, "lock"}
