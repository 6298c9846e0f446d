# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Ids of units in data files: of any type, and read before anything else is."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from dpmcmc import InputError, Records, Schema
from dpmcmc.files import DataFile, FileError
from dpmcmc.private.opening import open_on_host

IDS = {
    "text": pa.array(["b", "a", "b", None]),
    "categories": pa.array(["b", "a", "b", None]).dictionary_encode(),
    "integers": pa.array([7, 2, 7, None]),
    "dates": pa.array([9, 1, 9, None], pa.date32()),
}


def assert_two_units(records: Records) -> None:
    arrays, present = open_on_host(records, "float64")
    assert len(records) == 2
    assert np.array_equal(arrays.rows["x"], [[1, 3], [2, 2]])
    assert np.array_equal(arrays.present, [[1, 1], [1, 0]])
    assert present.all()


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_ids_of_any_type_are_read(tmp_path: Path, name: str, suffix: str) -> None:
    table = pa.table({"who": IDS[name], "x": [1.0, 2.0, 3.0, 4.0]})
    path = tmp_path / f"table{suffix}"
    (pq.write_table if suffix == ".parquet" else feather.write_feather)(table, path)
    assert_two_units(Records(DataFile(path, ["x"]), unit="who", most=2))


def test_cells_of_a_text_file_are_ids(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text('who,x\n"b, c",1\n a ,2\n"b, c",3\n,4\na,oops\n')
    assert_two_units(Records(DataFile(path, ["x"]), unit="who", most=2))


def test_a_column_of_ids_is_no_part_of_a_record(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"who": [1, 2], "x": [1.0, 2.0]}), path)
    records = Records(DataFile(path), unit="who", most=1)
    assert set(records.shape_of_one("float32").rows) == {"x"}


def test_only_ids_are_read_when_records_are_sealed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("who,x\n1,1\n")

    def fail(self: DataFile) -> None:
        raise AssertionError("values were read")

    monkeypatch.setattr(DataFile, "read_values", fail)
    assert len(Records(DataFile(path, ["x"]), unit="who", most=1)) == 1


def test_a_file_without_that_column_or_that_has_changed_is_refused(
    tmp_path: Path,
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("who,x\n1,1\n")
    file = DataFile(path, ["x"])
    with pytest.raises(FileError, match="no column"):
        Records(file, unit="whom", most=1)
    path.write_text("who,x\n1,1\n2,2\n")
    with pytest.raises(FileError, match="changed"):
        Records(file, unit="who", most=1)


def test_a_file_of_ids_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"who": [1, 2]}), path)
    with pytest.raises(InputError):
        Records(DataFile(path), unit="who", most=1)


def test_all_columns_but_that_of_ids_are_read(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"who": ["a", "b"], "x": [1.0, 2.0], "y": [3, 4]}), path)
    file = DataFile(path, schema=Schema(unit="who", most=1))
    assert list(file.dtypes) == ["x", "y"]
    assert len(Records(file)) == 2
    with pytest.raises(FileError):  # text without levels
        DataFile(path)
