# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A posterior to save, small and without a chain."""

import numpy as np

from dpmcmc import Posterior, Statement

STATEMENT = Statement(
    epsilon=1.0,
    delta=1e-6,
    records=100,
    chains=2,
    steps=12,
    clip=0.1,
    decided="by Barker's test",
    tempered=100,
    accountant="zCDP",
    not_private_because=(),
    notes=(),
    version="0.1.0",
)


def posterior_of(seed: int = 0) -> Posterior:
    """Two chains of ten draws, and two of warm-up."""
    generator = np.random.default_rng(seed)
    return Posterior(
        draws={"mean": generator.normal(size=(2, 10))},
        accepted=generator.random((2, 10)) < 0.5,
        warmup_draws={"mean": generator.normal(size=(2, 2))},
        warmup_accepted=generator.random((2, 2)) < 0.5,
        statement=STATEMENT,
        settings={"clip": "0.1"},
    )
