# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""No released bit changes unseen: fixed tapes make the decisions that are stored here.

Where a change is meant to change what is released for the same words of a tape, store
the new digests with it, and say so in the change log. Last draws are stored with six
digits, as the last bits of a float may differ between processors.
"""

import hashlib
from typing import Any, NamedTuple

import numpy as np
import pytest

from dpmcmc import (
    Adaptive,
    Barker,
    ControlVariates,
    GaussianBarker,
    MinibatchBarker,
    Model,
    RandomWalk,
    SufficientStatistics,
    models,
    sample_not_private,
)


class Stored(NamedTuple):
    """A run, the digest of its decisions, and the last draw of each chain."""

    settings: dict[str, Any]
    digest: str
    last: list[float]


NORMAL = Model(
    lambda theta, x: -0.5 * ((x - theta["mean"]) / 0.1) ** 2,
    lambda theta: -0.5 * ((theta["mean"] - 1.5) / 0.2) ** 2,
    {"mean": 1.6},
)
VALUES = np.random.default_rng(7).normal(1.7, 0.1, size=3001)
COUNTS = {"x": np.random.default_rng(3).poisson(2.5, size=3001).astype(float)}
WALK = RandomWalk(0.01)

RUNS = {
    "barker": Stored(
        {"method": Barker(clip=0.05, proposal=WALK)},
        "03a2afb107796f94",
        [1.693151],
    ),
    "four chains": Stored(
        {"method": Barker(clip=0.05, proposal=WALK), "chains": 4},
        "076e03faf201842a",
        [1.693151, 1.695490, 1.691740, 1.694235],
    ),
    "gaussian": Stored(
        {"method": GaussianBarker(clip=0.05, proposal=WALK)},
        "03a2afb107796f94",
        [1.693151],
    ),
    "batch": Stored(
        {"method": MinibatchBarker(batch=300, tempering=100, proposal=WALK)},
        "9ad521e7a9cf9068",
        [1.686849],
    ),
    "adaptive": Stored(
        {"method": Barker(clip=0.05, proposal=Adaptive(RandomWalk(0.1)))},
        "0c8b5f38ef65091a",
        [1.693969],
    ),
    "control variates": Stored(
        {"method": ControlVariates(), "epsilon": 2.0, "chains": 2, "steps": 400},
        "338b6c57b2b7d409",
        [1.6956916, 1.6982821],
    ),
    "statistics": Stored(
        {
            "model": models.poisson(20.0),
            "records": COUNTS,
            "method": SufficientStatistics(),
            "epsilon": 1.0,
            "chains": 1,
            "steps": 400,
        },
        "8c5712341d0eb35c",
        [2.486588],
    ),
}


@pytest.mark.usefixtures("deciding")
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", RUNS)
def test_a_fixed_tape_makes_the_stored_decisions(name: str, precision: Any) -> None:
    stored = RUNS[name]
    settings = {"model": NORMAL, "records": VALUES, "steps": 200, **stored.settings}
    posterior = sample_not_private(
        settings.pop("model"),
        settings.pop("records"),
        seed=3,
        precision=precision,
        progress=False,
        **settings,
    )
    accepted = np.ascontiguousarray(posterior.accepted)
    assert hashlib.sha256(accepted.tobytes()).hexdigest()[:16] == stored.digest
    (draws,) = posterior.chain_draws.values()
    np.testing.assert_allclose(draws[:, -1], stored.last, rtol=1e-6)
