# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A large table is loaded in at most twice the memory of its columns."""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
ROWS, COLUMNS = 500_000, 10

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="peaks are measured on Linux"
)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
def test_the_peak_is_at_most_twice_the_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """Above what a process holds that has read a file of one record."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from _memory import cost_of

    generator = np.random.default_rng(0)
    # a few digits, so that the text is not long
    columns = {
        f"x{place}": generator.integers(1000, size=ROWS) / 8 for place in range(COLUMNS)
    }
    paths = []
    for name, rows in (("one", 1), ("all", ROWS)):
        table = pa.table({key: values[:rows] for key, values in columns.items()})
        paths.append(tmp_path / f"{name}.{suffix}")
        if suffix == "parquet":
            pq.write_table(table, paths[-1])
        elif suffix == "arrow":
            with pa.ipc.new_file(paths[-1], table.schema) as file:
                file.write_table(table, max_chunksize=100_000)
        else:
            from pyarrow import csv

            csv.write_csv(table, paths[-1])
    names = list(columns)
    cost = cost_of(
        "from dpmcmc.files import DataFile\n"
        f"DataFile(sys.argv[1], {names}).read_values()",
        f"table, present = DataFile(sys.argv[2], {names}).read_values()\n"
        f"assert sum(len(x) for x in table.values()) == {ROWS * COLUMNS}",
        *map(str, paths),
    )
    assert cost.peak <= 2 * 8 * ROWS * COLUMNS
    assert cost.peak >= 0.9 * 8 * ROWS * COLUMNS  # so that the measure can fail
    sys.modules.pop("_memory", None)
