# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Clipping without bias: numbers of a record whose mean survives a bound.

Each influence here turns what a record shows at two points into one number that is
clipped later like any other, so that none of them changes what a bit costs. Where the
model is right they leave the mean of the sum as it was (``docs/proofs/clipping.md``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from dpmcmc.model import Model
from dpmcmc.private.influence import Plain
from dpmcmc.private.responses import Drawn, Listed, Responses, mean_over
from dpmcmc.tracing import as_float

__all__ = ["Centred", "Shifted", "Shrunk"]

_ROUNDS = 2
"""How often the inner clip is drawn in to make room for what centring adds."""


class _Looks(NamedTuple):
    """Log-likelihoods at a point: the record's own, and with other responses."""

    own: jax.Array
    others: tuple[jax.Array, ...]


@dataclass(frozen=True)
class Shifted(Plain):
    """The log-likelihood ratio as it is, with a part of Δ that no record enters.

    Parameters
    ----------
    part
        A function of the model and the two points; frozen and hashable.
    """

    part: Callable[[Model, Any, Any], jax.Array]

    def public(self, model: Model, current: Any, proposed: Any) -> Any:
        """What the function says.

        Guarantee
        ---------
        A function of the model and of the two points: it is handed no record.
        """
        return self.part(model, current, proposed)


@dataclass(frozen=True)
class _OverResponses:
    """An influence that also looks at responses that a record does not have.

    Parameters
    ----------
    among
        Which responses.
    bound
        The clip in units of a ratio before it is tempered.
    """

    among: Listed | Drawn
    bound: float

    def extras(self, model: Model, record: Any) -> Any:
        """The responses drawn for the record, if they are drawn."""
        return self.among.extras(model, _prepared(model, record))

    def look(
        self, model: Model, theta: Any, record: Any, extras: Any, dtype: str
    ) -> _Looks:
        """The record's log-likelihood, and that of its covariates with each response.

        Each response is evaluated apart; what does not depend on it is found to be
        the same by the compiler, and computed once.
        """
        record = _prepared(model, record)

        def at(responses: Responses) -> jax.Array:
            one = {**record, **responses}
            return as_float(model.log_likelihood(theta, one), dtype)

        others = self.among.responses(record, extras)
        return _Looks(at({}), tuple(at(responses) for responses in others))

    def public(self, model: Model, current: Any, proposed: Any) -> float:
        """Nothing."""
        del model, current, proposed
        return 0.0


@dataclass(frozen=True)
class Centred(_OverResponses):
    """The ratio, clipped about its conditional mean, plus what that clip takes."""

    def ratio(self, current: Any, proposed: Any, record: Any, extras: Any) -> jax.Array:
        """clip(r − m) + m + E[(r − m) − clip(r − m)], the mean over responses.

        Guarantee
        ---------
        A function of one record's numbers. The points exchanged, it is the negative.
        Its mean over responses, by the weights, is that of the ratio.
        """
        del record
        weights = self.among.weights(current.others, proposed.others, extras)
        ratios = _differences(current.others, proposed.others)
        centre = self.among.centre(ratios, weights)
        deviations = [ratio - centre for ratio in ratios]
        shift = centre + _lost(weights, deviations, self.bound)
        inner = jnp.zeros_like(shift)
        for _ in range(_ROUNDS):
            inner = jnp.maximum(self.bound - jnp.abs(shift), 0)
            shift = centre + _lost(weights, deviations, inner)
        own = proposed.own - current.own - centre
        return jnp.clip(own, -inner, inner) + shift


@dataclass(frozen=True)
class Shrunk(_OverResponses):
    """The ratio, drawn towards its conditional mean until no response is clipped."""

    def ratio(self, current: Any, proposed: Any, record: Any, extras: Any) -> jax.Array:
        """The ratio shrunk: m + λ (r − m), λ as large as the bound allows.

        Guarantee
        ---------
        A function of one record's numbers. The points exchanged, it is the negative.
        If |m| is within the bound, its mean over responses, by the weights, is that
        of the ratio, and no response is beyond the bound.
        """
        del record
        weights = self.among.weights(current.others, proposed.others, extras)
        ratios = _differences(current.others, proposed.others)
        mean = mean_over(weights, ratios)
        centre = jnp.clip(mean, -self.bound, self.bound)
        room = self.bound - jnp.abs(centre)
        farthest = reduce(jnp.maximum, [jnp.abs(ratio - mean) for ratio in ratios])
        kept = jnp.where(farthest > room, room / farthest, 1)
        return centre + kept * (proposed.own - current.own - mean)


def _prepared(model: Model, record: Any) -> Any:
    return record if model.preparation is None else model.preparation(record)


def _differences(
    current: tuple[jax.Array, ...], proposed: tuple[jax.Array, ...]
) -> list[jax.Array]:
    return [new - old for old, new in zip(current, proposed, strict=True)]


def _lost(
    weights: tuple[jax.Array, ...], deviations: list[jax.Array], inner: Any
) -> Any:
    """What an inner clip takes from the mean."""
    beyond = [one - jnp.clip(one, -inner, inner) for one in deviations]
    return mean_over(weights, beyond)
