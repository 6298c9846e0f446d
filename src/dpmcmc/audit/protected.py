# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks on what is protected: whole persons, being there at all, missing values.

Tables differ in all records of one person; in a record more, or one less, where their
number is protected; or in a record with a missing value, which is integrated out. Each
passes the front door, so that a record that counts apart from its person, or an entry
that should not be there, is found as one record that counts too much.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy import special

from dpmcmc.accounting import BarkerBit, Event, GaussianRelease
from dpmcmc.audit.attack import Attack, Size
from dpmcmc.audit.bounds import Scores
from dpmcmc.audit.decisions import FAR, Far, best_place, decided, grouped
from dpmcmc.audit.releases import sum_of
from dpmcmc.influence.derivatives import prepared
from dpmcmc.model.missing import Missing
from dpmcmc.model.model import Model
from dpmcmc.model.schema import DeclaredColumn, Schema
from dpmcmc.private import FullData, Grid, Records
from dpmcmc.sampling.problem import Problem, make_problem

__all__ = ["protection_attacks"]

_MU, _CLIP, _TIGHT = 3.0, 0.5, 0.85
_WHO = np.array([1, 3, 2, 3, 1, 3])
"""Of the third person there is a record more than counts, and none beside another."""

_MAY_MISS = Schema(
    {
        "x": DeclaredColumn("number"),
        "z": DeclaredColumn("number", if_missing=Missing(mean=1.0, sd=0.1)),
    }
)


class _Pair(NamedTuple):
    """Two neighbouring tables; and the part of a bound that theory says is reached."""

    name: str
    tables: Sequence[Records]
    goal: float | None = _TIGHT


def protection_attacks() -> list[Attack]:
    """Sums on all pairs of tables, and a decision on each that reaches its bound."""
    pairs = _pairs()
    decisions = [_decision(pair) for pair in pairs if pair.goal is not None]
    return [*map(_sum, pairs), *decisions]


def _pairs() -> list[_Pair]:
    persons = [
        Records({"x": (_WHO == 3) * sign, "who": _WHO}, unit="who", most=2)
        for sign in (1.0, -1.0)
    ]
    in_parts = [
        Records({"x": np.array([0.0, 0.0, sign])}, in_parts=True)
        for sign in (1.0, -1.0)
    ]
    # the first two undo each other, unless one is filled with what the last holds
    signs = np.array([1.0, -1.0, 1.0])
    missing = [
        Records({"x": signs, "z": np.array([np.nan, 1.0, z])}, schema=_MAY_MISS)
        for z in (np.nan, -1.0)
    ]
    return [
        _Pair("persons", persons),
        # the record in front takes the place of the last
        _Pair("one more than its size", _sized(3, [1, 0, 0, -1], [0, 0, -1])),
        # against none, not against the opposite: half of what is certified
        _Pair("one less than before", _sized(8, [0, 1], [0]), goal=None),
        _Pair("missing values", missing),
        _Pair("records in parts", in_parts),
    ]


def _sized(size: int, *tables: list[float]) -> list[Records]:
    return [Records({"x": np.asarray(one, float)}, size=size) for one in tables]


def _log_likelihood(theta: Any, record: Any) -> Any:
    return theta["at"] * record["x"] * record.get("z", 1.0)


@dataclass(frozen=True)
class _Slope:
    """What is asked: the gradient, far too long, of whatever counts as one record."""

    def __call__(self, model: Model, record: Any, public: Any) -> jax.Array:
        """The gradient."""
        del public
        ready = prepared(model, record)
        found = jax.grad(lambda at: model.log_likelihood({"at": at}, ready))(0.0)
        return FAR * found[None]


def _problems(pair: _Pair) -> list[Problem]:
    """The tables with their model, as a run would have them."""
    model = Model(
        log_likelihood=_log_likelihood,
        log_prior=lambda theta: 0.0 * theta["at"],
        initial={"at": 0.0},
    )
    return [
        make_problem(model, one, start=None, precision=None, devices=None)
        for one in pair.tables
    ]


def _sum(pair: _Pair) -> Attack:
    problems = _problems(pair)

    def played(problem: Problem, runs: int) -> np.ndarray:
        found = [
            sum_of(problem.records, _Slope(), 2 / _MU, problem.model)
            for _ in range(runs)
        ]
        return np.concatenate(found)

    return _attack(
        pair, "sum", {GaussianRelease(_MU): 1}, 1e-5, 1_000, problems, played
    )


def _decision(pair: _Pair) -> Attack:
    pull, delta, quick = np.array([_CLIP, -_CLIP]), 1e-4, 400_000
    place = best_place(lambda at: special.expit(at + pull), 1, delta, quick)
    problems = _problems(pair)

    def played(problem: Problem, runs: int) -> np.ndarray:
        kernel, test = Far(place.public), FullData(Grid(_CLIP))
        made = decided(problem.records, test, kernel, runs, model=problem.model)
        return grouped(made.accepted, 1)

    event = BarkerBit(clip=_CLIP, records=problems[0].size)
    return _attack(pair, "exact test", {event: 1}, delta, quick, problems, played)


def _attack(
    pair: _Pair,
    what: str,
    events: dict[Event, int],
    delta: float,
    quick: int,
    problems: list[Problem],
    played: Callable[[Problem, int], np.ndarray],
) -> Attack:
    return Attack(
        name=f"{pair.name}: {what}",
        events=events,
        delta=delta,
        play=lambda runs: Scores(*(played(one, runs) for one in problems)),
        runs={Size.QUICK: quick, Size.WHOLE: 10 * quick},
        threshold=1.0,
        goal=pair.goal,
        is_gaussian=what == "sum",
    )
