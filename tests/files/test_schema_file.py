# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""schema.yaml: templates from names and types alone, and what is read of them."""

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpmcmc
from dpmcmc import Schema, read_schema
from dpmcmc.files import DataFile, FileError, schema_template

DAYS = Schema({"since": {"origin": "2000-01-01"}})


def filled(text: str, **values: str) -> str:
    """A template with the first line of each name filled in."""
    for name, value in values.items():
        text = text.replace(f"    {name}:\n", f"    {name}: {value}\n", 1)
    return text


def test_a_text_file_is_read_up_to_its_first_line(tmp_path: Path) -> None:
    """What follows is no text file at all, and would be refused."""
    path, place = tmp_path / "people.csv", tmp_path / "schema.yaml"
    path.write_bytes(b'\xef\xbb\xbf"first\nname",no,"a ""b"": c"\n"4711\xff,"')
    text = schema_template(path)
    assert "4711" not in text
    place.write_text(filled(text, type="number").replace("type:\n", "type: integer\n"))
    assert list(read_schema(place).columns) == ["first\nname", "no", 'a "b": c']


def test_a_template_that_is_not_filled_in_is_refused(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n3\n")
    (tmp_path / "schema.yaml").write_text(schema_template(tmp_path / "people.csv"))
    with pytest.raises(FileError, match=r"schema.yaml: column 'age': type is ''"):
        read_schema(tmp_path / "schema.yaml")


@pytest.mark.parametrize("line", ["age,4711", "a,,b", "a,b,a", "-1.5e3", "", "\xe4"])
def test_a_first_line_that_may_be_a_record_is_not_shown(
    tmp_path: Path, line: str
) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(f"{line}\n1,2\n".encode("latin-1"))
    with pytest.raises(FileError) as refused:
        schema_template(path)
    assert "4711" not in str(refused.value)


def test_types_of_a_typed_file_are_filled_in(tmp_path: Path) -> None:
    table = pa.table(
        {
            "ward": pa.array([1], pa.int8()),
            "dose": pa.array([1.0], pa.float32()),
            "ill": [True],
            "region": pa.array(["secret 4711"]).dictionary_encode(),
            "since": [dt.date(2001, 1, 1)],
            "visits": [[1, 2]],
        }
    )
    pq.write_table(table, tmp_path / "people.parquet")
    text = schema_template(tmp_path / "people.parquet")
    assert "4711" not in text
    assert "# visits: has type list" in text
    place = tmp_path / "schema.yaml"
    place.write_text(filled(text, levels="[no, yes]", origin="2000-01-01"))
    schema = read_schema(place)
    types = {name: one.type for name, one in schema.columns.items()}
    assert types == {
        "ward": "integer",
        "dose": "number",
        "ill": "boolean",
        "region": "text",
        "since": "date",
    }
    assert schema.columns["region"].levels == ("no", "yes")
    found, present = DataFile(tmp_path / "people.parquet", schema=schema).read_values()
    assert found["since"].tolist() == [366.0]
    assert not present[0]  # its region is no level


@pytest.mark.parametrize(
    "text",
    [
        "- a list",
        "columns: {age: {type: number}, age: {type: integer}}",
        "columns:\n  age: {type: number}\n  age: {type: number}\n",
        "columns: {age: {tpye: number}}",
        "columns: {[a]: {type: number}}",
        "columns: {age: {type: number",
        "unit: person\n",
        "\x00",
        "!!python/object/apply:os.system [exit]",
        "&a [*a]",
    ],
)
def test_what_is_no_schema_names_the_file(tmp_path: Path, text: str) -> None:
    place = tmp_path / "schema.yaml"
    place.write_text(text)
    with pytest.raises(FileError, match=r"schema\.yaml"):
        read_schema(place)
    with pytest.raises(FileError, match="absent"):
        read_schema(tmp_path / "absent.yaml")


TIMES = [dt.datetime(2000, 1, 2, 12), None, dt.datetime(1999, 12, 31)]


@pytest.mark.parametrize(
    "kind",
    [
        pa.timestamp("s"),
        pa.timestamp("ms"),
        pa.timestamp("us"),
        pa.timestamp("ns"),
        pa.timestamp("us", "Europe/Helsinki"),
    ],
    ids=str,
)
def test_times_are_days_since_an_origin(tmp_path: Path, kind: pa.DataType) -> None:
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"since": pa.array(TIMES, kind)}), path)
    found, present = DataFile(path, schema=DAYS).read_values()
    assert found["since"].tolist() == [1.5, 0.0, -1.0]
    assert present.tolist() == [True, False, True]


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()], ids=str)
def test_dates_are_days_since_an_origin(tmp_path: Path, kind: pa.DataType) -> None:
    path = tmp_path / "table.arrow"
    table = pa.table({"since": pa.array([dt.date(2000, 1, 2), None], kind)})
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    found, present = DataFile(path, schema=DAYS).read_values()
    assert found["since"].tolist() == [1.0, 0.0]
    assert present.tolist() == [True, False]


CELLS = ["2000-01-02", "1999-12-31T12:00", "2000-02-31", "", "soon", "9" * 40]
EXPECTED = [1.0, -0.5, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), None], ids=str)
def test_texts_are_dates_if_they_are(tmp_path: Path, kind: pa.DataType | None) -> None:
    if kind is None:
        path = tmp_path / "table.csv"
        path.write_text("\n".join(["since,x", *(f"{cell},1" for cell in CELLS)]) + "\n")
    else:
        path = tmp_path / "table.parquet"
        pq.write_table(pa.table({"since": pa.array(CELLS, kind)}), path)
    found, present = DataFile(path, schema=DAYS).read_values()
    assert found["since"].tolist() == EXPECTED
    assert present.tolist() == [True, True, False, False, False, False]


def test_records_of_a_file_know_its_schema(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("who,since,x\n7,2000-01-02,4\n7,2000-01-03,9\n")
    schema = Schema(
        {"since": {"origin": "2000-01-01"}, "x": {"type": "number", "bounds": [0, 5]}},
        unit="who",
        most=2,
    )
    records = dpmcmc.Records(DataFile(path, schema=schema))
    assert (len(records), records.unit, records.most) == (1, "who", 2)
    assert set(records.schema.columns) == {"since", "x"}
    with pytest.raises(dpmcmc.InputError, match="DataFile"):
        dpmcmc.Records(DataFile(path, schema=schema), schema=schema)
    narrow = dpmcmc.Records(DataFile(path, ["x"], schema=schema))
    assert narrow.shape_of_one(np.float32).rows["x"].shape == (2,)
    assert set(narrow.schema.columns) == {"x"}
