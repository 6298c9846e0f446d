# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Chains with each kind of clipping, on simulated records, beside the posterior itself.

A chain starts at the mode with a proposal shaped like the posterior, so that what is
seen is what clipping does, and not how long a chain takes to find its way.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.scipy.stats import norm

from dpmcmc.accounting import BarkerBit, most_steps
from dpmcmc.influence.choices import Clipping
from dpmcmc.model.model import Model
from dpmcmc.models import (
    linear_regression,
    logistic_regression,
    two_component_mixture,
)
from dpmcmc.posterior.summary import summarise
from dpmcmc.private import Chains, FullData, Grid, Records, Tape
from dpmcmc.proposals import RandomWalk

__all__ = [
    "Accuracy",
    "Problem",
    "Reference",
    "affordable",
    "at_mode",
    "clipped_test",
    "compare",
    "linear_problem",
    "logistic_problem",
    "mixture_problem",
    "reference",
    "running_chains",
    "student_problem",
]

_NEWTON_STEPS = 25
_CHUNK = 50
_BEST = 2.46
"""About the best scale of Barker's test in one dimension, in standard deviations."""


@dataclass(frozen=True)
class Problem:
    """A model that starts at the mode of its records, and their posterior's shape."""

    model: Model
    records: dict[str, np.ndarray]
    covariance: np.ndarray

    @property
    def count(self) -> int:
        """How many records there are."""
        return len(next(iter(self.records.values())))


@dataclass(frozen=True)
class Reference:
    """Mean and standard deviation of each coordinate, from a chain with no clip."""

    mean: np.ndarray
    sd: np.ndarray


@dataclass(frozen=True)
class Accuracy:
    """How far a chain is off, in posterior sd, and how wide; one a coordinate.

    ``ess`` is the smallest effective sample size.
    """

    off: np.ndarray
    sd_ratio: np.ndarray
    ess: float
    accepted: float


def mixture_problem(count: int, seed: int) -> Problem:
    """The paper's mixture, from simulated records."""
    rng = np.random.default_rng(seed)
    centres = rng.integers(0, 2, count).astype(np.float32)
    x = centres + np.float32(2**0.5) * rng.standard_normal(count, np.float32)
    model = two_component_mixture((-100.0, 100.0))
    return at_mode(model, {"x": x}, {"mean": 0.0, "gap": 1.0})


def logistic_problem(count: int, seed: int) -> Problem:
    """Logistic regression on five coefficients, with exponential covariates."""
    rng = np.random.default_rng(seed)
    x = rng.exponential(size=(count, 4)).astype(np.float32) - 1
    coefficients, intercept = np.array([0.5, -0.5, 0.25, -0.25]), -1.0
    truth = {"coefficients": coefficients, "intercept": intercept}
    logits = x @ coefficients + intercept
    y = (rng.logistic(size=count) < logits).astype(np.float32)
    model = logistic_regression(4, norm=20.0)
    return at_mode(model, {"x": x, "y": y}, truth)


def linear_problem(count: int, seed: int) -> Problem:
    """Linear regression with unknown noise, on exponential covariates."""
    rng = np.random.default_rng(seed)
    x = rng.exponential(size=(count, 3)).astype(np.float32) - 1
    coefficients = np.array([0.5, -0.5, 0.25])
    y = (x @ coefficients + rng.standard_normal(count)).astype(np.float32)
    truth = {"coefficients": coefficients, "intercept": 0.0, "log_sd": 0.0}
    model = linear_regression(3, norm=20.0, bounds=(-50.0, 50.0))
    return at_mode(model, {"x": x, "y": y}, truth)


def student_problem(count: int, seed: int, skew: float = 0.0) -> Problem:
    """Mean and log sd of a normal, on records with t₅ noise, or skewed noise.

    ``skew`` adds so much of a centred exponential: the model has neither.
    """
    rng = np.random.default_rng(seed)
    noise = rng.standard_t(5, size=count) + skew * (rng.exponential(size=count) - 1)

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        result: jax.Array = norm.logpdf(
            record["x"], theta["mean"], jnp.exp(theta["log_sd"])
        )
        return result

    def simulate(theta: Any, key: jax.Array, record: Any) -> Any:
        noise = jnp.exp(theta["log_sd"]) * jax.random.normal(key)
        return {**record, "x": theta["mean"] + noise}

    start = {"mean": noise.mean(), "log_sd": np.log(noise.std())}
    model = Model(log_likelihood, lambda _: 0.0, start, simulate=simulate)
    return at_mode(model, {"x": noise.astype(np.float32)}, start)


