# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks on methods as they are planned: test and events are both the method's own.

So a method that charges for less than its decisions tell is found.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy import special

from dpmcmc.audit.attack import Attack, Size
from dpmcmc.audit.bounds import Scores
from dpmcmc.audit.decisions import (
    MODEL,
    VARIANCE,
    Far,
    best_place,
    decided,
    grouped,
    normal_acceptance,
)
from dpmcmc.private import Records
from dpmcmc.proposals import RandomWalk
from dpmcmc.sampling.barker import Barker, GaussianBarker
from dpmcmc.sampling.chain import Chain
from dpmcmc.sampling.minibatch_barker import MinibatchBarker
from dpmcmc.sampling.plan import Method
from dpmcmc.sampling.problem import make_problem
from dpmcmc.sampling.sample import plan_run

__all__ = ["method_attacks"]

_CLIP, _WALK, _QUICK = 0.5, RandomWalk(1.0), 400_000
_FULL_DATA = ([0.0, 0.0, 1.0], [0.0, 0.0, -1.0])
_BATCH = ([1.0, 1.0], [1.0, -1.0])


def method_attacks() -> list[Attack]:
    """One decision of each method."""
    pull = np.array([_CLIP, -_CLIP])
    # both records of the batch pull up; or one down, which makes its variance 1
    mean, variance = np.array([math.sqrt(2), 0.0]), VARIANCE - np.array([0.0, 1.0])
    return [
        _attack(
            Barker(clip=_CLIP, proposal=_WALK),
            _FULL_DATA,
            lambda public: special.expit(public + pull),
            1e-4,
        ),
        _attack(
            GaussianBarker(clip=_CLIP, proposal=_WALK),
            _FULL_DATA,
            lambda public: normal_acceptance(public + pull, VARIANCE),
            1e-4,
        ),
        _attack(
            MinibatchBarker(batch=2, proposal=_WALK),
            _BATCH,
            lambda public: normal_acceptance(public + mean, variance),
            1e-2,
        ),
    ]


def _attack(
    method: Method,
    tables: Sequence[list[float]],
    acceptances: Callable[[float], np.ndarray],
    delta: float,
) -> Attack:
    records = Records(np.asarray(tables[0]))
    problem = make_problem(MODEL, records, start=None, precision=None, devices=None)
    plan = plan_run(problem, method, epsilon=None, delta=delta, steps=1, warmup=0)
    (chain,) = (stage for stage in plan.stages if isinstance(stage, Chain))
    place = best_place(acceptances, 1, delta, _QUICK)

    def play(runs: int) -> Scores:
        kernel = Far(place.public)
        made = [decided(table, chain.test, kernel, runs) for table in tables]
        return Scores(*(grouped(one.accepted, 1) for one in made))

    return Attack(
        name=f"{type(method).__name__} as planned, 1 decision",
        events=plan.events,
        delta=delta,
        threshold=place.least,
        play=play,
        runs={Size.QUICK: _QUICK, Size.WHOLE: 10 * _QUICK},
        goal=0.85,
    )
