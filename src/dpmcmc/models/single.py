# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Models of one column: a normal, and a Bernoulli."""

from typing import Any

import jax
import jax.numpy as jnp

from dpmcmc.errors import require_positive
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Clamp, Preparation
from dpmcmc.models.noisy_totals import (
    bernoulli_statistics,
    mean_and_sd_statistics,
    mean_statistics,
)
from dpmcmc.models.priors import LogitBeta, Normal, Prior
from dpmcmc.models.settings import Deviation, Range, preparation, require_range

__all__ = ["bernoulli", "normal"]


def normal(
    bounds: Range,
    *,
    sd: float | None = None,
    mean_range: Range | None = None,
    sd_range: Range | None = None,
    mean_centre: float | None = None,
    mean_scale: float | None = None,
    sd_centre: float | None = None,
    sd_scale: float = 1.0,
    before: Preparation | None = None,
) -> Model:
    """A normal, of unknown mean and of known or unknown standard deviation.

    A record is ``{"x": number}``. θ is the mean and, unless it is known, the
    logarithm of the standard deviation; draws show ``mean`` and ``sd``.

    Parameters
    ----------
    bounds
        Public bounds that x is clamped to.
    sd
        The standard deviation, if it is known.
    mean_range, sd_range
        Public ranges that the prior is cut off at. With both (or with ``sd`` and
        ``mean_range``) the log-likelihood is Lipschitz.
    mean_centre, mean_scale
        The prior of the mean is normal: about the middle of its range, or of the
        bounds, with half the width of the bounds as scale, unless given.
    sd_centre, sd_scale
        The prior of log sd is normal: about the logarithm of ``sd_centre``, which is
        a quarter of the width of the bounds (or the geometric middle of
        ``sd_range``) unless given, with ``sd_scale`` as scale.
    before
        What prepares a record first, such as one that makes the column x.
    """
    low, high = require_range("bounds", bounds)
    deviation = Deviation.of(high - low, sd, sd_range, sd_centre, sd_scale)
    mean = _mean_prior((low, high), mean_range, mean_centre, mean_scale)
    prior = Prior({"mean": mean, **deviation.parts})

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        return deviation.log_likelihood(theta, record["x"], theta["mean"])

    def simulate(theta: Any, key: jax.Array, record: Any) -> Any:
        drawn = theta["mean"] + deviation.at(theta) * jax.random.normal(key)
        return {**record, "x": jnp.clip(drawn, low, high)}

    statistics = (
        mean_and_sd_statistics(low, high)
        if deviation.known is None
        else mean_statistics(low, high, deviation.known)
    )
    farthest = max(high - mean.low, mean.high - low)
    return Model(
        log_likelihood,
        prior.log_density,
        prior.initial,
        transform=deviation.shown,
        draw_prior=prior.draw,
        simulate=simulate,
        lipschitz=None if mean_range is None else deviation.lipschitz(farthest),
        preparation=preparation(before, {"x": Clamp(low, high)}),
        statistics=statistics,
    )


def bernoulli(
    *,
    successes: float = 1.0,
    failures: float = 1.0,
    before: Preparation | None = None,
) -> Model:
    """A Bernoulli of unknown probability.

    A record is ``{"x": 0 or 1}``; x is clamped to [0, 1]. θ is the logit; draws show
    the ``probability``. The log-likelihood is Lipschitz with constant 1.

    Parameters
    ----------
    successes, failures
        The prior of the probability is Beta(successes, failures).
    before
        What prepares a record first, such as one that makes the column x.
    """
    prior = Prior({"logit": LogitBeta(successes, failures)})

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        return bernoulli_log_likelihood(theta["logit"], record["x"])

    def simulate(theta: Any, key: jax.Array, record: Any) -> Any:
        return {**record, "x": draw_bernoulli(theta["logit"], key)}

    return Model(
        log_likelihood,
        prior.log_density,
        prior.initial,
        transform=lambda theta: {"probability": jax.nn.sigmoid(theta["logit"])},
        draw_prior=prior.draw,
        simulate=simulate,
        lipschitz=1.0,
        preparation=preparation(before, {"x": Clamp(0, 1)}),
        responses={"x": (0.0, 1.0)},
        statistics=bernoulli_statistics(),
    )


def bernoulli_log_likelihood(logit: Any, value: Any) -> jax.Array:
    """Log-probability of 0 or 1, or of what lies between in proportion."""
    return value * logit - jax.nn.softplus(logit)


def draw_bernoulli(logit: Any, key: jax.Array) -> jax.Array:
    """Draw 0 or 1, as a float."""
    drawn = jax.random.logistic(key, jnp.shape(logit)) < logit
    return drawn.astype(jnp.result_type(float))


def _mean_prior(
    bounds: Range,
    mean_range: Range | None,
    centre: float | None,
    scale: float | None,
) -> Normal:
    low, high = bounds
    if mean_range is None:
        ends = (-float("inf"), float("inf"))
    else:
        low, high = ends = require_range("mean_range", mean_range)
    centre = (low + high) / 2 if centre is None else float(centre)
    scale = (bounds[1] - bounds[0]) / 2 if scale is None else scale
    require_positive("mean_scale", scale, "Give the prior's standard deviation.")
    return Normal(centre, scale, low=ends[0], high=ends[1])
