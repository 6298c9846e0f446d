# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A run as it was told: every setting checked, certified, and then run."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
from dp_accounting.dp_event import ComposedDpEvent, DpEvent, NoOpDpEvent

from dpmcmc.acceptance import (
    Acceptance,
    Barker,
    Coarsening,
    MinibatchBarker,
    Setting,
    require_test,
    tempered_records,
)
from dpmcmc.accounting import most_steps
from dpmcmc.claims import (
    at_clip,
    certify,
    lipschitz_clip,
    model_notes,
    named,
    notes,
    state,
)
from dpmcmc.errors import (
    InputError,
    require_count,
    require_positive,
    require_probability,
)
from dpmcmc.inputs import as_model
from dpmcmc.loop import Precision, Run, chain_precision, prepare, run_chains
from dpmcmc.model import Model
from dpmcmc.posterior import Posterior
from dpmcmc.preparation import Preparation
from dpmcmc.private import FullData, Minibatch, Records, Tape
from dpmcmc.proposals import Proposal
from dpmcmc.starts import (
    PlannedStart,
    begin,
    check_planned,
    choose_proposal,
    plan_start,
    point_of,
)

__all__ = ["Earlier", "Settings", "run_openly", "run_privately"]

_MOST_STEPS = 10**7
"""Steps that a budget may buy without the user having said how many."""

_USUAL_DELTA = 1e-6
"""The δ by which the noise of a fit that is not private is measured."""


@dataclass(frozen=True)
class Settings:
    """What a user asked for: as in `sample` and `sample_not_private`."""

    model: Model | Callable[..., Any]
    records: Any
    proposal: Proposal | None = None
    clip: float | None = None
    test: Acceptance = Barker()  # noqa: RUF009 - frozen
    tempering: float | Coarsening | None = None
    start: Any = None
    preparation: Preparation | None = None
    plate: str | None = None
    steps: int | None = None
    chains: int = 1
    warmup: int | None = None
    precision: Precision | None = None
    devices: Sequence[jax.Device] | None = None
    chunk: int | None = None
    progress: bool = True


class Earlier(NamedTuple):
    """What was released from the records before the run, within the same budget."""

    event: DpEvent = NoOpDpEvent()
    descriptions: tuple[str, ...] = ()


class _Checked(NamedTuple):
    """What is settled before the length of the chain is."""

    model: Model
    records: Records
    dtype: Precision
    setting: Setting
    test: Acceptance
    mechanism: FullData | Minibatch


