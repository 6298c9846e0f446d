# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Where released numbers agree, all else that leaves the process agrees as well.

The clip is so small that no record changes a decision made with the same words. So with
one tape, two tables that differ in one record must look alike in every byte.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from jax.experimental.compilation_cache import compilation_cache
from observed import Observed, Watch, differences
from small_jobs import make_study

import dpmcmc
from dpmcmc import cli
from dpmcmc.sampling.checkpoint import MemoryCheckpoint

RECORDS = 30
HOSTILE = [np.nan, np.inf, -np.inf, 1e308, -5e-324, 0.0, 3e38, 1e-45]


@pytest.fixture
def watch(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> Watch:
    return Watch(monkeypatch, capfd, caplog)


def column(value: Any) -> list[Any]:
    """A column whose record number 7 has this value."""
    values: list[Any] = np.random.default_rng(4).normal(1, 1, RECORDS).tolist()
    values[7] = value
    return values


def masked(values: list[Any]) -> np.ma.MaskedArray:
    hidden = [value is None for value in values]
    filled = [0.0 if value is None else value for value in values]
    return np.ma.MaskedArray(filled, hidden)


TABLES: dict[str, Callable[[list[Any]], Any]] = {
    "array": lambda values: {"x": np.array(values, float)},
    "masked": lambda values: {"x": masked(values)},
    "pandas": lambda values: pd.DataFrame({"x": pd.Series(values, dtype="Float64")}),
    "polars": lambda values: pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64)}),
    "arrow": lambda values: pa.table({"x": pa.array(values, pa.float64())}),
}


@pytest.fixture(scope="module")
def normal() -> dpmcmc.Model:
    return dpmcmc.Model(
        lambda theta, record: -0.5 * (record["x"] - theta["mean"]) ** 2,
        lambda theta: -0.5 * theta["mean"] ** 2,
        {"mean": 0.0},
    )


def run(model: dpmcmc.Model, table: Any, method: Any, **settings: Any) -> Any:
    checkpoint = MemoryCheckpoint()
    posterior = dpmcmc.sample(
        model,
        table,
        delta=1e-6,
        method=method,
        steps=20,
        checkpoint=checkpoint,
        **settings,
    )
    return (
        {name: values.tobytes() for name, values in posterior.draws.items()},
        posterior.accepted.tobytes(),
        str(posterior),
        str(posterior.statement),
        posterior.summary().to_json(),
        {
            name: [array.tobytes() for array in part.arrays.values()]
            for stage in ("chain",)
            for part in checkpoint.kept(stage)
            for name in [part.name]
        },
    )


BARKER = dpmcmc.Barker(clip=1e-9, proposal=dpmcmc.RandomWalk(0.5))


@pytest.mark.parametrize("kind", TABLES)
def test_hostile_values_in_python(
    kind: str, watch: Watch, normal: dpmcmc.Model
) -> None:
    for _ in range(2):  # what is compiled once is compiled by the first
        usual = watch(lambda: run(normal, TABLES[kind](column(1.0)), BARKER))
    assert usual.error == ""
    assert usual.result[1]
    hostile = [*HOSTILE, *([] if kind == "array" else [None])]
    for value in hostile:
        table = TABLES[kind](column(value))
        found = watch(lambda table=table: run(normal, table, BARKER))
        assert differences(found, usual) == [], value


def test_the_watch_sees_a_difference(watch: Watch, normal: dpmcmc.Model) -> None:
    """With a wide clip, the same record does change decisions."""
    wide = dpmcmc.Barker(clip=3.0, proposal=dpmcmc.RandomWalk(0.5))
    one = watch(lambda: run(normal, {"x": np.array(column(400.0))}, wide))
    other = watch(lambda: run(normal, {"x": np.array(column(-400.0))}, wide))
    assert one.result != other.result


def test_hostile_values_on_batches(watch: Watch, normal: dpmcmc.Model) -> None:
    method = dpmcmc.MinibatchBarker(batch=5, clip=1e-9, proposal=dpmcmc.RandomWalk(0.5))
    # what is compiled once is compiled by the first
    tables = [{"x": np.array(column(value))} for value in (1.0, *HOSTILE)]
    found = [watch(lambda table=table: run(normal, table, method)) for table in tables]
    assert found[0].error == ""
    assert [differences(one, found[-1]) for one in found[1:]] == [[]] * len(HOSTILE)


