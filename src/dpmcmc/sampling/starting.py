# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Where chains start, from public numbers: at one point, or at draws from the prior."""

from typing import Any

import jax

from dpmcmc.model.tracing import is_double
from dpmcmc.sampling.chain import repeated
from dpmcmc.sampling.problem import Problem

__all__ = ["starting_points"]


def starting_points(problem: Problem, chains: int, seed: int) -> Any:
    """A point for each chain, with a leading axis of chains.

    Draws from the prior use public randomness, by a seed.
    """
    points = repeated(problem.initial, chains)
    draw = problem.model.draw_prior
    if not problem.from_prior or draw is None:
        return points
    keys = jax.random.split(jax.random.key(seed % 2**32), chains)
    with jax.enable_x64(is_double(problem.dtype)):
        drawn = jax.vmap(draw)(keys)
        return jax.tree.map(lambda new, old: new.astype(old.dtype), drawn, points)
