# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Data files: the schema first, the values later; formats, types, declarations."""

import decimal
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from tables import write

import dpmcmc
from dpmcmc import Schema
from dpmcmc.files import DataFile

NAN = float("nan")
WALK = dpmcmc.Barker(proposal=dpmcmc.RandomWalk(0.5))


FORMATS = [".parquet", ".pq", ".feather", ".arrow", ".ipc"]


@pytest.fixture(params=FORMATS)
def suffix(request: pytest.FixtureRequest) -> str:
    return request.param


def read_back(table: pa.Table, folder: Path, suffix: str, **how: Any) -> Any:
    return DataFile(write(table, folder / f"table{suffix}"), **how).read_values()


# Types


@pytest.mark.parametrize(
    ("kind", "values", "dtype"),
    [
        (pa.bool_(), [True, None, False], "bool"),
        (pa.int8(), [-128, None, 127], "int32"),
        (pa.uint8(), [0, None, 255], "int32"),
        (pa.int16(), [-32768, None, 32767], "int32"),
        (pa.uint16(), [0, None, 65535], "int32"),
        (pa.int32(), [-(2**31), None, 2**31 - 1], "int32"),
        (pa.uint32(), [0, None, 2**32 - 1], "int64"),
        (pa.int64(), [-(2**63), None, 2**63 - 1], "int64"),
        (pa.uint64(), [0, None, 2**64 - 1], "float64"),
        (pa.float16(), [1.5, None, -np.inf], "float32"),
        (pa.float32(), [1.5, None, 1e-45], "float32"),
        (pa.float64(), [1e300, None, np.inf], "float64"),
        (pa.decimal128(9, 2), [decimal.Decimal("-1.25"), None, 3], "float64"),
        (pa.decimal256(50, 3), [decimal.Decimal("-1.125"), None, 3], "float64"),
    ],
    ids=str,
)
def test_a_type_says_the_dtype_and_a_null_is_missing(
    tmp_path: Path, suffix: str, kind: pa.DataType, values: list, dtype: str
) -> None:
    table = pa.table({"x": pa.array(values, kind)})
    file = DataFile(write(table, tmp_path / f"table{suffix}"))
    assert file.dtypes == {"x": np.dtype(dtype)}
    assert len(file) == 3
    found, present = file.read_values()
    expected = np.array([value or 0 for value in values]).astype(dtype)
    np.testing.assert_array_equal(found["x"], expected, strict=True)
    assert present.tolist() == [True, False, True]


def test_a_nan_is_missing(tmp_path: Path, suffix: str) -> None:
    for kind in (pa.float16(), pa.float32(), pa.float64()):
        values = pa.array(np.array([1.5, NAN, np.inf], kind.to_pandas_dtype()), kind)
        found, present = read_back(pa.table({"x": values}), tmp_path, suffix)
        assert found["x"].tolist() == [1.5, 0, np.inf]
        assert present.tolist() == [True, False, True]


def test_columns_come_in_the_order_asked(tmp_path: Path, suffix: str) -> None:
    table = pa.table({"a": [1.0, 2, 3], "b.c": [4.0, 5, None], "d": [7.0, 8, 9]})
    found, present = read_back(table, tmp_path, suffix, columns=["d", "b.c"])
    assert list(found) == ["d", "b.c"]
    assert found["b.c"].tolist() == [4, 5, 0]
    assert found["d"].tolist() == [7, 8, 9]
    assert present.tolist() == [True, True, False]
    assert list(read_back(table, tmp_path, suffix)[0]) == ["a", "b.c", "d"]
    assert read_back(table, tmp_path, suffix, columns=["a"])[1].all()


def test_names_with_dots_are_names_and_no_paths(tmp_path: Path, suffix: str) -> None:
    table = pa.table({"b.c": [1.0, 2, 3], "b": [4.0, 5, 6], "b.d": [[7.0], [], None]})
    found, _ = read_back(table, tmp_path, suffix, columns=["b", "b.c"])
    assert found["b"].tolist() == [4, 5, 6]
    assert found["b.c"].tolist() == [1, 2, 3]


def test_columns_after_a_nested_one_are_found(tmp_path: Path, suffix: str) -> None:
    nested = pa.array([{"x": 1, "y": [1, 2]}] * 3)
    table = pa.table({"n": nested, "l": [[1.0], [], None], "x": [1.0, 2.0, 3.0]})
    found, _ = read_back(table, tmp_path, suffix, columns=["x"])
    assert found["x"].tolist() == [1, 2, 3]


