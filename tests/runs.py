# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Small runs that the tests of the front door share."""

from typing import Any

import numpy as np

from dpmcmc import Barker, Model, Posterior, RandomWalk, sample, sample_not_private
from dpmcmc.accounting import BarkerBit, certify_epsilon

WALK = RandomWalk(0.2)


def with_barker(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of `sample` with those of `Barker` gathered into its method.

    A method that is among the settings is left as it is.
    """
    of_barker = ("clip", "clipping", "proposal", "tempering")
    own = {name: settings[name] for name in of_barker if name in settings}
    others = {name: settings[name] for name in settings if name not in of_barker}
    return {"method": Barker(**own), **others}


def cost(decisions: int, clip: float, records: int, delta: float) -> float:
    """The ε of a number of decisions, asked of the accountants directly."""
    events = {BarkerBit(clip=clip, records=records): decisions}
    return certify_epsilon(events, delta).epsilon


def private(model: Model, records: Any, **changes: Any) -> Posterior:
    """Run `sample` by Barker's test at a small cost, but for the changes."""
    settings = {"delta": 1e-5, "clip": 0.05, "proposal": WALK, "progress": False}
    return sample(model, records, **with_barker({**settings, **changes}))


def seeded(model: Model, records: Any, **changes: Any) -> Posterior:
    """Run `sample_not_private` by Barker's test with a seed, but for the changes."""
    settings = {"steps": 40, "seed": 1, "proposal": WALK, "progress": False}
    return sample_not_private(model, records, **with_barker({**settings, **changes}))


def assert_same_draws(one: Posterior, other: Posterior) -> None:
    """Every released number and bit is the same, the warm-up included."""
    for mine, theirs in [
        (one.draws, other.draws),
        (one.chain_draws, other.chain_draws),
        (one.warmup_draws, other.warmup_draws),
    ]:
        assert list(mine) == list(theirs)
        for name in mine:
            np.testing.assert_array_equal(mine[name], theirs[name], strict=True)
    np.testing.assert_array_equal(one.accepted, other.accepted, strict=True)
    np.testing.assert_array_equal(one.warmup_accepted, other.warmup_accepted)


def all_draws(posterior: Posterior, name: str) -> np.ndarray:
    """The chain's own draws of a parameter, from the first step on."""
    parts = [posterior.warmup_draws[name], posterior.chain_draws[name]]
    return np.concatenate(parts, axis=1)


def all_bits(posterior: Posterior) -> np.ndarray:
    """All decisions of the chains, from the first step on."""
    return np.concatenate([posterior.warmup_accepted, posterior.accepted], axis=1)


def chain_of(posterior: Posterior) -> dict[str, float]:
    """The numbers that the statement gives of the chain: chains, steps, made."""
    (row,) = [row for row in posterior.statement.stages if row.name == "chain"]
    return dict(row.numbers)
