# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a user asked for, settled and certified before a record is read."""

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
from dpmcmc.claims import certify, lipschitz_clip, named, notes, state
from dpmcmc.controls import (
    Control,
    ControlPlan,
    check_control,
    control_event,
    control_notes,
    plan_control,
    says_all,
)
from dpmcmc.errors import InputError, require_positive, require_probability
from dpmcmc.influence import Centred, Listed, Shrunk
from dpmcmc.influence.choices import (
    Clipping,
    ConditionalCentring,
    ModelCorrection,
    PlainClipping,
    Shrinking,
)
from dpmcmc.inputs import as_model
from dpmcmc.loop import chain_precision, prepare
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Preparation
from dpmcmc.posterior.statement import Statement, round_up
from dpmcmc.private import PLAIN, FullData, Influence, Minibatch, Records
from dpmcmc.proposals import Proposal
from dpmcmc.run import Precision, Run
from dpmcmc.starts import (
    PlannedStart,
    check_planned,
    choose_proposal,
    plan_start,
    point_of,
)
from dpmcmc.surrogates import StatisticsPlan
from dpmcmc.told import ASKS_NOTHING, require_untold

__all__ = [
    "STEPS_WITH_CONTROL",
    "Certified",
    "Checked",
    "Ready",
    "Settings",
    "check_privately",
    "check_settings",
    "descriptions_of",
    "make_ready",
    "with_clipping",
]

STEPS_WITH_CONTROL = 4000
"""Steps of a chain with control variates, unless told: they cost little."""

_STEPS_TOLD = 10_000
"""Steps of a chain that asks the records nothing, unless told: they cost nothing."""

_METHODS = (PlainClipping, ModelCorrection, ConditionalCentring, Shrinking)
"""The ways to clip, of which alone what is done with a record is known."""

_MOST_RESPONSES = 16
"""Most responses of a record of which a way to clip keeps a surrogate each."""

_RESIDUAL = "log-likelihood ratio, less what the control variates say of it,"


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

    @property
    def clips_ratios(self) -> bool:
        """Whether log-likelihood ratios are clipped as they are."""
        return self.control is None and type(self.clipping) is PlainClipping


class Checked(NamedTuple):
    """What is settled before the clip and the length of the chain are."""

    model: Model
    records: Records
    dtype: Precision
    setting: Setting
    test: Acceptance


class Ready(NamedTuple):
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

    checked: Checked
    ready: Ready
    statement: Statement
    bit: DpEvent
    total: DpEvent


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
    checked = check_settings(settings, is_private=True)
    planned = plan_start(settings.start, checked.model, checked.records, delta, epsilon)
    left_epsilon, left_delta = remaining(planned.spent, epsilon, delta)
    control = plan_control(
        settings.control, checked.model, checked.records, left_delta, left_epsilon
    )
    besides = ComposedDpEvent([planned.event, control_event(control)])
    steps = settings.steps
    if says_all(control):
        steps = _STEPS_TOLD if steps is None else steps
    else:
        setting, steps = settle(
            checked.test,
            checked.setting,
            besides,
            chains=settings.chains,
            steps=steps,
            epsilon=left_epsilon,
            delta=left_delta,
            usual_steps=None if control is None else STEPS_WITH_CONTROL,
        )
        checked = checked._replace(setting=setting)
    ready = make_ready(settings, checked, planned, control, steps)
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
        released_first=descriptions_of(ready),
        asks_records=not says_all(control),
        notes=(
            *_added(planned),
            *control_notes(control),
            *notes(ready.run, ready.mechanism, delta, settings.clips_ratios),
        ),
    )
    bits = SelfComposedDpEvent(bit, ready.run.chains * ready.run.steps)
    total = ComposedDpEvent([besides, bits])
    return Certified(checked, ready, statement, bit, total)


def check_settings(settings: Settings, *, is_private: bool) -> Checked:
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
    is_open = setting.clip is None and not isinstance(test, MinibatchBarker)
    if is_private and is_open and settings.clips_ratios:
        clip = lipschitz_clip(model, settings.proposal, setting.tempering)
        setting = replace(setting, clip=clip)
    return Checked(model, records, dtype, setting, test)


def make_ready(
    settings: Settings,
    checked: Checked,
    planned: PlannedStart,
    control: ControlPlan | None,
    steps: int | None,
) -> Ready:
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
        mechanism = with_clipping(mechanism, settings.clipping, checked)
        if control is not None:
            _require_few_responses(settings.clipping, mechanism.influence)
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
    return Ready(run, mechanism, planned, control)


def with_clipping(
    mechanism: FullData | Minibatch,
    clipping: Clipping,
    checked: Checked,
    base: Influence = PLAIN,
) -> FullData:
    """The test with another number of a record in it, made of the base's."""
    if type(clipping) not in _METHODS:
        raise InputError(
            f"clipping is a {type(clipping).__name__}; it must be one of "
            f"{', '.join(f'dpmcmc.clipping.{kind.__name__}' for kind in _METHODS)}."
        )
    if not isinstance(mechanism, FullData):
        raise InputError(
            "clipping is for tests on all records, but the test is on a batch, which "
            "has a clip of its own. Take dpmcmc.Barker(), or leave clipping out."
        )
    one_record = checked.records.shape_of_one(checked.dtype)
    influence = clipping.influence(
        checked.model, one_record, mechanism.grid, checked.setting.records, base
    )
    return replace(mechanism, influence=influence)


def _require_few_responses(clipping: Clipping, influence: Influence) -> None:
    """Refuse more responses than surrogates can be kept of, for every record.

    ``influence`` is what ``clipping`` made.
    """
    count = 0
    if isinstance(influence, Centred | Shrunk) and isinstance(influence.among, Listed):
        count = math.prod(map(len, influence.among.values))
    elif isinstance(clipping, ConditionalCentring):
        count = clipping.simulated
    if count > _MOST_RESPONSES:
        raise InputError(
            f"clipping looks at {count} responses of each record, and control variates "
            f"would keep a surrogate of each; at most {_MOST_RESPONSES} can be "
            "kept. Give ConditionalCentring a smaller simulated, or leave clipping or "
            "control out."
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


def descriptions_of(ready: Ready) -> tuple[str, ...]:
    """What is released before the chains run, in words."""
    control = () if ready.control is None else (ready.control.description,)
    return (*ready.planned.descriptions, *control)
