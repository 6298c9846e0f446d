# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that words of the tape are used once: by chains, chunks, runs and resumption.

Every decision is a fair coin here. Two stretches of coins that ought to be independent
agree in half of all places, and an exact binomial test says whether they do.
"""

from functools import partial

import numpy as np
from scipy import stats

from dpmcmc.audit.attack import Check, Size
from dpmcmc.audit.decisions import MODEL, Far, decided
from dpmcmc.private import FullData, Grid, Records
from dpmcmc.proposals import RandomWalk
from dpmcmc.sampling.barker import Barker
from dpmcmc.sampling.checkpoint import MemoryCheckpoint
from dpmcmc.sampling.loop import run
from dpmcmc.sampling.problem import make_problem
from dpmcmc.sampling.sample import plan_run
from dpmcmc.sampling.stages import Context, Part

__all__ = ["randomness_checks"]

_TEST = FullData(Grid(0.5))
_NOTHING = [0.0, 0.0, 0.0]
_CHUNK = 2000
"""Steps of the longest chunk that plays run in."""


def randomness_checks() -> list[Check]:
    """Of chains side by side, of chunks, of two runs, and of a run that goes on."""
    runs = {Size.QUICK: 1, Size.WHOLE: 10}
    return [
        Check("words of decisions: of each chain", _chains, runs),
        Check("words of decisions: of each chunk", _chunks, runs),
        Check("words of decisions: of each run", _runs, runs),
        Check("words of decisions: of a run that goes on", _going_on, runs),
    ]


def _agreement(first: np.ndarray, second: np.ndarray) -> float:
    same = int(np.count_nonzero(first == second))
    return float(stats.binomtest(same, first.size, 0.5).pvalue)


def _coins(steps: int) -> np.ndarray:
    found: np.ndarray = decided(_NOTHING, _TEST, Far(0.0), 2 * steps, chains=2).accepted
    return found


def _chains(runs: int) -> float:
    return _agreement(*_coins(_CHUNK * runs).T)


def _chunks(runs: int) -> float:
    bits = _coins(2 * _CHUNK * runs)
    return _agreement(bits[:_CHUNK], bits[_CHUNK : 2 * _CHUNK])


def _runs(runs: int) -> float:
    return _agreement(_coins(_CHUNK * runs), _coins(_CHUNK * runs))


class _Interrupting(MemoryCheckpoint):
    """A checkpoint at which a run is interrupted once half of it is kept."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.left = steps

    def keep(self, stage: str, part: Part) -> None:
        """Keep it, and stop there once."""
        super().keep(stage, part)
        before, self.left = self.left, self.left - len(part.arrays["accepted"])
        if before > 0 >= self.left:
            raise KeyboardInterrupt


def _going_on(runs: int) -> float:
    """A run that is interrupted, and goes on: with words of its own."""
    steps = 400 * runs
    problem = make_problem(
        MODEL, Records(np.zeros(3)), start=None, precision=None, devices=None
    )
    method = Barker(clip=1e-4, proposal=RandomWalk(0.1))
    plan = plan_run(
        problem, method, epsilon=None, delta=1e-6, steps=steps, chains=2, warmup=0
    )
    checkpoint = _Interrupting(steps // 2)
    again = partial(run, plan, Context(problem, progress=False), checkpoint)
    begun = again().accepted
    bits = again().accepted[:, begun.shape[1] :]
    common = min(begun.shape[1], bits.shape[1])
    return _agreement(begun[:, :common], bits[:, :common])
