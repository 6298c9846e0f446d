# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Climbing the evidence bound on noisy sums: everything here is already private.

The mean of the guide climbs the noisy gradient by Adam. Where the bound is stationary
in the covariance, the precision is minus the expected curvature of the log posterior,
so that a running mean of noisy curvatures leads there. The same mean says how much a
record tells of each coordinate, which sets the units in which records are clipped.
What late steps found is averaged.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.variational.guides import GuideGradient, Points

__all__ = ["Problem", "Sums", "climb"]

_NEWEST = 0.02
"""Weight of the newest curvature in the running mean, once it has run in."""

_WIDEST = 0.1
"""Largest deviation of the guide along the way, in units of the scale."""

_LATE = 2 / 3
"""From which part of the steps on they are averaged."""

_CHANGE = 1.1
"""By how much the units of a coordinate may change in a step."""


class Sums(Protocol):
    """Where noisy sums come from: `NoisySums`, known here by what is asked of it."""

    def release(self, public: Any) -> np.ndarray:
        """Release the noisy sum over the next batch."""
        ...

    def normals(self, count: int) -> np.ndarray:
        """Read standard normal numbers for public use."""
        ...


@dataclass(frozen=True)
class Problem:
    """The public side of a fit, in the coordinates of θ.

    Attributes
    ----------
    gradient
        What each record is asked.
    log_prior
        The log prior of θ.
    start, scale
        Where to start, and how far the answer may be from there.
    dtype
        The precision of the log-likelihood.
    batch, noise_multiplier, tempered
        How many records a sum is over, the noise on it, and how many records the
        likelihood counts for.
    steps, pairs, clip, learning_rate
        As in `Variational`.
    told
        Of each coordinate, whether records tell of it. What they say of the others is
        zero, so that the noise there is thrown away and the prior leads alone.
    """

    gradient: GuideGradient
    log_prior: Callable[[Any], jax.Array]
    start: np.ndarray
    scale: np.ndarray
    dtype: str
    batch: int
    noise_multiplier: float
    tempered: float
    steps: int
    pairs: int
    clip: float
    learning_rate: float
    told: np.ndarray


class _State(NamedTuple):
    """The guide, and what is known of how much a record tells.

    ``told`` is a running mean of minus the curvature of a record, ``blur`` the share
    of the variance of one step's noise that it has, and ``units`` the entries of its
    diagonal that weigh the next derivatives.
    """

    mean: np.ndarray
    covariance: np.ndarray
    told: np.ndarray
    blur: float
    units: np.ndarray
    adam: Any


def climb(
    problem: Problem, sums: Sums, done: Callable[[int], object]
) -> tuple[np.ndarray, np.ndarray]:
    """Run the steps and return mean and covariance, averaged over late steps.

    ``done`` is called with 1 after each step.
    """
    size, steps = len(problem.start), problem.steps
    normals = sums.normals(steps * problem.pairs * size)
    normals = normals.reshape(steps, problem.pairs, size)
    prior_derivatives = _prior_derivatives(problem)
    adam, ascend = _adam(problem)
    units = 1 / problem.scale**2
    covariance = np.diag((_WIDEST * problem.scale) ** 2)
    state = _State(problem.start, covariance, np.diag(units), 0.0, units, adam)
    means, ascents, tolds = [], [], []
    for step in range(steps):
        public = _points(problem, state, normals[step])
        noisy = sums.release(public) / problem.batch
        slope, curvature = problem.gradient.read(noisy, public)
        slope = np.where(problem.told, slope, 0.0)
        curvature = np.where(np.outer(problem.told, problem.told), curvature, 0.0)
        prior_slope, prior = prior_derivatives(public)
        ascent = slope + prior_slope / problem.tempered
        move, adam = ascend(ascent, state.adam)
        newest = max(1 / (step + 2), _NEWEST)
        told = (1 - newest) * state.told - newest * curvature
        blur = (1 - newest) ** 2 * state.blur + newest**2
        means.append(state.mean)
        ascents.append(ascent)
        tolds.append(-curvature)
        state = _State(
            mean=state.mean + move,
            covariance=_covariance(
                problem, _lifted(problem, told, state.units, blur), prior, _WIDEST
            ),
            told=told,
            blur=blur,
            units=_units(told, state.units),
            adam=adam,
        )
        done(1)
    mean, ascent, told = (
        np.mean(found[int(_LATE * steps) :], axis=0)
        for found in (means, ascents, tolds)
    )
    told = _lifted(problem, told, state.units, 1 / (steps - int(_LATE * steps)))
    covariance = _covariance(problem, told, prior, 1.0)
    return mean + _last_move(problem, covariance, ascent), covariance


