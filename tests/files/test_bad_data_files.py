# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Data files that cannot be used: each is named, and says what to do."""

import datetime
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from dpmcmc import InputError
from dpmcmc.files import FileError, read_table, table

TABLE = pa.table({"age": [1.0, 2.0, 3.0] * 100, "income": [4, 5, 6] * 100})

WRITERS: dict[str, Callable[[pa.Table, Path], object]] = {
    ".parquet": pq.write_table,
    ".feather": feather.write_feather,
    ".csv": lambda table, path: table.to_pandas().to_csv(path, index=False),
}


@pytest.fixture(params=list(WRITERS))
def suffix(request: pytest.FixtureRequest) -> str:
    return request.param


def refusal(path: Path, *columns: str, **how: object) -> str:
    with pytest.raises(InputError) as refused:
        read_table(path, columns or None, **how)  # type: ignore[arg-type]
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    return str(refused.value)


def written(folder: Path, suffix: str, table: pa.Table = TABLE) -> Path:
    path = folder / f"people{suffix}"
    WRITERS[suffix](table, path)
    return path


def test_the_files_are_good(tmp_path: Path, suffix: str) -> None:
    assert list(read_table(written(tmp_path, suffix))) == ["age", "income"]


def test_a_missing_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"people{suffix}"
    assert refusal(path) == f"there is no file {path}. Check the name and the folder."


def test_a_folder(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"people{suffix}"
    path.mkdir()
    assert refusal(path) == f"{path} is a folder. Give one file."


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path, suffix)
    path.chmod(0)
    assert "cannot be read (permission denied)" in refusal(path)


def test_a_file_that_the_system_does_not_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = written(tmp_path, ".csv")
    monkeypatch.setattr(Path, "open", refuse)
    expected = f"{path} cannot be read (permission denied). Check who may read it."
    assert refusal(path) == expected


def test_an_empty_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"people{suffix}"
    path.touch()
    assert refusal(path) == f"{path} is empty. Write it again, or give another file."


def test_no_records(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path, suffix, TABLE.slice(0, 0))
    assert refusal(path) == f"{path} has columns but no records. Give a file with some."


@pytest.mark.parametrize("name", ["people.xlsx", "people", "people.parquet.gz"])
def test_an_unknown_suffix(tmp_path: Path, name: str) -> None:
    told = refusal(tmp_path / name)
    assert f"{name} ends in {Path(name).suffix!r}; data files end in one of" in told
    assert ".parquet" in told
    assert ".csv" in told


def test_a_suffix_may_be_in_capitals(tmp_path: Path) -> None:
    path = written(tmp_path, ".parquet").rename(tmp_path / "PEOPLE.PARQUET")
    assert len(read_table(path)["age"]) == 300


