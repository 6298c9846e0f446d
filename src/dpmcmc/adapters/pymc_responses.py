# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Responses of a PyMC model: the columns that it explains, with values or moments."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import pytensor.tensor as pt
from pymc.distributions.moments import mean as mean_of
from pytensor.graph.basic import Constant
from pytensor.tensor.random import basic

from dpmcmc.adapters.explained import explained
from dpmcmc.adapters.pymc_densities import PyMCDensities
from dpmcmc.adapters.tensors import in_precision
from dpmcmc.model.responses import Moments, Responses

__all__ = ["pymc_responses"]

_VARIANCES: Mapping[type, Callable[..., Any]] = {
    basic.NormalRV: lambda _, sd: sd**2,
    basic.StudentTRV: lambda nu, _, sd: sd**2 * pt.switch(nu > 2, nu / (nu - 2), 9),
    basic.LaplaceRV: lambda _, b: 2 * b**2,
    basic.LogisticRV: lambda _, s: (s * 3.141592653589793) ** 2 / 3,
    basic.GumbelRV: lambda _, b: (b * 3.141592653589793) ** 2 / 6,
    basic.GammaRV: lambda shape, scale: shape * scale**2,
    basic.ExponentialRV: lambda scale: scale**2,
    basic.LogNormalRV: lambda mu, sd: pt.expm1(sd**2) * pt.exp(2 * mu + sd**2),
    basic.BetaRV: lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1)),
    basic.PoissonRV: lambda mu: mu,
    basic.NegBinomialRV: lambda n, p: n * (1 - p) / p**2,
    basic.BinomialRV: lambda n, p: n * p * (1 - p),
    basic.GeometricRV: lambda p: (1 - p) / p**2,
}
"""Variances by distribution, of PyTensor's parameters. They place nodes of a sum: that
of a Student t without a variance is a number that covers the bulk."""

_LIMITS: Mapping[type, tuple[float | None, float | None]] = {
    basic.GammaRV: (0.0, None),
    basic.ExponentialRV: (0.0, None),
    basic.LogNormalRV: (0.0, None),
    basic.BetaRV: (0.0, 1.0),
    basic.GeometricRV: (1.0, None),
}
"""The least and the greatest value of distributions that have one."""

_MOST = 64
"""Most trials of a binomial whose counts are listed."""


def pymc_responses(parts: PyMCDensities, theta: Mapping[str, Any]) -> Responses | None:
    """The columns that observed variables read as they are, as `explained`."""
    model = parts.one.model
    return explained(
        parts,
        theta,
        lambda name: _values(model[name]),
        lambda name: _moments(parts, model[name]),
    )


def _values(variable: Any) -> tuple[float, ...] | None:
    """All values of a variable, if its distribution lists them."""
    op, parameters = _distribution(variable)
    if isinstance(op, basic.BernoulliRV):
        return (0.0, 1.0)
    if isinstance(op, basic.CategoricalRV):
        number = parameters[0].type.shape[-1]
        return None if number is None else tuple(map(float, range(number)))
    if isinstance(op, basic.BinomialRV) and isinstance(parameters[0], Constant):
        trials = int(parameters[0].data.max())
        return tuple(map(float, range(trials + 1))) if trials < _MOST else None
    return None


def _moments(parts: PyMCDensities, variable: Any) -> Moments | None:
    op, parameters = _distribution(variable)
    spread = _VARIANCES.get(type(op))
    if spread is None:
        return None
    with in_precision():
        function = parts.at_one([mean_of(variable), spread(*parameters)])

    def at(theta: Mapping[str, Any], record: Mapping[str, Any]) -> tuple[Any, Any]:
        mean, variance = function(theta, parts.bound.of_one(record))
        return jnp.reshape(mean, (-1,))[0], jnp.sqrt(jnp.reshape(variance, (-1,))[0])

    is_count = variable.dtype.startswith(("int", "uint"))
    return Moments(at, is_count=is_count, limits=_limits(parts, op, parameters))


def _limits(parts: PyMCDensities, op: Any, parameters: Sequence[Any]) -> Any:
    """The least and the greatest value of a variable, given θ and a record."""
    if not isinstance(op, basic.BinomialRV):
        ends = _LIMITS.get(type(op), (None, None))
        return lambda *_: ends
    with in_precision():
        trials = parts.at_one([parameters[0]])

    def limits(theta: Mapping[str, Any], record: Mapping[str, Any]) -> tuple[Any, Any]:
        (number,) = trials(theta, parts.bound.of_one(record))
        return 0.0, jnp.reshape(number, (-1,))[0]

    return limits


def _distribution(variable: Any) -> tuple[Any, Sequence[Any]]:
    """The operation that draws a variable, and its parameters."""
    op = variable.owner.op
    if not isinstance(op, basic.RandomVariable):
        return op, ()
    return op, op.dist_params(variable.owner)
