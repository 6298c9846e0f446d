# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""An attack from outside: nothing is known of a run but what `sample` returns.

The run is planned once, as `sample` plans it, and run again and again. A classifier
learns from half of the runs to tell two tables apart, and chooses its threshold there.
The other half says how well it does.
"""

from typing import Any

import numpy as np

from dpmcmc.audit.attack import Attack, Size
from dpmcmc.audit.bounds import Scores, counting_bound, seen_above
from dpmcmc.audit.default_run import TABLES, two_signed
from dpmcmc.errors import InputError
from dpmcmc.posterior import Posterior
from dpmcmc.private import Records
from dpmcmc.proposals import RandomWalk
from dpmcmc.sampling.barker import Barker
from dpmcmc.sampling.checkpoint import MemoryCheckpoint
from dpmcmc.sampling.loop import run
from dpmcmc.sampling.plan import Plan
from dpmcmc.sampling.problem import make_problem
from dpmcmc.sampling.sample import plan_run
from dpmcmc.sampling.stages import Context

__all__ = ["outside_attacks"]

_CLIP, _STEPS, _DELTA = 0.5, 12, 0.05
_START = {"mean": 1.0}


def outside_attacks() -> list[Attack]:
    """Short chains through the front door."""
    model = two_signed()
    plans = [
        plan_run(
            make_problem(
                model, Records(table), start=_START, precision=None, devices=None
            ),
            Barker(clip=_CLIP, proposal=RandomWalk(0.02)),
            epsilon=None,
            delta=_DELTA,
            steps=_STEPS,
            warmup=0,
        )
        for table in TABLES
    ]

    def drawn(plan: Plan) -> Posterior:
        return run(plan, Context(plan.problem, progress=False), MemoryCheckpoint())

    def play(runs: int) -> Scores:
        outputs = [
            np.array([_features(drawn(plan)) for _ in range(2 * runs)])
            for plan in plans
        ]
        return _told_apart(outputs, _DELTA)

    return [
        Attack(
            name=f"from outside: {_STEPS} steps, a classifier",
            events=plans[0].events,
            delta=_DELTA,
            threshold=0.0,
            play=play,
            runs={Size.QUICK: 100, Size.WHOLE: 1_000},
        )
    ]


def _features(posterior: Posterior) -> np.ndarray:
    """All draws in order, where they go, and how often they were accepted."""
    draws = posterior.draws["mean"][0]
    moves = np.diff(draws, prepend=_START["mean"])
    rises, falls = np.sum(moves > 0), np.sum(moves < 0)
    return np.array([*draws, draws.mean(), rises, falls, rises - falls])


def _told_apart(outputs: list[np.ndarray], delta: float) -> Scores:
    """Scores of the runs that the classifier did not learn from, less its threshold."""
    classifier = _classifier()
    halves = [(rows[: len(rows) // 2], rows[len(rows) // 2 :]) for rows in outputs]
    learnt = np.concatenate([half for half, _ in halves])
    tables = np.repeat([1, 0], [len(half) for half, _ in halves])
    classifier.fit(learnt, tables)
    own = Scores(*(classifier.decision_function(half) for half, _ in halves))

    def found(threshold: float) -> float:
        return counting_bound(seen_above(own, threshold), delta, 0.05)

    threshold = max(np.quantile(np.concatenate(own), np.linspace(0, 1, 51)), key=found)
    return Scores(
        *(classifier.decision_function(half) - threshold for _, half in halves)
    )


def _classifier() -> Any:
    try:
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
        from sklearn.pipeline import make_pipeline  # noqa: PLC0415
        from sklearn.preprocessing import StandardScaler  # noqa: PLC0415
    except ImportError as missing:
        raise InputError(
            "the attack from outside needs scikit-learn. Install it: pip install "
            "'dpmcmc[audit]'."
        ) from missing
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