def run_privately(
    settings: Settings,
    *,
    delta: float,
    epsilon: float | None,
    earlier: Earlier = Earlier(),  # noqa: B008 - frozen
) -> Posterior:
    """Run as told, under a budget, or with the ε that so many steps cost.

    Guarantee
    ---------
    The returned draws and accepted bits, together with what was released earlier,
    are (ε, δ)-differentially private, with the ε and δ of the statement, for the
    substitution of one record, provided that the model, the proposal, the starting
    point and all settings were chosen without looking at the records, or by what was
    released earlier alone.
    """
    delta = require_probability("delta", delta, "Choose it well below 1/N.")
    chains = require_count(
        "chains", settings.chains, "One chain makes most of a budget."
    )
    steps = settings.steps
    if (epsilon is None) == (steps is None):
        raise InputError(
            f"epsilon is {epsilon!r} and steps is {steps!r}; give one of the two: "
            "epsilon, to have the steps it buys, or steps, to read the ε they cost."
        )
    checked = _check(settings, is_private=True)
    bit = checked.test.event(checked.setting, checked.mechanism)
    planned = plan_start(settings.start, checked.model, checked.records, delta, epsilon)
    besides = ComposedDpEvent([earlier.event, planned.event])
    clip = checked.setting.clip
    if epsilon is not None:
        epsilon = require_positive("epsilon", epsilon, "Common budgets: 0.1 to 10.")
        bits = most_steps(bit, epsilon, delta, besides)
        if bits < chains:
            raise InputError(
                f"the budget ε = {epsilon:g}, δ = {delta:g} buys {bits} bits"
                f"{at_clip(clip)}, but one step of each chain needs {chains}. "
                "Choose a smaller clip, a larger budget, or fewer chains."
            )
        steps = _affordable(bits // chains, epsilon)
    run = _prepare(settings, checked, planned, steps)
    certificate = certify(bit, besides, run, delta, clip)
    statement = state(
        run,
        checked.test,
        checked.setting,
        epsilon=certificate.epsilon,
        delta=certificate.delta,
        accountant=named(certificate),
        released_first=(*earlier.descriptions, *planned.descriptions),
        notes=notes(run, checked.mechanism, delta),
    )
    run = _begin(settings, checked, planned, run, seed=None, is_private=True)
    return run_chains(
        run, checked.mechanism, Tape.fresh(), statement, settings.progress
    )


def run_openly(settings: Settings, *, seed: int | None) -> Posterior:
    """Run as told, with no claim."""
    checked = _check(settings, is_private=False)
    reasons = ["it was drawn by sample_not_private, outside any budget"]
    if settings.clip is None and isinstance(checked.mechanism, FullData):
        reasons.append("no clip bounds the influence of a record")
    if seed is not None:
        seed = require_count("seed", seed, "Give None for a fresh tape.", least=0)
        reasons.append("the randomness can be made again from a seed")
    planned = plan_start(
        settings.start, checked.model, checked.records, _USUAL_DELTA, None
    )
    run = _prepare(settings, checked, planned, settings.steps)
    statement = state(
        run,
        checked.test,
        checked.setting,
        epsilon=math.inf,
        delta=1.0,
        accountant="none",
        released_first=planned.descriptions,
        not_private_because=tuple(reasons),
        notes=model_notes(run, checked.mechanism),
    )
    run = _begin(settings, checked, planned, run, seed=seed, is_private=False)
    tape = Tape.fresh() if seed is None else Tape.seeded(seed)
    return run_chains(run, checked.mechanism, tape, statement, settings.progress)


def _check(settings: Settings, *, is_private: bool) -> _Checked:
    """Settle model, test and clip, from shapes alone."""
    given = settings.records
    records = given if isinstance(given, Records) else Records(given)
    dtype = chain_precision(settings.precision)
    model = as_model(
        settings.model,
        records,
        dtype,
        plate=settings.plate,
        preparation=settings.preparation,
        start=point_of(settings.start),
    )
    tempered = tempered_records(settings.tempering, len(records))
    test = require_test(settings.test)
    setting = Setting(len(records), tempered, settings.clip, is_private)
    if is_private and setting.clip is None and not isinstance(test, MinibatchBarker):
        clip = lipschitz_clip(model, settings.proposal, setting.tempering)
        setting = replace(setting, clip=clip)
    return _Checked(model, records, dtype, setting, test, test.mechanism(setting))


def _prepare(
    settings: Settings, checked: _Checked, planned: PlannedStart, steps: int | None
) -> Run:
    run = prepare(
        checked.model,
        checked.records,
        choose_proposal(settings.proposal, planned),
        settings.chains,
        steps,
        settings.warmup,
        checked.dtype,
        settings.devices,
        settings.chunk,
        checked.mechanism,
    )
    check_planned(run, planned)
    return run


def _begin(
    settings: Settings,
    checked: _Checked,
    planned: PlannedStart,
    run: Run,
    *,
    seed: int | None,
    is_private: bool,
) -> Run:
    return begin(
        run,
        planned,
        is_shaped=settings.proposal is None,
        tempered=checked.setting.tempered,
        seed=seed,
        is_private=is_private,
        progress=settings.progress,
    )


def _affordable(steps: int, epsilon: float) -> int:
    if steps > _MOST_STEPS:
        raise InputError(
            f"the budget ε = {epsilon:g} buys {steps:,} steps of each chain, more than "
            f"the {_MOST_STEPS:,} that are run unasked. Give steps instead of epsilon, "
            "and read the smaller ε that they cost."
        )
    return steps
