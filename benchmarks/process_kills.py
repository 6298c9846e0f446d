# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Kills one process of a job of several at a random moment, again and again.

Moments are from when all processes have joined to about the end of the job. After each
kill: do the others end, and how soon; is every part that the folder kept charged in the
ledger; does the job go on, on another number of processes. Prints JSON. ``--kills 50``
takes about half an hour; ``--quick`` kills three times.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpmcmc import cli
from dpmcmc.files import RunFolder
from dpmcmc.ledger import Ledger

MODEL = """
import jax.numpy as jnp
from dpmcmc import Model

def log_likelihood(theta, record):
    predictor = jnp.stack([jnp.ones_like(record["x"]), record["x"]]) @ theta["b"]
    return record["y"] * predictor - jnp.logaddexp(0.0, predictor)

model = Model(log_likelihood, lambda t: -jnp.sum(t["b"] ** 2) / 8, {"b": jnp.zeros(2)})
"""
LONGEST = 60.0
"""Seconds in which all processes must have ended."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--member", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.member:
        take_part(*chosen.member)
    kills = 3 if chosen.quick else chosen.kills
    moments = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make(folder)
        whole = timed(folder, "first", 2, None, moments)
        ended: list[float] = []
        number, problems = 0, list[str]()
        while len(ended) < kills and not problems:
            out = f"run-{number}"
            count = moments.choice([2, 3])
            kill = moments.uniform(0.0, 1.0) * whole["seconds"]
            found = timed(folder, out, count, kill, moments)
            if found["killed"]:
                ended.append(found["after_kill"])
            problems += look(folder, out, found)
            if found["codes"] == [0] * count:
                number += 1
        last = timed(folder, f"run-{number}", 1, None, moments)
        problems += look(folder, f"run-{number}", last)
        if last["codes"] != [0]:
            problems.append("a killed job did not go on, on one process")
        print(
            json.dumps(
                {
                    "kills": len(ended),
                    "finished_jobs": number + 1,
                    "longest_seconds_to_end": max(ended, default=0.0),
                    "median_seconds_to_end": float(np.median(ended)),
                    "problems": problems,
                },
                indent=2,
            )
        )


def take_part(mark: str, *command: str) -> None:
    """Be one process of a job, and leave a mark once all have joined."""
    join = jax.distributed.initialize

    def marked(*given: Any, **settings: Any) -> None:
        join(*given, **settings)
        Path(mark).touch()

    jax.distributed.initialize = marked
    sys.exit(cli.main(list(command)))


def make(folder: Path) -> None:
    """A model, 2,001 records in three row groups, and a ledger."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=2001)
    y = (rng.random(2001) < 1 / (1 + np.exp(-x))).astype(float)
    (folder / "records").mkdir()
    table = pa.table({"x": x, "y": y})
    pq.write_table(table, folder / "records/all.parquet", row_group_size=900)
    (folder / "model.py").write_text(MODEL)
    with Ledger.open(str(folder / "ledger.db")) as ledger:
        ledger.register("people", epsilon=100, delta=1e-3, records=2001)


def timed(
    folder: Path, out: str, count: int, kill: float | None, moments: random.Random
) -> dict[str, Any]:
    """Run or resume a job on some processes, and kill one of them after a time."""
    job = [
        *("model.py:model", "--data", "records", "--epsilon", "20", "--delta", "1e-6"),
        *("--method", "barker", "--clip", "0.002", "--scale", "0.1", "--steps", "400"),
        *("--ledger", "ledger.db", "--data-set", "people"),
    ]
    if (folder / out / "run.json").exists():
        job = ["--resume"]
    port = random.randrange(20_000, 50_000)
    marks = [folder / f"joined-{number}" for number in range(count)]
    for mark in marks:
        mark.unlink(missing_ok=True)
    started = [
        subprocess.Popen(
            [
                *(sys.executable, __file__, "--member", str(marks[number])),
                *("sample", *job),
                *("--out", out, "--yes", "--distributed"),
            ],
            cwd=folder,
            env={
                **os.environ,
                "JAX_PLATFORMS": "cpu",
                "JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{port}",
                "JAX_NUM_PROCESSES": str(count),
                "JAX_PROCESS_ID": str(number),
            },
            stdout=subprocess.DEVNULL,
            stderr=(folder / f"stderr-{number}").open("w"),
        )
        for number in range(count)
    ]
    while not all(mark.exists() for mark in marks):
        time.sleep(0.05)
    killed, at = False, (begun := time.monotonic())
    if kill is not None:
        time.sleep(kill)
        victim = moments.choice(started)
        killed, at = victim.poll() is None, time.monotonic()
        if killed:
            victim.send_signal(signal.SIGKILL)
    codes = []
    for one in started:
        try:
            codes.append(
                one.wait(timeout=max(1.0, LONGEST * 4 - time.monotonic() + at))
            )
        except subprocess.TimeoutExpired:
            one.kill()
            codes.append(None)
    now = time.monotonic()
    return {
        "seconds": now - begun,
        "killed": killed,
        "after_kill": now - at,
        "codes": codes,
    }


def look(folder: Path, out: str, found: dict[str, Any]) -> list[str]:
    """What is wrong after a job has ended."""
    problems = []
    if None in found["codes"] or (found["killed"] and found["after_kill"] > LONGEST):
        problems.append(f"{out}: ended {found['after_kill']:.0f} s after a kill")
    if not (folder / out / "run.json").exists():
        return problems
    run = RunFolder.open(folder / out)
    with Ledger.open(str(folder / "ledger.db"), create=False) as ledger:
        name = run.facts.get("run", "")
        charges = ledger.charges(name) if name else []
        charged = {part for part, _ in charges}
    parts = {part for part in run.parts() if not part.startswith("charged-")}
    for part in run.parts():
        run.read(part)  # raises if it is damaged
    if not parts <= charged:
        problems.append(f"{out}: {parts - charged} were kept and not charged")
    return problems


if __name__ == "__main__":
    main()
