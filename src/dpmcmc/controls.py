# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Control variates in a run: planned before a record is read, released after."""

import contextlib
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from dp_accounting.dp_event import DpEvent, NoOpDpEvent

from dpmcmc.custody import Custody
from dpmcmc.errors import InputError
from dpmcmc.loop import with_start
from dpmcmc.model.model import Model
from dpmcmc.model.relevance import told_coordinates
from dpmcmc.private import FullData, Minibatch, Records, Tape
from dpmcmc.progress import Bar, steps_bar
from dpmcmc.run import Run
from dpmcmc.surrogates import (
    ControlVariates,
    Plan,
    StatisticsPlan,
    SufficientStatistics,
    Sums,
    Surrogate,
    check_release,
    check_statistics_release,
    release,
    release_statistics,
)
from dpmcmc.variational import Start

__all__ = [
    "Control",
    "ControlPlan",
    "check_control",
    "control_event",
    "control_notes",
    "plan_control",
    "release_control",
    "release_sums",
    "says_all",
    "spread_of",
]

_FAR = 5.0
"""Shift of a posterior, in its deviations, by what a parabola misses, beyond which the
few bits that follow are not trusted to make up for it."""

_REACH = 0.7
"""How far a round may move, in units of what one record tells: by then a record's
log-likelihood has changed by about so much, and its curvature is another."""

_NOT_PRIVATE = " (NOT PRIVATE)"

Control = ControlVariates | SufficientStatistics
"""What a user may release once for all steps."""

ControlPlan = Plan | StatisticsPlan
"""The same, with its cost settled."""


def plan_control(
    control: Control | None,
    model: Model,
    records: Records,
    delta: float,
    epsilon: float | None,
) -> ControlPlan | None:
    """Settle what control variates cost, from public numbers and shapes alone.

    Raises
    ------
    InputError
        If ``control`` is none, or has no budget.
    """
    if control is None:
        return None
    if type(control) is SufficientStatistics:
        return control.plan(model.statistics, len(records), delta, epsilon)
    if type(control) is not ControlVariates:
        raise InputError(
            f"control is a {type(control).__name__}; it must be a "
            "dpmcmc.ControlVariates or a dpmcmc.SufficientStatistics. Leave it out for "
            "none."
        )
    size = int(told_coordinates(model, records).sum())
    return control.plan(len(records), size, delta, epsilon)


def says_all(plan: ControlPlan | None) -> bool:
    """Whether what is released says all, so that a chain asks the records nothing."""
    return isinstance(plan, StatisticsPlan) and plan.says_all


def control_event(plan: ControlPlan | None) -> DpEvent:
    """What the release of control variates costs."""
    return NoOpDpEvent() if plan is None else plan.event


def control_notes(plan: ControlPlan | None) -> tuple[str, ...]:
    """What a reader should know of draws that know of noise."""
    if plan is None:
        return ()
    if isinstance(plan, StatisticsPlan) and plan.says_all:
        return (
            "means and intervals are of noise-aware draws: of the posterior given the "
            "noisy sums. The draws of a posterior as if they had no noise are kept "
            "beside them.",
            "a record with a missing value counts as one whose statistics are zero.",
        )
    return (
        "means and intervals are of noise-aware draws: to each draw of the chain is "
        "added a draw of how far the noise of the control variates may have moved the "
        "posterior. The chain's own draws are kept beside them.",
    )


def check_control(
    run: Run, plan: ControlPlan | None, mechanism: FullData | Minibatch, has_fit: bool
) -> None:
    """Refuse a run that cannot have control variates; no record is read."""
    if plan is None:
        return
    if not isinstance(mechanism, FullData):
        raise InputError(
            "control variates are for tests on all records, but the test is on a "
            "batch. Take dpmcmc.Barker()."
        )
    if isinstance(plan, StatisticsPlan):
        check_statistics_release(run.model, run.records, plan, run.dtype)
        return
    if not has_fit:
        raise InputError(
            "control variates need a start that says how the posterior is shaped. Give "
            "start='variational' or a dpmcmc.Variational."
        )
    check_release(run.model, run.records, plan, run.dtype)


