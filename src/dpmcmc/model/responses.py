# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Responses: the columns that a model explains given the others, and their values.

With them, expectations over the responses that a record might have had are sums over
a few nodes: all values where they can be listed, else values about the mean. Of a
duration that may be censored there are none, since nobody knows when it would have
been; but it may be censored earlier.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.model.tracing import require_visible, shape_of_result, show_shapes

__all__ = [
    "Moments",
    "Nodes",
    "Responses",
    "Stops",
    "check_moments",
    "check_responses",
    "nodes_of",
    "stops_of",
]

_MOST_LISTED = 64
"""Most joint values of the responses that are summed over."""

_NODES = 33
_CORE, _REACH = 0.5, 4.0
"""Nodes of a response with a mean and an sd: half an sd times sinh u, for u up to 4."""

_WIDEST = 8.0
"""Counts are those within so many sd of the mean."""

_TINY, _NARROWEST = 1e-6, 1e-30
"""The least distance of a mean from a limit; and the least sd."""

_COUNTS = 48

_EARLY, _LATE = 4.0, 6.0
"""Durations may be censored from so many sd before the mean to so many after it."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and sd of a response that cannot be listed, given θ and the record.

    They say where the nodes of a sum are placed; densities are the log-likelihood's.

    Parameters
    ----------
    at
        ``at(theta, record)`` returns the mean and the sd of the response; for a
        mixture, three arrays: means and sds of its components, and their weights.
    is_count
        Whether values are the numbers 0, 1, 2, …; there are no components then.
    ended
        The column, also a response, that is 1 if the response is a duration that has
        ended and 0 if it was censored; None if there is no such column.
    limits
        ``limits(theta, record)`` returns the least and the greatest value, or None for
        one that there is not. Without it, values are any numbers, or any counts.
    """

    at: Callable[[Any, Any], tuple[Any, ...]]
    is_count: bool = False
    ended: str | None = None
    limits: Callable[[Any, Any], tuple[Any, Any]] | None = None

    def within(self, theta: Any, record: Any) -> tuple[Any, Any]:
        """The least and the greatest value, or None."""
        return (None, None) if self.limits is None else self.limits(theta, record)


Responses = Mapping[str, Sequence[float] | Moments | None]
"""Columns of a prepared record with all their values, with moments, or neither."""


class Nodes(NamedTuple):
    """Values of the responses of one record, and the measure of each.

    ``columns`` has an array of values for each response; the probability of a node is
    in proportion to exp(log-likelihood + log_measure).
    """

    columns: dict[str, Any]
    log_measure: Any


def check_responses(responses: Any) -> None:
    """Refuse anything but names of columns with values, `Moments` or None."""
    advice = (
        "it must name the columns that the model explains, each with all its values, "
        "such as {'y': (0.0, 1.0)}, with dpmcmc.model.Moments, or with None."
    )
    if not isinstance(responses, Mapping) or not responses:
        raise InputError(f"responses is {responses!r}; {advice}")
    for name, given in responses.items():
        if isinstance(name, str) and (given is None or isinstance(given, Moments)):
            continue
        listed = np.asarray(given)
        is_list = listed.ndim == 1 and listed.size and listed.dtype.kind in "fiub"
        if not isinstance(name, str) or not is_list or not np.all(np.isfinite(listed)):
            raise InputError(f"responses has {name!r}: {given!r}; {advice}")
    for name, given in responses.items():
        ended = given.ended if isinstance(given, Moments) else None
        if ended is not None and responses.get(ended, name) is not None:
            raise InputError(
                f"responses has {name!r}, which ended by the column {ended!r}; name "
                f"that among the responses, with None."
            )


def check_moments(responses: Responses | None, theta: Any, record: Any) -> None:
    """Refuse moments that cannot be run on a record, or that JAX cannot see through.

    ``record`` has the shapes and dtypes of a prepared record.
    """
    for name, given in (responses or {}).items():
        if not isinstance(given, Moments):
            continue
        title = f"the moments of {name!r}"
        found = shape_of_result(title, given.at, theta, record)
        sizes = [getattr(part, "size", 0) for part in jax.tree.leaves(found)]
        is_mixture = len(sizes) == 3 and not given.is_count and given.ended is None
        is_alike = sizes[0] > 0 and len(set(sizes)) == 1
        if not isinstance(found, tuple) or not (
            sizes == [1, 1] or (is_mixture and is_alike)
        ):
            raise InputError(
                f"{title} are {show_shapes(found)}; they must be two numbers, the mean "
                "and the sd of the response; or, for a mixture of densities, three "
                "arrays of one length: means, sds and weights of its components."
            )
        require_visible(title, given.at, theta, record)


def nodes_of(
    responses: Responses | None,
) -> Callable[[Any, Any], Nodes] | None:
    """What makes nodes of θ and a record; None if the responses have none.

    Responses have nodes if all can be listed and are not too many, or if there is one
    with `Moments`.
    """
    if not responses or any(given is None for given in responses.values()):
        return None
    with_moments = [n for n, given in responses.items() if isinstance(given, Moments)]
    if with_moments and len(responses) > 1:
        return None
    if with_moments:
        (name,) = with_moments
        moments = responses[name]
        assert isinstance(moments, Moments)
        return _Spread(name, moments)
    sizes = [len(given) for given in responses.values()]  # type: ignore[arg-type]
    if math.prod(sizes) > _MOST_LISTED:
        return None
    joint = list(product(*responses.values()))  # type: ignore[arg-type]
    values = tuple(zip(*joint, strict=True))
    return _Listed(tuple(responses), values)


