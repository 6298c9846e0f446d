# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Drawing a posterior: the loop around the boundary, and the statement of its cost.

`sample` is private. `sample_not_private` runs the very same chain with no claim:
for simulated or public records, for reference chains, and for seeds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax

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
from dpmcmc.loop import Precision, chain_precision, prepare, run_chains
from dpmcmc.model import Model
from dpmcmc.posterior import Posterior
from dpmcmc.preparation import Preparation
from dpmcmc.private import FullData, Records, Tape
from dpmcmc.proposals import Proposal
from dpmcmc.starts import (
    begin,
    check_planned,
    choose_proposal,
    plan_start,
    point_of,
)

__all__ = ["sample", "sample_not_private"]

_BARKER = Barker()

_MOST_STEPS = 10**7
"""Steps that a budget may buy without the user having said how many."""

_USUAL_DELTA = 1e-6
"""The δ by which the noise of a fit that is not private is measured."""


def sample(
    model: Model | Callable[..., Any],
    records: Any,
    *,
    delta: float,
    proposal: Proposal | None = None,
    clip: float | None = None,
    test: Acceptance = _BARKER,
    tempering: float | Coarsening | None = None,
    epsilon: float | None = None,
    steps: int | None = None,
    start: Any = None,
    preparation: Preparation | None = None,
    plate: str | None = None,
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
        A `Model`: the log-likelihood of one record, the prior, and a place to start;
        or a NumPyro model that takes the columns of the records by name.
    records
        A pytree of arrays with a common leading axis; a pandas, polars or Arrow
        table; or `Records` made of one.
    delta
        The δ of the budget. It should be well below one over the number of records.
    clip
        The bound B on one record's (tempered) log-likelihood ratio in one step. A
        smaller clip buys more steps, but biases the posterior once it touches many
        records. The minibatch test has a clip of its own; the others need one, unless
        the model has a Lipschitz constant and the proposal bounds its moves: then it
        is their product, which touches no record.
    test
        How a step is decided: `Barker` on all records, exact, unless given;
        `MinibatchBarker` on a fresh batch; `GaussianBarker` as in the paper.
    tempering
        The number N₀ of records that the likelihood is to count for, or a
        `Coarsening`: the likelihood is raised to the power N₀/N.
    proposal
        How a chain suggests its next point, such as `RandomWalk`. It may be left out
        with a variational start, which shapes an adaptive walk.
    epsilon
        The ε of the budget.
    steps
        The number of steps of each chain, warm-up included.
    start
        Where chains start. Unless given, at the model's own point. A point like θ
        (for a NumPyro model, values of its latent sites by name); "prior", each chain
        at a draw from the prior; "variational" or a `Variational`, where a private
        fit says, which spends a share of the budget.
    preparation
        What is done to each record before the model reads it, by public bounds.
    plate
        The plate of the records in a NumPyro model; unless given, the one that holds
        all its observed sites.
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
    if (epsilon is None) == (steps is None):
        raise InputError(
            f"epsilon is {epsilon!r} and steps is {steps!r}; give one of the two: "
            "epsilon, to have the steps it buys, or steps, to read the ε they cost."
        )
    dtype = chain_precision(precision)
    model = as_model(
        model,
        sealed,
        dtype,
        plate=plate,
        preparation=preparation,
        start=point_of(start),
    )
    tempered = tempered_records(tempering, len(sealed))
    test = require_test(test)
    setting = Setting(len(sealed), tempered, clip)
    if clip is None and not isinstance(test, MinibatchBarker):
        setting = replace(
            setting, clip=lipschitz_clip(model, proposal, setting.tempering)
        )
    mechanism = test.mechanism(setting)
    bit = test.event(setting, mechanism)
    planned = plan_start(start, model, sealed, delta, epsilon)
    if epsilon is not None:
        epsilon = require_positive("epsilon", epsilon, "Common budgets: 0.1 to 10.")
        bits = most_steps(bit, epsilon, delta, planned.event)
        if bits < chains:
            raise InputError(
                f"the budget ε = {epsilon:g}, δ = {delta:g} buys {bits} bits"
                f"{at_clip(setting.clip)}, but one step of each chain needs {chains}. "
                "Choose a smaller clip, a larger budget, or fewer chains."
            )
        steps = _affordable(bits // chains, epsilon)
    run = prepare(
        model,
        sealed,
        choose_proposal(proposal, planned),
        chains,
        steps,
        warmup,
        dtype,
        devices,
        chunk,
        mechanism,
    )
    check_planned(run, planned)
    certificate = certify(bit, planned.event, run, delta, setting.clip)
    statement = state(
        run,
        test,
        setting,
        epsilon=certificate.epsilon,
        delta=certificate.delta,
        accountant=named(certificate),
        start=planned.description,
        notes=notes(run, mechanism, delta),
    )
    run = begin(
        run,
        planned,
        is_shaped=proposal is None,
        tempered=tempered,
        seed=None,
        is_private=True,
        progress=progress,
    )
    return run_chains(run, mechanism, Tape.fresh(), statement, progress)


def sample_not_private(
    model: Model | Callable[..., Any],
    records: Any,
    *,
    steps: int,
    proposal: Proposal | None = None,
    clip: float | None = None,
    test: Acceptance = _BARKER,
    tempering: float | Coarsening | None = None,
    seed: int | None = None,
    start: Any = None,
    preparation: Preparation | None = None,
    plate: str | None = None,
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
    start
        As in `sample`; a variational start needs an ε of its own.
    model, records, steps, proposal, test, tempering, preparation, plate, chains, \
warmup, precision, devices, chunk, progress
        As in `sample`.
    """
    sealed = records if isinstance(records, Records) else Records(records)
    dtype = chain_precision(precision)
    model = as_model(
        model,
        sealed,
        dtype,
        plate=plate,
        preparation=preparation,
        start=point_of(start),
    )
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
    planned = plan_start(start, model, sealed, _USUAL_DELTA, None)
    run = prepare(
        model,
        sealed,
        choose_proposal(proposal, planned),
        chains,
        steps,
        warmup,
        dtype,
        devices,
        chunk,
        mechanism,
    )
    check_planned(run, planned)
    statement = state(
        run,
        test,
        setting,
        epsilon=math.inf,
        delta=1.0,
        accountant="none",
        start=planned.description,
        not_private_because=tuple(reasons),
        notes=model_notes(run, mechanism),
    )
    run = begin(
        run,
        planned,
        is_shaped=proposal is None,
        tempered=tempered,
        seed=seed,
        is_private=False,
        progress=progress,
    )
    tape = Tape.fresh() if seed is None else Tape.seeded(seed)
    return run_chains(run, mechanism, tape, statement, progress)


def _affordable(steps: int, epsilon: float) -> int:
    if steps > _MOST_STEPS:
        raise InputError(
            f"the budget ε = {epsilon:g} buys {steps:,} steps of each chain, more than "
            f"the {_MOST_STEPS:,} that are run unasked. Give steps instead of epsilon, "
            "and read the smaller ε that they cost."
        )
    return steps
