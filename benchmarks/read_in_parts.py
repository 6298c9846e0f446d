# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A folder of Parquet files read by several processes: memory, and a pass over it.

Each process reads its part to its devices, or to disk if it is streamed, and takes a
few full-data steps. Prints JSON: peaks of memory of all processes together against the
size of the columns, while records are read and then in steps (Linux; pages of files,
which the system may take back, are not counted), and seconds. ``--rows 50000000`` needs
2 GB of disk and of memory, and as much disk again where records are streamed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS = 10
GROUP = 1_000_000
STEPS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--worker", nargs=5, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        work(*chosen.worker)
        return
    with tempfile.TemporaryDirectory() as place:
        write(Path(place) / "small", 1000)
        write(Path(place) / "large", chosen.rows)
        columns = 4 * COLUMNS * chosen.rows
        found = {
            how: together(place, chosen.processes, how)
            for how in ("resident", "streamed")
        }
    shown: dict[str, Any] = {"rows": chosen.rows, "processes": chosen.processes}
    for how, parts in found.items():
        shown[how] = {
            "memory_of_reading": sum(one["reading"] for one in parts) / columns,
            "memory_of_steps": sum(one["stepping"] for one in parts) / columns,
            "seconds_of_reading": max(one["seconds"] for one in parts),
            "seconds_a_step": max(one["step"] for one in parts),
        }
    print(json.dumps(shown, indent=2))


def write(folder: Path, rows: int) -> None:
    """Random float32 columns, a file for every million records."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    folder.mkdir()
    rng = np.random.default_rng(0)
    for start in range(0, rows, GROUP):
        some = rng.random((COLUMNS, min(GROUP, rows - start)), np.float32)
        table = pa.table({f"x{one}": column for one, column in enumerate(some)})
        pq.write_table(table, folder / f"{start:012}.parquet", use_dictionary=False)


def together(place: str, count: int, how: str) -> list[dict[str, float]]:
    """What processes that run together found."""
    port = str(20_000 + os.getpid() % 20_000)
    started = [
        subprocess.Popen(
            [
                *(sys.executable, __file__, "--worker"),
                *(place, port, str(count), str(number), how),
            ],
            stdout=subprocess.PIPE,
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
            text=True,
        )
        for number in range(count)
    ]
    ended = [one.communicate()[0] for one in started]
    return [json.loads(text.splitlines()[-1]) for text in ended]


def work(place: str, port: str, count: str, number: str, how: str) -> None:
    import jax  # noqa: PLC0415

    if int(count) > 1:
        jax.distributed.initialize(f"127.0.0.1:{port}", int(count), int(number))
    for folder in ("small", "large"):  # the first compiles
        found = steps_on(Path(place) / folder, how)
    print(json.dumps(found))


class Watch:
    """The most memory that was held meanwhile, above that at the start."""

    def __init__(self) -> None:
        self.start, self.most, self.ended = held(), 0, threading.Event()
        self.thread = threading.Thread(target=self.look)

    def __enter__(self) -> "Watch":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()

    def look(self) -> None:
        """Look again and again, until it is ended."""
        while not self.ended.wait(0.002):
            self.most = max(self.most, held() - self.start)


def held() -> int:
    """Bytes of memory of this process that are not pages of files."""
    text = Path("/proc/self/status").read_text()
    found = re.search(r"RssAnon:\s+(\d+) kB", text)
    assert found is not None
    return 1024 * int(found[1])


def steps_on(folder: Path, how: str) -> dict[str, float]:
    """Memory and seconds of reading records, and of steps on them."""
    import jax  # noqa: PLC0415
    import jax.numpy as jnp  # noqa: PLC0415

    from dpmcmc.model import Model  # noqa: PLC0415
    from dpmcmc.model.fixed_order import fixed_model  # noqa: PLC0415
    from dpmcmc.private import Chains, FullData, Grid, Records, Tape  # noqa: PLC0415
    from dpmcmc.private.opening import open_on_host, open_records  # noqa: PLC0415
    from dpmcmc.proposals import RandomWalk  # noqa: PLC0415

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        predictor = sum(record[f"x{one}"] * theta[one] for one in range(COLUMNS - 1))
        return -((record[f"x{COLUMNS - 1}"] - predictor) ** 2) / 2

    devices = sorted(jax.devices(), key=lambda one: (one.process_index, one.id))
    start = jnp.zeros(COLUMNS - 1, jnp.float32)
    model = fixed_model(Model(log_likelihood, lambda t: -jnp.sum(t**2) / 2, start))
    begun, before = time.perf_counter(), held()
    with Watch() as reading, jax.enable_x64(True):
        records = Records.from_parquet(folder, streamed=how == "streamed")
        if records.streamed:
            open_on_host(records, "float32")
        else:
            jax.block_until_ready(open_records(records, "float32", devices)[0].arrays)
    read = time.perf_counter() - begun
    with Watch() as stepping:
        chains = Chains(
            model,
            records,
            RandomWalk(1e-3).fit(start),
            FullData(Grid(0.01)),
            Tape.seeded(1),
            start=start[None],
            dtype="float32",
            chunk=STEPS,
            devices=devices,
        )
        jax.block_until_ready(chains.advance(1))
        begun = time.perf_counter()
        jax.block_until_ready(chains.advance(STEPS))
        step = (time.perf_counter() - begun) / STEPS
    return {
        "reading": reading.most,
        "stepping": stepping.start + stepping.most - before,
        "seconds": read,
        "step": step,
    }


if __name__ == "__main__":
    main()
