# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What data files become: every format, every type, what is missing."""

import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pyarrow import feather

import dpmcmc
from dpmcmc.files import read_table

NAN = float("nan")


def write(table: pa.Table, path: Path) -> Path:
    """Write a table as the name of the file says."""
    if path.suffix in (".parquet", ".pq"):
        pq.write_table(table, path, row_group_size=2)
    elif path.suffix == ".feather":
        feather.write_feather(table, path, chunksize=2)
    elif path.suffix == ".ipc":
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, max_chunksize=2)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=2)
    return path


FORMATS = [".parquet", ".pq", ".feather", ".arrow", ".ipc"]


@pytest.fixture(params=FORMATS)
def suffix(request: pytest.FixtureRequest) -> str:
    return request.param


def read_back(table: pa.Table, folder: Path, suffix: str, **how: Any) -> Any:
    return read_table(write(table, folder / f"table{suffix}"), **how)


@pytest.mark.parametrize(
    ("kind", "values", "dtype"),
    [
        (pa.bool_(), [True, None, False], "float32"),
        (pa.int8(), [-128, None, 127], "float32"),
        (pa.uint8(), [0, None, 255], "float32"),
        (pa.int16(), [-32768, None, 32767], "float32"),
        (pa.uint16(), [0, None, 65535], "float32"),
        (pa.int32(), [-(2**31), None, 2**31 - 1], "float64"),
        (pa.uint32(), [0, None, 2**32 - 1], "float64"),
        (pa.int64(), [-(2**53), None, 2**63 - 1], "float64"),
        (pa.uint64(), [0, None, 2**64 - 1], "float64"),
        (pa.float16(), [1.5, None, -np.inf], "float32"),
        (pa.float32(), [1.5, None, NAN], "float32"),
        (pa.float64(), [1e300, None, np.inf], "float64"),
        (pa.decimal128(9, 2), [decimal.Decimal("-1.25"), None, 3], "float64"),
        (pa.decimal256(50, 3), [decimal.Decimal("-1.125"), None, 3], "float64"),
    ],
    ids=str,
)
def test_every_type_of_number_becomes_the_floats_that_hold_it(
    tmp_path: Path, suffix: str, kind: pa.DataType, values: list, dtype: str
) -> None:
    table = pa.table({"x": pa.array(values, kind)})
    found = read_back(table, tmp_path, suffix)["x"]
    expected = [NAN if value is None else float(value) for value in values]
    np.testing.assert_array_equal(found, np.array(expected, dtype), strict=True)


def test_a_type_says_the_dtype_whether_or_not_a_value_is_missing(
    tmp_path: Path, suffix: str
) -> None:
    for kind in (pa.int8(), pa.int64(), pa.bool_()):
        whole = pa.table({"x": pa.array([1, 0, 1], pa.int8()).cast(kind)})
        holed = pa.table({"x": pa.array([1, None, 1], pa.int8()).cast(kind)})
        one, other = (read_back(t, tmp_path, suffix)["x"] for t in (whole, holed))
        assert one.dtype == other.dtype


def test_columns_come_in_the_order_asked(tmp_path: Path, suffix: str) -> None:
    table = pa.table({"a": [1.0, 2, 3], "b.c": [4.0, 5, 6], "d": [7.0, 8, 9]})
    found = read_back(table, tmp_path, suffix, columns=["d", "b.c"])
    assert list(found) == ["d", "b.c"]
    np.testing.assert_array_equal(found["b.c"], [4, 5, 6])
    np.testing.assert_array_equal(found["d"], [7, 8, 9])
    assert list(read_back(table, tmp_path, suffix)) == ["a", "b.c", "d"]


def test_columns_after_a_nested_one_are_found(tmp_path: Path, suffix: str) -> None:
    nested = pa.array([{"x": 1, "y": [1, 2]}] * 3)
    table = pa.table({"n": nested, "l": [[1.0], [], None], "x": [1.0, 2.0, 3.0]})
    found = read_back(table, tmp_path, suffix, columns=["x"])
    np.testing.assert_array_equal(found["x"], [1, 2, 3])


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_string()),
    ],
    ids=str,
)
def test_text_with_levels_becomes_codes(
    tmp_path: Path, suffix: str, kind: pa.DataType
) -> None:
    values = pa.array(["north", "sûd", None, "nowhere", "sûd"]).cast(kind)
    table = pa.table({"region": values, "x": [1.0, 2, 3, 4, 5]})
    levels = {"region": ["sûd", "north"]}
    found = read_back(table, tmp_path, suffix, levels=levels)["region"]
    expected = np.array([1, 0, NAN, NAN, 0], np.float32)
    np.testing.assert_array_equal(found, expected, strict=True)


def test_numbers_in_a_dictionary_are_numbers(tmp_path: Path, suffix: str) -> None:
    values = pa.array([1.5, None, 1.5]).dictionary_encode()
    found = read_back(pa.table({"x": values}), tmp_path, suffix)["x"]
    np.testing.assert_array_equal(found, [1.5, NAN, 1.5])


def test_text_with_levels_in_a_csv_becomes_codes(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text('x,region\n1,north\n2," sûd "\n3,\n4,nowhere\n', encoding="utf-8")
    found = read_table(path, levels={"region": ["sûd", "north"]})
    expected = np.array([1, 0, NAN, NAN], np.float32)
    np.testing.assert_array_equal(found["region"], expected, strict=True)


@given(
    values=arrays.arrays(np.float64, st.integers(1, 30)),
    missing=st.lists(st.booleans(), min_size=30, max_size=30),
)
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_floats_come_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory,
    values: np.ndarray,
    missing: list[bool],
    suffix: str,
) -> None:
    holes = np.array(missing[: len(values)])
    folder = tmp_path_factory.mktemp("files")
    table = pa.table({"x": pa.array(values, mask=holes)})
    found = read_back(table, folder, suffix)["x"]
    expected = np.where(holes, NAN, values)
    np.testing.assert_array_equal(found, expected, strict=True)


def test_records_with_a_missing_value_count_for_nothing(tmp_path: Path) -> None:
    """A chain with a seed is the same with them, and with what they hold besides."""

    def draws(rest: list[float]) -> np.ndarray:
        table = pa.table(
            {"x": [0.5, -1.0, 2.0, 1.0, 1.0], "y": [1.0, 0.0, 1.0, None, NAN]}
        ).set_column(0, "x", pa.array([0.5, -1.0, 2.0, *rest]))
        posterior = dpmcmc.sample_not_private(
            dpmcmc.Model(
                lambda b, record: -((record["y"] - b * record["x"]) ** 2),
                lambda b: -(b**2),
                initial=0.0,
            ),
            read_back(table, tmp_path, ".parquet"),
            steps=40,
            seed=1,
            proposal=dpmcmc.RandomWalk(0.5),
            progress=False,
        )
        return posterior.draws["theta"]

    moved = draws([1.0, 1.0])
    assert len(np.unique(moved)) > 5
    np.testing.assert_array_equal(moved, draws([7.0, -3.0]))
