# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A released sum of sufficient statistics: the posterior it makes, and its shape.

All is computed from what was released, with its noise, and from public numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.influence import SumAlone, Unexplained
from dpmcmc.model.statistics import Statistics
from dpmcmc.model.tracing import as_float
from dpmcmc.proposals import Mixture, Proposal, RandomWalk
from dpmcmc.sampling.normal_shape import mode, moved, proposal_about
from dpmcmc.sampling.problem import Problem

__all__ = ["ReleasedSum"]

_FAR, _WIDE = 0.3, 3.0
"""Fraction of wide moves, and how many sd wide they are."""

_ASIDE = 0.01
"""How far from the start the climb to the mode begins, in each coordinate."""


@dataclass(frozen=True, eq=False)
class ReleasedSum:
    """A sum of sufficient statistics, released with noise.

    Attributes
    ----------
    total
        The sum as it was released, in units of the bound.
    margins
        The margins that were released beside it.
    statistics
        What the model states.
    noise
        The sd of the noise, in units of the bound.
    problem
        The model, and the precision of the chain.
    tempering
        The power τ of the likelihood.
    """

    total: np.ndarray
    margins: Sequence[np.ndarray]
    statistics: Statistics
    noise: float
    problem: Problem
    tempering: float

    @property
    def is_aware(self) -> bool:
        """Whether the distribution of the noisy sum is known.

        A tempered likelihood has none.
        """
        return self.statistics.log_density is not None and self.tempering == 1

    @cached_property
    def alone(self) -> SumAlone:
        """The posterior that the sum makes, aware of its noise where that is known."""
        sd = self.noise * self.statistics.bound
        with jax.enable_x64(True):
            noisy = self.statistics.read(
                self.total * self.statistics.bound, self.margins, self.problem.size, sd
            )
        return SumAlone(self.statistics, noisy, self.tempering, self.is_aware)

    @property
    def unexplained(self) -> Unexplained:
        """What of a record enters a decision, where the sum is not sufficient."""
        possible = np.asarray(self.alone.noisy.possible) / self.statistics.bound
        return Unexplained(self.statistics, possible, self.problem.size, self.tempering)

    @cached_property
    def shape(self) -> tuple[np.ndarray, np.ndarray]:
        """Mode and covariance of the posterior that the sum makes."""
        model = self.problem.model
        plain = replace(self.alone, is_aware=False)

        def climb(alone: SumAlone, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            def log_posterior(point: jax.Array) -> jax.Array:
                theta = self._unravel(point)
                prior = as_float(model.log_prior(theta), float)
                return prior + alone.log_density(theta)

            return mode(log_posterior, start)

        with jax.enable_x64(True):
            top, precision = climb(plain, self._start)
            if self.is_aware:
                top, precision = climb(self.alone, top)
        return top, np.linalg.inv(precision)

    @property
    def wide_mean(self) -> Any:
        """The mode as θ, in float64."""
        with jax.enable_x64(True):
            return self._unravel(jnp.asarray(self.shape[0]))

    @property
    def mean(self) -> Any:
        """The mode as θ, in the precision of the chain."""
        return self.problem.unravel(self.shape[0])

    @property
    def proposal(self) -> Proposal:
        """Moves about the posterior that the sum makes.

        Where counts of cells cannot be told from zero, it is far from normal, and as
        wide as the prior: some moves are wide.
        """
        about = proposal_about(self.wide_mean, self.shape[1])
        if self.statistics.cells is None:
            return about
        wide = RandomWalk(_WIDE**2 * self.shape[1])
        return Mixture([(1 - _FAR, about), (_FAR, wide)])

    def mover(
        self, generator: np.random.Generator
    ) -> Callable[[np.ndarray], np.ndarray]:
        """What moves draws by as much as the noise may have moved the posterior.

        To first order: the noise of the sum, times the derivative of φ at the mode,
        shifts the gradient of the log posterior; the mode moves by the covariance
        times that.
        """
        top, covariance = self.shape
        with jax.enable_x64(True):
            derivative = jax.jacfwd(
                lambda point: self.statistics.at(self._unravel(point))[0]
            )(jnp.asarray(top))
            noise = self.alone.noisy.noise_of(derivative @ jnp.asarray(covariance))
        spread = self.tempering**2 * np.asarray(noise)
        return lambda draws: moved(draws, spread, generator)

    @property
    def _start(self) -> np.ndarray:
        """By the start: a log-likelihood may have a kink where a predictor is zero."""
        start = self.problem.ravel(self.problem.initial)
        return start + np.random.default_rng(0).choice([-_ASIDE, _ASIDE], len(start))

    @property
    def _unravel(self) -> Callable[[jax.Array], Any]:
        """What makes θ of coordinates, in float64."""
        with jax.enable_x64(True):
            start = jax.tree.map(
                lambda leaf: jnp.asarray(leaf, float), self.problem.initial
            )
            return ravel_pytree(start)[1]
