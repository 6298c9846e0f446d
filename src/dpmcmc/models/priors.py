# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Priors of ready models: independent parts, one for each leaf of θ."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

from dpmcmc.errors import InputError, require_positive

__all__ = ["LogGamma", "LogitBeta", "LogitDirichlet", "Normal", "Prior", "log_weights"]


class PriorPart(Protocol):
    """The prior of one leaf of θ."""

    def log_density(self, value: jax.Array) -> jax.Array:
        """Return the log-density, up to a constant."""
        ...

    def draw(self, key: jax.Array) -> jax.Array:
        """Draw the leaf."""
        ...

    def start(self) -> Any:
        """Return a public place to start: the middle."""
        ...


@dataclass(frozen=True)
class Normal:
    """Independent normals with one centre and scale, cut off outside a range."""

    centre: float
    scale: float
    shape: tuple[int, ...] = ()
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not math.isfinite(self.centre):
            raise InputError(f"the prior's centre is {self.centre}; make it finite.")
        require_positive("the prior's scale", self.scale, "Choose a wider prior.")
        if not self.low < self.centre < self.high:
            raise InputError(
                f"the prior's centre is {self.centre:g}, outside the range from "
                f"{self.low:g} to {self.high:g}. Move one of them."
            )

    def log_density(self, value: jax.Array) -> jax.Array:
        """Return the log-density, up to the constant of what is cut off."""
        inside = (value >= self.low) & (value <= self.high)
        density = norm.logpdf(value, self.centre, self.scale)
        return jnp.sum(jnp.where(inside, density, -jnp.inf))

    def draw(self, key: jax.Array) -> jax.Array:
        """Draw from what the range leaves."""
        if math.isinf(self.low) and math.isinf(self.high):
            return self.centre + self.scale * jax.random.normal(key, self.shape)
        low, high = ((end - self.centre) / self.scale for end in (self.low, self.high))
        standard = jax.random.truncated_normal(key, low, high, self.shape)
        return jnp.clip(self.centre + self.scale * standard, self.low, self.high)

    def start(self) -> Any:
        """Return the centre."""
        return np.full(self.shape, self.centre) if self.shape else self.centre


@dataclass(frozen=True)
class LogGamma:
    """The logarithm of a rate with a gamma prior."""

    shape: float
    rate: float

    def __post_init__(self) -> None:
        require_positive("shape", self.shape, "About the counts seen before.")
        require_positive("rate", self.rate, "About the records seen before.")

    def log_density(self, value: jax.Array) -> jax.Array:
        """Return a log r − b r: the Jacobian r is in it."""
        return self.shape * value - self.rate * jnp.exp(value)

    def draw(self, key: jax.Array) -> jax.Array:
        """Draw the logarithm of a gamma variable."""
        return jax.random.loggamma(key, self.shape) - math.log(self.rate)

    def start(self) -> float:
        """Return the logarithm of the prior's mean."""
        return math.log(self.shape / self.rate)


@dataclass(frozen=True)
class LogitBeta:
    """The logit of a probability with a Beta prior."""

    successes: float
    failures: float

    def __post_init__(self) -> None:
        for name in ("successes", "failures"):
            advice = "Both 1 make every probability as likely."
            require_positive(name, getattr(self, name), advice)

    def log_density(self, value: jax.Array) -> jax.Array:
        """Return a log p + b log (1 − p): the Jacobian p (1 − p) is in it."""
        yes, no = jax.nn.log_sigmoid(value), jax.nn.log_sigmoid(-value)
        return self.successes * yes + self.failures * no

    def draw(self, key: jax.Array) -> jax.Array:
        """Draw the log ratio of two gamma variables."""
        one, other = jax.random.split(key)
        yes = jax.random.loggamma(one, self.successes)
        return yes - jax.random.loggamma(other, self.failures)

    def start(self) -> float:
        """Return the logit of the prior's mean."""
        return math.log(self.successes / self.failures)


@dataclass(frozen=True)
class LogitDirichlet:
    """Log ratios of weights to the first one, the weights a symmetric Dirichlet."""

    weights: int
    concentration: float

    def __post_init__(self) -> None:
        advice = "1 makes all weights as likely; more draws them together."
        require_positive("concentration", self.concentration, advice)

    def log_density(self, value: jax.Array) -> jax.Array:
        """Return a Σ log wₖ: the Jacobian Π wₖ is in it."""
        return self.concentration * jnp.sum(log_weights(value))

    def draw(self, key: jax.Array) -> jax.Array:
        """Draw log ratios of gamma variables."""
        logs = jax.random.loggamma(key, self.concentration, (self.weights,))
        return logs[1:] - logs[0]

    def start(self) -> np.ndarray:
        """Return equal weights."""
        return np.zeros(self.weights - 1)


def log_weights(logits: jax.Array) -> jax.Array:
    """Logarithms of weights from their log ratios to the first one."""
    return jax.nn.log_softmax(jnp.append(jnp.zeros(1), logits))


@dataclass(frozen=True, eq=False)
class Prior:
    """The prior of θ: one part for each leaf."""

    parts: Mapping[str, PriorPart]

    def log_density(self, theta: Any) -> jax.Array:
        """Return the log-density of θ, up to a constant."""
        densities = [part.log_density(theta[name]) for name, part in self.parts.items()]
        return jnp.sum(jnp.stack(densities))

    def draw(self, key: jax.Array) -> dict[str, jax.Array]:
        """Draw θ."""
        keys = jax.random.split(key, len(self.parts))
        named = zip(self.parts.items(), keys, strict=True)
        return {name: part.draw(one) for (name, part), one in named}

    @property
    def initial(self) -> dict[str, Any]:
        """Where a chain may start: the middle of every part."""
        return {name: part.start() for name, part in self.parts.items()}
