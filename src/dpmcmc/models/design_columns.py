# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""More models of one column: a count, a level, and a vector of known covariance."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from dpmcmc.errors import InputError, require_count, require_positive
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Clamp, ClampNorm, OneHot, Preparation, Step, Whiten
from dpmcmc.models.naming import named, names_from
from dpmcmc.models.noisy_totals import (
    categorical_statistics,
    poisson_statistics,
    whitened_mean_statistics,
)
from dpmcmc.models.priors import LogGamma, LogitDirichlet, Normal, Prior, log_weights
from dpmcmc.models.settings import preparation

__all__ = ["categorical", "normal_mean", "poisson"]


def poisson(
    most: float,
    *,
    shape: float = 1.0,
    rate: float = 0.1,
    before: Preparation | None = None,
) -> Model:
    """Counts of one unknown rate.

    A record is ``{"x": count}``. θ is ``log_rate``; draws show the ``rate``.

    Parameters
    ----------
    most
        The public bound on a count: x is clamped to [0, most].
    shape, rate
        The prior of the rate is Gamma(shape, rate), of mean shape/rate.
    before
        What prepares a record first, such as one that makes the column x.
    """
    require_positive("most", most, "Give the greatest count.")
    prior = Prior({"log_rate": LogGamma(shape, rate)})

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        log_rate, x = theta["log_rate"], record["x"]
        return x * log_rate - jnp.exp(log_rate) - gammaln(x + 1)

    def simulate(theta: Any, key: jax.Array, record: Any) -> Any:
        # a rate far above the clamp is cut off: the probability that it matters is nil
        drawn = jax.random.poisson(
            key, jnp.minimum(jnp.exp(theta["log_rate"]), 4 * most + 1000)
        )
        x = jnp.minimum(drawn.astype(jnp.result_type(float)), most)
        return {**record, "x": x}

    return Model(
        log_likelihood,
        prior.log_density,
        prior.initial,
        transform=lambda theta: {"rate": jnp.exp(theta["log_rate"])},
        draw_prior=prior.draw,
        simulate=simulate,
        preparation=preparation(before, {"x": Clamp(0, most)}),
        responses={"x": None},
        statistics=poisson_statistics(most),
    )


def categorical(
    levels: int | Sequence[int],
    *,
    concentration: float = 1.0,
    before: Preparation | None = None,
) -> Model:
    """A level among several, of unknown probabilities.

    A record is ``{"x": code}``; one whose code is no level counts for nothing. θ is
    ``logits``, log ratios to the first probability; draws show ``probabilities``.

    Parameters
    ----------
    levels
        How many levels there are, with the codes 0, 1, …; or the codes.
    concentration
        The prior of the probabilities is a symmetric Dirichlet.
    before
        What prepares a record first, such as one that makes the column x.
    """
    coded = OneHot(levels)
    codes = tuple(coded.levels)  # type: ignore[arg-type]
    count, names = len(codes), tuple(map(str, codes))
    prior = Prior({"logits": LogitDirichlet(count, concentration)})

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        return jnp.sum(record["x"] * log_weights(theta["logits"]))

    def simulate(theta: Any, key: jax.Array, record: Any) -> Any:
        drawn = jax.random.categorical(key, log_weights(theta["logits"]))
        return {**record, "x": jax.nn.one_hot(drawn, count)}

    return Model(
        log_likelihood,
        prior.log_density,
        prior.initial,
        transform=lambda theta: {
            "probabilities": jnp.exp(log_weights(theta["logits"]))
        },
        draw_prior=prior.draw,
        simulate=simulate,
        preparation=preparation(before, {"x": coded}),
        **(
            {}
            if codes == tuple(range(count))
            else named("probabilities", "level", names)
        ),
        responses={"x": None},
        statistics=categorical_statistics(count),
    )


def normal_mean(
    covariance: Any,
    *,
    radius: float,
    centre: Sequence[float] | np.ndarray | None = None,
    mean_scale: float = 10.0,
    before: Preparation | None = None,
) -> Model:
    """A normal vector of unknown mean and known covariance.

    A record is ``{"x": vector}``. It is whitened: with covariance = L Lᵀ it becomes
    L⁻¹(x − centre), and is shrunk to the public ``radius`` where it is longer. About
    its own mean a whitened vector is √d long. θ is the ``mean``.

    Parameters
    ----------
    covariance
        The covariance of a record, which is public.
    radius
        The public bound on the length of a whitened record.
    centre
        A public guess of the mean; zero unless given.
    mean_scale
        The prior of each entry of the mean is normal about the centre, with this
        deviation.
    before
        What prepares a record first, such as one that stacks columns to x.
    """
    size = require_count("the size", np.shape(covariance)[0], "Give a square matrix.")
    require_positive("radius", radius, "About twice the root of the size is usual.")
    require_positive("mean_scale", mean_scale, "Give the prior's standard deviation.")
    middle = np.zeros(size) if centre is None else np.asarray(centre, np.float64)
    if middle.shape != (size,):
        raise InputError(
            f"centre is of shape {middle.shape}; it must have {size} entries."
        )
    whiten = Whiten(tuple(middle), covariance)
    spread = Normal(0.0, mean_scale, (size,))

    def whitened(theta: Any) -> jax.Array:
        return whiten(jnp.asarray(theta["mean"]))

    def log_prior(theta: Any) -> jax.Array:
        mean = jnp.asarray(theta["mean"])
        return spread.log_density(mean - jnp.asarray(middle, mean.dtype))

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        return -jnp.sum((record["x"] - whitened(theta)) ** 2) / 2

    def simulate(theta: Any, key: jax.Array, record: Any) -> Any:
        drawn = whitened(theta) + jax.random.normal(key, (size,))
        return {**record, "x": ClampNorm(radius)(drawn)}

    steps: list[Step] = [whiten, ClampNorm(radius)]
    return Model(
        log_likelihood,
        log_prior,
        {"mean": middle},
        draw_prior=lambda key: {"mean": jnp.asarray(middle) + spread.draw(key)},
        simulate=simulate,
        preparation=preparation(before, {"x": steps}),
        **named("mean", "coordinate", names_from(before, size)),
        statistics=whitened_mean_statistics(radius, whitened),
    )
