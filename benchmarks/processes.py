# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A full-data step by several processes against one, at equal total cores, in one run.

Records are in parts, made in memory. Processes of one layout are started together, on
cores of their own where there are enough, and each layout in turn, several rounds;
``--quick`` is shorter. Prints JSON, all of it medians over rounds: seconds a step by
layout, of the clock and of all processors together, which other work on the machine
changes less; ratios of both within a round; the cost of a reduction (a step on 8
records for each process); and what a pass over 10¹¹ records would take, computed.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from statistics import median
from typing import Any, NamedTuple

ROUNDS, STEPS = 5, 20
RECORDS, COLUMNS = 2_000_000, 10
COUNTS = (1, 2, 4)
GPU_SPEEDUP = 40
"""Bytes a second of a GPU's memory against a core's: an assumption, not measured."""


class Taken(NamedTuple):
    """Seconds a step: of the slowest process by the clock, and of all processors."""

    clock: float
    processors: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--worker", nargs=5, type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        work(*chosen.worker)
        return
    cores = sorted(os.sched_getaffinity(0))[: max(COUNTS)]
    total = RECORDS // 20 if chosen.quick else RECORDS
    each = total // max(COUNTS)
    found: dict[str, dict[int, list[Taken]]] = {}
    for round_ in range(1 if chosen.quick else ROUNDS):
        for count in COUNTS:
            for name, all_, own in (
                ("equal_cores", total, cores),
                ("weak_scaling", each * count, cores[:count]),
                ("reduction", 8 * count, cores),
            ):
                taken = timed(count, own, all_, round_)
                found.setdefault(name, {}).setdefault(count, []).append(taken)
    step = found["equal_cores"][1]
    a_core = total * COLUMNS * 4 / median(one.processors for one in step)
    shown = {
        "records": total,
        "columns": COLUMNS,
        "cores": len(cores),
        "against_one_process": ratios(found["equal_cores"]),
        "weak_scaling": ratios(found["weak_scaling"]),
        "seconds": {
            name: {n: _medians(rounds) for n, rounds in layouts.items()}
            for name, layouts in found.items()
        },
        "bytes_a_second_a_core": a_core,
        "computed_seconds_a_pass_1e11_records_64_gpus": 1e11
        * COLUMNS
        * 4
        / (64 * GPU_SPEEDUP * a_core),
    }
    print(json.dumps(shown, indent=2))


def ratios(layouts: dict[int, list[Taken]]) -> dict[int, dict[str, float]]:
    """Seconds against those of one process in the same round, for each process.

    More processes than cores share them, so that the clock would tell nothing.
    """
    shown = {}
    for count, rounds in layouts.items():
        pairs = list(zip(rounds, layouts[1], strict=True))
        works = median(a.processors / b.processors for a, b in pairs)
        shown[count] = {"processors": works}
        if count <= len(os.sched_getaffinity(0)):
            shown[count]["clock"] = median(a.clock / b.clock for a, b in pairs)
    return shown


def _medians(rounds: list[Taken]) -> dict[str, float]:
    return {
        "clock": median(one.clock for one in rounds),
        "processors": median(one.processors for one in rounds),
    }


def timed(count: int, cores: list[int], total: int, salt: int) -> Taken:
    """Seconds a step of processes on cores of their own."""
    port = 30_000 + (os.getpid() * 7 + count * 101 + salt * 13 + total) % 20_000
    each = max(1, len(cores) // count)
    shares = [
        [cores[(number * each + one) % len(cores)] for one in range(each)]
        for number in range(count)
    ]
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
        for number, own in enumerate(shares)
    ]
    said = [one.communicate()[0].split("seconds ")[1].split() for one in started]
    return Taken(max(float(a) for a, _ in said), sum(float(b) for _, b in said))


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
    begun = time.perf_counter(), time.process_time()
    for _ in range(3):
        jax.block_until_ready(chains.advance(steps))
    taken = time.perf_counter() - begun[0], time.process_time() - begun[1]
    print("seconds", *(one / (3 * steps) for one in taken), flush=True)


if __name__ == "__main__":
    main()
