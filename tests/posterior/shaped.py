# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Posteriors of a scalar, a vector and a matrix, with a warm-up."""

from types import MappingProxyType

import numpy as np
from posteriors import STATEMENT

from dpmcmc import Posterior, Statement

SHAPES: dict[str, tuple[int, ...]] = {
    "mean": (),
    "group.scale": (2,),
    "weights": (2, 3),
}


def shaped(
    chains: int = 3,
    draws: int = 100,
    warmup: int = 20,
    statement: Statement = STATEMENT,
    dtype: str = "float32",
    noise_aware: bool = False,
) -> Posterior:
    """A posterior of made-up draws, twice as wide as the chain's if noise-aware."""
    rng = np.random.default_rng(chains * 1000 + draws)

    def made_up(length: int) -> dict[str, np.ndarray]:
        return {
            name: rng.normal(5.0, 2.0, size=(chains, length, *shape)).astype(dtype)
            for name, shape in SHAPES.items()
        }

    own = made_up(draws)
    wider = {name: (2 * (own[name] - 5) + 5).astype(dtype) for name in own}
    return Posterior(
        draws=wider if noise_aware else own,
        accepted=rng.random((chains, draws)) < 0.4,
        statement=statement,
        chain_draws=own,
        warmup_draws=made_up(warmup),
        warmup_accepted=rng.random((chains, warmup)) < 0.4,
        settings=MappingProxyType({"proposal": "RandomWalk(scale=0.1)", "jax": "1"}),
    )
