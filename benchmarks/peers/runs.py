# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Runs in several processes; what has ended is kept in a file of lines."""

import itertools
import json
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.peers.catalogue import EXPERIMENTS
from benchmarks.peers.experiments.base import one_run

__all__ = ["Task", "all_runs", "tasks_of"]

_CHUNK = 10
"""Runs of one cell that a process makes in a row, so that programs compile once."""


class Task(NamedTuple):
    """Some runs of one cell."""

    row: str
    method: str
    epsilon: float
    seeds: range
    folder: Path | None


def runs_of(task: Task) -> list[dict[str, Any]]:
    """Make them."""
    experiment = EXPERIMENTS[task.row]
    return [
        one_run(experiment, task.method, task.epsilon, seed, task.folder)
        for seed in task.seeds
    ]


def tasks_of(
    rows: list[str], methods: list[str] | None, repeats: int | None, folder: Path | None
) -> Iterator[Task]:
    """First runs of every cell first, so that what is made in time is balanced."""
    cells = []
    for row in rows:
        experiment = EXPERIMENTS[row]
        for method in experiment.methods:
            if methods is not None and method not in methods:
                continue
            most = experiment.slow.get(method, experiment.repeats)
            most = most if repeats is None else min(most, repeats)
            chunk = max(1, min(_CHUNK, most // 20))
            starts = range(0, most, chunk)
            cells += [
                (
                    start / most,
                    row,
                    method,
                    epsilon,
                    range(start, min(start + chunk, most)),
                )
                for epsilon in experiment.epsilons
                for start in starts
            ]
    for _, row, method, epsilon, seeds in sorted(cells, key=lambda cell: cell[0]):
        yield Task(row, method, epsilon, seeds, folder)


def _prepare(folder: str) -> None:
    """Programs that one process has compiled, others read."""
    import jax  # noqa: PLC0415 - in the process that uses it

    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def all_runs(
    tasks: Iterator[Task], processes: int, minutes: float | None, out: Path | None
) -> Iterator[dict[str, Any]]:
    """Runs as they end; no more are begun once time is over."""
    ends = time.monotonic() + (float("inf") if minutes is None else 60 * minutes)
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(
            processes,
            mp_context=get_context("spawn"),
            initializer=_prepare,
            initargs=(folder,),
        ) as pool,
    ):
        pending = {pool.submit(runs_of, task) for task in _some(tasks, processes)}
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                found = future.result()
                if out is not None:
                    with out.open("a") as file:
                        file.writelines(f"{json.dumps(run)}\n" for run in found)
                yield from found
                if time.monotonic() < ends:
                    pending |= {pool.submit(runs_of, t) for t in _some(tasks, 1)}


def _some(tasks: Iterator[Task], number: int) -> list[Task]:
    return list(itertools.islice(tasks, number))
