# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One call that chooses: a share of the budget finds a start, a rehearsal the way on.

Nothing is chosen by the records but through what was released: the start is private,
and the rehearsal reads records that are simulated there.
"""

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np
from dp_accounting.dp_event import ComposedDpEvent

from dpmcmc.certified import Certified, Settings, check_privately
from dpmcmc.custody import NOBODY, Custody
from dpmcmc.errors import InputError, require_positive, require_probability
from dpmcmc.explicit import run_certified
from dpmcmc.inputs import as_model
from dpmcmc.loop import chain_precision
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Preparation
from dpmcmc.model.relevance import told_coordinates
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.private import Records, Tape
from dpmcmc.progress import steps_bar
from dpmcmc.rehearsal.advice import (
    CHAINS,
    HOPELESS,
    LEAST_TEMPERED,
    USABLE,
    advice_on,
    best_trial,
    chains_for,
)
from dpmcmc.rehearsal.chosen import Choice, Chosen
from dpmcmc.rehearsal.declared import covariates_for
from dpmcmc.rehearsal.results import Rehearsal
from dpmcmc.rehearsal.screening import SEED, Task, screened
from dpmcmc.rehearsal.simulate import Covariates
from dpmcmc.rehearsal.starting import plan_fit
from dpmcmc.rehearsal.trials import Way, rehearse, tempered_start
from dpmcmc.rehearsal.ways import (
    SHARES,
    is_control,
    open_ways,
    safest,
    way_of,
    with_shares,
)
from dpmcmc.run import Precision
from dpmcmc.starts import find_start
from dpmcmc.variational import Plan, Start

__all__ = ["choose", "sample_automatically"]


def sample_automatically(
    settings: Settings,
    *,
    delta: float,
    epsilon: float,
    covariates: Covariates = None,
    may_split: bool = True,
    custody: Custody = NOBODY,
) -> Posterior:
    """Find a start, rehearse there, choose a way, and run it; all in one budget.

    ``may_split`` says whether several chains may share the steps of a way.

    Guarantee
    ---------
    The start keeps to a part (ε₁, δ₁) of the budget that is settled before by public
    numbers, and every way keeps to the rest, with whichever shares, and for however
    many chains, it is chosen by the start. Custody has set aside the costliest before
    a record is read.

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
    choice = _kept_choice(task, found, custody)
    if choice is None:
        choice = _choose(task, found, covariates, may_split)
    if custody.kept("choice") is None:
        custody.keep("choice", choice.chosen.as_arrays())
    if settings.progress:
        print(choice)
    chosen = _chosen(task, found, choice.settings)
    certificate = check_privately(chosen, delta=delta, epsilon=epsilon)
    posterior = run_certified(chosen, certificate, custody)
    return _with_choice(posterior, choice)


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
    progress: bool = True,
) -> Choice:
    """Choose a way as `sample` would, on simulated records, and stop there.

    No record is read: only their number and shapes are looked at. Where `sample`
    simulates at a start that it has found privately, this simulates at the model's
    initial point, so that the choice may differ.

    Parameters
    ----------
    model, records, epsilon, delta, covariates, preparation, plate, precision
        As in `sample`.
    progress
        Whether to show progress bars.

    Returns
    -------
    Choice
        The way, what it gives to `sample`, and the rehearsal that says why.
    """
    settings = Settings(
        model,
        records,
        preparation=preparation,
        plate=plate,
        precision=precision,
        progress=progress,
    )
    task, _ = _task(settings, delta, epsilon)
    return _choose(task, None, covariates, may_split=True)


def _settings(way: Way, start: Start | None) -> Mapping[str, Any]:
    if not callable(way):
        return way
    return {} if start is None else way(start)


def _with_budget(epsilon: float, way: Way, start: Start) -> Mapping[str, Any]:
    return {"epsilon": epsilon, **_settings(way, start)}


def _task(
    settings: Settings, delta: float, epsilon: float
) -> tuple[Task, list[Certified]]:
    """Check what was given, from shapes alone, and certify every way.

    Guarantee
    ---------
    No record is read. The certificates are of every way that may be chosen, with
    every share of the budget that it may be chosen with. Chains that share the steps
    of a way have as many bits together as one, and so the same clip and cost.
    """
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
    size = int(told_coordinates(model, records).sum())
    fit = plan_fit(len(records), size, delta, epsilon)
    with steps_bar(None, "Certifying", settings.progress, "cost") as bar:
        bar.say("Certifying: which ways are open")
        ways = open_ways(model, records, fit, delta, epsilon, dtype)
        task = Task(settings, model, records, dtype, delta, epsilon, fit, ways, {})
        # Refuse now what would be refused once the start has been spent.
        size = sum(int(np.size(leaf)) for leaf in jax.tree.leaves(model.initial))
        like = Start(
            model.initial, np.eye(size), fit.epsilon, fit.delta, fit.description
        )
        certified, shared = {}, with_shares(ways)
        bar.expect(len(shared))
        for (name, share), way in shared.items():
            bar.say(f"Certifying {name}")
            run = _chosen(task, like, _settings(way, like))
            certified[name, share] = check_privately(run, delta=delta, epsilon=epsilon)
            bar(1)
    clips = {key: one.statement.clip for key, one in certified.items()}
    return task._replace(clips=clips), list(certified.values())


def _chosen(task: Task, start: Start, told: Mapping[str, Any]) -> Settings:
    """The run as it was chosen."""
    return replace(
        task.settings,
        model=task.model,
        records=task.records,
        preparation=None,
        plate=None,
        start=tempered_start(start, len(task.records), told.get("tempering")),
        **told,
    )


