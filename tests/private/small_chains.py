# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Small chains of one parameter, for the tests of what chains do and release."""

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.model.model import Model
from dpmcmc.private import Chains, FullData, Grid, Records, Tape
from dpmcmc.proposals import RandomWalk

NORMAL = Model(
    lambda theta, record: -0.5 * (record - theta) ** 2, lambda theta: -0.5 * theta**2, 0
)


def make(data, model=NORMAL, kernel=None, start=None, **settings):
    """Small chains of one parameter, unless told otherwise."""
    start = jnp.float32(0.1) if start is None else start
    kernel = RandomWalk(0.3).fit(start) if kernel is None else kernel
    defaults = {"chunk": 20, "devices": jax.devices()[:1]}
    clip, seed = settings.pop("clip", 0.05), settings.pop("seed", 80)
    chains = settings.pop("chains", 2)
    return Chains(
        model,
        Records(data),
        kernel,
        FullData(Grid(clip)),
        Tape.seeded(seed),
        start=jax.tree.map(lambda leaf: jnp.stack([leaf] * chains), start),
        dtype=str(jnp.result_type(*jax.tree.leaves(start))),
        **{**defaults, **settings},
    )


def simulate(count, seed=81):
    return np.random.default_rng(seed).normal(0.3, 1.0, count)
