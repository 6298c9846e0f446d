# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Posteriors made up from random numbers, for tests of what is shown of them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpmcmc import Posterior, Statement

STATEMENT = Statement(
    epsilon=1.0,
    delta=1e-6,
    records=100_000,
    chains=2,
    steps=1000,
    clip=0.0125,
    decided="decided on all records, clipped to ±0.0125, by Barker's exact test",
    tempered=100_000.0,
    accountant="blocks (the best attack on blocks of bits, composed)",
    not_private_because=(),
    notes=(),
    version="0.1.0",
)
NOT_PRIVATE = replace(
    STATEMENT,
    epsilon=math.inf,
    delta=1.0,
    accountant="none",
    not_private_because=("it was drawn by sample_not_private, outside any budget",),
)


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

    The chains are as long as ``shape`` says, after a third as much of warm-up.
    """
    generator = np.random.default_rng(7)
    chains, draws = shape
    warm_up = draws // 3
    along = drift * np.linspace(-1, 1, draws)
    values = {name: generator.normal(size=shape) + along for name in names}
    wider = {name: 2 * value for name, value in values.items()}
    settings: dict[str, Any] = {
        "draws": values,
        "accepted": generator.random(shape) < 0.4,
        "warmup_draws": {name: np.zeros((chains, warm_up)) for name in names},
        "warmup_accepted": np.ones((chains, warm_up), dtype=bool),
        "statement": replace(statement, chains=chains, steps=draws + warm_up),
        "settings": {"proposal": "RandomWalk(scale=0.1)", "jax": "0.8.0"},
        "noise_aware": wider if noise_aware else None,
    }
    return Posterior(**{**settings, **changes})
