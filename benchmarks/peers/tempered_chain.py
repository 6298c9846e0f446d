# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The tempered subsampled chain of Heikkilä et al. (2019).

Barker's test on a fresh batch, with clipped ratios, normal noise and a correction, on
the posterior with the likelihood to the power N₀/N. It is `dpmcmc.MinibatchBarker`.

Published price: Rényi divergences, and amplification by subsampling in their terms. By
the accountants of this package a chain costs a tenth to a fiftieth of that. It is run
with the clip of the paper, and may cost less than it is allowed.
"""

from typing import Any

import numpy as np

import dpmcmc
from benchmarks.peers.target import Budget, Refused

__all__ = ["draws"]


def draws(
    model: dpmcmc.Model,
    records: Any,
    budget: Budget,
    *,
    batch: int,
    tempering: float,
    walk: float,
    steps: int,
) -> dict[str, np.ndarray]:
    """Draws by name, without a warm-up."""
    method = dpmcmc.MinibatchBarker(
        batch=batch, tempering=tempering, proposal=dpmcmc.RandomWalk(walk)
    )
    try:
        found = dpmcmc.sample(
            model,
            records,
            epsilon=budget.epsilon,
            delta=budget.delta,
            method=method,
            steps=steps,
            warmup=0,
            progress=False,
        )
    except dpmcmc.InputError as error:
        raise Refused(str(error)) from error
    return {name: np.ravel(values) for name, values in found.draws.items()}
