# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What is claimed of a run: its certificate, its statement, and notes for readers."""

import math
from importlib.metadata import version

from dp_accounting.dp_event import ComposedDpEvent, DpEvent, SelfComposedDpEvent

from dpmcmc.acceptance import Acceptance, Setting
from dpmcmc.accounting import Certificate, certify_epsilon
from dpmcmc.errors import InputError
from dpmcmc.influence.choices import Clipping, PlainClipping
from dpmcmc.model.model import Model
from dpmcmc.model.python_function import PythonFunction
from dpmcmc.posterior.statement import Statement
from dpmcmc.private import FullData, Grid, Minibatch
from dpmcmc.proposals import Proposal, reach_of
from dpmcmc.run import Run

__all__ = [
    "at_clip",
    "certify",
    "lipschitz_clip",
    "model_notes",
    "named",
    "notes",
    "state",
]


def certify(
    bit: DpEvent, besides: DpEvent, run: Run, delta: float, clip: float | None
) -> Certificate:
    """Certify all bits of a run together with what is released besides."""
    bits = run.chains * run.steps
    event = ComposedDpEvent([besides, SelfComposedDpEvent(bit, bits)])
    certificate = certify_epsilon(event, delta)
    if not math.isfinite(certificate.epsilon):
        raise InputError(
            f"no ε can be proven for {bits:,} bits{at_clip(clip)} with δ = "
            f"{delta:g}. Choose a smaller clip, fewer steps or chains, or a larger δ; "
            "for records that are not sensitive, sample_not_private needs no budget."
        )
    return certificate


def state(
    run: Run,
    test: Acceptance,
    setting: Setting,
    *,
    clipping: Clipping,
    epsilon: float,
    delta: float,
    accountant: str,
    released_first: tuple[str, ...],
    asks_records: bool = True,
    not_private_because: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Statement:
    """Put what a run costs together with what it does."""
    preparation = run.model.preparation
    decided = test.describe(setting) if asks_records else ""
    if type(clipping) is not PlainClipping:
        is_ratio = setting.number == Setting.number
        words = clipping.describe() if is_ratio else clipping.describe("that number")
        decided = f"{decided}; {words}"
    return Statement(
        epsilon=epsilon,
        delta=delta,
        records=setting.records,
        chains=run.chains,
        steps=run.steps,
        clip=None if setting.clip is None else float(setting.clip),
        decided=decided,
        tempered=setting.tempered,
        accountant=accountant,
        not_private_because=not_private_because,
        notes=notes,
        version=version("dpmcmc"),
        released_first=released_first,
        prepared=() if preparation is None else preparation.describe(),
        asks_records=asks_records,
    )


def named(certificate: Certificate) -> str:
    """The accountant that proved it, with its method."""
    methods = {name: method for name, _, method in certificate.alternatives}
    method = methods.get(certificate.accountant)
    return f"{certificate.accountant} ({method})" if method else certificate.accountant


def at_clip(clip: float | None) -> str:
    """The clip in words, if there is one."""
    return "" if clip is None else f" at clip {clip:g}"


def lipschitz_clip(
    model: Model, proposal: Proposal | None, tempering: float
) -> float | None:
    """The clip that touches no record, where the model and the proposal give one.

    A record's log-likelihoods at two points differ by at most L times their distance
    (paper, the lemma on Lipschitz likelihoods). The clip is enforced all the same: if
    L is wrong, accuracy suffers, not privacy.
    """
    if model.lipschitz is None or proposal is None or isinstance(proposal, type):
        return None
    bound = model.lipschitz * reach_of(proposal, model.initial) * tempering
    return math.nextafter(bound, math.inf) if math.isfinite(bound) else None


def notes(
    run: Run, mechanism: FullData | Minibatch, delta: float, clips_ratios: bool
) -> tuple[str, ...]:
    """What a careful reader should know besides."""
    found = []
    records = len(run.records)
    if delta >= 1 / records:
        found.append(
            f"δ = {delta:g} is not below 1/N = {1 / records:.2g}. A mechanism that "
            "publishes one whole record at random can meet such a δ; choose a smaller "
            "one."
        )
    return (*found, *model_notes(run, mechanism, clips_ratios))


def model_notes(
    run: Run, mechanism: FullData | Minibatch, clips_ratios: bool
) -> tuple[str, ...]:
    """What follows from the model and the proposal, whatever the budget.

    ``clips_ratios`` says that what is clipped are log-likelihood ratios as they are:
    a Lipschitz constant bounds those, and nothing else that is made of them.
    """
    found = []
    reach = reach_of(run.proposal, run.start)
    grid = _grid(mechanism)
    if clips_ratios and run.model.lipschitz is not None and math.isfinite(reach):
        most = run.model.lipschitz * reach * grid.scale
        if most <= grid.clip:
            found.append(
                "no ratio is clipped, if the model's Lipschitz constant "
                f"{run.model.lipschitz:g} is right: no move is longer than {reach:g}. "
                "The clip holds in any case."
            )
    if type(run.model.log_likelihood) is PythonFunction:
        found.append(
            "the log-likelihood is a Python function, which nothing here can look "
            "into: the guarantee holds if it keeps and shows nothing of a record."
        )
    return tuple(found)


def _grid(mechanism: FullData | Minibatch) -> Grid:
    return (
        mechanism.grid if isinstance(mechanism, FullData) else mechanism.decision.grid
    )
