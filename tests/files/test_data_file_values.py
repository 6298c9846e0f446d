# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Data files: when values are read, and that a record decides over itself alone."""

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tables import write

import dpmcmc
from dpmcmc import Schema
from dpmcmc.files import DataFile, FileError

WALK = dpmcmc.Barker(proposal=dpmcmc.RandomWalk(0.5))


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
                "y": [1.0, 0.0, 1.0, None, np.nan],
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
