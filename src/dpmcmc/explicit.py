# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A run as it was told: certified, set aside by custody, and then run."""

import math
from dataclasses import replace

from dp_accounting.dp_event import DpEvent

from dpmcmc.acceptance import MinibatchBarker
from dpmcmc.certified import (
    Certified,
    Checked,
    Ready,
    Settings,
    check_privately,
    check_settings,
    descriptions_of,
    make_ready,
    with_clipping,
)
from dpmcmc.claims import model_notes, state
from dpmcmc.controls import (
    control_notes,
    plan_control,
    release_control,
    says_all,
    spread_of,
)
from dpmcmc.custody import NOBODY, Custody
from dpmcmc.errors import InputError, require_count
from dpmcmc.influence.choices import PlainClipping
from dpmcmc.loop import run_chains
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.posterior.statement import Statement
from dpmcmc.private import PLAIN, FullData, Tape
from dpmcmc.starts import begin, plan_start
from dpmcmc.surrogates import StatisticsPlan
from dpmcmc.told import run_told

__all__ = ["run_certified", "run_openly", "run_privately"]

_PARTS = 50
"""Least number of chunks of a run that is in custody: what is lost when it is broken
off are the few chunks that are under way."""

_USUAL_DELTA = 1e-6
"""The δ by which the noise of a fit that is not private is measured."""


def run_privately(
    settings: Settings,
    *,
    delta: float,
    epsilon: float | None,
    custody: Custody = NOBODY,
) -> Posterior:
    """Run as told, under a budget, or with the ε that so many steps cost.

    Raises
    ------
    InputError
        If something given cannot be used, or custody would not be charged with all
        that the statement is of; no record was read.

    Guarantee
    ---------
    The returned draws and accepted bits, together with the start if it was found
    before, are (ε, δ)-differentially private, with the ε and δ of the statement, for
    the substitution of one record, provided that the model, the proposal, the
    starting point and all settings were chosen without looking at the records, or
    by a start that was found before and was handed over as such.
    """
    certified = check_privately(settings, delta=delta, epsilon=epsilon)
    if custody is not NOBODY and certified.ready.planned.found is not None:
        raise InputError(
            "start is one that was found before, outside of this custody, which is "
            "not charged with it. Give start='variational' or a dpmcmc.Variational, "
            "so that a start is found, and charged, with the run."
        )
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


def run_openly(settings: Settings, *, seed: int | None) -> Posterior:
    """Run as told, with no claim."""
    checked = check_settings(settings, is_private=False)
    reasons = ["it was drawn by sample_not_private, outside any budget"]
    if settings.clip is None and not isinstance(checked.test, MinibatchBarker):
        reasons.append("no clip bounds the influence of a record")
    if seed is not None:
        seed = require_count("seed", seed, "Give None for a fresh tape.", least=0)
        reasons.append("the randomness can be made again from a seed")
    planned = plan_start(
        settings.start, checked.model, checked.records, _USUAL_DELTA, None
    )
    control = plan_control(
        settings.control, checked.model, checked.records, _USUAL_DELTA, None
    )
    ready = make_ready(settings, checked, planned, control, settings.steps)
    statement = state(
        ready.run,
        checked.test,
        checked.setting,
        clipping=settings.clipping,
        epsilon=math.inf,
        delta=1.0,
        accountant="none",
        released_first=descriptions_of(ready),
        asks_records=not says_all(control),
        not_private_because=tuple(reasons),
        notes=(
            *control_notes(control),
            *model_notes(ready.run, ready.mechanism, settings.clips_ratios),
        ),
    )
    return _run(settings, checked, ready, statement, seed=seed)


def _run(
    settings: Settings,
    checked: Checked,
    ready: Ready,
    statement: Statement,
    *,
    seed: int | None,
    bit: DpEvent | None = None,
    custody: Custody = NOBODY,
) -> Posterior:
    """Find the start, release control variates if there are any, and run the chains.

    Guarantee
    ---------
    What is released is the start, the control variates and the bits that were
    certified, in this order, each once: the test of a bit is the one that was
    certified, but for the number of a record that enters it.
    """
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
    near = None if found is None else found.mean
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
        near = surrogate.mean
    if near is not None and type(settings.clipping) is not PlainClipping:
        # What a way to clip expects of records, it expects where the chain starts; and
        # what it bounds is what the control variates miss.
        there = checked._replace(model=replace(checked.model, initial=near))
        base = PLAIN if surrogate is None else surrogate.influence
        mechanism = with_clipping(mechanism, settings.clipping, there, base)
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
