# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Mixtures of normals in one dimension: the paper's, and one of K components."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jax.scipy.stats import norm

from dpmcmc.errors import require_count, require_positive
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Clamp, Preparation
from dpmcmc.model.responses import Moments
from dpmcmc.models.priors import LogitDirichlet, Normal, Prior, log_weights
from dpmcmc.models.settings import Range, preparation, require_range

__all__ = ["mixture", "two_component_mixture"]


def two_component_mixture(
    bounds: Range,
    *,
    sd: float = math.sqrt(2.0),
    mean_scale: float = math.sqrt(10.0),
    gap_scale: float = 1.0,
    mean_range: Range | None = None,
    gap_range: Range | None = None,
    before: Preparation | None = None,
) -> Model:
    """The paper's mixture (section 4): two normals whose centres share a parameter.

    A record is ``{"x": number}``, drawn from ½ N(mean, sd²) + ½ N(mean + gap, sd²). θ
    is ``mean`` and ``gap``. Its posterior has two modes, (mean, gap) and
    (mean + gap, −gap), drawn apart by the prior alone.

    Parameters
    ----------
    bounds
        Public bounds that x is clamped to.
    sd
        The known standard deviation of a component.
    mean_scale, gap_scale
        Scales of the normal priors about zero.
    mean_range, gap_range
        Public ranges that the prior is cut off at, around zero. With both the
        log-likelihood is Lipschitz.
    before
        What prepares a record first, such as one that makes the column x.
    """
    low, high = require_range("bounds", bounds)
    require_positive("sd", sd, "Give the standard deviation of a component.")
    prior = Prior(
        {
            "mean": _cut_normal("mean", mean_scale, mean_range),
            "gap": _cut_normal("gap", gap_scale, gap_range),
        }
    )

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        first = norm.logpdf(record["x"], theta["mean"], sd)
        second = norm.logpdf(record["x"], theta["mean"] + theta["gap"], sd)
        return jnp.logaddexp(first, second) - jnp.log(2.0)

    def simulate(theta: Any, key: jax.Array, record: Any) -> Any:
        for_side, for_noise = jax.random.split(key)
        side = jax.random.bernoulli(for_side)
        centre = theta["mean"] + jnp.where(side, theta["gap"], 0.0)
        drawn = centre + sd * jax.random.normal(for_noise)
        return {**record, "x": jnp.clip(drawn, low, high)}

    def moments(theta: Any, record: Any) -> tuple[Any, ...]:
        del record
        means = jnp.stack([theta["mean"], theta["mean"] + theta["gap"]])
        return means, jnp.full_like(means, sd), jnp.full_like(means, 0.5)

    lipschitz = None
    if mean_range is not None and gap_range is not None:
        shifts = (min(0.0, gap_range[0]), max(0.0, gap_range[1]))
        farthest = max(
            high - mean_range[0] - shifts[0], mean_range[1] + shifts[1] - low
        )
        lipschitz = math.sqrt(2.0) * farthest / sd**2
    return Model(
        log_likelihood,
        prior.log_density,
        prior.initial,
        draw_prior=prior.draw,
        simulate=simulate,
        responses={"x": Moments(moments)},
        lipschitz=lipschitz,
        preparation=preparation(before, {"x": Clamp(low, high)}),
    )


def mixture(
    bounds: Range,
    *,
    components: int,
    first_scale: float | None = None,
    gap_centre: float | None = None,
    gap_scale: float = 1.0,
    sd_centre: float | None = None,
    sd_scale: float = 0.5,
    concentration: float = 2.0,
    before: Preparation | None = None,
) -> Model:
    """A mixture of K normals in one dimension, in the order of their means.

    A record is ``{"x": number}``. θ holds the ``first`` mean, ``log_gaps`` from each
    mean to the next, ``log_sds``, and ``logits`` of the weights against the first;
    draws show ``means``, ``sds`` and ``weights``. The order makes every component
    one and the same throughout a chain: there is no label to switch.

    With W the width of the bounds and K components, a record's place has the prior
    of components that are spread evenly over the bounds, a gap W/K apart.

    Parameters
    ----------
    bounds
        Public bounds that x is clamped to.
    components
        How many components there are: at least 2.
    first_scale
        The prior of the first mean is normal about the middle of the first of K
        equal parts of the bounds; its scale is W/K unless given.
    gap_centre, gap_scale
        The prior of each log gap is normal about log ``gap_centre``, which is W/K
        unless given.
    sd_centre, sd_scale
        The prior of each log sd is normal about log ``sd_centre``, which is W/(4K)
        unless given.
    concentration
        The prior of the weights is Dirichlet, with this for every component.
    before
        What prepares a record first, such as one that makes the column x.
    """
    low, high = require_range("bounds", bounds)
    count = require_count("components", components, "One is models.normal.", least=2)
    part = (high - low) / count
    scales = {
        "first_scale": part if first_scale is None else first_scale,
        "gap_centre": part if gap_centre is None else gap_centre,
        "gap_scale": gap_scale,
        "sd_centre": part / 4 if sd_centre is None else sd_centre,
        "sd_scale": sd_scale,
    }
    for name, value in scales.items():
        require_positive(name, value, "None, or nothing, takes the default.")
    log_gap, log_sd = math.log(scales["gap_centre"]), math.log(scales["sd_centre"])
    prior = Prior(
        {
            "first": Normal(low + part / 2, scales["first_scale"]),
            "log_gaps": Normal(log_gap, gap_scale, (count - 1,)),
            "log_sds": Normal(log_sd, sd_scale, (count,)),
            "logits": LogitDirichlet(count, concentration),
        }
    )

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        each = norm.logpdf(record["x"], _means(theta), jnp.exp(theta["log_sds"]))
        return logsumexp(log_weights(theta["logits"]) + each)

    def simulate(theta: Any, key: jax.Array, record: Any) -> Any:
        for_component, for_noise = jax.random.split(key)
        component = jax.random.categorical(for_component, log_weights(theta["logits"]))
        sd = jnp.exp(theta["log_sds"])[component]
        drawn = _means(theta)[component] + sd * jax.random.normal(for_noise)
        return {**record, "x": jnp.clip(drawn, low, high)}

    def transform(theta: Any) -> Any:
        return {
            "means": _means(theta),
            "sds": jnp.exp(theta["log_sds"]),
            "weights": jnp.exp(log_weights(theta["logits"])),
        }

    return Model(
        log_likelihood,
        prior.log_density,
        prior.initial,
        transform=transform,
        draw_prior=prior.draw,
        simulate=simulate,
        responses={"x": Moments(lambda theta, _: tuple(transform(theta).values()))},
        preparation=preparation(before, {"x": Clamp(low, high)}),
    )


def _means(theta: Any) -> jax.Array:
    steps = jnp.concatenate(
        [jnp.reshape(theta["first"], 1), jnp.exp(theta["log_gaps"])]
    )
    return jnp.cumsum(steps)


def _cut_normal(name: str, scale: float, ends: Range | None) -> Normal:
    require_positive(f"{name}_scale", scale, "Give the prior's standard deviation.")
    if ends is None:
        return Normal(0.0, scale)
    low, high = require_range(f"{name}_range", ends)
    return Normal(0.0, scale, low=low, high=high)
