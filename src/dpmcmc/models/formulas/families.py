# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Families: the distribution of a response given its linear predictor η.

A family works on the response as it is prepared: a number in units of its bounds, the
logarithm of a duration, a count, or the code of a level.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import digamma, gammaln, polygamma
from jax.scipy.stats import norm, t

from dpmcmc.models.formulas.response import Response

__all__ = ["FAMILIES", "Family", "Given"]

_EULER = 0.5772156649015329


class Given(NamedTuple):
    """What the distribution of a response depends on.

    ``extra`` holds the family's other parameters on their natural scale, and ``record``
    the columns that it reads beside the response, such as the number of trials.
    """

    eta: Any
    extra: Mapping[str, Any]
    response: Response
    record: Mapping[str, Any]

    @property
    def beside(self) -> Any:
        """The column that is read with the response."""
        assert self.response.beside is not None
        return self.record[self.response.beside]


@dataclass(frozen=True, eq=False)
class Family:
    """How a response is distributed.

    Attributes
    ----------
    name
        What it is called in a formula.
    kind
        What the response is: "number", "yes-no", "trials", "count", "ordered",
        "levels" or "positive".
    log_density
        Of a prepared response, `Given` what it depends on.
    draw
        A prepared response, from a JAX random key.
    mean
        The mean of the response as the table has it, or the probabilities of levels.
    moments
        Mean and sd of the prepared response, where they place nodes.
    positive
        Centre and scale of the normal prior of the logarithm of each further
        parameter.
    ratio
        What exp of a coefficient is called, if it has a name.
    """

    name: str
    kind: str
    log_density: Callable[[Any, Given], Any]
    draw: Callable[[jax.Array, Given], Any]
    mean: Callable[[Given], Any]
    moments: Callable[[Given], tuple[Any, Any]] | None = None
    positive: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    ratio: str | None = None


def _original(at: Given) -> Any:
    return at.response.original(at.eta)


def _exp(at: Given) -> Any:
    return jnp.exp(at.eta)


def _count(key: Any, rate: Any, at: Given) -> Any:
    """A Poisson count; that a rate is cut off matters with probability e⁻⁵⁰⁰."""
    most = at.response.most
    drawn = jax.random.poisson(key, jnp.minimum(rate, 4 * most + 1000))
    return jnp.minimum(drawn.astype(jnp.result_type(float)), most)


_gaussian = Family(
    "gaussian",
    "number",
    lambda y, at: norm.logpdf(y, at.eta, at.extra["sd"]),
    lambda key, at: at.eta + at.extra["sd"] * jax.random.normal(key, jnp.shape(at.eta)),
    _original,
    lambda at: (at.eta, at.extra["sd"]),
    {"sd": (0.0, 1.0)},
)


def _student_draw(key: Any, at: Given) -> Any:
    return at.eta + at.extra["sd"] * jax.random.t(key, at.extra["nu"])


_student = Family(
    "student-t",
    "number",
    lambda y, at: t.logpdf(y, at.extra["nu"], at.eta, at.extra["sd"]),
    _student_draw,
    _original,
    lambda at: (at.eta, 2 * at.extra["sd"]),
    {"sd": (-0.7, 1.0), "nu": (2.0, 0.8)},
)


def _bernoulli_draw(key: Any, at: Given) -> Any:
    return jnp.where(jax.random.logistic(key, jnp.shape(at.eta)) < at.eta, 1.0, 0.0)


_bernoulli = Family(
    "bernoulli",
    "yes-no",
    lambda y, at: y * at.eta - jax.nn.softplus(at.eta),
    _bernoulli_draw,
    lambda at: jax.nn.sigmoid(at.eta),
    ratio="odds ratio",
)


def _binomial_density(y: Any, at: Given) -> Any:
    trials = jnp.round(at.beside)
    y = jnp.minimum(y, trials)
    choices = gammaln(trials + 1) - gammaln(y + 1) - gammaln(trials - y + 1)
    return choices + y * at.eta - trials * jax.nn.softplus(at.eta)


def _binomial_draw(key: Any, at: Given) -> Any:
    return jax.random.binomial(key, jnp.round(at.beside), jax.nn.sigmoid(at.eta))


def _binomial_moments(at: Given) -> tuple[Any, Any]:
    trials, p = jnp.round(at.beside), jax.nn.sigmoid(at.eta)
    return trials * p, jnp.sqrt(trials * p * (1 - p))


_binomial = Family(
    "binomial",
    "trials",
    _binomial_density,
    _binomial_draw,
    lambda at: at.beside * jax.nn.sigmoid(at.eta),
    _binomial_moments,
    ratio="odds ratio",
)

_poisson = Family(
    "poisson",
    "count",
    lambda y, at: y * at.eta - jnp.exp(at.eta) - gammaln(y + 1),
    lambda key, at: _count(key, jnp.exp(at.eta), at),
    _exp,
    lambda at: (jnp.exp(at.eta), jnp.exp(at.eta / 2)),
    ratio="rate ratio",
)


