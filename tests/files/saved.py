# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A posterior to save, small and without a chain."""

import numpy as np
from posteriors import STATEMENT
from posteriors import posterior_of as with_draws

from dpmcmc import Posterior

__all__ = ["STATEMENT", "posterior_of"]


def posterior_of(seed: int = 0) -> Posterior:
    """Two chains of ten draws, and two of warm-up."""
    generator = np.random.default_rng(seed)
    return with_draws(
        {"mean": generator.normal(size=(2, 10))},
        warmup_draws={"mean": generator.normal(size=(2, 2))},
        warmup_accepted=generator.random((2, 2)) < 0.5,
    )