def test_keys_of_compiled_programs(
    tmp_path: Path, watch: Watch, normal: dpmcmc.Model
) -> None:
    """From nothing, both tables compile the same programs."""
    before = jax.config.jax_compilation_cache_dir
    keys = []
    try:
        for value in (1.0, np.nan):
            folder = tmp_path / "compiled"  # keys depend on its name
            shutil.rmtree(folder, ignore_errors=True)
            jax.config.update("jax_compilation_cache_dir", str(folder))
            compilation_cache.reset_cache()
            jax.clear_caches()
            table = {"x": np.array(column(value))}
            watch(lambda table=table: run(normal, table, BARKER))
            keys.append(sorted(path.name for path in folder.iterdir()))
    finally:
        jax.config.update("jax_compilation_cache_dir", before)
        compilation_cache.reset_cache()
    assert len(keys[0]) > 3
    assert keys[0] == keys[1]


TEXTS = [
    "nan", "inf", "-INF", "", "NULL", "1e308", "5e-324", "-0", "hello", "y" * 3000,
    '"a ""quoted"" text"', "１２", "0x10", "1e999",
]  # fmt: skip
SAMPLE = (
    "sample model.py:model --delta 1e-6 --method barker --clip 1e-9 --steps 20 "
    "--scale 0.3 --ledger study.db --data-set people --analyst ana --out run --yes"
)


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watch: Watch
) -> Callable[[str, Callable[[Path], None]], Observed]:
    """Run a command in a study, whose table is written anew each time."""
    monkeypatch.setenv("COLUMNS", "90")

    def observed(words: str, write: Callable[[Path], None]) -> Observed:
        folder = tmp_path / "study"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        make_study(folder)
        (folder / "people.csv").unlink()
        inputs = tmp_path / "inputs"
        shutil.rmtree(inputs, ignore_errors=True)
        inputs.mkdir()
        write(inputs)
        monkeypatch.chdir(folder)
        return watch(lambda: cli.main(words.split()), folder)

    return observed


def csv_with(*texts: str, beside: tuple[str, ...] = ()) -> Callable[[Path], None]:
    """Write a table whose first records have these texts."""
    values = [*texts, *map(str, np.linspace(0, 1, 200))][:200]
    others = [*beside, *["a"] * 200][:200]
    rows = [f"{value},{other}" for value, other in zip(values, others, strict=True)]

    def write(folder: Path) -> None:
        (folder / "people.csv").write_text("\n".join(["x,z", *rows]) + "\n", "utf-8")
        (folder / "s.yaml").write_text(
            "columns: {x: {type: number}, z: {levels: [a, b]}}"
        )

    return write


def parquet_with(
    *values: float | None, beside: tuple[str, ...] = ()
) -> Callable[[Path], None]:
    numbers = [*values, *np.linspace(0, 1, 200)][:200]
    texts = [*beside, *["a"] * 200][:200]
    table = pa.table({"x": pa.array(numbers, pa.float64()), "z": texts})
    return lambda folder: pq.write_table(table, folder / "people.parquet")


# Each record may be any other, so that all may be hostile at once.


def test_hostile_texts_from_the_command_line(command: Any) -> None:
    words = f"{SAMPLE} --data ../inputs/people.csv"
    usual = [command(words, csv_with()) for _ in range(2)][-1]
    assert (usual.error, usual.result) == ("", 0)
    assert "run/report.html" in usual.files
    hostile = csv_with(*TEXTS, beside=("b" * 2000, "", "ä"))
    assert differences(command(words, hostile), usual) == []


def test_hostile_values_of_a_typed_file(command: Any) -> None:
    words = f"{SAMPLE} --data ../inputs/people.parquet --columns x"
    usual = [command(words, parquet_with()) for _ in range(2)][-1]
    assert (usual.error, usual.result) == ("", 0)
    hostile = parquet_with(*HOSTILE, None, beside=("b" * 2000, "", "ä"))
    assert differences(command(words, hostile), usual) == []


def test_odd_categories_from_the_command_line(command: Any) -> None:
    """A text that is no level is a missing value, and looks like any other."""
    words = f"{SAMPLE} --data ../inputs/people.csv --schema ../inputs/s.yaml"
    usual = [command(words, csv_with()) for _ in range(2)][-1]
    assert usual.error == ""
    odd = csv_with(beside=("b", "c", "A", " a", "z" * 500, "ä", ""))
    assert differences(command(words, odd), usual) == []
