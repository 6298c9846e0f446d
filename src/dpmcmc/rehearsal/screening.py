# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How control variates share the rest of the budget, before any way is rehearsed."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.certified import Settings
from dpmcmc.model import Model
from dpmcmc.private import Records, Tape
from dpmcmc.rehearsal.looks import look_at
from dpmcmc.rehearsal.shares import Offer, best_split, distance
from dpmcmc.rehearsal.simulate import (
    Covariates,
    simulate_records,
    without_preparation,
)
from dpmcmc.rehearsal.trials import Way
from dpmcmc.rehearsal.ways import (
    BOUNDS,
    SHARES,
    is_control,
    named,
    way_of,
    with_share,
)
from dpmcmc.relevance import told_coordinates
from dpmcmc.run import Precision
from dpmcmc.variational import Plan, Start, fit_start

__all__ = ["SEED", "Task", "screened"]

_LOOKED_AT = 2**17
"""Most simulated records that are looked at to choose shares and a bound."""

SEED = 0
"""Of simulated records: those that a start is tried on are rehearsed with."""


class Task(NamedTuple):
    """What is asked for, checked, the ways that are open, and their clips."""

    settings: Settings
    model: Model
    records: Records
    dtype: Precision
    delta: float
    epsilon: float
    fit: Plan
    ways: Mapping[str, Way]
    clips: Mapping[str, float | None]


def screened(
    task: Task, found: Start | None, theta: Any, covariates: Covariates
) -> tuple[tuple[str, ...], Plan | Start]:
    """The names of the ways, those of control variates with the shares that are best.

    The second result is a start as good as the one that was found, on simulated
    records; where there is none yet, it is the plan of one.
    """
    names = tuple(task.ways)
    if found is None or not any(map(is_control, names)):
        return names, task.fit
    count = len(task.records)
    table = simulate_records(task.model, theta, count, covariates, SEED)
    plain = without_preparation(task.model)
    fitted = fit_start(plain, Records(table), task.fit, Tape.fresh())
    told = told_coordinates(task.model, task.records)
    factor = np.zeros((len(told), int(told.sum())))
    factor[told] = np.linalg.cholesky(count * found.covariance[np.ix_(told, told)])
    rows = jax.tree.map(lambda leaf: leaf[:_LOOKED_AT], table)
    look = look_at(plain, rows, theta, factor, centred=True)
    flat, there = (
        np.asarray(ravel_pytree(at)[0], np.float64) for at in (theta, fitted.mean)
    )
    off = distance(look, count, np.linalg.pinv(factor) @ (there - flat))
    left = task.delta - found.delta, task.epsilon - found.epsilon
    screened = []
    for name in names:
        if is_control(name):
            offers = {}
            for share in SHARES:
                one = with_share(name, share)
                way = way_of(task.ways, one)
                assert not callable(way)
                clip = task.clips[one]
                assert clip is not None
                plan = way["control"].plan(count, factor.shape[1], *left)
                offers[share] = Offer(plan, clip)
            name = named(name, best_split(look, offers, off, BOUNDS))  # noqa: PLW2901
        screened.append(name)
    return tuple(screened), fitted
