# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A run as it was told: every setting checked, certified, and then run."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
from dp_accounting.dp_event import (
    ComposedDpEvent,
    DpEvent,
    NoOpDpEvent,
    SelfComposedDpEvent,
)

from dpmcmc.acceptance import (
    Acceptance,
    Barker,
    Coarsening,
    MinibatchBarker,
    Setting,
    require_test,
    tempered_records,
)
from dpmcmc.budgets import remaining, settle
from dpmcmc.claims import (
    certify,
    lipschitz_clip,
    model_notes,
    named,
    notes,
    state,
)
from dpmcmc.clipping import (
    Clipping,
    ConditionalCentring,
    ModelCorrection,
    PlainClipping,
    Shrinking,
)
from dpmcmc.controls import (
    Control,
    ControlPlan,
    check_control,
    control_event,
    control_notes,
    plan_control,
    release_control,
    says_all,
    spread_of,
)
from dpmcmc.custody import NOBODY, Custody
from dpmcmc.errors import (
    InputError,
    require_count,
    require_positive,
    require_probability,
)
from dpmcmc.inputs import as_model
from dpmcmc.loop import chain_precision, prepare, run_chains
from dpmcmc.model import Model
from dpmcmc.posterior import Posterior
from dpmcmc.preparation import Preparation
from dpmcmc.private import FullData, Minibatch, Records, Tape
from dpmcmc.proposals import Proposal
from dpmcmc.run import Precision, Run
from dpmcmc.starts import (
    PlannedStart,
    begin,
    check_planned,
    choose_proposal,
    plan_start,
    point_of,
)
from dpmcmc.statement import Statement, round_up
from dpmcmc.surrogates import StatisticsPlan
from dpmcmc.told import ASKS_NOTHING, require_untold, run_told

__all__ = [
    "Certified",
    "Settings",
    "check_privately",
    "run_certified",
    "run_openly",
    "run_privately",
]

_STEPS_WITH_CONTROL = 4000
"""Steps of a chain with control variates, unless told: they cost little."""

_STEPS_TOLD = 10_000
"""Steps of a chain that asks the records nothing, unless told: they cost nothing."""

_PARTS = 50
"""Least number of chunks of a run that is in custody: what is lost when it is broken
off are the few chunks that are under way."""

_USUAL_DELTA = 1e-6
"""The δ by which the noise of a fit that is not private is measured."""


@dataclass(frozen=True)
class Settings:
    """What a user asked for: as in `sample` and `sample_not_private`."""

    model: Model | Callable[..., Any]
    records: Any
    proposal: Proposal | None = None
    clip: float | None = None
    clipping: Clipping = PlainClipping()  # noqa: RUF009 - frozen
    control: Control | None = None
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


METHODS = (PlainClipping, ModelCorrection, ConditionalCentring, Shrinking)
"""The ways to clip, of which alone what is done with a record is known."""

_RESIDUAL = "log-likelihood ratio, less what the control variates say of it,"


class _Checked(NamedTuple):
    """What is settled before the clip and the length of the chain are."""

    model: Model
    records: Records
    dtype: Precision
    setting: Setting
    test: Acceptance


class _Ready(NamedTuple):
    """A run that has been checked whole, and what it will release."""

    run: Run
    mechanism: FullData | Minibatch
    planned: PlannedStart
    control: ControlPlan | None


class Certified(NamedTuple):
    """A private run before it begins, and what will be said of it.

    ``bit`` is what a step of a chain costs, ``total`` all that the run will release;
    a start that was found before is not in it.
    """

    checked: _Checked
    ready: _Ready
    statement: Statement
    bit: DpEvent
    total: DpEvent


def run_privately(
    settings: Settings,
    *,
    delta: float,
    epsilon: float | None,
    custody: Custody = NOBODY,
) -> Posterior:
    """Run as told, under a budget, or with the ε that so many steps cost.

    Guarantee
    ---------
    The returned draws and accepted bits, together with the start if it was found
    before, are (ε, δ)-differentially private, with the ε and δ of the statement, for
    the substitution of one record, provided that the model, the proposal, the
    starting point and all settings were chosen without looking at the records, or
    by a start that was found before and was handed over as such.
    """
    certified = check_privately(settings, delta=delta, epsilon=epsilon)
    custody.reserve([certified.total], certified.statement)
    return run_certified(settings, certified, custody)


