# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the quadratic misses: residuals of records, one by one and added up.

Histograms beside the clip of a decision say how much decisions cut: before the chain,
whether they can serve at all; after it, what they did cut. Sums say how far the
log-likelihood is from the quadratic: residuals of one sign are no matter of a clip, and
those of both signs cancel.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.influence.residual import Residual, clip_factor
from dpmcmc.model.model import Model
from dpmcmc.sampling.fit.tails import BINS, EDGES, LENGTHS, Counts, Tail

__all__ = ["ResidualBins", "ResidualPublic", "ResidualSums", "cut_by", "missed_by"]

_VISIBLE = 4.5
"""Counts are believed from so many sd on: one in thousands of histograms is wrong."""


class ResidualPublic(NamedTuple):
    """Moves, from ``current`` to ``proposed`` points with a leading axis; the clip."""

    residual: Residual
    current: Any
    proposed: Any
    clip: float


@dataclass(frozen=True)
class ResidualBins:
    """A histogram of records by the root mean square of their residuals over moves."""

    dtype: str

    @property
    def count(self) -> int:
        """Bins in units of the clip."""
        return BINS

    def __call__(self, model: Model, record: Any, public: ResidualPublic) -> jax.Array:
        """The bin of the residual, in clips; none for one that is not finite."""
        ratios = _residuals(model, record, public, self.dtype)
        size = jnp.sqrt(jnp.mean(ratios * ratios))
        edges = jnp.asarray(EDGES, size.dtype) * jnp.asarray(public.clip, size.dtype)
        place = jnp.searchsorted(edges, size, side="right")
        return jnp.where(jnp.isfinite(size), place, -1)[None]


@dataclass(frozen=True)
class ResidualSums:
    """The residuals of a record over moves, of at most a clip in root mean square."""

    dtype: str

    def __call__(self, model: Model, record: Any, public: ResidualPublic) -> jax.Array:
        """The residuals, in units in which they are at most 1 long; or zeros."""
        ratios = _residuals(model, record, public, self.dtype)
        ratios = jnp.where(jnp.all(jnp.isfinite(ratios)), ratios, 0)
        bound = jnp.asarray(public.clip, ratios.dtype) * np.sqrt(len(ratios))
        return ratios * clip_factor(ratios, bound) / bound


def _residuals(
    model: Model, record: Any, public: ResidualPublic, dtype: str
) -> jax.Array:
    """A record's residual on each move."""
    residual = public.residual
    extras = residual.extras(model, record)

    def ratio(current: Any, proposed: Any) -> jax.Array:
        old = residual.look(model, current, record, extras, dtype)
        new = residual.look(model, proposed, record, extras, dtype)
        return residual.ratio(old, new, record, extras)

    return residual.tempering * jax.vmap(ratio)(public.current, public.proposed)


def cut_by(counts: Counts, clip: float, records: int) -> float:
    """What a clip cuts off all records' residuals together, on a usual move.

    A tail falls gradually; a group of records by itself, far from all others, is seen
    bin by bin where it stands out of the noise.
    """
    alone = _visible(counts) @ np.maximum(LENGTHS - 1, 0)
    return float(clip * max(Tail([counts], records).cut(1.0), alone))


def missed_by(sums: np.ndarray, noise: float, clip: float) -> float:
    """What the quadratic misses of a difference of log densities, rms over moves.

    ``sums`` are in the units of `ResidualSums`, with noise of the given sd.
    """
    square = max(float(np.mean(sums**2)) - noise**2, 0.0)
    return clip * math.sqrt(len(sums) * square)


def _visible(counts: Counts) -> np.ndarray:
    """Counts that stand out of the noise, and zeros."""
    return np.where(counts.values > _VISIBLE * counts.sd, counts.values, 0)
