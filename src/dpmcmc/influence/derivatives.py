# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Gradient and Hessian of one record's log-likelihood, by way of its predictors.

A log-likelihood is f(η), with η affine in θ (`predictors`): a regression has one η,
whatever the number of coefficients. With A the derivative of η by coordinates v, where
θ = centre + factor · v, the gradient in v is Aᵀ f′ and the Hessian Aᵀ f″ A.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from dpmcmc.influence.predictors import Predictors, find_predictors
from dpmcmc.model.model import Model

__all__ = ["Frame", "derivatives", "gradient", "prepared", "split_predictors"]


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
    found, at, factors = _linear_part(model, record, frame, unravel)

    def first(eta: jax.Array) -> tuple[jax.Array, jax.Array]:
        here = jax.grad(
            lambda one: found.log_likelihood(split_predictors(found, one), record)
        )(eta)
        return here, here

    second, slope = jax.jacfwd(first, has_aux=True)(at)
    return slope @ factors, factors.T @ second @ factors


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
