# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The truth of the paper's experiment: the tempered posterior, summed on a grid.

Simulated records are counted in narrow bins, so that a point of the grid costs a
thousand evaluations and not a million.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.model.model import Model

__all__ = ["GridPosterior", "Moments", "tempered_grid"]

Moments = dict[str, tuple[float, float]]
"""Mean and standard deviation, by parameter."""

_BIN_WIDTH = 0.01
_MOST_AT_EDGE = 1e-5
_LEFT_OUT = 1e-4


@dataclass(frozen=True, eq=False)
class GridPosterior:
    """Weights of a posterior over a grid of ``mean`` (rows) and ``gap`` (columns)."""

    mean: np.ndarray
    gap: np.ndarray
    weights: np.ndarray

    def moments(self) -> Moments:
        """Mean and standard deviation of each parameter."""
        found = {}
        for name in ("mean", "gap"):
            points, mass = self._marginal(name)
            centre = float(points @ mass)
            found[name] = (centre, float((points - centre) ** 2 @ mass) ** 0.5)
        return found

    def reach(self, name: str) -> tuple[float, float]:
        """The range of a parameter that holds all but a ten-thousandth."""
        points, mass = self._marginal(name)
        held = np.cumsum(mass)
        inside = points[(held > _LEFT_OUT / 2) & (held < 1 - _LEFT_OUT / 2)]
        return float(inside[0]), float(inside[-1])

    def levels(self, shares: Sequence[float]) -> list[float]:
        """Weights whose contours hold these shares of the posterior, rising."""
        falling = np.sort(self.weights, axis=None)[::-1]
        held = np.cumsum(falling)
        return sorted(float(falling[np.searchsorted(held, share)]) for share in shares)

    def draw(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """Draw independent points of the grid, as rows of mean and gap."""
        cells = generator.choice(self.weights.size, count, p=self.weights.ravel())
        rows, columns = np.unravel_index(cells, self.weights.shape)
        return np.stack([self.mean[rows], self.gap[columns]], axis=1)

    def _marginal(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        if name == "mean":
            return self.mean, self.weights.sum(axis=1)
        return self.gap, self.weights.sum(axis=0)


def tempered_grid(
    model: Model,
    records: np.ndarray,
    tempered: float,
    mean: tuple[float, float] = (-2.5, 3.5),
    gap: tuple[float, float] = (-4.5, 4.5),
    points: int = 181,
) -> GridPosterior:
    """Sum the tempered posterior of simulated records of the mixture on a grid.

    Parameters
    ----------
    model
        The paper's mixture.
    records
        Simulated records: they are read here outside the boundary.
    tempered
        The number N₀ of records that the likelihood counts for.
    mean, gap
        The range of each parameter. It must hold all but a trace of the posterior.
    points
        Points along each axis.
    """
    edges = np.arange(records.min(), records.max() + 2 * _BIN_WIDTH, _BIN_WIDTH)
    counts, edges = np.histogram(records, edges)
    centres = jnp.asarray((edges[1:] + edges[:-1]) / 2, jnp.float32)
    shares = jnp.asarray(counts * (tempered / len(records)), jnp.float32)
    rows, columns = np.linspace(*mean, points), np.linspace(*gap, points)

    def log_density(row: jax.Array, column: jax.Array) -> jax.Array:
        theta = {"mean": row, "gap": column}
        each = jax.vmap(model.log_likelihood, in_axes=(None, 0))(theta, centres)
        return model.log_prior(theta) + shares @ each

    along = jax.vmap(log_density, in_axes=(None, 0))
    across = jnp.asarray(columns, jnp.float32)
    of_row = jax.jit(lambda row: along(row, across))
    logs = np.array([of_row(row) for row in rows.astype(np.float32)], np.float64)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    edge = weights[[0, -1]].sum() + weights[:, [0, -1]].sum()
    if edge > _MOST_AT_EDGE:
        raise InputError(
            f"{edge:.2g} of the posterior lies at the edge of the grid; it must hold "
            "all of it. Widen the ranges of mean and gap, or temper less."
        )
    return GridPosterior(rows, columns, weights)
