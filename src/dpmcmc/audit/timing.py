# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of releases on two tables: measured and shown, not promised.

No branch of the boundary depends on a record. A processor may still take longer for
some numbers, such as denormal ones. A t-test of many runs says whether that is seen.
"""

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dpmcmc.audit.attack import Size
from dpmcmc.audit.decisions import Far, decided
from dpmcmc.audit.releases import OneOf, Pulls, counts_of, sum_of
from dpmcmc.private import FullData, Grid, Records

__all__ = ["Timing", "timings"]

_RECORDS = 2_000
_RUNS = {Size.QUICK: 50, Size.WHOLE: 2_000}
_HOSTILE = {"NaN": np.nan, "a denormal number": 1e-310, "a huge number": 1e300}


@dataclass(frozen=True)
class Timing:
    """How long two tables took.

    Attributes
    ----------
    name
        What was run, and what the last record was.
    runs
        How often, on each table.
    usual, hostile
        Mean seconds with a usual record, and with the hostile one.
    p_value
        Of a t-test of their difference (Welch).
    memory
        How many more bytes Python held at most with the hostile record.
    """

    name: str
    runs: int
    usual: float
    hostile: float
    p_value: float
    memory: int

    def __str__(self) -> str:
        change = self.hostile / self.usual - 1
        return f"{self.name:<64}{change:>+13.1%}{self.p_value:>13.2g}{self.memory:>13,}"


def timings(size: Size) -> tuple[Timing, ...]:
    """Measure releases and decisions on tables that differ in one record."""
    kinds: dict[str, Callable[[np.ndarray], object]] = {
        "sum": lambda table: sum_of(Records(table), Pulls(), 1.0),
        "histogram": lambda table: counts_of(Records(table), OneOf(), 1.0),
        "decisions": lambda table: decided(
            table.tolist(), FullData(Grid(0.1)), Far(0.0), 64, chains=2
        ),
    }
    return tuple(
        _timed(f"{name}, {words}", work, hostile, _RUNS[size])
        for name, work in kinds.items()
        for words, hostile in _HOSTILE.items()
    )


def _timed(
    name: str, work: Callable[[np.ndarray], object], hostile: float, runs: int
) -> Timing:
    usual = np.random.default_rng(0).normal(size=_RECORDS)
    tables = usual, np.append(usual[:-1], hostile)
    for table in tables:  # compiles once, and does not count
        work(table)
    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):  # in turn, so that a busy machine is busy for both
        for table, seconds in zip(tables, took, strict=True):
            begun = time.perf_counter()
            work(table)
            seconds.append(time.perf_counter() - begun)
    first, second = (float(np.mean(seconds)) for seconds in took)
    p_value = float(stats.ttest_ind(*took, equal_var=False).pvalue)
    least, most = (_memory(work, table) for table in tables)
    return Timing(name, runs, first, second, p_value, most - least)


def _memory(work: Callable[[np.ndarray], object], table: np.ndarray) -> int:
    """The most bytes that Python held; the least of three times."""
    found = []
    for _ in range(3):
        tracemalloc.start()
        work(table)
        found.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return min(found)
