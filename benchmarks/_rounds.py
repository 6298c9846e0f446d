# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Rounds of all contenders in turn, so that a noisy machine is noisy for each."""

import time
from collections.abc import Callable, Mapping
from statistics import median

Contender = tuple[Callable[[], None], int]
"""What to run, and how many steps it makes."""


class Rounds:
    """Seconds a step of each contender, round by round, after one to warm up.

    With ``time.process_time`` as clock they are seconds of all cores together, of
    which other programs take none.
    """

    def __init__(
        self,
        contenders: Mapping[str, Contender],
        rounds: int,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.times: dict[str, list[float]] = {name: [] for name in contenders}
        for run, _ in contenders.values():
            run()
        for _ in range(rounds):
            for name, (run, steps) in contenders.items():
                start = clock()
                run()
                self.times[name].append((clock() - start) / steps)

    def median(self, name: str) -> float:
        """Return the median time of a step."""
        return median(self.times[name])

    def ratio(self, name: str, to: str) -> float:
        """Return the median over rounds of one time over another of that round."""
        pairs = zip(self.times[name], self.times[to], strict=True)
        return median(a / b for a, b in pairs)
