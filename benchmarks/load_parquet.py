# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A large Parquet file: what loading takes beside pandas, and what a step then takes.

Each reader has a process of its own; a peak is above what the process held once it had
read a file of one record. Rounds alternate; the table shows medians.
"""

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _memory import Cost, cost_of

import dpmcmc
from dpmcmc.files import DataFile
from dpmcmc.model.preparation import Clamp, Stack

COLUMNS = [f"x{place}" for place in range(9)] + ["y"]

READERS = {
    "DataFile": (
        "from dpmcmc.files import DataFile; DataFile(sys.argv[1]).read_values()",
        "table = DataFile(sys.argv[2]).read_values()",
    ),
    "pyarrow to pandas": (
        "import pyarrow.parquet as pq; pq.read_table(sys.argv[1]).to_pandas()",
        "table = pq.read_table(sys.argv[2]).to_pandas()",
    ),
}


def write(path: Path, rows: int) -> None:
    """Write random float64 columns, a row group at a time."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    generator = np.random.default_rng(0)
    schema = pa.schema([(name, pa.float64()) for name in COLUMNS])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, 1_000_000):
            count = min(1_000_000, rows - start)
            x = [generator.normal(size=count) for _ in COLUMNS[:-1]]
            y = (x[0] + generator.logistic(size=count) > 0).astype(float)
            writer.write_table(pa.table([*x, y], schema=schema))


def model() -> dpmcmc.Model:
    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        place = jnp.dot(record["x"], theta)
        return record["y"] * place - jax.nn.softplus(place)

    return dpmcmc.Model(
        log_likelihood,
        lambda theta: -jnp.sum(theta**2) / 2,
        np.zeros(9),
        preparation=dpmcmc.Preparation(
            {**dict.fromkeys(COLUMNS[:-1], Clamp(-4, 4)), "x": Stack(COLUMNS[:-1])}
        ),
    )


def seconds_a_step(records: dpmcmc.Records, few: int, more: int) -> tuple[float, float]:
    """Return the seconds until the first steps are made, and those of one more step."""
    taken = []
    for steps in (few, few, more):  # the first compiles
        start = time.perf_counter()
        dpmcmc.sample(
            model(),
            records,
            delta=1e-9,
            method=dpmcmc.Barker(clip=1e-4, proposal=dpmcmc.RandomWalk(1e-4)),
            steps=steps,
            progress=False,
        )
        taken.append(time.perf_counter() - start)
    return taken[0], (taken[2] - taken[1]) / (more - few)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    size = 8 * options.rows * len(COLUMNS)
    with tempfile.TemporaryDirectory() as folder:
        one, path = Path(folder) / "one.parquet", Path(folder) / "all.parquet"
        write(one, 1)
        write(path, options.rows)
        costs: dict[str, list[Cost]] = {name: [] for name in READERS}
        for _ in range(options.rounds):
            for name, (before, work) in READERS.items():
                costs[name].append(cost_of(before, work, str(one), str(path)))
        print("| reader | rows | columns, MB | seconds | ratio | peak / columns |")
        print("| --- | --- | --- | --- | --- | --- |")
        pairs = zip(costs["DataFile"], costs["pyarrow to pandas"], strict=True)
        ratio = median(ours.seconds / theirs.seconds for ours, theirs in pairs)
        for name, measured in costs.items():
            seconds = median(cost.seconds for cost in measured)
            peak = median(cost.peak for cost in measured) / size
            against = ratio if name == "DataFile" else 1
            print(
                f"| {name} | {options.rows:,} | {size / 1e6:.0f} | {seconds:.2f} | "
                f"{against:.2f} | {peak:.2f} |",
                flush=True,
            )
        first, step = seconds_a_step(dpmcmc.Records(DataFile(path)), 5, 65)
    print("\n| logistic regression, 9 covariates | seconds |")
    print("| --- | --- |")
    print(f"| from the file to 5 steps, compiled | {first:.1f} |")
    print(f"| each step after | {step:.3f} ({1 / step:.1f} steps a second) |")


if __name__ == "__main__":
    main()