def _last_move(
    problem: Problem, covariance: np.ndarray, ascent: np.ndarray
) -> np.ndarray:
    """Move to the top of the parabola that the late steps saw.

    Each late slope is about −precision · (where it was taken − the top), plus noise;
    so their mean leads from the mean of where they were taken to the top, with the
    noise of all of them averaged, however fast or slowly Adam moved. It is a last
    refinement: no longer than the guide was wide.
    """
    move = problem.tempered * covariance @ ascent
    length = float(np.linalg.norm(move / problem.scale))
    return move * min(1.0, _WIDEST / max(length, 1e-300))


def _points(problem: Problem, state: _State, normals: np.ndarray) -> Points:
    """Place the points of a step, in the precision of the log-likelihood."""
    factor = np.linalg.cholesky(state.covariance)
    moves = normals @ factor.T
    thetas = np.concatenate([state.mean + moves, state.mean - moves])
    radius = np.asarray(_radius(problem))
    points = Points(thetas, 1 / np.sqrt(state.units), radius)
    return Points(*(part.astype(problem.dtype) for part in points))


def _units(told: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Follow what a record tells, but not at once, and not where that is negative."""
    told_each = np.diag(told)
    followed = np.clip(told_each, units / _CHANGE, units * _CHANGE)
    return np.where(told_each > 0, followed, units)


def _lifted(
    problem: Problem, told: np.ndarray, units: np.ndarray, blur: float
) -> np.ndarray:
    """Lift what is told in every direction above the noise that is known to be in it.

    Where there is little but noise, a direction would else look as if nothing were
    known of it, and the guide would be far too wide.
    """
    noise = problem.noise_multiplier / problem.batch * math.sqrt(blur)
    noise *= problem.gradient.curvature_scale(_radius(problem))
    roots, chosen = np.sqrt(units), np.ix_(problem.told, problem.told)
    values, vectors = np.linalg.eigh((told / roots / roots[:, None])[chosen])
    lifted = np.zeros_like(told)
    lifted[chosen] = (vectors * np.maximum(values, 2 * noise)) @ vectors.T
    return lifted * roots * roots[:, None]


def _radius(problem: Problem) -> float:
    """The length at which a record's vector is clipped, in units of its slopes."""
    return problem.clip * math.sqrt(np.sum(problem.told))


def _covariance(
    problem: Problem, told: np.ndarray, prior_curvature: np.ndarray, widest: float
) -> np.ndarray:
    """The covariance of the guide, no wider than so many times the scale."""
    precision = problem.tempered * told - prior_curvature
    if not problem.gradient.full:
        precision = np.diag(np.diag(precision))
    scaled = precision * problem.scale * problem.scale[:, None]
    values, vectors = np.linalg.eigh(np.nan_to_num(scaled))
    inverse = (vectors / np.maximum(values, 1 / widest**2)) @ vectors.T
    return inverse * problem.scale * problem.scale[:, None]


def _prior_derivatives(
    problem: Problem,
) -> Callable[[Points], tuple[np.ndarray, np.ndarray]]:
    """Return a function that gives slope and curvature of the log prior."""
    compiled = jax.jit(
        lambda public: problem.gradient.derivatives(problem.log_prior, public)
    )

    def derivatives(public: Points) -> tuple[np.ndarray, np.ndarray]:
        with jax.enable_x64(problem.dtype == "float64"):
            found = compiled(public)
        slope, curvature = (np.asarray(part, np.float64) for part in found)
        return slope, curvature

    return derivatives


def _adam(
    problem: Problem,
) -> tuple[Any, Callable[[np.ndarray, Any], tuple[np.ndarray, Any]]]:
    """Return Adam's first state, and a function from a slope to the mean's move."""
    import optax  # noqa: PLC0415 - slow to import

    schedule = optax.cosine_decay_schedule(problem.learning_rate, problem.steps)
    optimiser = optax.adam(schedule)
    update = jax.jit(optimiser.update)

    def ascend(slope: np.ndarray, state: Any) -> tuple[np.ndarray, Any]:
        with jax.enable_x64(True):
            move, state = update(-slope * problem.scale, state)
        return np.asarray(move) * problem.scale, state

    with jax.enable_x64(True):
        return optimiser.init(jnp.asarray(problem.start, jnp.float64)), ascend
