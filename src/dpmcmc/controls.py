# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Control variates in a run: planned before a record is read, released after."""

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
from dpmcmc.model import Model
from dpmcmc.private import FullData, Minibatch, Tape
from dpmcmc.run import Run
from dpmcmc.surrogates import (
    ControlVariates,
    Plan,
    Surrogate,
    check_release,
    release,
)
from dpmcmc.variational import Start

__all__ = [
    "check_control",
    "control_event",
    "plan_control",
    "release_control",
    "spread_of",
]


def plan_control(
    control: ControlVariates | None,
    model: Model,
    records: int,
    delta: float,
    epsilon: float | None,
) -> Plan | None:
    """Settle what control variates cost, from public numbers alone.

    Raises
    ------
    InputError
        If ``control`` is none, or has no budget.
    """
    if control is None:
        return None
    if type(control) is not ControlVariates:
        raise InputError(
            f"control is a {type(control).__name__}; it must be a "
            "dpmcmc.ControlVariates. Leave it out for none."
        )
    size = sum(int(np.size(leaf)) for leaf in jax.tree.leaves(model.initial))
    return control.plan(records, size, delta, epsilon)


def control_event(plan: Plan | None) -> DpEvent:
    """What the release of control variates costs."""
    return NoOpDpEvent() if plan is None else plan.event


def check_control(
    run: Run, plan: Plan | None, mechanism: FullData | Minibatch, has_fit: bool
) -> None:
    """Refuse a run that cannot have control variates; no record is read."""
    if plan is None:
        return
    if not isinstance(mechanism, FullData):
        raise InputError(
            "control variates are for tests on all records, but the test is on a "
            "batch. Take dpmcmc.Barker()."
        )
    if not has_fit:
        raise InputError(
            "control variates need a start that says how the posterior is shaped. Give "
            "start='variational' or a dpmcmc.Variational."
        )
    check_release(run.model, run.records, plan, run.dtype)


def release_control(
    run: Run,
    plan: Plan,
    found: Start,
    mechanism: FullData,
    *,
    tempered: float,
    is_shaped: bool,
    seed: int | None,
    is_private: bool,
    custody: Custody,
    progress: bool,
) -> tuple[Run, FullData, Surrogate]:
    """Release control variates at a start, and make run and test ready for them.

    Guarantee
    ---------
    What is returned is a function of what ``plan.event`` stands for, made with a
    fresh tape unless the run is not private, and of the start. The test is the one
    that was given, but for the number of a record that enters it. No record is read
    before ``custody.charge`` has returned for it, and none at all if it was kept.
    """
    kept = custody.kept("control")
    if kept is None:
        custody.charge("control", plan.event)
    tape = Tape.fresh()
    if seed is not None and not is_private:
        tape = Tape.seeded(seed, "control variates")
    surrogate = release(
        run.model,
        run.records,
        plan,
        tape,
        centre=found.mean,
        covariance=found.covariance,
        tempered=tempered,
        dtype=run.dtype,
        devices=run.devices,
        released=None if kept is None else kept["total"],
        progress=progress,
    )
    if kept is None:
        custody.keep("control", {"total": surrogate.total})
    points: Any = jax.tree.map(
        lambda leaf: jnp.stack([leaf] * run.chains), surrogate.mean
    )
    proposal = surrogate.proposal if is_shaped else run.proposal
    ready = replace(mechanism, influence=surrogate.influence)
    return with_start(run, points, proposal), ready, surrogate


def spread_of(
    surrogate: Surrogate | None, seed: int | None
) -> Callable[[np.ndarray], np.ndarray] | None:
    """What moves draws by as much as the noise of control variates may have.

    The returned function takes coordinates of θ along the last axis. Its randomness
    is public.
    """
    if surrogate is None:
        return None
    generator = np.random.default_rng(seed)
    return lambda draws: surrogate.noise_aware(draws, generator)