def test_a_name_may_begin_like_a_hidden_file(tmp_path: Path, suffix: str) -> None:
    for name in ("_table", ".table"):
        path = write(pa.table({"x": [1.0]}), tmp_path / f"{name}{suffix}")
        assert len(DataFile(path)) == 1


# Declarations


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
    levels = {"region": {"levels": ["sûd", "north"]}}
    found, present = read_back(
        table, tmp_path, suffix, schema=Schema(levels), columns=["region", "x"]
    )
    expected = np.array([1, 0, 0, 0, 0], np.int32)
    np.testing.assert_array_equal(found["region"], expected, strict=True)
    assert present.tolist() == [True, True, False, False, True]


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["b", "a", "c"])])
@pytest.mark.parametrize("how", ["ipc", "parquet"])
def test_text_of_polars_becomes_codes(tmp_path: Path, kind: Any, how: str) -> None:
    """It writes text in a layout of its own."""
    frame = pl.DataFrame({"x": pl.Series(["a", "b", None, "c"], dtype=kind)})
    getattr(frame, f"write_{how}")(tmp_path / f"table.{how}")
    file = DataFile(
        tmp_path / f"table.{how}", schema=Schema({"x": {"levels": ["a", "b"]}})
    )
    found, present = file.read_values()
    assert found["x"].tolist() == [0, 1, 0, 0]
    assert present.tolist() == [True, True, False, False]


def test_numbers_in_a_dictionary_are_numbers(tmp_path: Path, suffix: str) -> None:
    values = pa.array([1.5, None, 1.5]).dictionary_encode()
    found, present = read_back(pa.table({"x": values}), tmp_path, suffix)
    assert found["x"].tolist() == [1.5, 0, 1.5]
    assert present.tolist() == [True, False, True]


def test_floats_may_be_declared_integers(tmp_path: Path, suffix: str) -> None:
    """As pandas writes codes with a missing value."""
    values = [0.0, 2.0, None, NAN, 1.5, np.inf, -3.0, 2.0**53, 1e300, 5e-324]
    table = pa.table({"g": values, "n": list(range(10)), "b": [True] * 10})
    schema = Schema({name: {"type": "integer"} for name in "gnb"})
    found, present = read_back(table, tmp_path, suffix, schema=schema)
    assert [array.dtype for array in found.values()] == [np.int64] * 3
    assert found["g"].tolist() == [0, 2, 0, 0, 0, 0, -3, 0, 0, 0]
    whole = [True, True, False, False, False, False, True, False, False, False]
    assert present.tolist() == whole


def test_a_csv_is_read_by_what_is_declared(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(
        'x,region,group,name\n1,north,0,Ann\n2," sûd ",3.0,Bo\n3,,1,C\n4,west,1.5,D\n',
        encoding="utf-8",
    )
    file = DataFile(
        path,
        ["x", "region", "group"],
        schema=Schema(
            {"region": {"levels": ["sûd", "north"]}, "group": {"type": "integer"}}
        ),
    )
    kinds = {"x": np.float64, "region": np.int32, "group": np.int64}
    assert file.dtypes == {name: np.dtype(kind) for name, kind in kinds.items()}
    found, present = file.read_values()
    assert found["region"].tolist() == [1, 0, 0, 0]
    assert found["group"].tolist() == [0, 3, 1, 0]
    assert present.tolist() == [True, True, False, False]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_integer_codes_are_indices(tmp_path: Path, suffix: str) -> None:
    """As they are in Python: r[group] is traced and run."""
    path = tmp_path / f"table{suffix}"
    pl.DataFrame({"group": [0, 1, 2, 1], "y": [0.1, 1.0, 2.0, 0.9]}).pipe(
        lambda frame: (
            frame.write_csv(path) if suffix == ".csv" else frame.write_parquet(path)
        )
    )
    declared = Schema({"group": {"type": "integer"}}) if suffix == ".csv" else None
    posterior = dpmcmc.sample_not_private(
        dpmcmc.Model(
            lambda r, record: -((record["y"] - r[record["group"]]) ** 2),
            lambda r: -jnp.sum(r**2),
            initial=np.zeros(3),
        ),
        DataFile(path, ["group", "y"], schema=declared),
        steps=40,
        seed=1,
        method=WALK,
        progress=False,
    )
    assert len(np.unique(posterior.draws["theta"])) > 5
