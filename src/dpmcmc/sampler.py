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
from dp_accounting import SelfComposedDpEvent

from dpmcmc.accounting import BarkerBit, certify_epsilon, most_steps
from dpmcmc.errors import (
    InputError,
    require_count,
    require_positive,
    require_probability,
)
from dpmcmc.loop import Precision, prepare, run_chains
from dpmcmc.model import Model
from dpmcmc.posterior import Posterior
from dpmcmc.private import Grid, Records, Tape
from dpmcmc.proposals import Proposal
from dpmcmc.statement import Statement

__all__ = ["sample", "sample_not_private"]


def sample(
    model: Model,
    records: Any,
    *,
    delta: float,
    clip: float,
    proposal: Proposal,
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
        The bound B on one record's log-likelihood ratio in one step. A smaller clip
        buys more steps, but biases the posterior once it touches many records.
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
        Where the records are spread; all local devices unless given.
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
    clip = _clip(
        clip, _MOST_PRIVATE_CLIP, "Choose the largest ratio a record may have."
    )
    chains = require_count("chains", chains, "One chain makes most of a budget.")
    sealed = records if isinstance(records, Records) else Records(records)
    bit = BarkerBit(clip=clip, records=len(sealed))
    if (epsilon is None) == (steps is None):
        raise InputError(
            f"epsilon is {epsilon!r} and steps is {steps!r}; give one of the two: "
            "epsilon, to have the steps it buys, or steps, to read the ε they cost."
        )
    if epsilon is not None:
        steps = _steps_for_budget(bit, epsilon, delta, chains)
    run = prepare(
        model, sealed, proposal, chains, steps, warmup, precision, devices, chunk
    )
    event = SelfComposedDpEvent(bit, run.chains * run.steps)
    certificate = certify_epsilon(event, delta)
    if not math.isfinite(certificate.epsilon):
        raise InputError(
            f"no ε can be proven for {event.count:,} bits at clip {clip:g} with δ = "
            f"{delta:g}. Choose a smaller clip, fewer steps or chains, or a larger δ; "
            "for records that are not sensitive, sample_not_private needs no budget."
        )
    statement = Statement(
        epsilon=certificate.epsilon,
        delta=certificate.delta,
        records=len(sealed),
        chains=run.chains,
        steps=run.steps,
        clip=clip,
        accountant=certificate.accountant,
        not_private_because=(),
        notes=_notes(delta, len(sealed)),
        version=version("dpmcmc"),
    )
    return run_chains(run, Grid(clip), Tape.fresh(), statement, progress)


def sample_not_private(
    model: Model,
    records: Any,
    *,
    steps: int,
    proposal: Proposal,
    clip: float | None = None,
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
    model, records, steps, proposal, chains, warmup, precision, devices, chunk, progress
        As in `sample`.
    """
    sealed = records if isinstance(records, Records) else Records(records)
    reasons = ["it was drawn by sample_not_private, outside any budget"]
    if clip is None:
        grid = Grid.unclipped(len(sealed))
        reasons.append("no clip bounds the influence of a record")
    else:
        clip = _clip(clip, _MOST_CLIP, "Give None for no clip.")
        grid = Grid(clip)
    if seed is not None:
        seed = require_count("seed", seed, "Give None for a fresh tape.", least=0)
        reasons.append("the randomness can be made again from a seed")
    run = prepare(
        model, sealed, proposal, chains, steps, warmup, precision, devices, chunk
    )
    statement = Statement(
        epsilon=float("inf"),
        delta=1.0,
        records=len(sealed),
        chains=run.chains,
        steps=run.steps,
        clip=clip,
        accountant="none",
        not_private_because=tuple(reasons),
        notes=(),
        version=version("dpmcmc"),
    )
    tape = Tape.fresh() if seed is None else Tape.seeded(seed)
    return run_chains(run, grid, tape, statement, progress)


_LEAST_CLIP, _MOST_CLIP, _MOST_PRIVATE_CLIP = 1e-30, 1e30, 100.0
"""Clips whose grid float32 can hold; and beyond which no bit hides a record."""


def _clip(clip: float, most: float, advice: str) -> float:
    clip = require_positive("clip", clip, advice)
    if not _LEAST_CLIP <= clip <= most:
        raise InputError(
            f"clip is {clip:g}; it must lie between {_LEAST_CLIP:g} and {most:g}. "
            f"{advice}"
        )
    return clip


def _steps_for_budget(bit: BarkerBit, epsilon: float, delta: float, chains: int) -> int:
    epsilon = require_positive("epsilon", epsilon, "Common budgets are 0.1 to 10.")
    bits = most_steps(bit, epsilon, delta)
    if bits < chains:
        raise InputError(
            f"the budget ε = {epsilon:g}, δ = {delta:g} buys {bits} bits at clip "
            f"{bit.clip:g}, but one step of each chain needs {chains}. Choose a "
            "smaller clip, a larger budget, or fewer chains."
        )
    return bits // chains


def _notes(delta: float, records: int) -> tuple[str, ...]:
    if delta < 1 / records:
        return ()
    return (
        f"δ = {delta:g} is not below 1/N = {1 / records:.2g}. A mechanism that "
        "publishes one whole record at random can meet such a δ; choose a smaller one.",
    )
