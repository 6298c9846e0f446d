# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One call that chooses: a share of the budget finds a start, a rehearsal the way on.

Nothing is chosen by the records but through what was released: the start is private,
and the rehearsal reads records that are simulated there.
"""

import contextlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from dp_accounting.dp_event import ComposedDpEvent

from dpmcmc.clipping import (
    Clipping,
    ConditionalCentring,
    ModelCorrection,
    PlainClipping,
    Shrinking,
)
from dpmcmc.custody import NOBODY, Custody
from dpmcmc.errors import InputError, require_positive, require_probability
from dpmcmc.explicit import Certified, Settings, check_privately, run_certified
from dpmcmc.inputs import as_model
from dpmcmc.loop import chain_precision
from dpmcmc.model import Model, check_model
from dpmcmc.posterior import Posterior
from dpmcmc.preparation import Preparation
from dpmcmc.private import Grid, Records, Tape
from dpmcmc.proposals import RandomWalk
from dpmcmc.rehearsal.simulate import Covariates, simulate_records
from dpmcmc.rehearsal.trials import Rehearsal, Way, rehearse
from dpmcmc.run import Precision
from dpmcmc.starts import find_start
from dpmcmc.surrogates import ControlVariates, check_release
from dpmcmc.variational import Plan, Start, Variational, check_start

__all__ = ["Choice", "choose", "sample_automatically"]

_SHARE, _SHARE_OF_FEW, _FEW = 0.1, 0.25, 50_000
"""The part of the budget that finds a start, which is harder with few records."""

_CONTROL_SHARE = 0.9
"""The part of what is left for control variates; bits need little beside them."""

_STEPS = 3000
"""Steps of a way without control variates; the clip is what the budget allows then."""

_SHORT = 0.8
"""Moves of such a way, in deviations of the start."""

_USABLE = 0.5
_TRIED_GRID, _TRIED = Grid(0.01), 4096
"""Any grid and number: with them a model is asked whether a way to clip suits it."""


@dataclass(frozen=True)
class Choice:
    """How a run was chosen; printed before the rest of the budget is spent.

    Attributes
    ----------
    way
        The name of the way that was chosen.
    settings
        What it gives to `sample`; empty where that depends on a start that has not
        been found.
    tried
        The names of all ways that were open.
    reason
        Why it was chosen, in words.
    rehearsal
        The rehearsal that says so; None if there was none.
    """

    way: str
    settings: Mapping[str, Any]
    tried: tuple[str, ...]
    reason: str
    rehearsal: Rehearsal | None

    def __str__(self) -> str:
        lines = [f"Way: {self.way}; {self.reason}."]
        if self.rehearsal is not None:
            lines += ["", str(self.rehearsal)]
        return "\n".join(lines)


def sample_automatically(
    settings: Settings,
    *,
    delta: float,
    epsilon: float,
    covariates: Covariates = None,
    custody: Custody = NOBODY,
) -> Posterior:
    """Find a start, rehearse there, choose a way, and run it; all in one budget.

    Guarantee
    ---------
    The start keeps to a part (ε₁, δ₁) of the budget that is settled before, and
    every way keeps to the rest, whichever is chosen by the start. Custody has set
    aside the costliest before a record is read.

    Raises
    ------
    InputError
        If something given cannot be used; no record was read, no budget spent.
    """
    task, certified = _task(settings, delta, epsilon)
    totals = [ComposedDpEvent([task.fit.event, one.total]) for one in certified]
    costliest = max((one.statement for one in certified), key=lambda one: one.epsilon)
    custody.reserve(totals, costliest)
    found = find_start(
        task.model,
        task.records,
        task.fit,
        Tape.fresh(),
        dtype=task.dtype,
        devices=settings.devices,
        custody=custody,
        progress=settings.progress,
    )
    choice = _kept_choice(task, found, custody) or _choose(task, found, covariates)
    if custody.kept("choice") is None:
        custody.keep("choice", {"way": np.array(choice.way)})
    if settings.progress:
        print(choice)
    chosen = _chosen(task, found, choice.settings)
    certificate = check_privately(chosen, delta=delta, epsilon=epsilon)
    posterior = run_certified(chosen, certificate, custody)
    return replace(posterior, settings={**posterior.settings, "choice": str(choice)})


def choose(
    model: Model | Callable[..., Any],
    records: Any,
    *,
    epsilon: float,
    delta: float,
    covariates: Covariates = None,
    preparation: Preparation | None = None,
    plate: str | None = None,
    precision: Precision | None = None,
) -> Choice:
    """Choose a way as `sample` would, on simulated records, and stop there.

    No record is read: only their number and shapes are looked at. Where `sample`
    simulates at a start that it has found privately, this simulates at the model's
    initial point, so that the choice may differ.

    Parameters
    ----------
    model, records, epsilon, delta, covariates, preparation, plate, precision
        As in `sample`.

    Returns
    -------
    Choice
        The way, what it gives to `sample`, and the rehearsal that says why.
    """
    settings = Settings(
        model, records, preparation=preparation, plate=plate, precision=precision
    )
    task, _ = _task(settings, delta, epsilon)
    return _choose(task, None, covariates)


def _settings(way: Way, start: Start | None) -> Mapping[str, Any]:
    if not callable(way):
        return way
    return {} if start is None else way(start)


def _with_budget(epsilon: float, way: Way, start: Start) -> Mapping[str, Any]:
    return {"epsilon": epsilon, **_settings(way, start)}


class _Task(NamedTuple):
    """What is asked for, checked, and the ways that are open."""

    settings: Settings
    model: Model
    records: Records
    dtype: Precision
    delta: float
    epsilon: float
    fit: Plan
    ways: Mapping[str, Way]


def _task(
    settings: Settings, delta: float, epsilon: float
) -> tuple[_Task, list[Certified]]:
    """Check what was given, from shapes alone, and certify every way."""
    delta = require_probability("delta", delta, "Choose it well below 1/N.")
    epsilon = require_positive("epsilon", epsilon, "Common budgets: 0.1 to 10.")
    given = settings.records
    records = given if isinstance(given, Records) else Records(given)
    dtype = chain_precision(settings.precision)
    model = as_model(
        settings.model,
        records,
        dtype,
        plate=settings.plate,
        preparation=settings.preparation,
        start=None,
    )
    share = _SHARE if len(records) >= _FEW else _SHARE_OF_FEW
    start = Variational(share=share, delta=share * delta)
    fit = start.plan(len(records), delta, epsilon)
    ways = _open_ways(model, records, fit, delta, epsilon, dtype)
    task = _Task(settings, model, records, dtype, delta, epsilon, fit, ways)
    # Refuse now what would be refused once the start has been spent.
    size = sum(int(np.size(leaf)) for leaf in jax.tree.leaves(model.initial))
    like = Start(model.initial, np.eye(size), fit.epsilon, fit.delta, fit.description)
    certified = [
        check_privately(
            _chosen(task, like, _settings(way, like)), delta=delta, epsilon=epsilon
        )
        for way in ways.values()
    ]
    return task, certified


def _chosen(task: _Task, start: Start, told: Mapping[str, Any]) -> Settings:
    """The run as it was chosen."""
    return replace(
        task.settings,
        model=task.model,
        records=task.records,
        preparation=None,
        plate=None,
        start=start,
        **told,
    )


def _open_ways(
    model: Model, records: Records, fit: Plan, delta: float, epsilon: float, dtype: str
) -> dict[str, Way]:
    """Every way that the model is fit for, by name; `InputError` if there is none."""
    try:
        with jax.enable_x64(dtype == "float64"):
            start = jax.tree.map(np.asarray, model.initial)
            check_model(model, start, records.shape_of_one(dtype))
        check_start(model, records, fit, dtype)
    except InputError as problem:
        raise InputError(
            f"{str(problem).rstrip('.')}; so nothing can be chosen for you. Give "
            "proposal and clip (and start, if it is not the model's initial point)."
        ) from None
    control = ControlVariates(share=_CONTROL_SHARE)
    size = sum(int(np.size(leaf)) for leaf in jax.tree.leaves(model.initial))
    ways: dict[str, Way] = {}
    if _fits(
        lambda: check_release(
            model, records, control.plan(len(records), size, delta, epsilon), dtype
        )
    ):
        ways["control variates"] = {"control": control}
    clippings: dict[str, Clipping] = {
        "shrinking": Shrinking(),
        "conditional centring": ConditionalCentring(),
        "model correction": ModelCorrection(),
        "plain clipping": PlainClipping(),
    }
    one_record = records.shape_of_one(dtype)
    for name, clipping in clippings.items():
        suits = partial(clipping.influence, model, one_record, _TRIED_GRID, _TRIED)
        if _fits(suits):
            ways[name] = partial(_short_walk, clipping)
    return ways


def _short_walk(clipping: Clipping, start: Start) -> dict[str, Any]:
    """A walk with moves about as long as the posterior is wide: few are clipped."""
    proposal = RandomWalk(_SHORT**2 * start.covariance)
    return {"clipping": clipping, "steps": _STEPS, "proposal": proposal}


def _fits(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except InputError:
        return False
    return True


def _kept_choice(task: _Task, found: Start, custody: Custody) -> Choice | None:
    """The way that was chosen before this run was broken off, if it was."""
    kept = custody.kept("choice")
    if kept is None:
        return None
    way = str(kept["way"])
    reason = "as chosen before the run was broken off"
    told = _settings(task.ways[way], found)
    return Choice(way, told, tuple(task.ways), reason, None)


def _choose(task: _Task, found: Start | None, covariates: Covariates) -> Choice:
    """Rehearse the open ways, at the start if there is one, and take the best."""
    ways, names = task.ways, tuple(task.ways)
    theta = task.model.initial if found is None else found.mean
    unable = _cannot_simulate(task.model, theta, covariates)
    if unable is not None:
        first = names[0]
        told = _settings(ways[first], found)
        return Choice(first, told, names, f"not rehearsed: {unable}", None)
    try:
        rehearsal = _rehearsed(task, found, theta, covariates)
    except Exception as problem:  # the start is spent: go on as if without a simulator
        told = _settings(ways[names[0]], found)
        reason = f"not rehearsed: the rehearsal failed with {type(problem).__name__}"
        return Choice(names[0], told, names, reason, None)
    best = rehearsal.best
    trial = next(one for one in rehearsal.trials if one.name == best)
    reason = f"the smallest error of {len(names)} ways on simulated records"
    if not trial.is_usable:
        advice = _advice(trial.error, len(task.records), task.epsilon)
        reason = f"{reason}, but {advice}"
        with contextlib.suppress(UserWarning):  # where warnings are errors
            warnings.warn(advice, stacklevel=4)
    return Choice(best, _settings(ways[best], found), names, reason, rehearsal)


def _rehearsed(
    task: _Task, found: Start | None, theta: Any, covariates: Covariates
) -> Rehearsal:
    """Try every open way on records simulated at ``theta``."""
    return rehearse(
        task.model,
        records=len(task.records),
        delta=task.delta,
        ways={
            name: partial(_with_budget, task.epsilon, way)
            for name, way in task.ways.items()
        },
        theta=theta,
        covariates=covariates,
        shape=None if found is None else found.covariance,
        fit=task.fit,
        progress=False,
    )


def _cannot_simulate(model: Model, theta: Any, covariates: Covariates) -> str | None:
    """Why records like the sensitive ones cannot be simulated, or None."""
    if model.simulate is None:
        return "the model has no simulator"
    try:
        simulate_records(model, theta, 2, covariates, 0)
    except InputError:
        return "covariates were not given, or are not like those of the model"
    return None


def _advice(error: float, records: int, epsilon: float) -> str:
    """What would make a budget enough, as errors fall with ε and the root of N."""
    factor = max(error / _USABLE, 1.0)
    return (
        f"on simulated records the best way is off by {error:.1f} posterior "
        "deviations: this budget does not buy a usable posterior. About "
        f"ε = {epsilon * factor:.2g}, or N = {records * factor**2:.2g} records, or "
        f"tempering={records / factor**2:.2g} would"
    )
