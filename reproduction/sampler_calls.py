# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Every use of the package's sampler, tests and accountants, in one place."""

from typing import Any

from dp_accounting.dp_event import DpEvent, SelfComposedDpEvent

from dpmcmc import (
    Barker,
    GaussianBarker,
    MinibatchBarker,
    Model,
    Posterior,
    Variational,
    sample,
    sample_not_private,
)
from dpmcmc.acceptance import Acceptance, Setting
from dpmcmc.accounting import certify_epsilon
from dpmcmc.accounting.paper import paper_epsilon
from dpmcmc.proposals import Proposal

__all__ = [
    "EXACT",
    "GAUSSIAN",
    "PRIVATE_FIT",
    "Test",
    "bit_of",
    "epsilons",
    "minibatch",
    "private_chain",
    "seeded_chains",
]

Test = Acceptance
"""How a step is decided."""

EXACT: Test = Barker()
"""Barker's test on all records."""

GAUSSIAN: Test = GaussianBarker()
"""The paper's test on all records (§3.1)."""

PRIVATE_FIT = Variational(epsilon=0.21, delta=1e-6)
"""Private variational inference with the paper's budget: where its chains start."""


def minibatch(batch: int, variance: float = 2.0) -> Test:
    """The paper's test on a batch (§3.2), with C = ``variance``."""
    return MinibatchBarker(batch, variance)


def private_chain(
    model: Model,
    records: Any,
    test: Test,
    *,
    tempering: float,
    proposal: Proposal,
    steps: int,
    delta: float,
    start: Any,
    progress: bool,
) -> Posterior:
    """Draw one private chain, on fresh randomness."""
    return sample(
        model,
        records,
        test=test,
        tempering=tempering,
        proposal=proposal,
        steps=steps,
        delta=delta,
        start=start,
        progress=progress,
    )


def seeded_chains(
    model: Model,
    records: Any,
    test: Test,
    *,
    tempering: float,
    proposal: Proposal,
    steps: int,
    seed: int,
    progress: bool,
    chains: int = 1,
    warmup: int | None = None,
    start: Any = None,
) -> Posterior:
    """Draw repeatable chains, which are not private."""
    return sample_not_private(
        model,
        records,
        test=test,
        tempering=tempering,
        proposal=proposal,
        steps=steps,
        seed=seed,
        chains=chains,
        warmup=warmup,
        start=start,
        progress=progress,
    )


def bit_of(test: Test, records: int, tempering: float) -> DpEvent:
    """What one step of a test releases."""
    setting = Setting(records, tempering, clip=None)
    return test.event(setting, test.mechanism(setting))


def epsilons(bit: DpEvent, steps: int, delta: float) -> tuple[float, float]:
    """The paper's ε and the certified one, of a private chain of ``steps``."""
    certified = certify_epsilon(SelfComposedDpEvent(bit, steps), delta).epsilon
    return paper_epsilon(bit, steps, delta)[0], certified
