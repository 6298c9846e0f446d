# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What all tests share: repeatable property tests, and one small model."""

import numpy as np
import pytest
from hypothesis import settings
from jax.scipy import stats

import dpmcmc

# Property tests try the same examples on every machine, in their own time.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def model() -> dpmcmc.Model:
    """A normal mean: records have standard deviation 1, and the prior is N(0, 1)."""
    return dpmcmc.Model(
        log_likelihood=lambda theta, record: stats.norm.logpdf(record, theta["mean"]),
        log_prior=lambda theta: stats.norm.logpdf(theta["mean"]),
        initial={"mean": 0.0},
    )


@pytest.fixture(scope="session")
def records() -> np.ndarray:
    """A hundred simulated records for `model`."""
    return np.random.default_rng(1).normal(0.3, 1.0, size=100)
