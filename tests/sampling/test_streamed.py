# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Streamed records: the same bits as records on devices, in bounded memory."""

import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import parts
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpmcmc
from dpmcmc.errors import InputError
from dpmcmc.private import filling, opening
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.sampling import passes
from dpmcmc.sampling.plan import Request
from dpmcmc.sampling.problem import make_problem


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("records")
    parts.write(made)
    return made


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight records of three float32 columns in a block, and few in an int32 sum."""
    monkeypatch.setattr(opening, "_STREAMED_BYTES", 100)
    monkeypatch.setattr("dpmcmc.private.sealing.BLOCK", 8)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    "run",
    ["slope:default:float32", "logistic:barker:float64:2", "poisson:batch:float32"],
)
def test_streamed_records_draw_what_resident_ones_draw(folder: Path, run: str) -> None:
    """A fit and a chain, two chains on all records, and batches."""
    assert parts.digest_of(folder, run, streamed=True) == parts.digest_of(folder, run)


@pytest.mark.usefixtures("small_blocks")
def test_every_record_is_in_one_block(folder: Path) -> None:
    devices = jax.devices()[:1]
    streamed, resident = (
        dpmcmc.Records.from_parquet(folder, streamed=one) for one in (True, False)
    )
    with boundary_arithmetic():
        blocks = list(opening.open_blocks(streamed, "float64", devices))
        whole, _ = opening.open_records(resident, "float64", devices)
    assert len(blocks) == -(-sum(parts.SIZES) // 8)
    for name, column in whole.arrays.items():
        joined = np.concatenate([np.asarray(block.arrays[name]) for block in blocks])
        np.testing.assert_array_equal(joined, column)
    present = np.concatenate([np.asarray(block.present) for block in blocks])
    np.testing.assert_array_equal(present, whole.present)
    assert present.sum() == sum(parts.SIZES) - 1  # one has a missing value


@pytest.mark.usefixtures("small_blocks")
def test_tables_in_memory_and_units_are_streamed(folder: Path) -> None:
    run, table = "logistic:barker:float32", pq.read_table(folder)

    def drawn(**settings: Any) -> np.ndarray:
        records = dpmcmc.Records(table.select(["a", "b", "y"]), **settings)
        made = dpmcmc.sample_not_private(
            parts.MODELS["logistic"],
            records,
            seed=5,
            progress=False,
            **parts.METHODS["barker"],
        )
        return np.asarray(made.accepted)

    resident = drawn(in_parts=True)
    np.testing.assert_array_equal(drawn(in_parts=True, streamed=True), resident)
    units = [
        parts.digest_of(folder, f"units-{run}", streamed=one) for one in (True, False)
    ]
    assert units[0] == units[1]


def test_streamed_records_are_in_parts() -> None:
    with pytest.raises(InputError, match="in_parts=True"):
        dpmcmc.Records(np.zeros(9), streamed=True)


def test_a_disk_without_room_is_said_before_it_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(filling.os, "posix_fallocate", full)
    with pytest.raises(InputError, match="TMPDIR"):
        filling.on_disk((1000,), np.dtype(np.float32))


def test_a_disk_without_room_is_said_before_anything_is_charged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """601 records of four columns, of which one is of 64-bit integers, and presence."""
    size, free = sum(parts.SIZES) * (4 * 4 + 1), [0]
    monkeypatch.setattr(filling, "disk_usage", lambda _: SimpleNamespace(free=free[0]))
    free[0] = size
    dpmcmc.Records.from_parquet(folder, streamed=True)
    free[0] = size - 1
    with pytest.raises(InputError, match="TMPDIR"):
        dpmcmc.Records.from_parquet(folder, streamed=True)
    dpmcmc.Records.from_parquet(folder)


def test_columns_on_disk_have_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that nothing is left of them, however the process ends."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = filling.on_disk((1000, 2), np.dtype(np.int32))
    made[:] = 7
    assert list(tmp_path.iterdir()) == []
    assert made.sum() == 14_000


MEASURED = """
import re, sys, threading, time
import numpy as np
import dpmcmc
from dpmcmc.model import Model
def held():
    text = open("/proc/self/status").read()
    return 1024 * int(re.search(r"RssAnon:\\s+(\\d+)", text)[1])
def run(folder, streamed):
    records = dpmcmc.Records.from_parquet(folder, streamed=streamed)
    model = Model(lambda t, r: -(r["x0"] - t) ** 2 / 2, lambda t: -t**2 / 2, 0.0)
    dpmcmc.sample_not_private(model, records, seed=1, progress=False, steps=2,
        method=dpmcmc.Barker(clip=0.1, proposal=dpmcmc.RandomWalk(0.1)))
run(sys.argv[1], True)
most, before, done = 0, held(), False
def look():
    global most
    while not done:
        most = max(most, held() - before)
        time.sleep(0.002)
watch = threading.Thread(target=look)
watch.start()
run(sys.argv[2], sys.argv[3] == "streamed")
done = True
watch.join()
print(most)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read as Linux shows it")
def test_streamed_records_need_less_memory_than_their_columns(tmp_path: Path) -> None:
    """Ten columns of sixteen million float32 records, 640 MB."""
    rows, count = 1_000_000, 16
    for name, parts_ in {"small": 1, "large": count}.items():
        (tmp_path / name).mkdir()
        for part in range(parts_):
            size = rows if parts_ > 1 else 1000
            table = {
                f"x{one}": np.full(size, part + one, np.float32) for one in range(10)
            }
            pq.write_table(pa.table(table), tmp_path / name / f"{part}.parquet")
    columns = 4 * 10 * rows * count
    places = str(tmp_path / "small"), str(tmp_path / "large")
    found = {
        word: int(
            subprocess.run(
                [sys.executable, "-c", MEASURED, *places, word],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        for word in ("streamed", "resident")
    }
    assert found["resident"] > columns  # what is measured is there
    assert found["streamed"] < 0.6 * columns


@pytest.mark.parametrize(("speed", "is_long"), [(2**23, True), (2**40, False)])
def test_a_chain_on_streamed_records_says_how_long_passes_take(
    folder: Path, monkeypatch: pytest.MonkeyPatch, speed: int, is_long: bool
) -> None:
    """Of 601 records of three float32 columns, at a million steps."""
    steps, size = 1_000_000, sum(parts.SIZES) * 12
    monkeypatch.setattr(passes, "bytes_a_second", lambda: speed)
    problem = make_problem(
        parts.MODELS["logistic"],
        dpmcmc.Records.from_parquet(folder, ["a", "b", "y"], streamed=True),
        start=None,
        precision="float32",
        devices=None,
    )
    method = dpmcmc.Barker(clip=1e-9, proposal=parts.WALK)
    request = Request(epsilon=None, delta=1e-6, steps=steps, chains=1)
    plan = method.plan(problem, request)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        passes.warn_of_passes(plan)
    assert len(said) == is_long
    if is_long:
        text = str(said[0].message)
        assert f"about {size / speed:.3g} s" in text
        assert "1,000,000 passes" in text


def test_a_disk_has_a_speed() -> None:
    assert 1e6 < passes.bytes_a_second() < 1e12
