# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Drawing a posterior: the loop around the boundary, and the statement of its cost.

`sample` is private. `sample_not_private` runs the very same chain with no claim:
for simulated or public records, for reference chains, and for seeds.
"""

import math
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import jax
from dp_accounting.dp_event import DpEvent, SelfComposedDpEvent

from dpmcmc.acceptance import (
    Acceptance,
    Barker,
    Coarsening,
    Setting,
    require_test,
    tempered_records,
)
from dpmcmc.accounting import Certificate, certify_epsilon, most_steps
from dpmcmc.errors import (
    InputError,
    require_count,
    require_positive,
    require_probability,
)
from dpmcmc.loop import Precision, Run, prepare, run_chains
from dpmcmc.model import Model
from dpmcmc.posterior import Posterior
from dpmcmc.private import FullData, Records, Tape
from dpmcmc.proposals import Proposal
from dpmcmc.statement import Statement

__all__ = ["sample", "sample_not_private"]

_BARKER = Barker()

_MOST_STEPS = 10**7
"""Steps that a budget may buy without the user having said how many."""


def sample(
    model: Model,
    records: Any,
    *,
    delta: float,
    proposal: Proposal,
    clip: float | None = None,
    test: Acceptance = _BARKER,
    tempering: float | Coarsening | None = None,
    epsilon: float | None = None,
    steps: int | None = None,
    chains: int = 1,
    warmup: int | None = None,
    precision: Precision | None = None,
    devices: Sequence[jax.Device] | None = None,
    chunk: int | None = None,
    progress: bool = True,
) -> Posterior:
    """Draw from a posterior under differential privacy.

    Give either ``epsilon``, and the chain is as long as the budget (ε, δ) allows;
    or ``steps``, and the statement says the ε that they cost.

    Parameters
    ----------
    model
        The log-likelihood of one record, the prior, and a place to start.
    records
        A pytree of arrays with a common leading axis; a pandas, polars or Arrow
        table; or `Records` made of one.
    delta
        The δ of the budget. It should be well below one over the number of records.
    clip
        The bound B on one record's (tempered) log-likelihood ratio in one step. A
        smaller clip buys more steps, but biases the posterior once it touches many
        records. The minibatch test has a clip of its own; the others need one.
    test
        How a step is decided: `Barker` on all records, exact, unless given;
        `MinibatchBarker` on a fresh batch; `GaussianBarker` as in the paper.
    tempering
        The number N₀ of records that the likelihood is to count for, or a
        `Coarsening`: the likelihood is raised to the power N₀/N.
    proposal
        How a chain suggests its next point, such as `RandomWalk`.
    epsilon
        The ε of the budget.
    steps
        The number of steps of each chain, warm-up included.
    chains
        How many chains to run. They share the budget: k chains are each a k-th as
        long as one.
    warmup
        How many first steps summaries leave out; a quarter of them unless given.
        They cost what the others cost.
    precision
        Precision of θ and of the log-likelihood. Unless given, float64 if JAX is
        set to it, else float32. Decisions are made in int64 and float64 either way.
    devices
        Where the records are spread; all local devices unless given. A test on a
        batch runs on the first of them.
    chunk
        Steps between two moves of the progress bar. It never changes a draw.
    progress
        Whether to show a progress bar.

    Returns
    -------
    Posterior
        The draws with their privacy statement.

    Raises
    ------
    InputError
        If something given cannot be used; no record was read, no budget spent.

    Guarantee
    ---------
    The returned draws and accepted bits are (ε, δ)-differentially private, with the
    ε and δ of the statement, for the substitution of one record, provided that the
    model, the proposal, the starting point and all settings were chosen without
    looking at the records. It holds whether or not the chain has converged.
    """
    delta = require_probability("delta", delta, "Choose it well below 1/N.")
    chains = require_count("chains", chains, "One chain makes most of a budget.")
    sealed = records if isinstance(records, Records) else Records(records)
    setting = Setting(len(sealed), tempered_records(tempering, len(sealed)), clip)
    test = require_test(test)
    mechanism = test.mechanism(setting)
    bit = test.event(setting, mechanism)
    if (epsilon is None) == (steps is None):
        raise InputError(
            f"epsilon is {epsilon!r} and steps is {steps!r}; give one of the two: "
            "epsilon, to have the steps it buys, or steps, to read the ε they cost."
        )
    if epsilon is not None:
        epsilon = require_positive("epsilon", epsilon, "Common budgets: 0.1 to 10.")
        bits = most_steps(bit, epsilon, delta)
        if bits < chains:
            raise InputError(
                f"the budget ε = {epsilon:g}, δ = {delta:g} buys {bits} bits"
                f"{_at_clip(clip)}, but one step of each chain needs {chains}. Choose "
                "a smaller clip, a larger budget, or fewer chains."
            )
        steps = _affordable(bits // chains, epsilon)
    run = prepare(
        model,
        sealed,
        proposal,
        chains,
        steps,
        warmup,
        precision,
        devices,
        chunk,
        mechanism,
    )
    certificate = _certify(bit, run, delta, clip)
    statement = _statement(
        run,
        test,
        setting,
        epsilon=certificate.epsilon,
        delta=certificate.delta,
        accountant=_named(certificate),
        notes=_notes(delta, len(sealed)),
    )
    return run_chains(run, mechanism, Tape.fresh(), statement, progress)


def sample_not_private(
    model: Model,
    records: Any,
    *,
    steps: int,
    proposal: Proposal,
    clip: float | None = None,
    test: Acceptance = _BARKER,
    tempering: float | Coarsening | None = None,
    seed: int | None = None,
    chains: int = 1,
    warmup: int | None = None,
    precision: Precision | None = None,
    devices: Sequence[jax.Device] | None = None,
    chunk: int | None = None,
    progress: bool = True,
) -> Posterior:
    """Draw from a posterior with no privacy: for simulated or public records.

    The chain is the one of `sample`, the same code on the same arithmetic; but a
    seed makes it repeatable, and no clip need be set. What it returns says that it
    is not private wherever it is shown.

    Parameters
    ----------
    seed
        Makes the tape repeatable; a fresh tape is used if it is None.
    clip
        As in `sample`; None leaves the ratios as they are.
    model, records, steps, proposal, test, tempering, chains, warmup, precision, \
