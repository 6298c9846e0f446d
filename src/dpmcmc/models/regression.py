# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Linear and logistic regression."""

import math
from typing import Any

import jax
import jax.numpy as jnp

from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Clamp, Preparation
from dpmcmc.model.responses import Moments
from dpmcmc.models.design import Design
from dpmcmc.models.priors import Prior
from dpmcmc.models.products import product_statistics
from dpmcmc.models.settings import Deviation, Range, preparation, require_range
from dpmcmc.models.single import bernoulli_log_likelihood, draw_bernoulli

__all__ = ["linear_regression", "logistic_regression"]


def linear_regression(
    dimension: int,
    *,
    norm: float,
    bounds: Range,
    intercept: bool = True,
    sd: float | None = None,
    within: float | None = None,
    sd_range: Range | None = None,
    coefficient_scale: float | None = None,
    intercept_scale: float | None = None,
    sd_centre: float | None = None,
    sd_scale: float = 1.0,
    offset: Range | None = None,
    before: Preparation | None = None,
) -> Model:
    """Linear regression with normal noise.

    A record is ``{"x": vector, "y": number}``. θ is ``coefficients``, ``intercept``
    and, unless it is known, the logarithm of the noise's standard deviation, which
    draws show as ``sd``.

    Parameters
    ----------
    dimension
        The number of covariates: the length of x.
    norm
        The public bound on ‖x‖; a longer x is shrunk.
    bounds
        Public bounds that y is clamped to.
    intercept
        Whether there is an intercept. Do not put a one into x then.
    sd
        The standard deviation of the noise, if it is known.
    within, sd_range
        Public ranges that the prior is cut off at: [−within, within] for each
        coefficient and the intercept, and a range of the standard deviation. With
        both (or with ``sd`` and ``within``) the log-likelihood is Lipschitz.
    coefficient_scale, intercept_scale
        Scales of the normal priors. Unless given: the width of the bounds over
        ``norm``, about zero; and half the width, about the middle of the bounds.
    sd_centre, sd_scale
        The prior of log sd is normal: about the logarithm of ``sd_centre``, which is
        a quarter of the width of the bounds (or the geometric middle of
        ``sd_range``) unless given, with ``sd_scale`` as scale.
    offset
        Public bounds of a column ``offset`` that is added to the predictor, if there is
        one.
    before
        What prepares a record first, such as one that stacks columns to x.
    """
    low, high = require_range("bounds", bounds)
    design = Design(dimension, norm, intercept, within, offset)
    width = high - low
    deviation = Deviation.of(width, sd, sd_range, sd_centre, sd_scale)
    slopes = design.parts(
        width / norm if coefficient_scale is None else coefficient_scale,
        width / 2 if intercept_scale is None else intercept_scale,
        (low + high) / 2,
    )
    prior = Prior({**slopes, **deviation.parts})

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        mean = design.predictor(theta, record)
        return deviation.log_likelihood(theta, record["y"], mean)

    def simulate(theta: Any, key: jax.Array, record: Any) -> Any:
        noise = deviation.at(theta) * jax.random.normal(key)
        drawn = design.predictor(theta, record) + noise
        return {**record, "y": jnp.clip(drawn, low, high)}

    farthest = max(high + design.farthest, design.farthest - low)
    bounded = within is not None
    return Model(
        log_likelihood,
        prior.log_density,
        prior.initial,
        transform=deviation.shown,
        draw_prior=prior.draw,
        simulate=simulate,
        lipschitz=deviation.lipschitz(farthest, design.squared) if bounded else None,
        preparation=preparation(before, {**design.clamps, "y": Clamp(low, high)}),
        **design.names(before),
        responses={
            "y": Moments(
                lambda theta, record: (
                    design.predictor(theta, record),
                    deviation.at(theta),
                )
            )
        },
        statistics=None
        if offset is not None
        else product_statistics(design, deviation, low, high),
    )


def logistic_regression(
    dimension: int,
    *,
    norm: float,
    intercept: bool = True,
    coefficient_scale: float = 2.5,
    intercept_scale: float = 2.5,
    offset: Range | None = None,
    before: Preparation | None = None,
) -> Model:
    """Logistic regression.

    A record is ``{"x": vector, "y": 0 or 1}``; y is clamped to [0, 1]. θ is
    ``coefficients`` and ``intercept``. The log-likelihood is Lipschitz with constant
    √(norm² + 1), or ``norm`` without an intercept.

    Parameters
    ----------
    dimension
        The number of covariates: the length of x.
    norm
        The public bound on ‖x‖; a longer x is shrunk.
    intercept
        Whether there is an intercept. Do not put a one into x then.
    coefficient_scale, intercept_scale
        Scales of the normal priors about zero.
    offset
        Public bounds of a column ``offset`` that is added to the predictor, if there is
        one.
    before
        What prepares a record first, such as one that stacks columns to x.
    """
    design = Design(dimension, norm, intercept, None, offset)
    prior = Prior(design.parts(coefficient_scale, intercept_scale))

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        return bernoulli_log_likelihood(design.predictor(theta, record), record["y"])

    def simulate(theta: Any, key: jax.Array, record: Any) -> Any:
        return {**record, "y": draw_bernoulli(design.predictor(theta, record), key)}

    return Model(
        log_likelihood,
        prior.log_density,
        prior.initial,
        draw_prior=prior.draw,
        simulate=simulate,
        lipschitz=math.sqrt(design.squared),
        preparation=preparation(before, {**design.clamps, "y": Clamp(0, 1)}),
        **design.names(before),
        responses={"y": (0.0, 1.0)},
    )
