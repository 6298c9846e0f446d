# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Sufficient statistics of ready models of one column, with their noisy sums.

A statistic is centred at the middle of its public bounds, so that the bound, and with
it the noise, is as small as can be.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, logsumexp
from jax.scipy.stats import norm

from dpmcmc.model.statistics import NoisyTotal, Statistics, normal_log_density
from dpmcmc.models.priors import log_weights

__all__ = [
    "bernoulli_statistics",
    "categorical_statistics",
    "mean_and_sd_statistics",
    "mean_statistics",
    "poisson_statistics",
    "whitened_mean_statistics",
]

_COUNTS = 2048
"""Counts that a noisy count is compared with, where the sum over them is exact."""

_SDS = 8
"""How many sd of the noise they must reach to either side."""

_CENTRE = 1.25
"""Where 2z² is centred: for |z| ≤ 1, (z, 2z² − 1.25) is nowhere longer than 1.25."""


def mean_statistics(low: float, high: float, sd: float) -> Statistics:
    """Statistics of a normal of known sd: x, from the middle of its bounds."""
    middle, half = (low + high) / 2, (high - low) / 2

    def log_density(theta: Any, noisy: NoisyTotal) -> jax.Array:
        mean = noisy.records * (theta["mean"] - middle)
        variance = noisy.records * sd**2 + noisy.deviation**2
        return -jnp.sum((noisy.total - mean) ** 2) / (2 * variance)

    return Statistics(
        lambda record: jnp.reshape(record["x"] - middle, (1,)),
        lambda theta: jnp.reshape((theta["mean"] - middle) / sd**2, (1,)),
        half,
        constant=lambda theta: -(((theta["mean"] - middle) / sd) ** 2) / 2,
        is_exact=True,
        log_density=log_density,
        nearest=lambda total, records, _: np.clip(
            total, -half * records, half * records
        ),
        words="x",
    )


def mean_and_sd_statistics(low: float, high: float) -> Statistics:
    """Statistics of a normal of unknown mean and sd: x and its square.

    With z = (x − middle)/half they are (z, 2z² − 1.25). The distribution of
    their sum is taken as normal, with the model's mean and covariance.
    """
    middle, half = (low + high) / 2, (high - low) / 2

    def standard(theta: Any) -> tuple[Any, Any]:
        return (theta["mean"] - middle) / half, jnp.exp(theta["log_sd"]) / half

    def of_record(record: Any) -> jax.Array:
        z = (record["x"] - middle) / half
        return jnp.stack([z, 2 * z**2 - _CENTRE])

    def coefficients(theta: Any) -> jax.Array:
        mean, sd = standard(theta)
        return jnp.stack([mean / sd**2, -1 / (4 * sd**2)])

    def constant(theta: Any) -> jax.Array:
        mean, sd = standard(theta)
        return -jnp.log(sd) - (mean**2 + _CENTRE / 2) / (2 * sd**2)

    def log_density(theta: Any, noisy: NoisyTotal) -> jax.Array:
        mean, sd = standard(theta)
        cross = 4 * mean * sd**2
        square = 16 * mean**2 * sd**2 + 8 * sd**4
        one = jnp.stack([jnp.stack([sd**2, cross]), jnp.stack([cross, square])])
        expected = jnp.stack([mean, 2 * (mean**2 + sd**2) - _CENTRE])
        return normal_log_density(
            noisy.total - noisy.records * expected,
            noisy.records * one + noisy.deviation**2 * jnp.eye(2),
        )

    def nearest(total: np.ndarray, records: int, deviation: float) -> np.ndarray:
        """A mean inside the bounds, and a variance of at least its noise."""
        least = min(deviation / (2 * records), 0.5)
        mean = np.clip(total[0] / records, -math.sqrt(1 - least), math.sqrt(1 - least))
        square = (total[1] / records + _CENTRE) / 2
        square = np.clip(square, mean**2 + least, 1)
        return records * np.array([mean, 2 * square - _CENTRE])

    return Statistics(
        of_record,
        coefficients,
        _CENTRE,
        constant=constant,
        is_exact=True,
        log_density=log_density,
        nearest=nearest,
        words="x and its square",
    )


def whitened_mean_statistics(
    radius: float, whitened: Callable[[Any], jax.Array]
) -> Statistics:
    """Statistics of a normal vector of known covariance: the whitened vector."""

    def log_density(theta: Any, noisy: NoisyTotal) -> jax.Array:
        difference = noisy.total - noisy.records * whitened(theta)
        return -jnp.sum(difference**2) / (2 * (noisy.records + noisy.deviation**2))

    return Statistics(
        lambda record: record["x"],
        whitened,
        radius,
        constant=lambda theta: -jnp.sum(whitened(theta) ** 2) / 2,
        is_exact=True,
        log_density=log_density,
        words="x, whitened",
    )


