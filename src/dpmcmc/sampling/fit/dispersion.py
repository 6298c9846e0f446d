# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Coordinates that scale the log-likelihood, such as the logarithm of an sd.

Along such a coordinate t the log-likelihood of every record is ℓ = −a t − q e^{−ct} + b,
with a and c the same for all records: log σ of a normal distribution has a = 1 and
c = 2, the log rate of an exponential one a = c = −1. Newton's method crawls there if q
is large and leaps too far if q is small, but where the mean of q is highest is known:
t = log(c q̄ / a) / c. Which coordinates are such is a property of the model: it is found
from made-up records, and is public.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.influence.derivatives import Frame, derivatives, prepared
from dpmcmc.model.tracing import is_double
from dpmcmc.sampling.fit.basis import made_up
from dpmcmc.sampling.fit.questions import Unravel
from dpmcmc.sampling.problem import Problem

__all__ = ["Dispersions", "find_dispersions"]

_RECORDS, _FEWEST = 512, 30
_ASIDE = 0.4
"""a and c must be the same so far aside."""

_SIZES = 1e-2, 1e2
"""Records count whose curvature is between these: others say nothing, or too much for
the arithmetic."""

_ALIKE = 2e-3
_FARTHEST = 0.9
"""The largest c · Newton step that is believed: −log(1 − 0.9) = 2.3."""


class Dispersions(NamedTuple):
    """a and c of each coordinate of θ; both are 0 where there are none."""

    levels: np.ndarray
    rates: np.ndarray

    def from_curvature(self, place: int, curvature: float) -> float:
        """How far the highest point is, by the mean curvature c² q of a coordinate."""
        level, rate = self.levels[place], self.rates[place]
        if not rate or not curvature > 0:
            return 0.0
        return float(np.log(curvature / (rate * level)) / rate)

    def moved(self, point: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Where a Newton step leads, along the curve of each such coordinate.

        With one coordinate alone, Newton's step s from a gradient of −a + cq and a
        curvature of c²q is such that the highest point is −log(1 − cs)/c away.
        """
        rates = np.where(self.rates == 0, 1.0, self.rates)
        bent = -np.log1p(-np.minimum(rates * step, _FARTHEST)) / rates
        return point + np.where(self.rates == 0, step, bent)


def find_dispersions(
    problem: Problem, start: np.ndarray, unravel: Unravel
) -> Dispersions:
    """Look for them by the derivatives of made-up records; no record is read."""
    size = len(start)
    with jax.enable_x64(is_double(problem.dtype)):
        records = jax.tree.map(lambda column: column[:_RECORDS], made_up(problem))

        @jax.jit
        def look(at: jax.Array) -> tuple[jax.Array, jax.Array]:
            def one(record: Any) -> tuple[jax.Array, jax.Array]:
                record = prepared(problem.model, record)
                frame = Frame(at, jnp.eye(size, dtype=at.dtype))
                first, second = derivatives(problem.model, record, frame, unravel)
                return first, jnp.diagonal(second)

            return jax.vmap(one)(records)

        def lines(at: np.ndarray) -> list[tuple[float, float]]:
            firsts, seconds = look(jnp.asarray(at, problem.dtype))
            pairs = zip(np.asarray(firsts).T, np.asarray(seconds).T, strict=True)
            return [_line(*map(np.float64, pair)) for pair in pairs]

        here = np.array(lines(start))
        aside = np.array(lines(start + _ASIDE * (here[:, 1] != 0)))
    is_same = np.all(np.isclose(here, aside, rtol=_ALIKE), axis=1)
    return Dispersions(*np.where(is_same[:, None], here, 0.0).T)


def _line(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """a and c, if gradients of all records are −a − (second derivatives)/c; or 0, 0."""
    sizes = np.abs(second)
    counts = np.isfinite(first) & (sizes > _SIZES[0]) & (sizes < _SIZES[1])
    first, second = first[counts], second[counts]
    if len(first) < _FEWEST or np.ptp(second) < _SIZES[0] or np.any(second > 0):
        return 0.0, 0.0
    slope, level = np.polyfit(second, first, 1)
    missed = np.abs(first - level - slope * second)
    if np.any(missed > _ALIKE * (1 + np.abs(second))) or abs(slope) < _ALIKE:
        return 0.0, 0.0
    level, rate = -float(level), -1 / float(slope)
    return (level, rate) if level * rate > _ALIKE else (0.0, 0.0)
