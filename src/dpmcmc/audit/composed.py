# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks on stages together: what several releases say of one record adds up."""

import math
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from scipy import special

from dpmcmc.accounting import BarkerBit, Event, GaussianRelease
from dpmcmc.audit.attack import Attack, Size
from dpmcmc.audit.bounds import Scores, Seen, counting_bound
from dpmcmc.audit.decisions import FAR, Far, decided, grouped
from dpmcmc.audit.releases import AT_ONCE, OneOf, Pulls, counts_of, sum_of, tables
from dpmcmc.model.margins import Margin
from dpmcmc.model.model import Model
from dpmcmc.model.statistics import Statistics
from dpmcmc.private import FullData, Grid, Records
from dpmcmc.sampling.plan import Plan
from dpmcmc.sampling.problem import make_problem
from dpmcmc.sampling.sample import plan_run
from dpmcmc.sampling.stages import Context
from dpmcmc.sampling.sufficient_statistics import SufficientStatistics

__all__ = ["composed_attacks"]

_CLIP, _DECISIONS = 0.2, 10
_MU_HISTOGRAM, _MU_SUM = 1.0, 1.0
_TABLES = ([0.0, 0.0, 1.0], [0.0, 0.0, -1.0])


def composed_attacks() -> list[Attack]:
    """Three kinds of release together; and the stage of sufficient statistics."""
    statistics = Statistics(
        of_record=lambda record: jnp.full(2, FAR) * record,
        coefficients=lambda theta: jnp.full(2, theta["at"]),
        bound=1.0,
        is_exact=True,
    )
    cells = Statistics(
        of_record=lambda record: (record > 0).astype(jnp.int32),
        coefficients=lambda theta: jnp.full(2, theta["at"]),
        bound=1.0,
        is_exact=True,
        cells=2,
    )
    halves = replace(cells, margins=(Margin(np.arange(2), 0.5),))
    return [
        _three_kinds(),
        _released("sufficient statistics", statistics, np.ones(2)),
        _released("counts of cells", cells, np.array([-1.0, 1.0])),
        _released("counts of cells and a margin", halves, np.array([-1.0, 1.0])),
    ]


def _three_kinds() -> Attack:
    quick, delta = 8_000, 0.1
    # the sum of log-likelihood ratios is about normal, with this variance
    total = _MU_HISTOGRAM**2 + _MU_SUM**2 + _DECISIONS * _CLIP**2
    events: dict[Event, int] = {
        GaussianRelease(_MU_HISTOGRAM): 1,
        BarkerBit(clip=_CLIP, records=len(_TABLES[0])): _DECISIONS,
    }
    events[GaussianRelease(_MU_SUM)] = events.get(GaussianRelease(_MU_SUM), 0) + 1
    return Attack(
        name=f"histogram, sum and {_DECISIONS} decisions together",
        events=events,
        delta=delta,
        threshold=_best_threshold(total, delta, quick),
        play=_played,
        runs={Size.QUICK: quick, Size.WHOLE: 10 * quick},
        goal=0.7,
    )


def _played(runs: int) -> Scores:
    return Scores(
        *(
            _histograms(records, runs) + _sums(records, runs) + _decisions(table, runs)
            for records, table in zip(tables(), _TABLES, strict=True)
        )
    )


def _histograms(records: Records, runs: int) -> np.ndarray:
    bins, noise = OneOf(AT_ONCE), math.sqrt(2) / _MU_HISTOGRAM
    made = [counts_of(records, bins, noise) for _ in range(-(-runs // AT_ONCE))]
    found = np.concatenate(made)[:runs]
    return np.asarray(found[:, 0] - found[:, 1]) / noise**2


def _sums(records: Records, runs: int) -> np.ndarray:
    measure, noise = Pulls(), 2 / _MU_SUM
    found = np.array([sum_of(records, measure, noise)[0] for _ in range(runs)])
    return 2 * found / noise**2


def _decisions(table: list[float], runs: int) -> np.ndarray:
    test = FullData(Grid(_CLIP))
    bits = decided(table, test, Far(0.0), runs * _DECISIONS, chains=_DECISIONS).accepted
    accepted = grouped(bits.T, _DECISIONS)[:runs]
    # log σ(B) − log σ(−B) = B for an acceptance, and −B for a refusal
    return _CLIP * (2.0 * accepted - _DECISIONS)


def _best_threshold(variance: float, delta: float, runs: int) -> float:
    """The log-likelihood ratio from which on normal ones should tell most."""
    sd = math.sqrt(variance)

    def found(threshold: float) -> float:
        right, wrong = (
            int(runs * special.ndtr((mean - threshold) / sd))
            for mean in (variance / 2, -variance / 2)
        )
        return counting_bound(Seen(right, runs, wrong, runs), delta, 0.05)

    return float(max(np.linspace(0.0, 2 * variance, 81), key=found))


def _released(name: str, statistics: Statistics, weights: np.ndarray) -> Attack:
    """The stage of a sum, as a method plans and runs it."""
    model = Model(
        log_likelihood=lambda theta, record: theta["at"] * record,
        log_prior=lambda theta: -(theta["at"] ** 2),
        initial={"at": 0.0},
        statistics=statistics,
    )
    problems = [
        make_problem(model, one, start=None, precision="float32", devices=None)
        for one in tables()
    ]
    delta, quick = 1e-5, 2_000
    plans = [
        plan_run(one, SufficientStatistics(), epsilon=12.0, delta=delta)
        for one in problems
    ]

    def score(plan: Plan) -> float:
        stage = plan.stages[0]
        context = Context(plan.problem, None, progress=False)
        (part,) = stage.run(context, {stage.name: []}, {}, lambda *_: None)
        # a margin has half of the budget, and so the noise of the table
        return float(sum(released @ weights for released in part.arrays.values()))

    def play(runs: int) -> Scores:
        made = [np.array([score(plan) for _ in range(runs)]) for plan in plans]
        return Scores(*made)

    return Attack(
        name=name,
        events=plans[0].events,
        delta=delta,
        play=play,
        runs={Size.QUICK: quick, Size.WHOLE: 10 * quick},
        goal=0.85,
        is_gaussian=True,
    )