def bernoulli_statistics() -> Statistics:
    """Statistics of a Bernoulli: x − ½. The noisy count's distribution is exact."""

    def log_density(theta: Any, noisy: NoisyTotal) -> jax.Array:
        logit, records = theta["logit"], noisy.records

        def log_mass(count: jax.Array) -> jax.Array:
            log_choices = -gammaln(count + 1) - gammaln(records - count + 1)
            log_mass = count * logit - records * jax.nn.softplus(logit) + log_choices
            return jnp.where(count <= records, log_mass, -jnp.inf)

        probability = jax.nn.sigmoid(logit)
        moments = records * probability, records * probability * (1 - probability)
        return _count_density(noisy.total[0] + records / 2, noisy, log_mass, moments)

    return Statistics(
        lambda record: jnp.reshape(record["x"] - 0.5, (1,)),
        lambda theta: jnp.reshape(theta["logit"], (1,)),
        0.5,
        constant=lambda theta: theta["logit"] / 2 - jax.nn.softplus(theta["logit"]),
        is_exact=True,
        log_density=log_density,
        nearest=lambda total, records, _: np.clip(total, -records / 2, records / 2),
        words="x",
    )


def poisson_statistics(most: float) -> Statistics:
    """Statistics of a Poisson: x less half its bound; the sum has an exact density."""
    middle = most / 2

    def log_density(theta: Any, noisy: NoisyTotal) -> jax.Array:
        log_rate = theta["log_rate"] + jnp.log(noisy.records)
        rate = jnp.exp(log_rate)

        def log_mass(count: jax.Array) -> jax.Array:
            return count * log_rate - rate - gammaln(count + 1)

        count = noisy.total[0] + noisy.records * middle
        return _count_density(count, noisy, log_mass, (rate, rate))

    def constant(theta: Any) -> jax.Array:
        return middle * theta["log_rate"] - jnp.exp(theta["log_rate"])

    return Statistics(
        lambda record: jnp.reshape(record["x"] - middle, (1,)),
        lambda theta: jnp.reshape(theta["log_rate"], (1,)),
        middle,
        constant=constant,
        is_exact=True,
        log_density=log_density,
        nearest=lambda total, records, _: np.clip(
            total, -middle * records, middle * records
        ),
        words="x",
    )


def categorical_statistics(levels: int) -> Statistics:
    """Statistics of a categorical: how many records have each level.

    The distribution of the counts is taken as normal, with the model's moments.
    """

    def cell_of(record: Any) -> jax.Array:
        is_level = jnp.any(record["x"] == 1)
        return jnp.where(is_level, jnp.argmax(record["x"]), -1)

    def log_density(theta: Any, noisy: NoisyTotal) -> jax.Array:
        probabilities = jnp.exp(log_weights(theta["logits"]))
        one = jnp.diag(probabilities) - jnp.outer(probabilities, probabilities)
        return normal_log_density(
            noisy.total - noisy.records * probabilities,
            noisy.records * one + noisy.deviation**2 * jnp.eye(levels),
        )

    def nearest(total: np.ndarray, records: int, _: float) -> np.ndarray:
        """Counts of at least zero that add up to N."""
        counts = np.maximum(total, 0)
        return counts * (records / max(counts.sum(), 1e-300))

    return Statistics(
        cell_of,
        lambda theta: log_weights(theta["logits"]),
        1.0,
        is_exact=True,
        log_density=log_density,
        nearest=nearest,
        words="the levels",
        cells=levels,
    )


def _count_density(
    count: jax.Array,
    noisy: NoisyTotal,
    log_mass: Callable[[jax.Array], jax.Array],
    moments: tuple[jax.Array, jax.Array],
) -> jax.Array:
    """Log-density of a count with normal noise on it.

    It is the sum over the counts that are near, eight sd of the noise at least.
    Where they are too many, the noise is so wide that the count's own distribution may
    be taken as normal.
    """
    deviation = noisy.deviation
    first = jnp.maximum(jnp.floor(count) - _COUNTS // 2, 0)
    near = first + jnp.arange(_COUNTS, dtype=first.dtype)
    exact = logsumexp(log_mass(near) - ((count - near) / deviation) ** 2 / 2)
    mean, variance = moments
    rough = norm.logpdf(count, mean, jnp.sqrt(variance + deviation**2))
    fits = 2 * _SDS * deviation + 2 <= _COUNTS
    # both up to the same constant
    return jnp.where(fits, exact, rough + jnp.log(deviation * math.sqrt(2 * math.pi)))