def _negative_binomial_density(y: Any, at: Given) -> Any:
    """With mean μ = exp η and variance μ + μ²/φ."""
    phi = at.extra["concentration"]
    log_phi = jnp.log(phi)
    arrangements = gammaln(y + phi) - gammaln(phi) - gammaln(y + 1)
    failures = phi * jax.nn.softplus(at.eta - log_phi)
    return arrangements - failures - y * jax.nn.softplus(log_phi - at.eta)


def _negative_binomial_draw(key: Any, at: Given) -> Any:
    for_rate, for_count = jax.random.split(key)
    phi = at.extra["concentration"]
    log_gamma = jax.random.loggamma(for_rate, phi)
    return _count(for_count, jnp.exp(at.eta + log_gamma - jnp.log(phi)), at)


def _negative_binomial_moments(at: Given) -> tuple[Any, Any]:
    mean = jnp.exp(at.eta)
    return mean, jnp.sqrt(mean + mean**2 / at.extra["concentration"])


_negative_binomial = Family(
    "negative-binomial",
    "count",
    _negative_binomial_density,
    _negative_binomial_draw,
    _exp,
    _negative_binomial_moments,
    {"concentration": (0.0, 1.0)},
    ratio="rate ratio",
)


def _gamma_density(y: Any, at: Given) -> Any:
    """Of the logarithm of the response, whose mean is exp η."""
    shape, rest = at.extra["shape"], y - at.eta
    return shape * (jnp.log(shape) + rest - jnp.exp(rest)) - gammaln(shape)


def _gamma_draw(key: Any, at: Given) -> Any:
    shape = at.extra["shape"]
    return at.eta + jax.random.loggamma(key, shape) - jnp.log(shape)


def _gamma_moments(at: Given) -> tuple[Any, Any]:
    shape = at.extra["shape"]
    mean = at.eta + digamma(shape) - jnp.log(shape)
    return mean, jnp.sqrt(polygamma(1, shape))


_gamma = Family(
    "gamma",
    "positive",
    _gamma_density,
    _gamma_draw,
    _exp,
    _gamma_moments,
    {"shape": (0.0, 1.0)},
    ratio="ratio of means",
)


def _weibull_density(y: Any, at: Given) -> Any:
    """Of the logarithm of a duration; one that is censored has lasted longer."""
    shape = at.extra["shape"]
    scaled = shape * (y - at.eta)
    happened = 1.0 if at.response.beside is None else at.beside
    return happened * (jnp.log(shape) + scaled) - jnp.exp(scaled)


def _weibull_draw(key: Any, at: Given) -> Any:
    return at.eta - jax.random.gumbel(key, jnp.shape(at.eta)) / at.extra["shape"]


def _weibull_moments(at: Given) -> tuple[Any, Any]:
    shape = at.extra["shape"]
    return at.eta - _EULER / shape, jnp.pi / jnp.sqrt(6.0) / shape


_weibull = Family(
    "weibull",
    "positive",
    _weibull_density,
    _weibull_draw,
    lambda at: jnp.exp(at.eta + gammaln(1 + 1 / at.extra["shape"])),
    _weibull_moments,
    {"shape": (0.0, 1.0)},
    ratio="time ratio",
)


def _ordered_density(y: Any, at: Given) -> Any:
    """log(σ(b) − σ(a)) = log σ(b) + log σ(−a) + log(1 − e^(a − b)), for a < b."""
    cuts = at.extra["cutpoints"]
    ends = jnp.concatenate([cuts[:1] - 60.0, cuts, cuts[-1:] + 60.0]) - at.eta
    place = at.response.place(y)
    low, high = ends[place], ends[place + 1]
    gap = jnp.minimum(high - low, 30.0)
    both = jax.nn.log_sigmoid(high) + jax.nn.log_sigmoid(-low)
    return at.response.known(y, both + jnp.log(-jnp.expm1(-gap)))


def _ordered_draw(key: Any, at: Given) -> Any:
    above = jax.random.logistic(key) + at.eta > at.extra["cutpoints"]
    return at.response.code(jnp.sum(above))


def _ordered_probabilities(at: Given) -> Any:
    at_most = jax.nn.sigmoid(at.extra["cutpoints"] - at.eta)
    return jnp.diff(at_most, prepend=0.0, append=1.0)


_ordinal = Family(
    "ordinal",
    "ordered",
    _ordered_density,
    _ordered_draw,
    _ordered_probabilities,
    ratio="odds ratio",
)


def _logits(at: Given) -> Any:
    return jnp.concatenate([jnp.zeros(1, at.eta.dtype), at.eta])


def _categorical_density(y: Any, at: Given) -> Any:
    chosen = jax.nn.log_softmax(_logits(at))[at.response.place(y)]
    return at.response.known(y, chosen)


_categorical = Family(
    "categorical",
    "levels",
    _categorical_density,
    lambda key, at: at.response.code(jax.random.categorical(key, _logits(at))),
    lambda at: jax.nn.softmax(_logits(at)),
    ratio="odds ratio",
)

FAMILIES = {
    one.name: one
    for one in (
        _gaussian,
        _student,
        _bernoulli,
        _binomial,
        _poisson,
        _negative_binomial,
        _ordinal,
        _categorical,
        _gamma,
        _weibull,
    )
}
"""All families, by name."""
