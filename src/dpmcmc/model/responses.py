# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Responses: the columns that a model explains given the others, and their values.

With them, expectations over the responses that a record might have had are sums over
a few nodes: all values where they can be listed, else values about the mean.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError

__all__ = ["Moments", "Nodes", "Responses", "check_responses", "nodes_of"]

_MOST_LISTED = 64
"""Most joint values of the responses that are summed over."""

_NODES = 33
_WIDEST = 8.0
"""Nodes of a response with a mean and an sd: up to that number of sd from the mean."""

_COUNTS = 48


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and sd of a response that cannot be listed, given θ and the record.

    They say where the nodes of a sum are placed; densities are the log-likelihood's.

    Parameters
    ----------
    at
        ``at(theta, record)`` returns the mean and the sd of the response.
    is_count
        Whether values are the numbers 0, 1, 2, …
    """

    at: Callable[[Any, Any], tuple[Any, Any]]
    is_count: bool = False


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
        if given is None or isinstance(given, Moments):
            continue
        listed = np.asarray(given)
        is_list = listed.ndim == 1 and listed.size and listed.dtype.kind in "fiub"
        if not isinstance(name, str) or not is_list or not np.all(np.isfinite(listed)):
            raise InputError(f"responses has {name!r}: {given!r}; {advice}")


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
        mean, sd = (jnp.reshape(part, ()) for part in self.moments.at(theta, record))
        values, log_measure = (_counts if self.moments.is_count else _real)(mean, sd)
        kind = jnp.asarray(record[self.name]).dtype
        return Nodes({self.name: values.astype(kind)}, log_measure)


def _real(mean: Any, sd: Any) -> tuple[Any, Any]:
    """Gauss–Legendre nodes within a few sd of the mean."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return mean + sd * _WIDEST * jnp.asarray(nodes), jnp.log(jnp.asarray(weights))


def _counts(mean: Any, sd: Any) -> tuple[Any, Any]:
    """Counts about the mean; where they are many, one stands for its neighbours."""
    low = jnp.maximum(0.0, mean - _WIDEST * sd - 6)
    high = mean + _WIDEST * sd + 12
    places = jnp.asarray(np.linspace(0, 1, _COUNTS + 1) ** 1.5)
    edges = jnp.floor(low + (high - low) * places)
    widths = jnp.diff(edges)
    middles = jnp.floor(edges[:-1] + jnp.maximum(widths - 1, 0) / 2)
    return middles, jnp.where(widths > 0, jnp.log(jnp.maximum(widths, 1)), -jnp.inf)
