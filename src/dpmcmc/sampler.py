# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The front door: draw a posterior, and know what it cost.

`sample` is private. `sample_not_private` runs the very same chain with no claim:
for simulated or public records, for reference chains, and for seeds.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from dpmcmc.acceptance import Acceptance, Barker, Coarsening
from dpmcmc.certified import Settings
from dpmcmc.controls import Control
from dpmcmc.custody import NOBODY, Custody
from dpmcmc.errors import InputError
from dpmcmc.explicit import run_openly, run_privately
from dpmcmc.influence.choices import Clipping, PlainClipping
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Preparation
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.proposals import Proposal
from dpmcmc.rehearsal import Covariates, sample_automatically
from dpmcmc.run import Precision

__all__ = ["sample", "sample_not_private"]

_BARKER = Barker()
_PLAIN = PlainClipping()


def sample(
    model: Model | Callable[..., Any],
    records: Any,
    *,
    delta: float,
    proposal: Proposal | None = None,
    clip: float | None = None,
    clipping: Clipping = _PLAIN,
    control: Control | None = None,
    test: Acceptance = _BARKER,
    tempering: float | Coarsening | None = None,
    epsilon: float | None = None,
    steps: int | None = None,
    start: Any = None,
    preparation: Preparation | None = None,
    plate: str | None = None,
    covariates: Covariates = None,
    chains: int | None = None,
    warmup: int | None = None,
    precision: Precision | None = None,
    devices: Sequence[jax.Device] | None = None,
    chunk: int | None = None,
    custody: Custody = NOBODY,
    progress: bool = True,
) -> Posterior:
    """Draw from a posterior under differential privacy.

    Give the model, the records, ``epsilon`` and ``delta`` alone, and the rest is
    chosen: a share of the budget finds a start, and ways to go on are rehearsed on
    records simulated there. The choice is printed, and kept in the posterior;
    `dpmcmc.choose` makes one without reading a record.

    Or say how to go. Give either ``epsilon``, and the chain is as long as the budget
    (ε, δ) allows; or ``steps``, and the statement says the ε that they cost. Give
    both and no ``clip``, and it is as wide as the budget allows.

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
    clipping
        How ratios are bounded: `dpmcmc.clipping.PlainClipping` unless given;
        `ModelCorrection`, `ConditionalCentring` and `Shrinking` keep the posterior
        where it is if the model is right, at no cost of privacy. With ``control``
        they bound what the control variates miss of a ratio.
    control
        `ControlVariates`: the quadratic part of the log-likelihood is released once,
        and steps decide on what it misses. It needs a variational start. Or
        `SufficientStatistics`, for a model that states them: their sum is released
        once, and where it says all, steps ask the records nothing and cost nothing.
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
    covariates
        For a run that chooses for itself: where covariates of simulated records come
        from, if the model has any. A public sample of records as the model reads
        them, or a function that makes one from a JAX random key.
    chains
        How many chains to run. They share the budget: k chains are each a k-th as
        long as one. One unless given; a run that chooses for itself has up to four,
        where a rehearsal says that each has enough effective draws.
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
    custody
        Who is asked before records are read, and keeps what is released, such as
        a ledger with a run folder (`dpmcmc.workflow`). Nobody unless given.
    progress
        Whether to show a progress bar.

    Returns
    -------
    Posterior
        The draws with their privacy statement. A run that is interrupted from the
        keyboard returns the draws made so far, and says so.

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
    settings = Settings(
        model,
        records,
        proposal=proposal,
        clip=clip,
        clipping=clipping,
        control=control,
        test=test,
        tempering=tempering,
        start=start,
        preparation=preparation,
        plate=plate,
        steps=steps,
        chains=1 if chains is None else chains,
        warmup=warmup,
        precision=precision,
        devices=devices,
        chunk=chunk,
        progress=progress,
    )
    is_told = any(
        one is not None for one in (proposal, clip, steps, start, control, tempering)
    )
    is_usual = test == _BARKER and clipping == _PLAIN
    if epsilon is not None and is_usual and not is_told:
        return sample_automatically(
            settings,
            delta=delta,
            epsilon=epsilon,
            covariates=covariates,
            may_split=chains is None and warmup is None,
            custody=custody,
        )
    if covariates is not None:
        raise InputError(
            "covariates are for a run that chooses for itself, but it was told how to "
            "go. Give the model, the records, epsilon and delta alone; or see "
            "dpmcmc.rehearse."
        )
    return run_privately(settings, delta=delta, epsilon=epsilon, custody=custody)


def sample_not_private(
    model: Model | Callable[..., Any],
    records: Any,
    *,
    steps: int,
    proposal: Proposal | None = None,
    clip: float | None = None,
    clipping: Clipping = _PLAIN,
    control: Control | None = None,
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
    model, records, steps, proposal, clipping, control, test, tempering, preparation, \
plate, chains, warmup, precision, devices, chunk, progress
        As in `sample`.
    """
    settings = Settings(
        model,
        records,
        proposal=proposal,
        clip=clip,
        clipping=clipping,
        control=control,
        test=test,
        tempering=tempering,
        start=start,
        preparation=preparation,
        plate=plate,
        steps=steps,
        chains=chains,
        warmup=warmup,
        precision=precision,
        devices=devices,
        chunk=chunk,
        progress=progress,
    )
    return run_openly(settings, seed=seed)
