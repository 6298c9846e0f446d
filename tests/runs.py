# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Small runs that the tests of the front door share."""

from typing import Any

import numpy as np
from dp_accounting import SelfComposedDpEvent

from dpmcmc import Model, Posterior, RandomWalk, sample, sample_not_private
from dpmcmc.accounting import BarkerBit, certify_epsilon

WALK = RandomWalk(0.2)


def cost(bits: int, clip: float, records: int, delta: float) -> float:
    """The ε of so many bits, asked of the accountants directly."""
    event = SelfComposedDpEvent(BarkerBit(clip=clip, records=records), bits)
    return certify_epsilon(event, delta).epsilon


def private(model: Model, records: Any, **changes: Any) -> Posterior:
    """Run `sample` at a small cost, but for the changes.

    Chunks of the same length are compiled once for runs of all lengths.
    """
    settings = {"delta": 1e-5, "clip": 0.05, "proposal": WALK, "progress": False}
    return sample(model, records, **{**settings, "chunk": 5, **changes})


def seeded(model: Model, records: Any, **changes: Any) -> Posterior:
    """Run `sample_not_private` with a seed, but for the changes."""
    settings = {"steps": 40, "seed": 1, "proposal": WALK, "progress": False}
    return sample_not_private(model, records, **{**settings, **changes})


def assert_same_draws(one: Posterior, other: Posterior) -> None:
    """Every released number and bit is the same, the warm-up included."""
    assert list(one.draws) == list(other.draws)
    for name in one.draws:
        np.testing.assert_array_equal(one.draws[name], other.draws[name], strict=True)
        np.testing.assert_array_equal(one.warmup_draws[name], other.warmup_draws[name])
    np.testing.assert_array_equal(one.accepted, other.accepted, strict=True)
    np.testing.assert_array_equal(one.warmup_accepted, other.warmup_accepted)


def all_draws(posterior: Posterior, name: str) -> np.ndarray:
    return np.concatenate([posterior.warmup_draws[name], posterior.draws[name]], axis=1)


def all_bits(posterior: Posterior) -> np.ndarray:
    return np.concatenate([posterior.warmup_accepted, posterior.accepted], axis=1)
