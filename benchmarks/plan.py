# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How long costs take: certificates and inversions in process, and ``dpmcmc plan``.

Every number of a line is the least of a few runs, so that lines of one run compare.
"""

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
    print("certify  largest  largest_clip  seconds, in process, nothing kept")
    for epsilon, delta in ((0.1, 1e-5), (1.0, 1e-6), (3.0, 1e-10), (10.0, 1e-8)):
        mu = largest(released, epsilon, delta)
        certify = seconds(lambda mu=mu, d=delta: certify_epsilon(released(mu), d))
        invert = seconds(lambda e=epsilon, d=delta: largest(released, e, d))
        clip = seconds(
            lambda e=epsilon, d=delta: largest_clip(
                lambda c: BarkerBit(c, RECORDS), STEPS, e, d
            )
        )
        print(
            f"{certify:7.3f}  {invert:7.3f}  {clip:12.3f}  ε = {epsilon}, δ = {delta}"
        )


def main() -> None:
    in_process()
    print(f"{'first':>7} {'again':>7}  seconds, wall clock, with start-up")
    for case in CASES:
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
        print(f"{taken[0]:7.2f} {taken[1]:7.2f}  plan {case}")


if __name__ == "__main__":
    main()
