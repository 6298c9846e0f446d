# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Regressions of counts: Poisson, and negative binomial."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln

from dpmcmc.errors import require_positive
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Clamp, Preparation
from dpmcmc.model.responses import Moments
from dpmcmc.models.design import Design
from dpmcmc.models.priors import Normal, Prior
from dpmcmc.models.settings import Range, preparation, require_range

__all__ = ["negative_binomial_regression", "poisson_regression"]

_SCORE_AT_ZERO = 0.2163
"""No less than log(1 + t)/t − 1/(1 + t), which is at most 0.21622, at t = 2.1626."""

_LONGEST_REACH = 700.0
"""Where exp is finite; no chain could use a bound as large as that."""


def poisson_regression(
    dimension: int,
    *,
    norm: float,
    most: float,
    intercept: bool = True,
    within: float | None = None,
    coefficient_scale: float = 1.0,
    intercept_scale: float = 2.5,
    offset: Range | None = None,
    before: Preparation | None = None,
) -> Model:
    """Poisson regression of counts on covariates, with a log link.

    A record is ``{"x": vector, "y": count}``. θ is ``coefficients`` and
    ``intercept``.

    Parameters
    ----------
    dimension
        The number of covariates: the length of x.
    norm
        The public bound on ‖x‖; a longer x is shrunk.
    most
        The public bound on a count: y is clamped to [0, most].
    intercept
        Whether there is an intercept. Do not put a one into x then.
    within
        The prior is cut off where a coordinate of θ leaves [−within, within]. With
        it the log-likelihood is Lipschitz (unless exp η could overflow).
    coefficient_scale, intercept_scale
        Scales of the normal priors about zero.
    offset
        Public bounds of a column ``offset`` that is added to the predictor, if there is
        one: the logarithm of an exposure.
    before
        What prepares a record first, such as one that stacks columns to x.
    """
    require_positive("most", most, "Give the greatest count.")
    design = Design(dimension, norm, intercept, within, offset)
    prior = Prior(design.parts(coefficient_scale, intercept_scale))

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        log_rate, y = design.predictor(theta, record), record["y"]
        return y * log_rate - jnp.exp(log_rate) - gammaln(y + 1)

    def simulate(theta: Any, key: jax.Array, record: Any) -> Any:
        rate = jnp.exp(design.predictor(theta, record))
        return {**record, "y": _draw_count(key, rate, most)}

    def moments(theta: Any, record: Any) -> tuple[jax.Array, jax.Array]:
        rate = jnp.exp(design.predictor(theta, record))
        return rate, jnp.sqrt(rate)

    return Model(
        log_likelihood,
        prior.log_density,
        prior.initial,
        draw_prior=prior.draw,
        simulate=simulate,
        lipschitz=_poisson_lipschitz(design, most),
        preparation=preparation(before, {**design.clamps, "y": Clamp(0, most)}),
        **design.names(before),
        responses={"y": Moments(moments, is_count=True)},
    )