def release_control(
    run: Run,
    plan: ControlPlan,
    found: Start | None,
    mechanism: FullData,
    *,
    tempered: float,
    is_shaped: bool,
    seed: int | None,
    is_private: bool,
    custody: Custody,
    progress: bool,
) -> tuple[Run, FullData, Surrogate | Sums]:
    """Release control variates at a start, and make run and test ready for them.

    Guarantee
    ---------
    What is returned is a function of what ``plan.event`` stands for, made with a
    fresh tape unless the run is not private, and of the start. The test is the one
    that was given, but for the number of a record that enters it. No record is read
    before ``custody.charge`` has returned for it, and none at all if it was kept.
    """
    surrogate: Surrogate | Sums
    if isinstance(plan, StatisticsPlan):
        surrogate = release_sums(
            run,
            plan,
            tempered=tempered,
            seed=seed,
            is_private=is_private,
            custody=custody,
            progress=progress,
        )
    else:
        assert found is not None
        kept = _kept(plan, custody)
        centre, covariance, totals = found.mean, found.covariance, []
        reach = _REACH * math.sqrt(tempered)
        rounds = plan.settings.rounds
        label = "Control variates" + _NOT_PRIVATE * (not is_private)
        with _records_bar(rounds * plan.records, label, progress, kept) as done:
            for number, stage in enumerate(plan.stages):
                if rounds > 1:
                    done.say(f"{label}, round {number + 1} of {rounds}")
                latest = release(
                    run.model,
                    run.records,
                    stage,
                    _fitting_tape(seed, is_private, number),
                    centre=centre,
                    covariance=covariance,
                    tempered=tempered,
                    dtype=run.dtype,
                    devices=run.devices,
                    released=None if kept is None else kept[number],
                    done=done,
                )
                centre, covariance = latest.part_way(reach), latest.covariance
                totals.append(latest.total)
        if kept is None:
            custody.keep("control", {"total": np.stack(totals)})
        _warn_if_far(latest.distance, tempered)
        surrogate = latest
    points: Any = jax.tree.map(
        lambda leaf: jnp.stack([leaf] * run.chains), surrogate.mean
    )
    proposal = surrogate.proposal if is_shaped else run.proposal
    ready = replace(mechanism, influence=surrogate.influence)
    return with_start(run, points, proposal), ready, surrogate


def release_sums(
    run: Run,
    plan: StatisticsPlan,
    *,
    tempered: float,
    seed: int | None,
    is_private: bool,
    custody: Custody,
    progress: bool,
) -> Sums:
    """Release the sum of the model's statistics, or take the one that was kept.

    Guarantee
    ---------
    What is returned is a function of what ``plan.event`` stands for, made with a
    fresh tape unless the run is not private. No record is read before
    ``custody.charge`` has returned for it, and none at all if it was kept.
    """
    kept = _kept(plan, custody)
    label = "Statistics" + _NOT_PRIVATE * (not is_private)
    with _records_bar(plan.records, label, progress, kept) as done:
        sums = release_statistics(
            run.model,
            run.records,
            plan,
            _fitting_tape(seed, is_private),
            tempered=tempered,
            dtype=run.dtype,
            devices=run.devices,
            released=kept,
            done=done,
        )
    _keep(sums, kept, custody)
    return sums


def _records_bar(
    total: int, label: str, progress: bool, kept: np.ndarray | None
) -> contextlib.AbstractContextManager[Bar]:
    """A bar of records that are added up; none where nothing new is released."""
    return steps_bar(total, label, progress and kept is None, " records")


def _kept(plan: ControlPlan, custody: Custody) -> np.ndarray | None:
    """The sum that was kept; or None, once it has been charged."""
    kept = custody.kept("control")
    if kept is None:
        custody.charge("control", plan.event)
        return None
    return kept["total"]


def _keep(
    surrogate: Surrogate | Sums, kept: np.ndarray | None, custody: Custody
) -> None:
    if kept is None:
        custody.keep("control", {"total": surrogate.total})


def _fitting_tape(seed: int | None, is_private: bool, number: int = 0) -> Tape:
    if seed is None or is_private:
        return Tape.fresh()
    return Tape.seeded(seed, "control variates" + f", round {number}" * (number > 0))


def _warn_if_far(distance: float, tempered: float) -> None:
    """Say so if the posterior lies far from where it was expanded.

    What is looked at was released already. Terms of the third order shift a posterior
    by about the square of the distance over √N, in its deviations.
    """
    if distance**2 <= _FAR * math.sqrt(tempered):
        return
    with contextlib.suppress(UserWarning):  # where warnings are errors
        warnings.warn(
            "the control variates say that the posterior is about "
            f"{distance:.0f} of its deviations from where they were made, "
            "too far for the parabola that they are: draws may be off by several "
            "deviations, and intervals too narrow. Give the start a larger share of "
            "the budget, ControlVariates(rounds=3) or more of them, or covariates "
            "without rare and huge values (take logarithms, or clamp them).",
            stacklevel=6,
        )


def spread_of(
    surrogate: Surrogate | Sums | None, seed: int | None
) -> Callable[[np.ndarray], np.ndarray] | None:
    """What moves draws by as much as the noise of control variates may have.

    The returned function takes coordinates of θ along the last axis. Its randomness
    is public.
    """
    if surrogate is None:
        return None
    generator = np.random.default_rng(seed)
    return lambda draws: surrogate.noise_aware(draws, generator)
