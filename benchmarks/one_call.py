# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One private call against NumPyro's NUTS on the same records and model, in one run.

The model is a logistic regression in NumPyro, and `dpmcmc.sample` is given it with a
budget and nothing else. It is called in three ways: in a fresh process that has no
compiled programs on disk, in another one that has, and there a second time on other
records of the same shape. NUTS makes four chains of 500 steps, 125 of them to warm
up. Processor time is that of all threads, imports included; times of
stages are between what a checkpoint is told. Programs are counted as compiled where
they were not read from disk.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

STAGES = ("import", "plan", "fit", "chain", "check", "summary", "NUTS")
EPSILON, DELTA = 1.0, 1e-6
_COMPILED = "/jax/core/compile/backend_compile_duration"
_READ = "/jax/compilation_cache/cache_hits"


class Laps:
    """Wall and processor time by stage."""

    def __init__(self) -> None:
        self.wall, self.processor = Counter[str](), Counter[str]()
        self._last = time.perf_counter(), time.process_time()

    def end(self, stage: str) -> None:
        """What has passed since the last call belongs to a stage."""
        now = time.perf_counter(), time.process_time()
        self.wall[stage] += now[0] - self._last[0]
        self.processor[stage] += now[1] - self._last[1]
        self._last = now


@contextmanager
def counted(found: Counter[str]) -> Iterator[None]:
    """Count the programs that are compiled."""
    import jax.monitoring  # noqa: PLC0415 - imports are timed

    def compiled(event: str, _: float, **__: Any) -> None:
        found["compiled"] += event == _COMPILED

    def read(event: str, **_: Any) -> None:
        found["compiled"] -= event == _READ

    jax.monitoring.register_event_duration_secs_listener(compiled)
    jax.monitoring.register_event_listener(read)
    yield
    jax.monitoring.clear_event_listeners()


def worker(count: int, size: int, calls: int, has_nuts: bool) -> list[dict[str, Any]]:
    """Import, call, and call again, in this process."""
    laps = Laps()
    import jax  # noqa: PLC0415 - imports are timed
    import numpy as np  # noqa: PLC0415
    import numpyro  # noqa: PLC0415
    import numpyro.distributions as dist  # noqa: PLC0415
    from numpyro.infer import MCMC, NUTS  # noqa: PLC0415

    import dpmcmc  # noqa: PLC0415
    from dpmcmc.sampling.checkpoint import MemoryCheckpoint  # noqa: PLC0415

    sample = dpmcmc.sample
    laps.end("import")

    class Timed(MemoryCheckpoint):
        def __init__(self, laps: Laps) -> None:
            super().__init__()
            self._laps = laps

        def reserve(self, *given: Any) -> None:
            super().reserve(*given)
            self._laps.end("plan")

        def keep(self, stage: str, part: Any) -> None:
            super().keep(stage, part)
            self._laps.end(stage)

    def model(x: Any, y: Any) -> None:
        """Logistic regression; the first column of x is 1."""
        b = numpyro.sample("b", dist.Normal(0, 10).expand([x.shape[-1]]).to_event(1))
        with numpyro.plate("records", len(y)):
            numpyro.sample("y", dist.Bernoulli(logits=x @ b), obs=y)

    def simulated(seed: int) -> dict[str, Any]:
        generator = np.random.default_rng(seed)
        x = generator.standard_normal((count, size)).astype(np.float32)
        x[:, 0] = 1
        y = generator.logistic(size=count) < x @ np.linspace(-0.5, 0.5, size)
        return {"x": x, "y": y.astype(np.int32)}

    def private(laps: Laps, records: Any) -> str:
        try:
            posterior = sample(
                model,
                records,
                epsilon=EPSILON,
                delta=DELTA,
                checkpoint=Timed(laps),
                progress=False,
            )
        except dpmcmc.NotUsableError as error:
            return f"refused, {error.reason}"
        return posterior.statement.verdict.usability

    def nuts(laps: Laps, records: Any) -> str:
        chains = MCMC(
            NUTS(model),
            num_warmup=125,
            num_samples=375,
            num_chains=4,
            chain_method="sequential",
            progress_bar=False,
        )
        chains.run(jax.random.key(0), **records)
        jax.block_until_ready(chains.get_samples())
        laps.end("NUTS")
        return "not private"

    done = []

    def timed(job: Callable[[Laps, Any], str], laps: Laps, records: Any) -> None:
        found = Counter[str]()
        with counted(found):
            said = job(laps, records)
        laps.end("summary")
        done.append(
            {
                "wall": laps.wall,
                "processor": laps.processor,
                "compiled": found["compiled"],
                "said": said,
            }
        )

    for seed in range(calls):
        records = simulated(seed)
        again = Laps()
        again.wall, again.processor = laps.wall, laps.processor
        timed(private, again, records)
        laps = Laps()
    if has_nuts:
        timed(nuts, Laps(), simulated(0))
    return done


def fresh(options: argparse.Namespace, folder: str, calls: int, nuts: bool) -> Any:
    """What a worker measured in a process of its own."""
    given = [options.records, options.size, calls, int(nuts)]
    command = [sys.executable, __file__, "--worker", *map(str, given)]
    environment = {**os.environ, "DPMCMC_CACHE": folder}
    ran = subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    )
    return json.loads(ran.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--size", type=int, default=6, help="coefficients")
    parser.add_argument("--without-nuts", action="store_true")
    parser.add_argument("--worker", type=int, nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        warnings.simplefilter("ignore")
        count, size, calls, nuts = options.worker
        print(json.dumps(worker(count, size, calls, bool(nuts))))
        return
    with tempfile.TemporaryDirectory() as folder:
        (cold,) = fresh(options, folder, 1, False)
        warm, second, *nuts = fresh(options, folder, 2, not options.without_nuts)
    rows = {
        "no programs on disk": cold,
        "programs on disk": warm,
        "second call": second,
    }
    if nuts:
        rows["NUTS"] = nuts[0]
    print(
        f"Logistic regression, {options.records:,} records, d = {options.size}, "
        f"ε = {EPSILON:g}. Seconds of processor time, and by the clock"
    )
    stages = [name for name in STAGES if name != "NUTS"]
    print("| | " + " | ".join([*stages, "all", "clock", "compiled"]) + " |")
    print("| --- |" + " ---: |" * (len(stages) + 3))
    for name, row in rows.items():
        parts = [row["processor"].get(stage, 0.0) for stage in stages]
        shown = [f"{part:.1f}" if part else "" for part in parts]
        total, clock = sum(row["processor"].values()), sum(row["wall"].values())
        shown += [f"{total:.1f}", f"{clock:.1f}", str(row["compiled"])]
        print(f"| {name} | " + " | ".join(shown) + " |")
    for name, row in rows.items():
        print(f"{name}: {row['said']}")


if __name__ == "__main__":
    main()
