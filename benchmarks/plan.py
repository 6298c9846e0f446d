# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How long costs take: certificates and inversions in process, and ``dpmcmc plan``.

The peers: for certificates and inversions, the bound of zero-concentrated privacy in
closed form, of which a column says how much larger its ε is; for a command, a Python
that imports NumPy and ends. Times are the least of a few runs.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from dpmcmc.accounting import (
    BarkerBit,
    GaussianRelease,
    certify_epsilon,
    largest,
    largest_clip,
    zcdp_cost,
)
from dpmcmc.accounting.barker import bounded_range_blocks

CASES = [
    "--records 1000000 --clip 0.01 --steps 1000 --delta 1e-6",
    "--records 1000000 --clip 0.006 --epsilon 1 --delta 1e-6",
    "--records 1000000 --steps 1000 --epsilon 1 --delta 1e-6",
    "--records 1000000 --batch 1000 --steps 20000 --delta 1e-6",
    "--records 1000000 --batch 1000 --epsilon 0.02 --delta 1e-6",
    "--records 1000000 --clip 0.001 --steps 1000000 --delta 1e-6",
    "--records 1000000 --batch 1000 --steps 1000000 --delta 1e-6",
]
STEPS, RECORDS, REPEATS = 4000, 10**5, 3


def released(mu: float) -> dict[BarkerBit | GaussianRelease, int]:
    clip = mu * math.sqrt(0.7 / STEPS)
    return {GaussianRelease(mu * math.sqrt(0.3)): 1, BarkerBit(clip, RECORDS): STEPS}


def seconds(job: Callable[[], object]) -> float:
    taken = []
    for _ in range(REPEATS):
        bounded_range_blocks.cache_clear()
        start = time.perf_counter()
        job()
        taken.append(time.perf_counter() - start)
    return min(taken)


def in_process() -> None:
    print("Seconds in process, nothing kept; and the ε of zCDP over that certified")
    print("certify  largest  largest_clip    zCDP  its ε")
    for epsilon, delta in ((0.1, 1e-5), (1.0, 1e-6), (3.0, 1e-10), (10.0, 1e-8)):
        mu = largest(released, epsilon, delta)
        events = released(mu)
        certify = seconds(lambda e=events, d=delta: certify_epsilon(e, d))
        invert = seconds(lambda e=epsilon, d=delta: largest(released, e, d))
        clip = seconds(
            lambda e=epsilon, d=delta: largest_clip(
                lambda c: BarkerBit(c, RECORDS), STEPS, e, d
            )
        )
        simple = seconds(lambda e=events: zcdp_cost(e))
        rho = zcdp_cost(events)
        peer = rho + 2 * math.sqrt(rho * math.log(1 / delta))
        certified = certify_epsilon(events, delta).epsilon
        print(
            f"{certify:7.3f}  {invert:7.3f}  {clip:12.3f}  {simple:6.4f}  "
            f"{peer / certified:5.2f}×  ε = {epsilon}, δ = {delta}"
        )


def commands(cases: list[str]) -> None:
    peer = [sys.executable, "-c", "import numpy"]
    bare = seconds(lambda: subprocess.run(peer, check=True))
    print(f"Seconds of a command, and against a Python that imports NumPy ({bare:.2f})")
    print(f"{'first':>7} {'again':>7} {'against':>9}")
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "DPMCMC_CACHE": folder}
            command = [sys.executable, "-m", "dpmcmc.cli", "plan", *case.split()]
            taken = []
            for _ in range(2):
                start = time.perf_counter()
                subprocess.run(
                    command, env=environment, check=True, stdout=subprocess.DEVNULL
                )
                taken.append(time.perf_counter() - start)
        ratio = taken[1] / bare
        print(f"{taken[0]:7.2f} {taken[1]:7.2f} {ratio:8.1f}×  plan {case}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=len(CASES), help="of commands")
    options = parser.parse_args()
    in_process()
    commands(CASES[: options.cases])


if __name__ == "__main__":
    main()
