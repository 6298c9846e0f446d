# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A released surrogate: what a chain needs of it, and draws that know of its noise."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from dp_accounting.dp_event import DpEvent
from jax.flatten_util import ravel_pytree

from dpmcmc.influence import Residual
from dpmcmc.model.tracing import is_double
from dpmcmc.proposals import Proposal
from dpmcmc.surrogates.about import proposal_about, scattered

__all__ = ["Surrogate"]

_MORE = 0.75
"""What is added to the variance of moves where the prior alone speaks, in units of the
variance that it has there given the rest."""


@dataclass(frozen=True, eq=False)
class Surrogate:
    """The quadratic part of the log-likelihood, released with noise.

    Coordinates are the whitened v, with θ = centre + factor · v. Records tell of the
    first of them; the others are in the prior alone, and no noise is there.

    Attributes
    ----------
    total
        The sum of the records' vectors as it was released.
    centre, factor
        The point of the expansion, as coordinates of θ; the whitening matrix.
    gradient, hessian
        The released sums over records, zero where records tell nothing; the Hessian is
        negative definite elsewhere.
    gradient_noise, hessian_noise
        The deviation of the noise of an entry of the gradient, and of the diagonal
        of the Hessian; off the diagonal it is smaller by √2.
    tempering
        The power τ of the likelihood.
    top, precision
        Where the surrogate posterior is highest, and how it bends there.
    told
        How many coordinates records tell of.
    influence
        What of a record enters a decision: give it to the acceptance test.
    mean
        The top, as θ.
    event, description
        What it cost, and what was released in words.
    """

    total: np.ndarray
    centre: np.ndarray
    factor: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    gradient_noise: float
    hessian_noise: float
    tempering: float
    top: np.ndarray
    precision: np.ndarray
    told: int
    influence: Residual
    mean: Any
    event: DpEvent
    description: str

    @property
    def covariance(self) -> np.ndarray:
        """The covariance of the surrogate posterior, in the coordinates of θ."""
        root = np.linalg.solve(np.linalg.cholesky(self.precision), self.factor.T)
        return root.T @ root  # symmetric however ill-conditioned

    @property
    def distance(self) -> float:
        """How far the top is from the centre, in deviations of the surrogate.

        It is of the coordinates that records tell of: the others were not expanded.
        """
        told, rest = slice(None, self.told), slice(self.told, None)
        across = self.precision[told, rest]
        lost = across @ np.linalg.solve(self.precision[rest, rest], across.T)
        top, precision = self.top[told], self.precision[told, told] - lost
        return float(np.sqrt(max(top @ precision @ top, 0.0)))

    def part_way(self, reach: float) -> Any:
        """The top; or, if it is farther, the point so many deviations on the way.

        A parabola is believed only near its centre: whoever expands again, or else
        would leap too far, goes no farther than that.
        """
        with jax.enable_x64(True):  # keeps the precision that the leaves have
            flat, unravel = ravel_pytree(self.mean)
        share = min(1.0, reach / max(self.distance, 1e-300))
        point = self.centre + share * (np.asarray(flat, np.float64) - self.centre)
        with jax.enable_x64(is_double(str(flat.dtype))):
            return unravel(jnp.asarray(point, flat.dtype))

    @property
    def noise_covariance(self) -> np.ndarray:
        """The covariance of the shift that the noise makes, in coordinates of θ.

        The noise of the gradient and, a way off from the centre, that of the Hessian
        shift the slope of the log posterior at its top; the top moves by the inverse
        of the precision times that.
        """
        top, size = self.top[: self.told], self.told
        slope = self.gradient_noise**2 * np.eye(size)
        slope += (
            self.hessian_noise**2 / 2 * (top @ top * np.eye(size) + np.outer(top, top))
        )
        spread = (
            self.tempering * np.linalg.solve(self.precision, self.factor.T)[:size].T
        )
        return spread @ slope @ spread.T

    @property
    def proposal(self) -> Proposal:
        """Mostly draws from about the surrogate posterior, else a random walk.

        They are wider where the prior alone speaks: few levels say little of their
        law, and its tails are then heavier than those of a normal law.
        """
        rest = self.precision[self.told :, self.told :]
        root = np.linalg.solve(np.linalg.cholesky(rest), self.factor[:, self.told :].T)
        return proposal_about(self.mean, self.covariance + _MORE * root.T @ root)

    def noise_aware(
        self, draws: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Move each draw by a draw of the shift that the noise makes.

        Parameters
        ----------
        draws
            Coordinates of θ along the last axis, in the order of
            ``jax.flatten_util.ravel_pytree``.
        generator
            Public randomness.
        """
        return scattered(draws, self.noise_covariance, generator)