devices, chunk, progress
        As in `sample`.
    """
    sealed = records if isinstance(records, Records) else Records(records)
    tempered = tempered_records(tempering, len(sealed))
    setting = Setting(len(sealed), tempered, clip, is_private=False)
    test = require_test(test)
    mechanism = test.mechanism(setting)
    reasons = ["it was drawn by sample_not_private, outside any budget"]
    if clip is None and isinstance(mechanism, FullData):
        reasons.append("no clip bounds the influence of a record")
    if seed is not None:
        seed = require_count("seed", seed, "Give None for a fresh tape.", least=0)
        reasons.append("the randomness can be made again from a seed")
    run = prepare(
        model,
        sealed,
        proposal,
        chains,
        steps,
        warmup,
        precision,
        devices,
        chunk,
        mechanism,
    )
    statement = _statement(
        run,
        test,
        setting,
        epsilon=math.inf,
        delta=1.0,
        accountant="none",
        not_private_because=tuple(reasons),
    )
    tape = Tape.fresh() if seed is None else Tape.seeded(seed)
    return run_chains(run, mechanism, tape, statement, progress)


def _statement(
    run: Run,
    test: Acceptance,
    setting: Setting,
    *,
    epsilon: float,
    delta: float,
    accountant: str,
    not_private_because: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Statement:
    """Put what a run costs together with what it does."""
    return Statement(
        epsilon=epsilon,
        delta=delta,
        records=setting.records,
        chains=run.chains,
        steps=run.steps,
        clip=None if setting.clip is None else float(setting.clip),
        decided=test.describe(setting),
        tempered=setting.tempered,
        accountant=accountant,
        not_private_because=not_private_because,
        notes=notes,
        version=version("dpmcmc"),
    )


def _certify(bit: DpEvent, run: Run, delta: float, clip: float | None) -> Certificate:
    event = SelfComposedDpEvent(bit, run.chains * run.steps)
    certificate = certify_epsilon(event, delta)
    if not math.isfinite(certificate.epsilon):
        raise InputError(
            f"no ε can be proven for {event.count:,} bits{_at_clip(clip)} with δ = "
            f"{delta:g}. Choose a smaller clip, fewer steps or chains, or a larger δ; "
            "for records that are not sensitive, sample_not_private needs no budget."
        )
    return certificate


def _affordable(steps: int, epsilon: float) -> int:
    if steps > _MOST_STEPS:
        raise InputError(
            f"the budget ε = {epsilon:g} buys {steps:,} steps of each chain, more than "
            f"the {_MOST_STEPS:,} that are run unasked. Give steps instead of epsilon, "
            "and read the smaller ε that they cost."
        )
    return steps


def _named(certificate: Certificate) -> str:
    """The accountant that proved it, with its method."""
    methods = {name: method for name, _, method in certificate.alternatives}
    method = methods.get(certificate.accountant)
    return f"{certificate.accountant} ({method})" if method else certificate.accountant


def _at_clip(clip: float | None) -> str:
    return "" if clip is None else f" at clip {clip:g}"


def _notes(delta: float, records: int) -> tuple[str, ...]:
    if delta < 1 / records:
        return ()
    return (
        f"δ = {delta:g} is not below 1/N = {1 / records:.2g}. A mechanism that "
        "publishes one whole record at random can meet such a δ; choose a smaller one.",
    )
