# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Histograms of residuals beside the clip of a decision: how much decisions cut.

Before the chain, they say whether a quadratic can serve at all; after it, what the
decisions did cut.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.influence.residual import Residual
from dpmcmc.model.model import Model
from dpmcmc.sampling.fit.tails import BINS, EDGES, LENGTHS, Counts, Tail

__all__ = ["ResidualBins", "ResidualPublic", "cut_by", "in_all"]

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
        residual = public.residual
        extras = residual.extras(model, record)

        def ratio(current: Any, proposed: Any) -> jax.Array:
            old = residual.look(model, current, record, extras, self.dtype)
            new = residual.look(model, proposed, record, extras, self.dtype)
            return residual.ratio(old, new, record, extras)

        ratios = jax.vmap(ratio)(public.current, public.proposed)
        ratios = residual.tempering * ratios
        size = jnp.sqrt(jnp.mean(ratios * ratios))
        edges = jnp.asarray(EDGES, size.dtype) * jnp.asarray(public.clip, size.dtype)
        place = jnp.searchsorted(edges, size, side="right")
        return jnp.where(jnp.isfinite(size), place, -1)[None]


def cut_by(counts: Counts, clip: float, records: int) -> float:
    """What a clip cuts off all records' residuals together, on a usual move.

    A tail falls gradually; a group of records by itself, far from all others, is seen
    bin by bin where it stands out of the noise.
    """
    alone = _visible(counts) @ np.maximum(LENGTHS - 1, 0)
    return float(clip * max(Tail([counts], records).cut(1.0), alone))


def in_all(counts: Counts, clip: float, records: int) -> float:
    """The sum of all records' residuals, as if none were of another sign."""
    tail = Tail([counts], records)
    return float(clip * max(records * tail.mean(), _visible(counts) @ LENGTHS))


def _visible(counts: Counts) -> np.ndarray:
    """Counts that stand out of the noise, and zeros."""
    return np.where(counts.values > _VISIBLE * counts.sd, counts.values, 0)
