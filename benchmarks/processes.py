# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A full-data step by several processes against one, at equal total cores, in one run.

Records are in parts, made in memory. Processes of one layout are started together, on
cores of their own, and each layout in turn, several rounds; ``--quick`` is shorter.
Prints JSON: seconds a step by layout, ratios, the cost of a reduction (a step on 8
records for each process), and what a pass over 10¹¹ records would take, computed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

ROUNDS, STEPS = 3, 20
RECORDS, COLUMNS = 2_000_000, 10
GPU_SPEEDUP = 40
"""Bytes a second of a GPU's memory against a core's: an assumption, not measured."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--worker", nargs=5, type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        work(*chosen.worker)
        return
    cores = sorted(os.sched_getaffinity(0))
    total = RECORDS // 20 if chosen.quick else RECORDS
    most = min(4, len(cores))
    counts = [one for one in (1, 2, 4) if one <= most]
    strong: dict[int, list[float]] = {one: [] for one in counts}
    weak: dict[int, list[float]] = {one: [] for one in counts}
    small: dict[int, list[float]] = {one: [] for one in counts}
    for round_ in range(1 if chosen.quick else ROUNDS):
        for count in counts:
            share = cores[: most // count * count]
            strong[count].append(timed(count, share, total, round_))
            weak[count].append(timed(count, cores[:count], total * count // most, 9))
            small[count].append(timed(count, share, 8 * count, 5))
    one = statistics.median(strong[1])
    reduction = {n: statistics.median(times) for n, times in small.items()}
    bytes_a_second = total * COLUMNS * 4 / one / most
    print(
        json.dumps(
            {
                "records": total,
                "columns": COLUMNS,
                "cores": most,
                "seconds_a_step": {n: statistics.median(t) for n, t in strong.items()},
                "against_one_process": {
                    n: statistics.median(times) / one for n, times in strong.items()
                },
                "weak_scaling": {
                    n: statistics.median(times) / statistics.median(weak[1])
                    for n, times in weak.items()
                },
                "reduction_seconds": reduction,
                "bytes_a_second_a_core": bytes_a_second,
                "computed_seconds_a_pass_1e11_records_64_gpus": 1e11
                * COLUMNS
                * 4
                / (64 * GPU_SPEEDUP * bytes_a_second),
            },
            indent=2,
        )
    )


def timed(count: int, cores: list[int], total: int, salt: int) -> float:
    """Seconds a step of processes on cores of their own; those of the slowest."""
    port = 30_000 + (os.getpid() * 7 + count * 101 + salt * 13) % 20_000
    each = len(cores) // count
    started = [
        subprocess.Popen(
            [
                *("taskset", "-c", ",".join(map(str, own)), sys.executable, __file__),
                *("--worker", *map(str, (port, count, number, total, STEPS))),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
            text=True,
        )
        for number in range(count)
        for own in [cores[number * each : (number + 1) * each]]
    ]
    found = [one.communicate()[0] for one in started]
    return max(float(text.split("seconds ")[1].split()[0]) for text in found)


def work(port: int, count: int, number: int, total: int, steps: int) -> None:
    import jax  # noqa: PLC0415
    import jax.numpy as jnp  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    if count > 1:
        jax.distributed.initialize(f"127.0.0.1:{port}", count, number)
    from dpmcmc import models  # noqa: PLC0415
    from dpmcmc.model.fixed_order import fixed_model  # noqa: PLC0415
    from dpmcmc.private import Chains, FullData, Grid, Records, Tape  # noqa: PLC0415
    from dpmcmc.proposals import RandomWalk  # noqa: PLC0415

    rng = np.random.default_rng(number)
    rows = total // count
    data: dict[str, Any] = {
        "x": rng.normal(size=(rows, COLUMNS)).astype(np.float32),
        "y": rng.integers(0, 2, rows).astype(np.float32),
    }
    model = fixed_model(models.logistic_regression(COLUMNS, norm=10.0))
    start = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), model.initial)
    chains = Chains(
        model,
        Records(data, in_parts=True),
        RandomWalk(1e-3).fit(start),
        FullData(Grid(0.01)),
        Tape.seeded(1),
        start=jax.tree.map(lambda leaf: jnp.stack([leaf]), start),
        dtype="float32",
        chunk=steps,
        devices=sorted(jax.devices(), key=lambda one: (one.process_index, one.id)),
    )
    jax.block_until_ready(chains.advance(steps))
    begun = time.perf_counter()
    for _ in range(3):
        jax.block_until_ready(chains.advance(steps))
    print("seconds", (time.perf_counter() - begun) / (3 * steps), flush=True)


if __name__ == "__main__":
    main()