def negative_binomial_regression(
    dimension: int,
    *,
    norm: float,
    most: float,
    intercept: bool = True,
    concentration: float | None = None,
    within: float | None = None,
    concentration_range: Range | None = None,
    coefficient_scale: float = 1.0,
    intercept_scale: float = 2.5,
    concentration_centre: float | None = None,
    concentration_scale: float = 1.0,
    offset: Range | None = None,
    before: Preparation | None = None,
) -> Model:
    """Negative-binomial regression: counts that vary more than Poisson's.

    A record is ``{"x": vector, "y": count}``. The mean of y is μ = exp(η) and its
    variance μ + μ²/φ. θ is ``coefficients``, ``intercept`` and, unless it is known,
    the logarithm of φ, shown as ``concentration``.

    Parameters
    ----------
    dimension
        The number of covariates: the length of x.
    norm
        The public bound on ‖x‖; a longer x is shrunk.
    most
        The public bound on a count: y is clamped to [0, most].
    intercept
        Whether there is an intercept. Do not put a one into x then.
    concentration
        φ, if it is known; the log-likelihood is then Lipschitz.
    within, concentration_range
        Public ranges that the prior is cut off at: [−within, within] for each
        coefficient and the intercept, and a range of φ. With both the
        log-likelihood is Lipschitz.
    coefficient_scale, intercept_scale
        Scales of the normal priors about zero.
    concentration_centre, concentration_scale
        The prior of log φ is normal: about the logarithm of ``concentration_centre``,
        which is 1 (or the geometric middle of its range) unless given.
    offset
        Public bounds of a column ``offset`` that is added to the predictor, if there is
        one: the logarithm of an exposure.
    before
        What prepares a record first, such as one that stacks columns to x.
    """
    require_positive("most", most, "Give the greatest count.")
    design = Design(dimension, norm, intercept, within, offset)
    parts = design.parts(coefficient_scale, intercept_scale)
    known = None
    if concentration is not None:
        advice = "None makes it a parameter."
        known = math.log(require_positive("concentration", concentration, advice))
    else:
        parts["log_concentration"] = _concentration_prior(
            concentration_range, concentration_centre, concentration_scale
        )
    prior = Prior(parts)

    def log_concentration(theta: Any) -> Any:
        return theta["log_concentration"] if known is None else known

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        log_mean, y = design.predictor(theta, record), record["y"]
        log_phi = log_concentration(theta)
        phi = jnp.exp(log_phi)
        arrangements = gammaln(y + phi) - gammaln(phi) - gammaln(y + 1)
        failures = phi * jax.nn.softplus(log_mean - log_phi)
        return arrangements - failures - y * jax.nn.softplus(log_phi - log_mean)

    def simulate(theta: Any, key: jax.Array, record: Any) -> Any:
        for_gamma, for_count = jax.random.split(key)
        log_phi = log_concentration(theta)
        log_gamma = jax.random.loggamma(for_gamma, jnp.exp(log_phi))
        rate = jnp.exp(design.predictor(theta, record) + log_gamma - log_phi)
        return {**record, "y": _draw_count(for_count, rate, most)}

    def moments(theta: Any, record: Any) -> tuple[jax.Array, jax.Array]:
        mean = jnp.exp(design.predictor(theta, record))
        return mean, jnp.sqrt(mean + mean**2 / jnp.exp(log_concentration(theta)))

    def transform(theta: Any) -> Any:
        rest = {
            name: leaf for name, leaf in theta.items() if name in design.parts(1, 1)
        }
        return {**rest, "concentration": jnp.exp(log_concentration(theta))}

    return Model(
        log_likelihood,
        prior.log_density,
        prior.initial,
        transform=transform if known is None else None,
        draw_prior=prior.draw,
        simulate=simulate,
        lipschitz=_negative_binomial_lipschitz(
            design, most, known, parts.get("log_concentration")
        ),
        preparation=preparation(before, {**design.clamps, "y": Clamp(0, most)}),
        **design.names(before),
        responses={"y": Moments(moments, is_count=True)},
    )


def _draw_count(key: jax.Array, rate: jax.Array, most: float) -> jax.Array:
    """Draw a Poisson count and clamp it.

    A rate far above the clamp is cut off: that it matters has a probability of at most
    e⁻⁵⁰⁰.
    """
    drawn = jax.random.poisson(key, jnp.minimum(rate, 4 * most + 1000))
    return jnp.minimum(drawn.astype(jnp.result_type(float)), most)


def _concentration_prior(
    ends: Range | None, centre: float | None, scale: float
) -> Normal:
    low, high = -math.inf, math.inf
    if ends is not None:
        pair = require_range("concentration_range", ends, positive=True)
        low, high = math.log(pair[0]), math.log(pair[1])
    if centre is not None:
        advice = "Give the prior's median."
        middle = math.log(require_positive("concentration_centre", centre, advice))
    else:
        middle = 0.0 if ends is None else (low + high) / 2
    require_positive("concentration_scale", scale, "Give the prior's scale of log φ.")
    return Normal(middle, scale, low=low, high=high)


def _poisson_lipschitz(design: Design, most: float) -> float | None:
    """Bound |y − exp η| · ‖(1, x)‖."""
    reach = design.farthest
    if reach > _LONGEST_REACH:
        return None
    return math.sqrt(design.squared) * max(most - math.exp(-reach), math.exp(reach))


def _negative_binomial_lipschitz(
    design: Design, most: float, known: float | None, prior: Normal | None
) -> float | None:
    """Bound the slope in η, and in log φ if it is a parameter."""
    if known is not None:
        return math.sqrt(design.squared) * max(most, math.exp(known))
    assert prior is not None
    if design.farthest > _LONGEST_REACH or math.isinf(prior.high):
        return None
    rate, phi = math.exp(design.farthest), math.exp(prior.high)
    in_predictor = max(most, phi * rate / (phi + rate))
    in_log_phi = max(1.0, most, _SCORE_AT_ZERO * rate)
    return math.hypot(math.sqrt(design.squared) * in_predictor, in_log_phi)
