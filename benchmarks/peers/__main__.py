# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Run the experiments, and write the page.

    python -m benchmarks.peers FOLDER --processes 16 --out runs.jsonl
    python -m benchmarks.peers --page runs.jsonl
    python -m benchmarks.peers --quick

The folder holds real tables, which are not part of the project: UCI Adult as Parquet.
Without it, experiments that need them are left out. ``--page`` leaves on the page what
it has of cells that are not in the files. ``--quick`` makes a run or two of the
smallest experiment, to see that all of it works.
"""

import argparse
import json
import os
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from benchmarks.peers.catalogue import EXPERIMENTS
from benchmarks.peers.page import tables, write_page
from benchmarks.peers.runs import all_runs, tasks_of

_QUICK = ("bernoulli",)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--rows", default="all", help=f"of {', '.join(EXPERIMENTS)}")
    parser.add_argument("--methods", default=None, help="separated by semicolons")
    parser.add_argument("--repeats", type=int, default=None, help="at most, of a cell")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=None, help="then stop")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=None, help="a file of lines")
    parser.add_argument("--page", type=Path, nargs="+", default=None)
    given = parser.parse_args()
    if given.page is not None:
        lines = [line for path in given.page for line in path.open()]
        write_page([json.loads(line) for line in lines])
        return
    rows = list(EXPERIMENTS) if given.rows == "all" else given.rows.split(",")
    if given.quick:
        rows, given.repeats = list(_QUICK), 2
    left_out = [r for r in rows if EXPERIMENTS[r].needs and given.folder is None]
    if left_out:
        print(f"Left out, since no folder was given: {', '.join(left_out)}.")
    rows = [row for row in rows if row not in left_out]
    methods = None if given.methods is None else given.methods.split(";")
    tasks = tasks_of(rows, methods, given.repeats, given.folder)
    runs = list(all_runs(tasks, given.processes, given.minutes, given.out))
    print("\n".join(tables(runs)))


if __name__ == "__main__":
    main()