@pytest.mark.parametrize("kept", [0.05, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("typed", [".parquet", ".feather"])
def test_a_truncated_file(tmp_path: Path, typed: str, kept: float) -> None:
    path = written(tmp_path, typed)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    expected = (
        f"{path} is damaged, or not what its name ends in. Write it again, or get a "
        "whole copy."
    )
    assert refusal(path) == expected


@pytest.mark.parametrize("typed", [".parquet", ".feather"])
def test_a_file_of_another_kind(tmp_path: Path, typed: str) -> None:
    path = tmp_path / f"people{typed}"
    path.write_text("age,income\n1,2\n" * 100)
    assert "is damaged, or not what its name ends in" in refusal(path)


def test_pages_that_do_not_fit_their_checksum(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(
        TABLE,
        path,
        write_page_checksum=True,
        compression="none",
        use_dictionary=False,
    )
    whole = bytearray(path.read_bytes())
    ages = pq.read_metadata(path).row_group(0).column(0)
    # among the values, which stay numbers
    whole[ages.data_page_offset + ages.total_compressed_size // 2] ^= 1
    path.write_bytes(whole)
    assert "is damaged" in refusal(path)


def test_an_error_shows_no_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("the income of record 7 is 1234.5")

    monkeypatch.setattr(table, "_fill", fail)
    told = refusal(written(tmp_path, ".parquet"))
    assert "1234.5" not in told
    assert "is damaged" in told


def test_columns_that_do_not_fit_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(table, "_fill", fail)
    path = written(tmp_path, ".parquet")
    expected = f"the columns of {path} do not fit into memory. Ask for fewer."
    assert refusal(path) == expected


def test_a_column_that_is_not_there(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path, suffix)
    expected = (
        f"{path} has no column 'Income'; the closest is 'income'. There are 'age', "
        "'income'."
    )
    assert refusal(path, "age", "Income") == expected
    assert "no column 'zzz'; the closest is '" in refusal(path, "zzz")


def test_two_columns_of_one_name(tmp_path: Path, suffix: str) -> None:
    twice = pa.table([[1.0], [2.0], [3.0]], names=["x", "y", "x"])
    path = tmp_path / f"people{suffix}"
    if suffix == ".csv":
        path.write_text("x,y,x\n1,2,3\n")
    elif suffix == ".feather":
        with pa.ipc.new_file(path, twice.schema) as file:
            file.write_table(twice)
    else:
        pq.write_table(twice, path)
    told = f"{path} has 2 columns named 'x'. Rename them, or ask for others."
    assert refusal(path) == told
    assert refusal(path, "x") == told
    assert read_table(path, ["y"])["y"] == [2.0]


KINDS = {
    "text": (pa.array(["a", "b"]), "holds string; numbers are needed. Say what it may"),
    "categories": (
        pa.array(["a", "b"]).dictionary_encode(),
        "holds dictionary<values=string",
    ),
    "dates": (
        pa.array([datetime.date(2026, 1, 1)] * 2),
        "holds date32[day]; numbers are needed. Write it as a number, such as days",
    ),
    "times": (
        pa.array([datetime.datetime(2026, 1, 1)] * 2),
        "holds timestamp[us]; numbers are needed. Write it as a number",
    ),
    "lists": (pa.array([[1.0], [2.0]]), "which is nested; a column must hold one"),
    "structs": (pa.array([{"a": 1}] * 2), "which is nested; a column must hold one"),
    "bytes": (pa.array([b"a", b"b"]), "holds binary; booleans, whole numbers"),
    "nothing": (pa.nulls(2), "holds null; booleans, whole numbers, decimals or floats"),
}


@pytest.mark.parametrize("typed", [".parquet", ".feather"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_type_that_holds_no_numbers(tmp_path: Path, typed: str, kind: str) -> None:
    values, words = KINDS[kind]
    columns = pa.table({"age": [1.0, 2.0], "it": values})
    path = written(tmp_path, typed, columns)
    for asked in ([], ["it"]):
        told = refusal(path, *asked)
        assert told.startswith(f"column 'it' of {path} holds ")
        assert words in told
    assert read_table(path, ["age"])["age"].tolist() == [1, 2]


def test_levels_for_numbers(tmp_path: Path) -> None:
    told = refusal(written(tmp_path, ".parquet"), levels={"income": ["4", "5"]})
    assert "holds int64, but it was given levels, which are for text" in told
    assert "preparation.OneHot" in told


def test_levels_for_a_column_that_is_not_there(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path, suffix)
    levels = {"incom": ["a", "b"]}
    assert "no column 'incom'; the closest is 'income'" in refusal(path, levels=levels)


def test_levels_for_a_column_that_is_not_asked(tmp_path: Path, suffix: str) -> None:
    told = refusal(written(tmp_path, suffix), "age", levels={"income": ["a", "b"]})
    assert "levels are given for 'income', which is not among columns" in told


@pytest.mark.parametrize("values", ["ab", [], ["a"], ["a", "a"], [1, 2]])
def test_levels_that_are_none(tmp_path: Path, values: object) -> None:
    told = refusal(written(tmp_path, ".csv"), levels={"age": values})
    assert f"the levels of 'age' are {values!r}; they must be at least two" in told


@pytest.mark.parametrize("columns", ["age", [], [1], 3])
def test_columns_that_are_no_list_of_names(tmp_path: Path, columns: object) -> None:
    with pytest.raises(InputError, match="it must be a list of column names"):
        read_table(written(tmp_path, ".csv"), columns)  # type: ignore[arg-type]


def test_a_column_asked_twice(tmp_path: Path) -> None:
    told = refusal(written(tmp_path, ".csv"), "age", "income", "age")
    assert told == "columns has 'age' twice. Name every column once."


def test_a_csv_with_semicolons(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age;income\n1;2,5\n")
    told = refusal(path, "age")
    assert f"the columns of {path} are not separated by ','" in told


@pytest.mark.parametrize("header", [b"\xff\xfea\x00", b'"age,income'])
def test_a_csv_without_a_header(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(header + b"\n1,2\n")
    assert f"the first line of {path} is not a header" in refusal(path)


def test_a_csv_of_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("\n\n")
    assert f"{path} has no columns" in refusal(path)


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, ".csv")
    monkeypatch.setattr(table, "find_spec", lambda _: None)
    assert "pip install 'dpmcmc[files]'" in refusal(path)


def test_all_errors_of_files_are_of_one_kind() -> None:
    assert issubclass(FileError, InputError)
