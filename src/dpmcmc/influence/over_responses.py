# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Responses that a record might have had: all of them, or some that are drawn.

Their probabilities are those of the model half-way between two points, by the geometric
mean of the likelihoods there, which is the same whichever point comes first.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from dpmcmc.model.model import Model
from dpmcmc.model.tracing import as_float

__all__ = ["Drawn", "Listed", "Responses", "mean_over"]

_MOST_WEIGHT = 4.0
"""Most that a drawn response counts for, should it have been drawn far away."""

Responses = Mapping[str, Any]
"""The values of a record's response columns."""


class _Chosen(NamedTuple):
    """A response drawn for a record, and its log-likelihood where it was drawn."""

    responses: Responses
    log_likelihood: jax.Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Listed:
    """All responses that a record can have.

    Parameters
    ----------
    names, values
        The response columns of a prepared record, each a number, and their values.
    """

    names: tuple[str, ...] = field(metadata={"static": True})
    values: tuple[tuple[float, ...], ...] = field(metadata={"static": True})

    def extras(self, model: Model, record: Any) -> tuple[()]:
        """Nothing: they are the same for every record."""
        del model, record
        return ()

    def responses(self, record: Any, extras: Any) -> list[Responses]:
        """Every response, in the types of the record."""
        del extras
        kinds = [jnp.asarray(record[name]).dtype for name in self.names]
        return [
            {
                name: jnp.asarray(value, kind)
                for name, value, kind in zip(self.names, values, kinds, strict=True)
            }
            for values in product(*self.values)
        ]

    def weights(
        self, current: tuple[jax.Array, ...], proposed: tuple[jax.Array, ...], _: Any
    ) -> tuple[jax.Array, ...]:
        """Probabilities at the midpoint: the geometric mean of two, normalised."""
        logs = [(old + new) / 2 for old, new in zip(current, proposed, strict=True)]
        top = reduce(jnp.maximum, logs)
        each = [jnp.exp(log - top) for log in logs]
        total = sum(each)
        return tuple(one / total for one in each)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Drawn:
    """Some responses, drawn once for each record at one point.

    Parameters
    ----------
    names
        The response columns of a prepared record.
    keys
        Makes random keys from a record's covariates: one for each response; hashable.
    point
        Where they are drawn: near the posterior.
    """

    names: tuple[str, ...] = field(metadata={"static": True})
    keys: Callable[[Any], tuple[jax.Array, ...]] = field(metadata={"static": True})
    point: Any

    def extras(self, model: Model, record: Any) -> list[_Chosen]:
        """Draw responses at the point."""
        assert model.simulate is not None
        point = jax.tree.map(_in_precision, self.point)
        covariates = {
            name: leaf for name, leaf in record.items() if name not in self.names
        }
        # The simulator has no use for the record's own responses: it gets zeros.
        blank = {name: jnp.zeros_like(record[name]) for name in self.names}
        found = []
        for key in self.keys(covariates):
            drawn = model.simulate(point, key, {**record, **blank})
            responses = {name: drawn[name] for name in self.names}
            own = model.log_likelihood(point, {**record, **responses})
            found.append(_Chosen(responses, as_float(own, jnp.result_type(float))))
        return found

    def responses(self, record: Any, extras: list[_Chosen]) -> list[Responses]:
        """The drawn responses."""
        del record
        return [chosen.responses for chosen in extras]

    def weights(
        self,
        current: tuple[jax.Array, ...],
        proposed: tuple[jax.Array, ...],
        extras: list[_Chosen],
    ) -> tuple[jax.Array, ...]:
        """How much likelier each is at the midpoint than where it was drawn."""
        found = []
        for old, new, chosen in zip(current, proposed, extras, strict=True):
            likelier = jnp.exp((old + new) / 2 - chosen.log_likelihood)
            found.append(jnp.minimum(likelier, _MOST_WEIGHT) / len(extras))
        return tuple(found)


def mean_over(weights: tuple[jax.Array, ...], numbers: list[jax.Array]) -> Any:
    """The weighted sum, in which an impossible response counts for nothing."""
    pairs = zip(weights, numbers, strict=True)
    return sum(jnp.where(weight > 0, weight * number, 0) for weight, number in pairs)


def _in_precision(leaf: Any) -> jax.Array:
    """A parameter as JAX holds it where the log-likelihood is traced."""
    kinds = {"f": float, "i": int, "u": int, "b": bool}
    return jnp.asarray(leaf, jnp.result_type(kinds[jnp.result_type(leaf).kind]))