@dataclass(frozen=True)
class Stops:
    """Times at which a duration might have been censored, and what a record is then.

    Whatever time is chosen without a look at the duration, the record that is censored
    there has a gradient with expectation zero, if the model is right and censoring is
    independent of the duration: that of a stopped martingale.
    """

    name: str
    ended: str
    moments: Moments

    def times(self, theta: Any, record: Any) -> dict[str, Any]:
        """Durations that have not ended, shortest first."""
        mean, sd = (jnp.reshape(part, ()) for part in self.moments.at(theta, record))
        times = mean + sd * jnp.asarray(np.linspace(-_EARLY, _LATE, _NODES))
        kinds = (jnp.asarray(record[name]).dtype for name in (self.name, self.ended))
        kind, ended = kinds
        return {self.name: times.astype(kind), self.ended: jnp.zeros(_NODES, ended)}

    def stopped(self, record: Any, time: Any) -> Any:
        """The record, censored at a time if it had not ended by then."""
        own, ended = record[self.name], record[self.ended]
        return {
            **record,
            self.name: jnp.minimum(own, time),
            self.ended: jnp.where(own <= time, ended, jnp.zeros_like(ended)),
        }


def stops_of(responses: Responses | None) -> Stops | None:
    """Where a response can be censored; None unless it is all that is explained."""
    for name, given in (responses or {}).items():
        if isinstance(given, Moments) and given.ended is not None:
            is_alone = set(responses or ()) == {name, given.ended}
            return Stops(name, given.ended, given) if is_alone else None
    return None


@dataclass(frozen=True)
class _Listed:
    """All joint values of the responses, which are the same for every record."""

    names: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]

    def __call__(self, theta: Any, record: Any) -> Nodes:
        del theta
        columns = {
            name: jnp.asarray(values, jnp.asarray(record[name]).dtype)
            for name, values in zip(self.names, self.values, strict=True)
        }
        return Nodes(columns, jnp.zeros(len(self.values[0])))


@dataclass(frozen=True)
class _Spread:
    """Values of one response about its mean."""

    name: str
    moments: Moments

    def __call__(self, theta: Any, record: Any) -> Nodes:
        parts = self.moments.at(theta, record)
        low, high = self.moments.within(theta, record)
        if len(parts) == 3:
            means, sds, weights = map(jnp.ravel, parts)
            values, log_measure = _about_each(means, sds, weights, low, high)
        else:
            mean, sd = (jnp.reshape(part, ()) for part in parts)
            nodes = _counts if self.moments.is_count else _real
            values, log_measure = nodes(mean, sd, low, high)
        kind = jnp.asarray(record[self.name]).dtype
        return Nodes({self.name: values.astype(kind)}, log_measure)


def _about_each(
    means: Any, sds: Any, weights: Any, low: Any, high: Any
) -> tuple[Any, Any]:
    """Nodes about each component of a mixture.

    An integrand is divided between them by fractions that add up to 1, those of normal
    densities: each has the part that is due to it, and nodes where that is.
    """
    about: Callable[..., Any] = jax.vmap(lambda mean, sd: _real(mean, sd, low, high))
    values, log_measure = about(means, sds)
    sds = jnp.maximum(sds, _NARROWEST)
    away = (values[..., None] - means) / sds
    fractions = jax.nn.log_softmax(jnp.log(weights / sds) - away**2 / 2)
    own = jnp.stack([fractions[k, :, k] for k in range(len(means))])
    return jnp.ravel(values), jnp.ravel(log_measure + own)


def _real(mean: Any, sd: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Nodes on the line, or on the logarithm or logit of what has limits."""
    if low is None and high is None:
        return _line(mean, sd)
    if low is None:
        values, log_measure = _real(high - mean, sd, 0.0, None)
        return high - values, log_measure
    if high is None:
        # As if the logarithm were normal.
        relative = jnp.maximum(mean - low, _TINY)
        spread = jnp.log1p((sd / relative) ** 2)
        logs, log_measure = _line(jnp.log(relative) - spread / 2, jnp.sqrt(spread))
        return low + jnp.exp(logs), log_measure + logs
    width = high - low
    part = jnp.clip((mean - low) / width, _TINY, 1 - _TINY)
    logits, log_measure = _line(
        jnp.log(part) - jnp.log1p(-part), sd / width / (part * (1 - part))
    )
    inside = jax.nn.log_sigmoid(logits) + jax.nn.log_sigmoid(-logits)
    return low + width * jax.nn.sigmoid(logits), log_measure + inside


def _line(mean: Any, sd: Any) -> tuple[Any, Any]:
    """The trapezoidal rule in u, with y = mean + sd sinh(u) / 2, but for a constant.

    Nodes are dense about the mean and reach 14 sd, so that it serves a normal response
    as well as one with long tails about a narrow peak, whose sd says little of it.
    """
    u = np.linspace(-_REACH, _REACH, _NODES)
    values = mean + sd * _CORE * jnp.asarray(np.sinh(u))
    width = jnp.log(jnp.maximum(sd, _NARROWEST))
    return values, width + jnp.log(jnp.asarray(np.cosh(u)))


def _counts(mean: Any, sd: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Counts about the mean; where they are many, one stands for its neighbours."""
    least = 0.0 if low is None else low
    first = jnp.maximum(least, mean - _WIDEST * sd - 6)
    last = mean + _WIDEST * sd + 12
    places = jnp.asarray(np.linspace(0, 1, _COUNTS + 1) ** 1.5)
    edges = jnp.floor(first + (last - first) * places)
    if high is not None:
        edges = jnp.minimum(edges, jnp.floor(high) + 1)
    widths = jnp.diff(edges)
    middles = jnp.floor(edges[:-1] + jnp.maximum(widths - 1, 0) / 2)
    return middles, jnp.where(widths > 0, jnp.log(jnp.maximum(widths, 1)), -jnp.inf)
