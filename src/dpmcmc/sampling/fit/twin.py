# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the model has another point that fits every record just as well.

With many records, modes of about the same height are there for one reason: the model
cannot tell two points apart, as with components of a mixture in another order, or a
sign that is squared away. The chain then sees one mode only. Such a point is looked for
on made-up records, from the model and the released mode alone.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import least_squares

from dpmcmc.influence.derivatives import prepared
from dpmcmc.model.model import Model
from dpmcmc.model.tracing import is_double
from dpmcmc.sampling.fit.basis import made_up
from dpmcmc.sampling.fit.fitted import Fitted
from dpmcmc.sampling.fit.questions import Unravel
from dpmcmc.sampling.problem import Problem

__all__ = ["find_twin", "sentence_on"]

_RECORDS = 256
_STARTS, _MOST_FLIPS = 6, 8
"""Random points to look from, and coordinates whose sign is changed."""

_TRIES = 60
"""How often a point is moved."""

_ALIKE = 3e-5
"""Log-likelihoods that differ by less, beside their size, are the same in float32."""

_APART = 10.0
"""A twin is so many posterior sd away; what is nearer is the mode itself."""

_LEAST_PRIOR = -7.0
"""Twins that the prior rules out, by differences of log priors, do not count."""


def find_twin(problem: Problem, fitted: Fitted) -> np.ndarray | None:
    """Another point that fits every record as well as the mode; None if none is found.

    It solves ℓ(θ′, r) = ℓ(mode, r) for made-up records r by least squares, from the
    mode with signs or the order of its coordinates changed, and from random points.
    No record is read.
    """
    look = _looking(problem)
    target, slopes, prior = look(fitted.mode)
    usable = np.flatnonzero(np.isfinite(target))[:_RECORDS]
    # Others stay as they are: nothing here says where they should be.
    is_informed = np.any(_finite(slopes[usable]) != 0, axis=0)
    if not 0 < 2 * is_informed.sum() <= len(usable):
        return None
    weights = 1 / (1 + np.abs(target[usable]))
    precision = np.linalg.inv(fitted.covariance + fitted.shift)

    def whole(informed: np.ndarray) -> np.ndarray:
        point = fitted.mode.copy()
        point[is_informed] = informed
        return point

    def residual(informed: np.ndarray) -> np.ndarray:
        values = look(whole(informed)).values[usable]
        return _finite(weights * (values - target[usable]))

    def gradient(informed: np.ndarray) -> np.ndarray:
        gradients = look(whole(informed)).slopes[usable][:, is_informed]
        return _finite(weights[:, None] * gradients)

    for start in _starts(problem, fitted.mode):
        # MINPACK: other methods decompose matrices on threads, which wait for each
        # other where cores are busy.
        found = least_squares(
            residual, start[is_informed], gradient, method="lm", max_nfev=_TRIES
        )
        point = whole(found.x)
        move = point - fitted.mode
        is_alike = np.max(np.abs(found.fun)) < _ALIKE
        is_apart = move @ precision @ move > _APART**2 * len(move)
        if is_alike and is_apart and look(point).prior - prior > _LEAST_PRIOR:
            return point
    return None


def sentence_on(problem: Problem, mode: np.ndarray, twin: np.ndarray) -> str:
    """Say where the other mode is, by the parameters that differ."""
    here, there = (_values(problem, point) for point in (mode, twin))
    where = [
        f"{name} = {np.array2string(values, precision=3, threshold=6, edgeitems=3)}"
        for name, values in there.items()
        if not np.allclose(values, here[name], rtol=1e-2, atol=1e-3)
    ]
    return (
        f"The posterior has another mode: with {', '.join(where)} the model fits every "
        "record as well. Draws are of one mode alone. Order the parameters, or fix a "
        "sign, to have just one."
    )


def _values(problem: Problem, point: np.ndarray) -> dict[str, np.ndarray]:
    """Parameters by name, as the draws have them."""
    theta = problem.unravel(point)
    if problem.model.transform is not None:
        theta = problem.model.transform(theta)
    return {
        jax.tree_util.keystr(path, simple=True, separator=".") or "θ": np.asarray(leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(theta)
    }


def _starts(problem: Problem, mode: np.ndarray) -> Iterator[np.ndarray]:
    """The mode with signs changed or in another order, and points at random."""
    yield -mode
    for place in range(min(len(mode), _MOST_FLIPS)):
        yield np.where(np.arange(len(mode)) == place, -mode, mode)
    turned = [np.flip(leaf) for leaf in jax.tree.leaves(problem.unravel(mode))]
    yield np.concatenate([np.ravel(leaf) for leaf in turned]).astype(np.float64)
    generator = np.random.default_rng(0)
    for _ in range(_STARTS):
        yield mode + 2 * (1 + np.abs(mode)) * generator.standard_normal(len(mode))


def _looking(problem: Problem) -> Callable[[np.ndarray], "_Look"]:
    """What made-up records and the prior say at a point, by coordinates of θ."""
    records = made_up(problem)
    with jax.enable_x64(is_double(problem.dtype)):
        _, unravel = ravel_pytree(problem.initial)

    def look(point: np.ndarray) -> _Look:
        with jax.enable_x64(is_double(problem.dtype)):
            at = jnp.asarray(point, problem.dtype)
            found = _look(problem.model, unravel, at, records)
        return _Look(*(np.asarray(part, np.float64) for part in found))

    return look


class _Look(NamedTuple):
    """Log-likelihoods of records, their gradients, and the log prior."""

    values: Any
    slopes: Any
    prior: Any


@partial(jax.jit, static_argnames=("model", "unravel"))
def _look(model: Model, unravel: Unravel, point: jax.Array, records: Any) -> _Look:
    def one(record: Any) -> tuple[jax.Array, jax.Array]:
        record = prepared(model, record)
        return jax.value_and_grad(lambda at: model.log_likelihood(unravel(at), record))(
            point
        )

    values, slopes = jax.vmap(one)(records)
    return _Look(values, slopes, model.log_prior(unravel(point)))


def _finite(numbers: np.ndarray) -> np.ndarray:
    return np.nan_to_num(numbers, nan=1e6, posinf=1e6, neginf=-1e6)
