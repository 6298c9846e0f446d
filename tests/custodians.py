# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A custodian that keeps everything in memory, and a small run in its custody."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from dp_accounting.dp_event import DpEvent

import dpmcmc
from dpmcmc import Posterior, RandomWalk, Statement
from dpmcmc.accounting.registry import flatten
from dpmcmc.custody import Arrays

RECORDS = np.random.default_rng(3).normal(1.0, 1.0, 400)
MODEL = dpmcmc.Model(
    log_likelihood=lambda theta, x: -0.5 * (x - theta["mean"]) ** 2,
    log_prior=lambda theta: -0.005 * theta["mean"] ** 2,
    initial={"mean": 0.0},
)


def all_of(events: Iterable[DpEvent]) -> Counter[DpEvent]:
    return sum((flatten(event) for event in events), start=Counter())


class Killed(BaseException):
    """Stands for a process that dies: nothing is tidied up."""


class Custodian:
    """Keeps everything in memory, writes down what happens, and dies when told."""

    def __init__(self, dies_at: str = "") -> None:
        self.log: list[str] = []
        self.totals: Sequence[DpEvent] = ()
        self.statement: Statement | None = None
        self.charged: dict[str, DpEvent] = {}
        self.parts: dict[str, Arrays] = {}
        self.dies_at = dies_at

    def reserve(self, totals: Sequence[DpEvent], statement: Statement) -> None:
        self.totals, self.statement = totals, statement
        self._note("reserve")

    def charge(self, part: str, event: DpEvent) -> None:
        assert part not in self.charged
        self._note(f"charge {part}")
        self.charged[part] = event

    def is_charged(self, part: str) -> bool:
        return part in self.charged

    def keep(self, part: str, arrays: Arrays) -> None:
        self._note(f"keep {part}")
        assert part not in self.parts
        self.parts[part] = {name: np.array(value) for name, value in arrays.items()}

    def kept(self, part: str) -> Arrays | None:
        return self.parts.get(part)

    def _note(self, what: str) -> None:
        if what == self.dies_at:
            self.dies_at = ""
            raise Killed(what)
        self.log.append(what)


def run(custodian: Custodian, **changes: Any) -> Posterior:
    told: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 1e-5,
        "clip": 0.01,
        "proposal": RandomWalk(0.1),
    }
    told = {name: value for name, value in {**told, **changes}.items() if value != ""}
    return dpmcmc.sample(MODEL, RECORDS, custody=custodian, progress=False, **told)
