# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How long ``dpmcmc plan`` takes from a cold start, profiles on disk or not."""

import os
import subprocess
import sys
import tempfile
import time

CASES = [
    "--records 1000000 --clip 0.01 --steps 1000 --delta 1e-6",
    "--records 1000000 --clip 0.006 --epsilon 1 --delta 1e-6",
    "--records 1000000 --steps 1000 --epsilon 1 --delta 1e-6",
    "--records 1000000 --batch 1000 --steps 20000 --delta 1e-6",
    "--records 1000000 --batch 1000 --epsilon 0.02 --delta 1e-6",
    "--records 1000000 --clip 0.001 --steps 1000000 --delta 1e-6",
    "--records 1000000 --batch 1000 --steps 1000000 --delta 1e-6",
]


def main() -> None:
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
