# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Posteriors made up from random numbers, for tests of what is shown of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpmcmc.posterior import Posterior, Statement
from dpmcmc.posterior.statement import StageSummary, Verdict

STAGES = (
    StageSummary("scales", "noisy histograms of 3 columns.", 0.08),
    StageSummary(
        "sum",
        "the sum over all 100,000 records of sufficient statistics (x and x²), each "
        "record's norm-clipped to 3.5, with normal noise of sd 21.4 times that.",
        0.62,
        {"noise": 21.4, "bound": 3.5},
    ),
    StageSummary(
        "chain",
        "2,000 accept/reject decisions (2 chains of 1,000 steps), each decided on all "
        "records, clipped to ±0.0125, by Barker's exact test.",
        0.3,
        {"chains": 2, "steps": 1000, "made": 1000},
    ),
    StageSummary("check", "compared with simulated records; no record is read."),
)
STATEMENT = Statement(
    epsilon=1.0,
    delta=1e-6,
    records=100_000,
    stages=STAGES,
    accountant="blocks (the best attack on blocks of decisions, composed)",
    tempered=100_000.0,
    prepared=("age clamped to [0, 120]",),
    verdict=Verdict("usable", "means are right to 0.1 posterior sd in a rehearsal."),
    version="0.1.0",
)
NOT_PRIVATE = replace(
    STATEMENT,
    epsilon=math.inf,
    delta=1.0,
    accountant="none",
    not_private_because=("it was drawn by sample_not_private, outside any budget",),
)


def posterior_of(
    draws: Mapping[str, np.ndarray], statement: Statement = STATEMENT, **changes: Any
) -> Posterior:
    """A posterior with these draws, whose chains may be changed."""
    chains, length = next(iter(draws.values())).shape[:2]
    fields: dict[str, Any] = {
        "draws": draws,
        "chain_draws": draws,
        "accepted": np.random.default_rng(0).random((chains, length)) < 0.4,
        "warmup_draws": {name: values[:, :0] for name, values in draws.items()},
        "warmup_accepted": np.ones((chains, 0), dtype=bool),
        "statement": statement,
        "settings": {"proposal": "RandomWalk(scale=0.1)", "jax": "0.8.0"},
    }
    return Posterior(**{**fields, **changes})


def made_up(
    names: Sequence[str] = ("mean", "scale"),
    *,
    shape: tuple[int, int] = (2, 750),
    statement: Statement = STATEMENT,
    drift: float = 0.0,
    noise_aware: bool = False,
    **changes: Any,
) -> Posterior:
    """Independent normal draws, but for a drift along each chain.

    Those that are aware of noise are twice as wide as the chain's own.
    """
    generator = np.random.default_rng(7)
    along = drift * np.linspace(-1, 1, shape[1])
    own = {name: generator.normal(size=shape) + along for name in names}
    wider = {name: 2 * value for name, value in own.items()}
    draws = wider if noise_aware else own
    return posterior_of(draws, statement, chain_draws=own, **changes)
