# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A random walk that learns its scale and shape from the released chain, for free.

What a kernel learns from is what has been released already, so learning costs no
privacy: `AdaptiveKernel.adapt` is handed points and accepted bits, and nothing else.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.errors import InputError, require_count
from dpmcmc.proposals.base import Noise, Proposed
from dpmcmc.proposals.random_walk import RandomWalk

__all__ = ["Adaptive", "AdaptiveKernel", "best_acceptance", "best_scale"]

_REFRESH = 10
"""Steps between two factorisations of the learnt covariance."""

_SCALE_GAIN, _SCALE_DECAY = 1.0, 0.6
_SHAPE_GAIN, _SHAPE_DELAY = 3.0, 8.0
"""Gains of the t-th step: t^-0.6 for the scale, 3 / (t + 8 (d + 4)) for the shape.
They fall to 0, with a sum that diverges: what is learnt early is forgotten."""

_WIDEST = math.log(1e4)
_RIDGE = 1e-6


def best_acceptance(dimension: int) -> float:
    """The acceptance rate at which a Gaussian walk under Barker's test is best.

    From 0.27 in one dimension, as measured on normal targets by squared jumps, to the
    0.158 that is known for many dimensions.
    """
    return 0.158 + 0.11 / math.sqrt(dimension)


def best_scale(dimension: int) -> float:
    """The scale of the best walk, in standard deviations of a normal target."""
    return 2.46 / math.sqrt(dimension)


class ReleasedStep(Protocol):
    """What a step has released: points and bits, with a leading axis of chains."""

    @property
    def theta(self) -> Any:
        """The points after the step."""
        ...

    @property
    def accepted(self) -> jax.Array:
        """Whether each chain accepted."""
        ...


@dataclass(frozen=True)
class Adaptive:
    """A Gaussian random walk that adapts to the released chain.

    The scale moves towards an acceptance rate that suits Barker's test, the
    covariance towards that of past draws, by ever smaller amounts. All chains
    learn together. It costs no privacy.

    Parameters
    ----------
    walk
        Where to start from: a random walk with its scale. It need not be good; a
        scale that is wrong by a factor of 20 is corrected within some hundred steps.
    target
        The fraction of steps to accept, below ½, which is all that Barker's test can
        accept; `best_acceptance` for the dimension of θ unless given. Shorter moves
        accept more and clip fewer records.
    shape
        Whether the covariance is learnt as well as the scale.
    until
        The number of steps after which it stops adapting, so that the chain from
        then on is a Markov chain with the right distribution; the warm-up unless given.
        ``math.inf`` never stops; then decreasing gains keep the distribution.
    """

    walk: RandomWalk
    target: float | None = None
    shape: bool = True
    until: float | None = None

    def stopping_at(self, warmup: int) -> "Adaptive":
        """The same, with the end of learning settled."""
        return self if self.until is not None else replace(self, until=warmup)

    def fit(self, theta: Any) -> "AdaptiveKernel":
        """Begin at the walk as it was given."""
        if not isinstance(self.walk, RandomWalk):
            raise InputError(
                f"walk is a {type(self.walk).__name__}; it must be a RandomWalk, such "
                "as RandomWalk(scale=0.1)."
            )
        factor = np.asarray(self.walk.fit(theta).factor, np.float64)
        matrix = np.diag(factor) if factor.ndim == 1 else factor
        flat, _ = ravel_pytree(theta)
        if self.until is not None and self.until != math.inf:
            require_count("until", self.until, "Give None for the warm-up.", least=0)
        return AdaptiveKernel(
            count=np.float64(0),
            log_scale=np.float64(0),
            mean=np.asarray(flat, np.float64),
            covariance=matrix @ matrix.T / best_scale(flat.size) ** 2,
            factor=matrix,
            target=np.float64(self._target(flat.size)),
            until=np.float64(math.inf if self.until is None else self.until),
            learns_shape=self.shape,
        )

    def _target(self, dimension: int) -> float:
        if self.target is None:
            return best_acceptance(dimension)
        if not 0 < self.target < 0.5:
            raise InputError(
                f"target is {self.target!r}; it must lie between 0 and ½, which is "
                "what Barker's test accepts of the smallest moves. Leave it out for "
                f"{best_acceptance(dimension):.2f}."
            )
        return self.target


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AdaptiveKernel:
    """Moves θ by L z, and learns L; its numbers are float64 whatever θ is.

    ``factor`` is L: after each refreshment L Lᵀ = (2.46 e^λ)² Σ / d, with λ the
    log-scale and Σ the covariance.
    """

    count: Any
    log_scale: Any
    mean: Any
    covariance: Any
    factor: Any
    target: Any
    until: Any
    learns_shape: bool = field(metadata={"static": True})

    def propose(self, theta: Any, noise: Noise) -> Proposed:
        """Propose θ + L z. It is symmetric: its log-density ratio is zero."""
        flat, unravel = ravel_pytree(theta)
        move = self.factor @ noise.normals(flat.size)
        return Proposed(unravel(flat + move.astype(flat.dtype)), 0.0)

    def adapt(self, released: ReleasedStep) -> "AdaptiveKernel":
        """Learn from one step of all chains, or stay as it is once learning is over."""
        points = jax.vmap(lambda point: ravel_pytree(point)[0])(released.theta)
        rate = jnp.mean(released.accepted, dtype=self.log_scale.dtype)
        return jax.lax.cond(
            self.count < self.until,
            lambda kernel: kernel._learn(points.astype(kernel.mean.dtype), rate),
            lambda kernel: kernel,
            self,
        )

    def _learn(self, points: jax.Array, rate: jax.Array) -> "AdaptiveKernel":
        count = self.count + 1
        gain = _SCALE_GAIN * count**-_SCALE_DECAY
        log_scale = jnp.clip(
            self.log_scale + gain * (rate - self.target), -_WIDEST, _WIDEST
        )
        mean, covariance = self.mean, self.covariance
        if self.learns_shape:
            weight = _SHAPE_GAIN / (count + _SHAPE_DELAY * (mean.size + 4))
            away = points - mean
            spread = away.T @ away / len(points)
            mean = mean + weight * jnp.mean(away, axis=0)
            covariance = covariance + weight * (spread - covariance)
        learnt = replace(
            self, count=count, log_scale=log_scale, mean=mean, covariance=covariance
        )
        return jax.lax.cond(
            count % _REFRESH == 0,
            AdaptiveKernel._refreshed,
            lambda kernel: kernel,
            learnt,
        )

    def _refreshed(self) -> "AdaptiveKernel":
        """Factor the covariance; if rounding has spoilt it, the old factor stays."""
        ridge = jnp.diag(_RIDGE * jnp.diagonal(self.covariance))
        root = jnp.linalg.cholesky(self.covariance + ridge)
        factor = best_scale(self.mean.size) * jnp.exp(self.log_scale) * root
        return replace(
            self, factor=jnp.where(jnp.all(jnp.isfinite(factor)), factor, self.factor)
        )
