# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How control variates share the rest of the budget, before any way is rehearsed."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.certified import Settings
from dpmcmc.model.model import Model
from dpmcmc.model.relevance import told_coordinates
from dpmcmc.private import Records, Tape
from dpmcmc.progress import steps_bar
from dpmcmc.rehearsal.looks import look_at
from dpmcmc.rehearsal.shares import Offer, Split, best_split, distance
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
    with_shares,
)
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
    clips: Mapping[tuple[str, float | None], float | None]


def screened(
    task: Task, found: Start | None, theta: Any, covariates: Covariates
) -> tuple[dict[str, Split], Plan | Start]:
    """How each way of control variates is to share the budget, by its name.

    The second result is a start as good as the one that was found, on simulated
    records; where there is none yet, it is the plan of one.
    """
    controls = [name for name in task.ways if is_control(name)]
    if found is None or not controls:
        return {}, task.fit
    count, progress = len(task.records), task.settings.progress
    table = simulate_records(task.model, theta, count, covariates, SEED)
    plain = without_preparation(task.model)
    label = "Finding a start on simulated records"
    fitted = fit_start(
        plain, Records(table), task.fit, Tape.fresh(), progress=progress, label=label
    )
    told = told_coordinates(task.model, task.records)
    factor = np.zeros((len(told), int(told.sum())))
    factor[told] = np.linalg.cholesky(count * found.covariance[np.ix_(told, told)])
    rows = jax.tree.map(lambda leaf: leaf[:_LOOKED_AT], table)
    left = task.delta - found.delta, task.epsilon - found.epsilon
    splits = {}
    with steps_bar(1 + len(controls), "Choosing shares", progress, "part") as bar:
        bar.say("Choosing shares: simulated records")
        look = look_at(plain, rows, theta, factor, centred=True)
        flat, there = (
            np.asarray(ravel_pytree(at)[0], np.float64) for at in (theta, fitted.mean)
        )
        off = distance(look, count, np.linalg.pinv(factor) @ (there - flat))
        bar(1)
        for name in controls:
            bar.say(f"Choosing shares: {name}")
            offers = _offers(task, name, factor.shape[1], left)
            splits[name] = best_split(look, offers, off, BOUNDS)
            bar(1)
    return splits, fitted


def _offers(
    task: Task, name: str, size: int, left: tuple[float, float]
) -> dict[float, Offer]:
    """What each share of the rest leads to, for a way of control variates."""
    ways, offers = with_shares(task.ways), {}
    for share in SHARES:
        way, clip = ways[name, share], task.clips[name, share]
        assert not callable(way)
        assert clip is not None
        offers[share] = Offer(way["control"].plan(len(task.records), size, *left), clip)
    return offers
