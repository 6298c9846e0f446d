# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""An attack on whole default runs: the fit, the chain and the check.

The last record's log-likelihood is huge, or large with the other sign: its gradient and
its Hessian are clipped everywhere, opposite, and in other bins of every histogram. The
adversary knows all other records, and adds up what each answer of the fit says. What
one record changes is nearly the same in all runs, so that the sum is normal. Not so the
loss of the final sum, whose noise is Laplace: it is at most the shift, and mostly that.
So the final sum, of one number here, is kept beside the sum of the others, and ε is
that of both together.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

import jax
import numpy as np

from dpmcmc.audit.attack import Attack, Size
from dpmcmc.audit.bounds import Scores
from dpmcmc.errors import NotUsableError
from dpmcmc.model.model import Model
from dpmcmc.private import Records, Tape, release_counts, release_sum
from dpmcmc.sampling.checkpoint import MemoryCheckpoint
from dpmcmc.sampling.control_variates import ControlVariates
from dpmcmc.sampling.fit.asking import Answer, Ask, Asking
from dpmcmc.sampling.fit.stage import Fit
from dpmcmc.sampling.loop import run
from dpmcmc.sampling.plan import Plan
from dpmcmc.sampling.problem import Problem, make_problem
from dpmcmc.sampling.sample import plan_run
from dpmcmc.sampling.stages import Context, Part

__all__ = ["TABLES", "default_run_attacks", "two_signed"]

_RECORDS = 1_000
_EPSILON, _DELTA = 20.0, 1e-5
_STEPS, _CHAINS = 20, 2
_HARDLY_ANY = 1e-5
"""Noise with which the adversary adds up tables that it knows."""


def two_signed() -> Model:
    """A normal mean, but for records with a sign, whose log-likelihood is large."""

    def log_likelihood(theta: Any, record: Any) -> Any:
        mean = theta["mean"]
        usual = -0.5 * (record["x"] - mean) ** 2
        is_usual = record["sign"] == 0
        return is_usual * usual + record["sign"] * (mean + 0.5 * mean**2)

    return Model(
        log_likelihood=log_likelihood,
        log_prior=lambda theta: -0.5 * (theta["mean"] / 10) ** 2,
        initial={"mean": 0.0},
    )


def _table(sign: float) -> dict[str, np.ndarray]:
    signs = np.zeros(_RECORDS)
    signs[-1] = sign
    return {"x": np.random.default_rng(0).normal(1, 1, _RECORDS), "sign": signs}


_HUGE, _LARGE = 1e9, 1e3
"""Beyond every bound; and beyond the last bin of histograms, or not."""

TABLES = (_table(_HUGE), _table(-_LARGE))


def default_run_attacks() -> list[Attack]:
    """Whole default runs."""
    model = two_signed()
    problems = [
        make_problem(model, Records(one), start=None, precision=None, devices=None)
        for one in TABLES
    ]
    plans = [
        plan_run(
            one,
            ControlVariates(),
            epsilon=_EPSILON,
            delta=_DELTA,
            steps=_STEPS,
            chains=_CHAINS,
        )
        for one in problems
    ]

    def score(plan: Plan) -> list[float]:
        checkpoint, fit = MemoryCheckpoint(), _watched(plan.stages[0])
        watched = replace(plan, stages=(fit, *plan.stages[1:]))
        with suppress(NotUsableError):  # which is an outcome like any other
            run(watched, Context(plan.problem, progress=False), checkpoint)
        return _scored(fit.asked, checkpoint.kept(fit.name), problems)

    def play(runs: int) -> Scores:
        made = [np.array([score(plan) for _ in range(runs)]) for plan in plans]
        return Scores(*made)

    return [
        Attack(
            name="default run (fit, chain and check)",
            events=plans[0].events,
            delta=_DELTA,
            play=play,
            runs={Size.QUICK: 120, Size.WHOLE: 800},
            goal=0.7,
            with_laplace=True,
        )
    ]


@dataclass(frozen=True, eq=False)
class _Watched(Fit):
    """A fit whose questions are noted: they follow from its answers, which all see."""

    asked: list[Ask] = field(default_factory=list)

    def _asking(self, problem: Problem) -> Asking[Any]:
        """The questions of the fit."""
        asking = super()._asking(problem)
        ask = next(asking)
        while True:
            self.asked.append(ask)
            answer = yield ask
            try:
                ask = asking.send(answer)
            except StopIteration as end:
                return end.value


def _watched(stage: Any) -> _Watched:
    assert isinstance(stage, Fit)
    return _Watched(*(getattr(stage, one.name) for one in fields(Fit)))


def _scored(
    asked: Sequence[Ask], kept: Sequence[Part], problems: Sequence[Problem]
) -> list[float]:
    """What answers of a fit with normal noise say for the first table; the final sum.

    The former is a log-likelihood ratio. The latter is 1 on the first table and −1 on
    the second, but for noise, and 0 if it was not asked for.
    """
    total, final = 0.0, 0.0
    for ask, part in zip(asked, kept, strict=False):  # the last part is what was found
        answer = Answer(part.arrays["values"], float(part.arrays["noise"]))
        first, second = (_exact(problem, ask) for problem in problems)
        away = (answer.values - (first + second) / 2) * (first - second)
        if ask.is_final:
            final = 2 * float(away.sum() / np.sum((first - second) ** 2))
        else:
            total += float(away.sum()) / answer.noise**2
    return [total, final]


def _exact(problem: Problem, ask: Ask) -> np.ndarray:
    """What the answer would be on a known table, but for noise."""
    release: Any = release_counts if ask.histograms else release_sum
    values: np.ndarray = release(
        problem.model,
        problem.records,
        ask.question,
        ask.public,
        Tape.seeded(0),
        noise=_HARDLY_ANY,
        dtype=problem.dtype,
        devices=jax.devices()[:1],
    )
    return values
