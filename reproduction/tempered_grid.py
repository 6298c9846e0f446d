# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The truth of the paper's experiment: the tempered posterior, summed on a grid.

Records are counted in narrow bins, so that a point of the grid costs a thousand
evaluations and not a million. They are simulated, and read outside the boundary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc import InputError, Model

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
        points = {"mean": self.mean[:, None], "gap": self.gap[None, :]}
        return {name: self.moment(values) for name, values in points.items()}

    def moment(self, values: np.ndarray) -> tuple[float, float]:
        """Mean and standard deviation of a function of the points of the grid."""
        mean = float((self.weights * values).sum())
        return mean, float((self.weights * (values - mean) ** 2).sum()) ** 0.5

    def reach(self, name: str) -> tuple[float, float]:
        """The range of a parameter that holds all but a ten-thousandth."""
        points = self.mean if name == "mean" else self.gap
        held = np.cumsum(self.weights.sum(axis=1 if name == "mean" else 0))
        inside = points[(held > _LEFT_OUT / 2) & (held < 1 - _LEFT_OUT / 2)]
        return float(inside[0]), float(inside[-1])

    def levels(self, probabilities: Sequence[float]) -> list[float]:
        """Weights whose contours hold these probabilities, ascending."""
        falling = np.sort(self.weights, axis=None)[::-1]
        held = np.cumsum(falling)
        return sorted(float(falling[np.searchsorted(held, p)]) for p in probabilities)

    def draw(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """Draw independent points of the grid, as rows of mean and gap."""
        cells = generator.choice(self.weights.size, count, p=self.weights.ravel())
        rows, columns = np.unravel_index(cells, self.weights.shape)
        return np.stack([self.mean[rows], self.gap[columns]], axis=1)


def tempered_grid(
    model: Model,
    x: np.ndarray,
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
    x
        Simulated records.
    tempered
        The number N₀ of records that the likelihood counts for.
    mean, gap
        The range of each parameter. It must hold all but a trace of the posterior.
    points
        Points along each axis.
    """
    counts, edges = np.histogram(
        x, np.arange(x.min(), x.max() + 2 * _BIN_WIDTH, _BIN_WIDTH)
    )
    centres = jnp.asarray((edges[1:] + edges[:-1]) / 2, jnp.float32)
    weights_of_bins = jnp.asarray(counts * (tempered / len(x)), jnp.float32)
    rows, columns = np.linspace(*mean, points), np.linspace(*gap, points)

    def log_density(row: jax.Array, column: jax.Array) -> jax.Array:
        theta = {"mean": row, "gap": column}
        each = jax.vmap(lambda c: model.log_likelihood(theta, {"x": c}))(centres)
        return model.log_prior(theta) + weights_of_bins @ each

    across = jnp.asarray(columns, jnp.float32)
    of_row = jax.jit(lambda row: jax.vmap(lambda c: log_density(row, c))(across))
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