def reference(problem: Problem, steps: int, seed: int = 0) -> Reference:
    """Moments of the posterior, by a chain whose ratios are not clipped."""
    test = FullData(Grid.unclipped(problem.count))
    size = len(problem.covariance)
    advance = running_chains(problem, test, _BEST / size**0.5, Tape.seeded(seed))
    draws = _draws(advance, steps)[0][steps // 10 :]
    return Reference(draws.mean(axis=0), draws.std(axis=0))


def compare(
    problem: Problem,
    truth: Reference,
    clipping: Clipping,
    *,
    clip: float,
    scale: float,
    steps: int,
    seed: int,
    tempering: float = 1.0,
) -> Accuracy:
    """Run a clipped chain as `sample` would, and compare it with the posterior."""
    test = clipped_test(problem, clipping, Grid(clip, scale=tempering))
    advance = running_chains(problem, test, scale, Tape.seeded(seed))
    draws, bits = _draws(advance, steps)
    chain = {"theta": draws[None]}
    table = summarise(chain, chain, [str(place) for place in range(draws.shape[1])])
    return Accuracy(
        off=np.abs(draws.mean(axis=0) - truth.mean) / truth.sd,
        sd_ratio=draws.std(axis=0) / truth.sd,
        ess=float(table["ess_bulk"].min()),
        accepted=float(bits.mean()),
    )


def affordable(clip: float, count: int, epsilon: float, delta: float = 1e-6) -> int:
    """How many steps of one chain a budget buys at a clip, whatever the clipping."""
    return most_steps(BarkerBit(clip=clip, records=count), epsilon, delta)


def clipped_test(problem: Problem, clipping: Clipping, grid: Grid) -> FullData:
    """Barker's test with one way of clipping."""
    shapes = Records(problem.records).shape_of_one("float32")
    influence = clipping.influence(problem.model, shapes, grid, problem.count)
    return FullData(grid, influence=influence)


def running_chains(
    problem: Problem, test: FullData, scale: float, tape: Tape
) -> Callable[[int], Any]:
    """Start one chain; what is returned advances it by a number of steps."""
    start = jax.tree.map(jnp.float32, problem.model.initial)
    chains = Chains(
        problem.model,
        Records(problem.records),
        RandomWalk(scale**2 * problem.covariance).fit(start),
        test,
        tape,
        start=jax.tree.map(lambda leaf: leaf[None], start),
        dtype="float32",
        chunk=_CHUNK,
        devices=jax.local_devices()[:1],
    )
    return chains.advance


def _draws(advance: Callable[[int], Any], steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The points of a chain as rows of coordinates, and its bits."""
    sizes = [min(_CHUNK, steps - done) for done in range(0, steps, _CHUNK)]
    released = [jax.device_get(advance(size)) for size in sizes]
    points = [jax.tree.leaves(one.theta) for one in released]
    columns = [
        np.concatenate(parts).astype(float).reshape(steps, -1)
        for parts in zip(*points, strict=True)
    ]
    bits = np.concatenate([one.accepted[:, 0] for one in released])
    return np.concatenate(columns, axis=1), bits


def at_mode(model: Model, records: dict[str, np.ndarray], near: Any) -> Problem:
    """Find the mode by Newton's method; the curvature there is the shape."""
    with jax.enable_x64(True):
        start, unravel = ravel_pytree(jax.tree.map(jnp.float64, near))
        wide = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), records)

        def cost(vector: jax.Array) -> jax.Array:
            theta = unravel(vector)
            each = jax.vmap(model.record_log_likelihood, (None, 0))(theta, wide)
            return -jnp.sum(each) - model.log_prior(theta)

        slope, curvature = jax.jit(jax.grad(cost)), jax.jit(jax.hessian(cost))
        point = start
        for _ in range(_NEWTON_STEPS):
            point -= jnp.linalg.solve(curvature(point), slope(point))
        inverse = np.asarray(jnp.linalg.inv(curvature(point)))
        mode = jax.tree.map(np.asarray, unravel(point))
    return Problem(replace(model, initial=mode), records, (inverse + inverse.T) / 2)
