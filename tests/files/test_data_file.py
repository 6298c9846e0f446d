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
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pyarrow import feather

import dpmcmc
from dpmcmc import Schema
from dpmcmc.files import DataFile, FileError

NAN = float("nan")
WALK = dpmcmc.Barker(proposal=dpmcmc.RandomWalk(0.5))


def write(table: pa.Table, path: Path) -> Path:
    """Write a table as the name of the file says."""
    if path.suffix in (".parquet", ".pq"):
        pq.write_table(table, path, row_group_size=2)
    elif path.suffix == ".feather":
        feather.write_feather(table, path, chunksize=2)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=2)
    return path


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


# When values are read


@given(
    values=arrays.arrays(np.float64, st.integers(1, 30)),
    missing=st.lists(st.booleans(), min_size=30, max_size=30),
)
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_values_change_nothing_but_the_arrays(
    tmp_path_factory: pytest.TempPathFactory,
    values: np.ndarray,
    missing: list[bool],
    suffix: str,
) -> None:
    """Floats come back bit for bit; nulls and NaN are missing; the schema is one."""
    holes = np.array(missing[: len(values)])
    path = tmp_path_factory.mktemp("files") / f"table{suffix}"
    file = DataFile(write(pa.table({"x": pa.array(values, mask=holes)}), path))
    assert file.dtypes == {"x": np.float64}
    found, present = file.read_values()
    gone = holes | np.isnan(values)
    np.testing.assert_array_equal(present, ~gone)
    assert found["x"].tobytes() == np.where(gone, 0.0, values).tobytes()


ANYTHING = st.tuples(
    st.none() | st.floats(),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.sampled_from(["low", "high", "", "Low"]) | st.text(max_size=5),
    st.none() | st.booleans(),
    st.none() | st.decimals(-(10**6), 10**6, places=2),
)
SCHEMA = pa.schema(
    {
        "x": pa.float64(),
        "n": pa.int64(),
        "level": pa.string(),
        "flag": pa.bool_(),
        "amount": pa.decimal128(12, 2),
    }
)


DECLARED = Schema(
    {
        "x": {"type": "number"},
        "n": {"type": "number"},
        "level": {"levels": ["low", "high"]},
        "flag": {"type": "boolean"},
        "amount": {"type": "integer"},
    }
)


@given(record=ANYTHING)
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_record_decides_over_itself_alone(
    tmp_path_factory: pytest.TempPathFactory, record: tuple, suffix: str
) -> None:
    """Whatever it holds: all others are the same, and nothing is said."""
    folder = tmp_path_factory.mktemp("files")
    usual = [(0.5, 1, "low", True, 2), (1.5, None, "high", False, 3)]

    def opened(*records: tuple) -> Any:
        columns = zip(*records, strict=True)
        arrays = [
            pa.array(column, field.type)
            for column, field in zip(columns, SCHEMA, strict=True)
        ]
        table = pa.table(arrays, schema=SCHEMA)
        path = write(table, folder / f"table{suffix}")
        file = DataFile(path, schema=DECLARED)
        return file, *file.read_values()

    plain, arrays, present = opened(usual[0], usual[0], usual[1])
    other, changed, other_present = opened(usual[0], record, usual[1])
    assert other.dtypes == plain.dtypes
    assert len(other) == len(plain)
    for name, values in arrays.items():
        assert changed[name].dtype == values.dtype
        assert changed[name][[0, 2]].tobytes() == values[[0, 2]].tobytes()
    np.testing.assert_array_equal(other_present[[0, 2]], present[[0, 2]])
    is_there = None not in record and not np.isnan(record[0])
    is_there = is_there and record[2] in ("low", "high") and record[4] % 1 == 0
    assert other_present[1] == is_there


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_values_are_read_when_records_are_opened(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is refused has read none of them; one that goes reads them once."""
    path = tmp_path / f"table{suffix}"
    frame = pl.DataFrame({"x": [0.1, 0.2, 0.3]})
    frame.write_csv(path) if suffix == ".csv" else frame.write_parquet(path)
    reads, original = [], DataFile.read_values

    def read_values(file: DataFile) -> Any:
        reads.append(file)
        return original(file)

    monkeypatch.setattr(DataFile, "read_values", read_values)
    records = dpmcmc.Records(DataFile(path, ["x"]))

    def run(**changes: Any) -> None:
        dpmcmc.sample_not_private(
            dpmcmc.Model(
                lambda b, record: -((record["x"] - b) ** 2),
                lambda b: -(b**2),
                initial=0.0,
            ),
            records,
            **{"steps": 10, "seed": 1, "progress": False, **changes},
        )

    with pytest.raises(dpmcmc.InputError):
        run(method=dpmcmc.Barker(clip=-1.0, proposal=WALK.proposal))
    assert reads == []
    run(method=WALK)
    run(method=WALK)
    assert len(reads) == 1


def test_records_with_a_missing_value_count_for_nothing(tmp_path: Path) -> None:
    """A chain with a seed is the same with them, whatever else they hold.

    Even under a model that takes a comparison, which no NaN gets through.
    """

    def draws(rest: list[float]) -> np.ndarray:
        table = pa.table(
            {
                "x": [0.5, -1.0, 2.0, *rest],
                "y": [1.0, 0.0, 1.0, None, NAN],
            }
        )
        posterior = dpmcmc.sample_not_private(
            dpmcmc.Model(
                lambda b, record: jnp.where(
                    record["y"] > 0, -((b - record["x"]) ** 2), b
                ),
                lambda b: -(b**2),
                initial=0.0,
            ),
            DataFile(write(table, tmp_path / "table.parquet")),
            steps=40,
            seed=1,
            method=WALK,
            progress=False,
        )
        return posterior.draws["theta"]

    moved = draws([1.0, 1.0])
    assert len(np.unique(moved)) > 5
    np.testing.assert_array_equal(moved, draws([7.0, -3.0]))


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv"])
def test_a_file_that_changes_after_it_was_opened_is_refused(
    tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"table{suffix}"

    def put(values: list[float]) -> None:
        if suffix == ".csv":
            path.write_text("x\n" + "".join(f"{value}\n" for value in values))
        else:
            write(pa.table({"x": values}), path)

    put([1.0, 2.0])
    file = DataFile(path, ["x"])
    put([1.0, 2.0, 3.0])
    with pytest.raises(FileError, match="has changed since it was opened"):
        file.read_values()
    path.unlink()
    with pytest.raises(FileError, match="there is no file"):
        file.read_values()


def test_a_file_shows_its_name_and_length_alone(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("x,34\n7777,1\n")
    shown = repr(DataFile(path, ["x"])) + repr(dpmcmc.Records(DataFile(path, ["x"])))
    assert "1 records" in shown
    assert "7777" not in shown
    assert "34" not in shown
