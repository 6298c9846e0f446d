# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Gradient and Hessian of one record's log-likelihood, by way of its predictors.

A log-likelihood is f(η), with η affine in θ (`predictors`): a regression has one η,
whatever the number of coefficients. With A the derivative of η by coordinates v, where
θ = centre + factor · v, the gradient in v is Aᵀ f′ and the Hessian Aᵀ f″ A. Where there
is one η and f is concave in it, the Hessian is −w wᵀ with w = √(−f″) Aᵀ.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from dpmcmc.influence.predictors import Predictors, find_predictors
from dpmcmc.model.model import Model

__all__ = ["Frame", "derivatives", "gradient", "gradient_and_root", "prepared"]
__all__ += ["split_predictors"]


class Frame(NamedTuple):
    """Coordinates v in which records are looked at: θ = centre + factor · v.

    Attributes
    ----------
    centre
        A point, by its coordinates of θ.
    factor
        A column of coordinates of θ for each v.
    """

    centre: Any
    factor: Any


def prepared(model: Model, record: Any) -> Any:
    """A record as the log-likelihood reads it."""
    return record if model.preparation is None else model.preparation(record)


def derivatives(
    model: Model, record: Any, frame: Frame, unravel: Callable[[jax.Array], Any]
) -> tuple[jax.Array, jax.Array]:
    """Gradient and Hessian in v at the centre, for a prepared record."""
    return _derivatives(model, record, _in_precision(frame), unravel)


# Traced once, for all programs that ask for derivatives.
@partial(jax.jit, static_argnames=("model", "unravel"), inline=True)
def _derivatives(
    model: Model, record: Any, frame: Frame, unravel: Callable[[jax.Array], Any]
) -> tuple[jax.Array, jax.Array]:
    slope, second, factors = _by_predictors(model, record, frame, unravel)
    return slope @ factors, factors.T @ second @ factors


def gradient_and_root(
    model: Model, record: Any, frame: Frame, unravel: Callable[[jax.Array], Any]
) -> tuple[jax.Array, jax.Array]:
    """Gradient in v, and w of which the Hessian is −w wᵀ, for a prepared record.

    Only where there is one predictor. Where the log-likelihood is convex in it, w is 0.
    """
    return _gradient_and_root(model, record, _in_precision(frame), unravel)


@partial(jax.jit, static_argnames=("model", "unravel"), inline=True)
def _gradient_and_root(
    model: Model, record: Any, frame: Frame, unravel: Callable[[jax.Array], Any]
) -> tuple[jax.Array, jax.Array]:
    slope, second, factors = _by_predictors(model, record, frame, unravel)
    if len(slope) != 1:
        raise ValueError(f"a Hessian by {len(slope)} predictors has no such root")
    # What is no number stays none, so that the record counts for nothing.
    return slope @ factors, jnp.sqrt(jnp.maximum(-second[0], 0)) * factors[0]


def _by_predictors(
    model: Model, record: Any, frame: Frame, unravel: Callable[[jax.Array], Any]
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """f′, f″ and the derivative of the predictors by v."""
    found, at, factors = _linear_part(model, record, frame, unravel)

    def first(eta: jax.Array) -> tuple[jax.Array, jax.Array]:
        here = jax.grad(
            lambda one: found.log_likelihood(split_predictors(found, one), record)
        )(eta)
        return here, here

    second, slope = jax.jacfwd(first, has_aux=True)(at)
    return slope, second, factors


def gradient(
    model: Model, record: Any, frame: Frame, unravel: Callable[[jax.Array], Any]
) -> tuple[jax.Array, jax.Array]:
    """Log-likelihood and gradient in v at the centre, for a prepared record."""
    found, at, factors = _linear_part(model, record, _in_precision(frame), unravel)
    value, slope = jax.value_and_grad(
        lambda one: found.log_likelihood(split_predictors(found, one), record)
    )(at)
    return value, slope @ factors


def _linear_part(
    model: Model, record: Any, frame: Frame, unravel: Callable[[jax.Array], Any]
) -> tuple[Predictors, jax.Array, jax.Array]:
    """The predictors, their values at the centre, and their derivative by v."""
    centre = unravel(frame.centre)
    found = find_predictors(model.log_likelihood, centre, record)

    def eta(flat: jax.Array) -> jax.Array:
        return ravel_pytree(found.at(unravel(flat), record))[0]

    return found, eta(frame.centre), jax.jacrev(eta)(frame.centre) @ frame.factor


def _in_precision(frame: Frame) -> Frame:
    """The same frame as arrays of JAX."""
    return Frame(*(jnp.asarray(part, jnp.result_type(float)) for part in frame))


def split_predictors(found: Predictors, eta: jax.Array) -> list[jax.Array]:
    """The predictors as arrays of their shapes."""
    parts, start = [], 0
    for place in found.places:
        parts.append(eta[start : start + place.size].reshape(place.shape))
        start += place.size
    return parts