def run_certified(
    settings: Settings, certified: Certified, custody: Custody
) -> Posterior:
    """Run what was certified, and set aside by custody.

    Guarantee
    ---------
    What is released is what the certificate is of, with fresh tapes, each part
    charged before a record is read for it.
    """
    checked, ready, statement, bit, _ = certified
    if custody is not NOBODY and settings.chunk is None:
        few = max(1, ready.run.steps // _PARTS)
        shorter = replace(ready.run, chunk=min(ready.run.chunk, few))
        ready = ready._replace(run=shorter)
    return _run(
        settings, checked, ready, statement, seed=None, bit=bit, custody=custody
    )


def check_privately(
    settings: Settings, *, delta: float, epsilon: float | None
) -> Certified:
    """Check and certify a run; no record is read.

    Raises
    ------
    InputError
        If something given cannot be used, or the budget does not suffice.

    Guarantee
    ---------
    The statement's ε and δ are those of all that the run will release, added to those
    of a start that was found before.
    """
    delta = require_probability("delta", delta, "Choose it well below 1/N.")
    if epsilon is not None:
        epsilon = require_positive("epsilon", epsilon, "Common budgets: 0.1 to 10.")
    checked = _check(settings, is_private=True)
    planned = plan_start(settings.start, checked.model, checked.records, delta, epsilon)
    left_epsilon, left_delta = remaining(planned.spent, epsilon, delta)
    control = plan_control(
        settings.control, checked.model, len(checked.records), left_delta, left_epsilon
    )
    besides = ComposedDpEvent([planned.event, control_event(control)])
    steps = settings.steps
    if says_all(control):
        steps = _STEPS_TOLD if steps is None else steps
        # a clip that was not given is that of a Lipschitz model: it clips nothing here
        unclipped = replace(checked.setting, clip=settings.clip)
        checked = checked._replace(setting=unclipped)
    else:
        setting, steps = settle(
            checked.test,
            checked.setting,
            besides,
            chains=settings.chains,
            steps=steps,
            epsilon=left_epsilon,
            delta=left_delta,
            usual_steps=None if control is None else _STEPS_WITH_CONTROL,
        )
        checked = checked._replace(setting=setting)
    ready = _prepare(settings, checked, planned, control, steps)
    setting, bit = checked.setting, NoOpDpEvent()
    if not says_all(control):
        bit = checked.test.event(setting, ready.mechanism)
    certificate = certify(bit, besides, ready.run, left_delta, setting.clip)
    statement = state(
        ready.run,
        checked.test,
        setting,
        clipping=settings.clipping,
        epsilon=math.nextafter(certificate.epsilon + planned.spent[0], math.inf)
        if planned.spent[0]
        else certificate.epsilon,
        delta=delta,
        accountant=named(certificate),
        released_first=_descriptions(ready),
        asks_records=not says_all(control),
        notes=(
            *_added(planned),
            *control_notes(control),
            *notes(ready.run, ready.mechanism, delta),
        ),
    )
    bits = SelfComposedDpEvent(bit, ready.run.chains * ready.run.steps)
    total = ComposedDpEvent([besides, bits])
    return Certified(checked, ready, statement, bit, total)


def run_openly(settings: Settings, *, seed: int | None) -> Posterior:
    """Run as told, with no claim."""
    checked = _check(settings, is_private=False)
    reasons = ["it was drawn by sample_not_private, outside any budget"]
    if settings.clip is None and not isinstance(checked.test, MinibatchBarker):
        reasons.append("no clip bounds the influence of a record")
    if seed is not None:
        seed = require_count("seed", seed, "Give None for a fresh tape.", least=0)
        reasons.append("the randomness can be made again from a seed")
    planned = plan_start(
        settings.start, checked.model, checked.records, _USUAL_DELTA, None
    )
    count = len(checked.records)
    control = plan_control(settings.control, checked.model, count, _USUAL_DELTA, None)
    ready = _prepare(settings, checked, planned, control, settings.steps)
    statement = state(
        ready.run,
        checked.test,
        checked.setting,
        clipping=settings.clipping,
        epsilon=math.inf,
        delta=1.0,
        accountant="none",
        released_first=_descriptions(ready),
        asks_records=not says_all(control),
        not_private_because=tuple(reasons),
        notes=(*control_notes(control), *model_notes(ready.run, ready.mechanism)),
    )
    return _run(settings, checked, ready, statement, seed=seed)


def _check(settings: Settings, *, is_private: bool) -> _Checked:
    """Settle model and test, from shapes alone."""
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
    if settings.control is not None:
        setting = replace(setting, number=_RESIDUAL)
    if is_private and setting.clip is None and not isinstance(test, MinibatchBarker):
        clip = lipschitz_clip(model, settings.proposal, setting.tempering)
        setting = replace(setting, clip=clip)
    return _Checked(model, records, dtype, setting, test)


def _prepare(
    settings: Settings,
    checked: _Checked,
    planned: PlannedStart,
    control: ControlPlan | None,
    steps: int | None,
) -> _Ready:
    """Check everything else, from shapes alone."""
    mechanism: FullData | Minibatch = ASKS_NOTHING
    if says_all(control):
        require_untold(
            {
                "clip": settings.clip is not None,
                "clipping": type(settings.clipping) is not PlainClipping,
                "test": settings.test != Barker(),
                "start": planned.from_prior or planned.fit is not None,
            }
        )
    else:
        mechanism = checked.test.mechanism(checked.setting)
    if type(settings.clipping) is not PlainClipping:
        if control is not None:
            raise InputError(
                "clipping and control were both given; a residual is clipped plainly. "
                "Leave one of them out."
            )
        mechanism = _with_clipping(mechanism, settings.clipping, checked)
    run = prepare(
        checked.model,
        checked.records,
        choose_proposal(
            settings.proposal, planned, isinstance(control, StatisticsPlan)
        ),
        settings.chains,
        steps,
        settings.warmup,
        checked.dtype,
        settings.devices,
        settings.chunk,
        mechanism,
    )
    check_planned(run, planned)
    check_control(run, control, mechanism, planned.is_fitted)
    return _Ready(run, mechanism, planned, control)


def _with_clipping(
    mechanism: FullData | Minibatch, clipping: Clipping, checked: _Checked
) -> FullData:
    """The test with another number of a record in it."""
    if type(clipping) not in METHODS:
        raise InputError(
            f"clipping is a {type(clipping).__name__}; it must be one of "
            f"{', '.join(f'dpmcmc.clipping.{kind.__name__}' for kind in METHODS)}."
        )
    if not isinstance(mechanism, FullData):
        raise InputError(
            "clipping is for tests on all records, but the test is on a batch, which "
            "has a clip of its own. Take dpmcmc.Barker(), or leave clipping out."
        )
    one_record = checked.records.shape_of_one(checked.dtype)
    influence = clipping.influence(
        checked.model, one_record, mechanism.grid, checked.setting.records
    )
    return replace(mechanism, influence=influence)


def _run(
    settings: Settings,
    checked: _Checked,
    ready: _Ready,
    statement: Statement,
    *,
    seed: int | None,
    bit: DpEvent | None = None,
    custody: Custody = NOBODY,
) -> Posterior:
    """Find the start, release control variates if there are any, and run the chains."""
    is_private = checked.setting.is_private
    if isinstance(ready.control, StatisticsPlan) and says_all(ready.control):
        return run_told(
            ready.run,
            ready.control,
            statement,
            proposal=settings.proposal,
            tempered=checked.setting.tempered,
            seed=seed,
            is_private=is_private,
            custody=custody,
            progress=settings.progress,
        )
    run, found = begin(
        ready.run,
        ready.planned,
        is_shaped=settings.proposal is None,
        tempered=checked.setting.tempered,
        seed=seed,
        is_private=is_private,
        custody=custody,
        progress=settings.progress,
    )
    mechanism, surrogate = ready.mechanism, None
    if found is not None and type(settings.clipping) is not PlainClipping:
        # What a way to clip expects of records, it expects where the chain starts.
        there = replace(checked.model, initial=found.mean)
        at_start = checked._replace(model=there)
        mechanism = _with_clipping(mechanism, settings.clipping, at_start)
    if ready.control is not None:
        assert isinstance(mechanism, FullData)
        run, mechanism, surrogate = release_control(
            run,
            ready.control,
            found,
            mechanism,
            tempered=checked.setting.tempered,
            is_shaped=settings.proposal is None,
            seed=seed,
            is_private=is_private,
            custody=custody,
            progress=settings.progress,
        )
    tape = Tape.fresh() if seed is None else Tape.seeded(seed)
    return run_chains(
        run,
        mechanism,
        tape,
        statement,
        settings.progress,
        spread_of(surrogate, seed),
        bit=bit,
        custody=custody,
    )


def _added(planned: PlannedStart) -> tuple[str, ...]:
    """What a reader should know of a start that was found before."""
    if planned.found is None:
        return ()
    epsilon, delta = (round_up(cost) for cost in planned.spent)
    return (
        f"the start was found first, at ε = {epsilon} and δ = {delta}, and the rest "
        "may have been chosen by it; so the costs of both are added.",
    )


def _descriptions(ready: _Ready) -> tuple[str, ...]:
    control = () if ready.control is None else (ready.control.description,)
    return (*ready.planned.descriptions, *control)
