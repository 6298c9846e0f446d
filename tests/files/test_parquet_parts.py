# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Folders of Parquet files, and their parts."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpmcmc.files import DataFile, FileError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Records 0 to 99: three files, one of them below, and what is no data."""
    (tmp_path / "later").mkdir()
    for name, first, last, group in (
        ("a.parquet", 0, 50, 20),
        ("b.pq", 50, 57, 100),
        ("later/c.parquet", 57, 100, 30),
    ):
        table = pa.table({"x": np.arange(first, last), "y": np.ones(last - first)})
        pq.write_table(table, tmp_path / name, row_group_size=group)
    (tmp_path / "_SUCCESS.parquet").write_text("no data")
    (tmp_path / "notes.txt").write_text("no data")
    return tmp_path


def test_a_folder_is_read_in_the_order_of_names(folder: Path) -> None:
    data = DataFile(folder)
    values, present = data.read_values()
    assert len(data) == 100
    assert values["x"].tolist() == list(range(100))
    assert present.all()


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 11])
def test_every_record_is_in_one_part(folder: Path, parts: int) -> None:
    whole = DataFile(folder)
    found = [whole.part(number, parts) for number in range(parts)]
    values = [part.read_values()[0]["x"] for part in found]
    assert [len(part) for part in found] == [len(rows) for rows in values]
    assert np.concatenate(values).tolist() == list(range(100))


def test_a_part_may_be_empty(folder: Path) -> None:
    parts = [DataFile(folder).part(number, 11) for number in range(11)]
    empty = next(part for part in parts if len(part) == 0)
    values, present = empty.read_values()
    assert values["y"].shape == present.shape == (0,)
    assert values["y"].dtype == np.float64


def test_a_file_has_parts_too(folder: Path) -> None:
    sizes = [len(DataFile(folder / "a.parquet").part(n, 2)) for n in range(2)]
    assert sizes == [20, 30]


def test_a_uri_of_a_folder(folder: Path) -> None:
    assert len(DataFile(folder.as_uri())) == 100


def test_files_with_other_columns_are_refused(folder: Path) -> None:
    pq.write_table(pa.table({"x": [1.5]}), folder / "z.parquet")
    with pytest.raises(FileError, match="different columns"):
        DataFile(folder)


def test_a_folder_that_changes_is_refused(folder: Path) -> None:
    data = DataFile(folder)
    pq.write_table(pa.table({"x": [1], "y": [1.0]}), folder / "z.parquet")
    with pytest.raises(FileError, match="changed"):
        data.read_values()


def test_text_has_no_parts(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("x\n1\n2\n")
    with pytest.raises(FileError, match="in parts"):
        DataFile(path, ["x"]).part(0, 2)
