# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Data files that cannot be used: each is named, and says what to do."""

import datetime
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from dpmcmc import InputError, Schema
from dpmcmc.files import DataFile, FileError, data_file, readings, typed_file

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
    """What is said when a file is opened, or else when its values are read."""
    if path.suffix == ".csv" and not columns:
        columns = ("age", "income")
    with pytest.raises(InputError) as refused:
        DataFile(path, columns or None, **how).read_values()  # type: ignore[arg-type]
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    return str(refused.value)


def written(folder: Path, suffix: str, table: pa.Table = TABLE) -> Path:
    path = folder / f"people{suffix}"
    WRITERS[suffix](table, path)
    return path


def test_the_files_are_good(tmp_path: Path, suffix: str) -> None:
    found, present = DataFile(written(tmp_path, suffix), ["age"]).read_values()
    assert found["age"].tolist() == [1, 2, 3] * 100
    assert present.all()


def test_a_missing_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"people{suffix}"
    assert refusal(path) == f"there is no file {path}. Check the name and the folder."


def test_a_folder(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"people{suffix}"
    path.mkdir()
    assert refusal(path) == f"{path} holds no Parquet file. Give a folder that does."


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
    assert refusal(path) == f"{path} holds no records. Give a file that does."


@pytest.mark.parametrize("name", ["people.xlsx", "people", "people.parquet.gz"])
def test_an_unknown_suffix(tmp_path: Path, name: str) -> None:
    told = refusal(tmp_path / name)
    assert f"{name} ends in {Path(name).suffix!r}; data files end in one of" in told
    assert ".parquet" in told
    assert ".csv" in told


def test_a_suffix_may_be_in_capitals(tmp_path: Path) -> None:
    path = written(tmp_path, ".parquet").rename(tmp_path / "PEOPLE.PARQUET")
    assert len(DataFile(path)) == 300


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


@pytest.mark.parametrize("coded", [False, True], ids=["texts", "codes"])
def test_text_that_points_outside_the_file(tmp_path: Path, coded: bool) -> None:
    """Arrow does not look at offsets and codes, and does not survive wrong ones."""
    texts = pa.array(["eight by"] * 30 + ["others, "] * 10)
    column = texts.dictionary_encode() if coded else texts
    path = tmp_path / "people.arrow"
    table = pa.table({"group": column})
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    ends = np.arange(0, 8 * 41, 8, np.int32)
    whole = np.array([0] * 30 + [1] * 10, np.int32) if coded else ends
    spoilt = whole.copy()
    spoilt[20] = 2**30
    data = path.read_bytes()
    assert data.count(whole.tobytes()) == 1
    path.write_bytes(data.replace(whole.tobytes(), spoilt.tobytes()))
    assert "is damaged" in refusal(
        path, "group", schema=Schema({"group": {"levels": ["eight by", "b"]}})
    )


def test_text_that_is_no_unicode_is_a_value_like_any_other(tmp_path: Path) -> None:
    texts = pa.array([b"a", b"\xff\xfe", b"b"]).view(pa.string())
    path = written(tmp_path, ".parquet", pa.table({"group": texts}))
    schema = Schema({"group": {"levels": ["a", "b"]}})
    found, present = DataFile(path, schema=schema).read_values()
    assert found["group"].tolist() == [0, 0, 1]
    assert present.tolist() == [True, False, True]


def test_an_error_shows_no_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("the income of record 7 is 1234.5")

    monkeypatch.setattr(typed_file.TypedFile, "read", fail)
    told = refusal(written(tmp_path, ".parquet"))
    assert "1234.5" not in told
    assert "is damaged" in told


def test_columns_that_do_not_fit_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(typed_file.TypedFile, "read", fail)
    path = written(tmp_path, ".parquet")
    expected = f"the columns of {path} do not fit into memory. Read fewer columns."
    assert refusal(path) == expected


@pytest.mark.parametrize("typed", [".parquet", ".feather"])
def test_a_column_that_is_not_there(tmp_path: Path, typed: str) -> None:
    path = written(tmp_path, typed)
    expected = (
        f"{path} has no column 'Income'. Its columns, the most similar first: "
        "'income', 'age'."
    )
    assert refusal(path, "age", "Income") == expected


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
    told = f"{path} has 2 columns named 'x'. Rename them, or read others."
    assert refusal(path, "x") == told
    if suffix != ".csv":
        assert refusal(path) == told
    assert DataFile(path, ["y"]).read_values()[0]["y"] == [2.0]


KINDS = {
    "text": (pa.array(["a", "b"]), "type string", "Declare its levels"),
    "categories": (
        pa.array(["a", "b"]).dictionary_encode(),
        "type dictionary<values=string",
        "Declare its levels",
    ),
    "dates": (
        pa.array([datetime.date(2026, 1, 1)] * 2),
        "type date32[day]",
        "Declare its origin",
    ),
    "times": (
        pa.array([datetime.datetime(2026, 1, 1)] * 2),
        "type timestamp[us]",
        "Declare its origin",
    ),
    "durations": (
        pa.array([datetime.timedelta(1)] * 2),
        "type duration[us]",
        "as columns of",
    ),
    "lists": (pa.array([[1.0], [2.0]]), "type list<", "as columns of"),
    "structs": (pa.array([{"a": 1}] * 2), "type struct<", "as columns of"),
    "bytes": (pa.array([b"a", b"b"]), "type binary", "as columns of"),
    "nothing": (pa.nulls(2), "type null", "as columns of"),
}


@pytest.mark.parametrize("typed", [".parquet", ".feather"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_type_that_holds_no_numbers(tmp_path: Path, typed: str, kind: str) -> None:
    values, shown, advice = KINDS[kind]
    columns = pa.table({"age": [1.0, 2.0], "it": values})
    path = written(tmp_path, typed, columns)
    for asked in ([], ["it"]):
        for schema in (None, Schema({"it": {"type": "integer"}})):
            told = refusal(path, *asked, schema=schema)
            assert told.startswith(f"column 'it' of {path} has {shown}")
            assert advice in told
    assert DataFile(path, ["age"]).read_values()[0]["age"].tolist() == [1, 2]


def test_a_type_that_this_pyarrow_cannot_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found out when the file is opened, not when the values are read."""

    def fail(*_: object) -> None:
        raise pa.ArrowNotImplementedError

    monkeypatch.setattr(readings.Reading, "values", fail)
    with pytest.raises(FileError, match=r"column 'age' of .* has type double"):
        DataFile(written(tmp_path, ".parquet"))


def test_levels_for_numbers(tmp_path: Path) -> None:
    schema = Schema({"income": {"levels": ["4", "5"]}})
    told = refusal(written(tmp_path, ".parquet"), schema=schema)
    assert "has type int64, which cannot be read as a text" in told
    assert "Declare it as number or integer" in told


@pytest.mark.parametrize("columns", [["age", "incom"], ["age"], []])
def test_a_declaration_of_a_column_that_is_not_there(
    tmp_path: Path, suffix: str, columns: list[str]
) -> None:
    """Also one that is not read: its name may be a slip for one that is."""
    path = written(tmp_path, suffix)
    told = refusal(path, *columns, schema=Schema({"incom": {"type": "integer"}}))
    assert f"{path} has no column 'incom'" in told


def test_booleans_of_a_text_file_have_no_one_spelling(tmp_path: Path) -> None:
    schema = Schema({"age": {"type": "boolean"}})
    assert "levels: [FALSE, TRUE]" in refusal(written(tmp_path, ".csv"), schema=schema)


@pytest.mark.parametrize("names", ["age", [1], 3, ["age", "income", "age"]])
def test_names_that_are_no_list_of_names(tmp_path: Path, names: object) -> None:
    path = written(tmp_path, ".csv")
    with pytest.raises(InputError, match=r"^columns is .*list of names of columns"):
        DataFile(path, names)  # type: ignore[arg-type]


# Text files have no types, and perhaps no header.


@pytest.mark.parametrize("text", [".csv", ".tsv"])
def test_a_text_file_without_named_columns(tmp_path: Path, text: str) -> None:
    """A column of text that nobody declared would be missing throughout."""
    path = tmp_path / f"people{text}"
    path.write_text("age\nAnn\n")
    for columns in (None, []):
        with pytest.raises(FileError, match="a text file, which has no types"):
            DataFile(path, columns)


HEADERS = {
    "no header": b"34,Secret,1\n51,Hidden,0\n",
    "no header, text alone": b"Secret,Hidden\nHidden,Secret\n",
    "semicolons": b"age;Secret\n1;2,5\n",
    "another encoding": b"\xff\xfea\x00\n1,2\n",
    "blank lines": b"\n\n",
    "another name": b"Secret,Age\n1,2\n",
}


@pytest.mark.parametrize("content", HEADERS.values(), ids=HEADERS)
def test_the_first_line_of_a_text_file_is_never_shown(
    tmp_path: Path, content: bytes
) -> None:
    """It may be a record: so all are told alike."""
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    assert refusal(path, "age") == (
        f"{path} has no column 'age'. Its first line must name the columns, in UTF-8, "
        "separated by ',': add such a line, or give names that are in it."
    )


@pytest.mark.parametrize(
    "content",
    [
        b'age\n1,"Secret\n3,4\n',
        b'age\n"Secret"1,2\n',
        b'age\n"Secret,2\n"3,4\n',
        b'"age',
    ],
)
def test_a_quote_out_of_place(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    told = refusal(path, "age")
    assert told.startswith(f"{path} is not well-formed: a cell in quotes does not end")
    assert "Secret" not in told


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, ".csv")
    monkeypatch.setattr(data_file, "find_spec", lambda _: None)
    assert "pip install 'dpmcmc[files]'" in refusal(path)


def test_all_errors_of_files_are_of_one_kind() -> None:
    assert issubclass(FileError, InputError)