def _told(task: Task, chosen: Chosen, found: Start | None) -> Mapping[str, Any]:
    """What a way gives to `sample`, with what was chosen about it."""
    name, split, tempering, chains, _ = chosen
    start = found
    if found is not None:
        start = tempered_start(found, len(task.records), tempering)
    told = dict(_settings(way_of(task.ways, name, split), start))
    if tempering is not None:
        told["tempering"] = tempering
    if chains > 1 and "steps" in told:
        told |= {"chains": chains, "steps": told["steps"] // chains}
    return told


def _with_choice(posterior: Posterior, choice: Choice) -> Posterior:
    """The posterior with the choice beside it, and in its notes if it was blind."""
    settings = {**posterior.settings, "choice": str(choice)}
    statement = posterior.statement
    if choice.chosen.is_blind:
        note = f"how to run was chosen without a rehearsal. Way: {choice.way}; "
        note += f"{choice.reason}."
        statement = replace(statement, notes=(*statement.notes, note))
    return replace(posterior, settings=settings, statement=statement)


def _kept_choice(task: Task, found: Start, custody: Custody) -> Choice | None:
    """The way that was chosen before this run was broken off, if it was."""
    kept = custody.kept("choice")
    if kept is None:
        return None
    chosen = Chosen.of_arrays(kept)
    if not _is_open(task, chosen):
        raise InputError(
            f"the run was broken off after it chose {chosen.name!r}, which is no way "
            "for this model, or not so. Give the model that it was begun with, and its "
            "folder as it was."
        )
    reason = "as chosen before the run was broken off"
    return Choice(chosen, _told(task, chosen, found), tuple(task.ways), reason, None)


def _is_open(task: Task, chosen: Chosen) -> bool:
    """Whether it can have been chosen: such a way is certified, and set aside."""
    name, split, _, chains, _ = chosen
    is_shared = split is None or (is_control(name) and split.share in SHARES)
    return name in task.ways and is_shared and chains in CHAINS


def _choose(
    task: Task, found: Start | None, covariates: Covariates, may_split: bool
) -> Choice:
    """Rehearse the open ways, at the start if there is one, and take the best."""
    theta = task.model.initial if found is None else found.mean
    one_record = task.records.shape_of_one(task.dtype)
    given, said, unable = covariates_for(task.model, one_record, theta, covariates)
    if unable is not None:
        return _blind(task, found, unable)
    try:
        splits, fitted = screened(task, found, theta, given)
        open_to = [Chosen(name, splits.get(name)) for name in task.ways]
        if said:  # covariates are a guess: prefer what a bad start hurts least
            open_to.sort(key=lambda one: one.name != safest(task.ways))
        rehearsal = _rehearsed(task, found, fitted, theta, given, open_to)
        trial = best_trial(rehearsal)
        best = next(one for one in open_to if one.name == trial.name)
        advice = None
        if not trial.is_usable:
            advice = advice_on(trial, len(task.records), task.epsilon)
        cooler = None
        if trial.error > HOPELESS:
            cooler = _tempered(task, found, fitted, theta, given, best, trial.error)
    except Exception as problem:  # the start is spent: go on as if without a simulator
        return _blind(
            task, found, f"the rehearsal failed with {type(problem).__name__}"
        )
    reason = f"the best of {len(open_to)} ways on simulated records{said}"
    if advice is not None:
        if cooler is not None:
            best, rehearsal = cooler
            advice += (
                f". So it runs {best.name}, tempered to {best.tempering:.0f} of "
                f"{len(task.records):,} records"
            )
        with contextlib.suppress(UserWarning):  # where warnings are errors
            warnings.warn(advice, stacklevel=4)
        reason += f", but {advice}"
    if may_split:
        trial = next(one for one in rehearsal.trials if one.name == best.name)
        best = best._replace(chains=chains_for(trial))
    names = tuple(one.name for one in open_to)
    return Choice(best, _told(task, best, found), names, reason, rehearsal)


def _blind(task: Task, found: Start | None, why: str) -> Choice:
    """The first way, with what that means."""
    first = Chosen(safest(task.ways), is_blind=True)
    reason = (
        f"not rehearsed: {why}. So nobody knows how many records are cut short, or how "
        "far the posterior is off by it"
    )
    return Choice(first, _told(task, first, found), tuple(task.ways), reason, None)


def _rehearsed(
    task: Task,
    found: Start | None,
    fitted: Plan | Start,
    theta: Any,
    covariates: Covariates,
    ways: Sequence[Chosen],
    tempering: float | None = None,
) -> Rehearsal:
    """Try ways on records simulated at ``theta``."""
    return rehearse(
        task.model,
        records=len(task.records),
        delta=task.delta,
        ways={
            name: partial(_with_budget, task.epsilon, way_of(task.ways, name, split))
            for name, split, *_ in ways
        },
        theta=theta,
        covariates=covariates,
        shape=None if found is None else found.covariance,
        fit=fitted,
        seed=SEED,
        tempering=tempering,
        progress=task.settings.progress,
    )


def _tempered(
    task: Task,
    found: Start | None,
    fitted: Plan | Start,
    theta: Any,
    covariates: Covariates,
    best: Chosen,
    error: float,
) -> tuple[Chosen, Rehearsal] | None:
    """The best way again, tempered by as much as its error asks for, if that serves."""
    number = round(len(task.records) * min(USABLE / error, 1.0) ** 2 / 2)
    if number < LEAST_TEMPERED:
        return None
    again = _rehearsed(task, found, fitted, theta, covariates, [best], float(number))
    cooler = best._replace(tempering=float(number))
    return (cooler, again) if again.trials[0].is_usable else None
