# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Runs on records in parts. Run as a script: one process of several that run together.

``python parts.py FOLDER PORT PROCESSES NUMBER RUN …`` prints the digest of each run.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dpmcmc
from dpmcmc import Barker, MinibatchBarker, Model, RandomWalk, models
from dpmcmc.model.preparation import Clamp, Copy, Preparation, Stack

SIZES = (211, 0, 300, 90)
"""Records of each row group: no number of processes divides them."""

COLUMNS = Preparation({"a": Clamp(-3, 3), "x": Stack(["a", "b"]), "y": Copy("y")})
WALK = RandomWalk(0.1)


def _elementwise(theta: Any, record: Any) -> Any:
    predictor = theta["slope"] * record["a"] + theta["constant"]
    return -0.5 * (record["y"] - jnp.tanh(predictor)) ** 2


MODELS: dict[str, Model] = {
    "elementwise": Model(
        _elementwise,
        lambda theta: -0.5 * (theta["slope"] ** 2 + theta["constant"] ** 2),
        {"slope": 0.0, "constant": 0.0},
    ),
    "slope": models.logistic_regression(
        1,
        norm=4.0,
        intercept=False,
        before=Preparation({"x": Stack(["a"]), "y": Copy("y")}),
    ),
    "logistic": models.logistic_regression(2, norm=4.0, before=COLUMNS),
    "linear": models.linear_regression(2, norm=4.0, bounds=(0, 1), before=COLUMNS),
    "poisson": models.poisson_regression(2, norm=4.0, most=9, before=COLUMNS),
}
METHODS: dict[str, dict[str, Any]] = {
    "default": {"epsilon": 20.0, "steps": 40},
    "barker": {"method": Barker(clip=0.1, proposal=WALK), "steps": 60},
    "batch": {
        "method": MinibatchBarker(batch=90, tempering=100, proposal=WALK),
        "steps": 60,
    },
    "statistics": {
        "method": dpmcmc.SufficientStatistics(),
        "epsilon": 20.0,
        "steps": 40,
    },
}

SETTINGS: dict[str, dict[str, Any]] = {
    "streamed-": {"streamed": True},
    "units-": {"schema": dpmcmc.Schema(unit="person", most=3)},
}


def write(folder: Path) -> None:
    """Write the records: two files, with row groups of unequal sizes."""
    rng = np.random.default_rng(17)
    total = sum(SIZES)
    a, b = rng.normal(size=(2, total))
    y = rng.random(total) < 1 / (1 + np.exp(-0.5 - a + b))
    a[7] = np.nan
    person = rng.integers(0, total // 2, total)  # in any row groups
    table = pa.table({"a": a, "b": b, "y": y.astype(float), "person": person})
    start = 0
    for name, sizes in {"one": SIZES[:2], "two": SIZES[2:]}.items():
        with pq.ParquetWriter(folder / f"{name}.parquet", table.schema) as file:
            for size in sizes:
                file.write_table(table.slice(start, size), row_group_size=max(1, size))
                start += size


def digest_of(folder: Path, run: str, **settings: Any) -> str:
    """Digest of all draws and decisions of a run: MODEL:METHOD:PRECISION[:CHAINS].

    Settings are those of the records; a run that begins with "streamed-" or "units-"
    has them streamed, or grouped.
    """
    for word, own in SETTINGS.items():
        if run.startswith(word):
            run, settings = run.removeprefix(word), {**settings, **own}
    model, method, precision, *chains = run.split(":")
    posterior = dpmcmc.sample_not_private(
        MODELS[model],
        dpmcmc.Records.from_parquet(folder, ["a", "b", "y"], **settings),
        seed=5,
        precision=precision,  # type: ignore[arg-type]
        chains=int(chains[0]) if chains else None,
        progress=False,
        **METHODS[method],
    )
    total = hashlib.sha256(np.ascontiguousarray(posterior.accepted).tobytes())
    for draws in (posterior.draws, posterior.chain_draws):
        for name, values in draws.items():
            total.update(name.encode() + np.ascontiguousarray(values).tobytes())
    return total.hexdigest()[:24]


def started(
    script: str, folder: Path, processes: int, *arguments: str, devices: int = 1
) -> list["subprocess.Popen[str]"]:
    """Start processes that run a script of this folder together."""
    flags = f"--xla_force_host_platform_device_count={devices}"
    port = str(20_000 + os.getpid() % 20_000)
    return [
        subprocess.Popen(
            [
                *(sys.executable, script, str(folder), port),
                *(str(processes), str(number), *arguments),
            ],
            cwd=Path(__file__).parent,
            env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]


def joined() -> tuple[Path, list[str]]:
    """Join the processes that were started, and return what they were given."""
    folder, port, processes, number, *rest = sys.argv[1:]
    jax.distributed.initialize(
        f"127.0.0.1:{port}",
        int(processes),
        int(number),
        heartbeat_timeout_seconds=20,
        shutdown_timeout_seconds=20,
    )
    return Path(folder), rest


if __name__ == "__main__":
    place, runs = joined()
    for one in runs:
        print("digest", digest_of(place, one), flush=True)
