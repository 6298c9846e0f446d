# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How many log-likelihood ratios a clip touches: for simulated records only.

The boundary never tells how many ratios it clipped, for that would be a release. Here
ratios are computed from the model, outside it, on records that protect nobody.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.model.model import Model

__all__ = ["Clipped", "clipped_share"]


@dataclass(frozen=True)
class Clipped:
    """Share of ratios beyond a clip, for one proposal variance and one clip."""

    variance: float
    clip: float
    share: float
    standard_error: float


def clipped_share(
    model: Model,
    records: np.ndarray,
    points: np.ndarray,
    variances: Iterable[float],
    clips: Sequence[float],
    generator: np.random.Generator,
) -> list[Clipped]:
    """Count ratios beyond each clip, for moves of each variance from given points.

    Parameters
    ----------
    model
        The paper's mixture.
    records
        Simulated records.
    points
        Where moves start: rows of mean and gap, such as draws of the posterior. Moves
        of all variances have the same directions.
    variances
        Variances of the random walk in each coordinate.
    clips
        Bounds on a record's log-likelihood ratio.
    generator
        Makes the moves.
    """
    directions = generator.standard_normal(points.shape)
    sample = jnp.asarray(records)

    def log_likelihoods(point: jax.Array) -> jax.Array:
        theta = {"mean": point[0], "gap": point[1]}
        return jax.vmap(model.log_likelihood, in_axes=(None, 0))(theta, sample)

    def shares(pair: jax.Array) -> jax.Array:
        ratios = log_likelihoods(pair[1]) - log_likelihoods(pair[0])
        return (jnp.abs(ratios) > jnp.asarray(clips)[:, None]).mean(axis=1)

    over_pairs = jax.jit(lambda pairs: jax.lax.map(shares, pairs))
    found = []
    for variance in variances:
        moved = points + directions * variance**0.5
        pairs = jnp.asarray(np.stack([points, moved], axis=1), jnp.float32)
        each = np.asarray(over_pairs(pairs), np.float64)
        errors = each.std(axis=0, ddof=1) / len(points) ** 0.5
        found += [
            Clipped(variance, clip, float(share), float(error))
            for clip, share, error in zip(clips, each.mean(axis=0), errors, strict=True)
        ]
    return found
