# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Clipping without bias: numbers of a record whose mean survives a bound.

Each influence here turns what a record shows at two points into one number that is
clipped later like any other, so that none of them changes what a bit costs. Where the
model is right they leave the mean of the sum as it was (``docs/proofs/clipping.md``).
"""

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from dpmcmc.influence.over_responses import Drawn, Listed, mean_over
from dpmcmc.model.model import Model
from dpmcmc.model.tracing import as_float
from dpmcmc.private import PLAIN, Influence

__all__ = ["Centred", "Restored", "Shrunk"]

_INNER = 0.8
"""The fraction of the bound that is clipped to where the rest is room for a mean."""


class _Kept(NamedTuple):
    """What is worked out of a record once: for itself, and for other responses."""

    chosen: Any
    own: Any
    others: tuple[Any, ...]


class _Looks(NamedTuple):
    """Numbers at a point: the record's own, and with other responses.

    ``logs`` are the log-likelihoods of these, where the numbers are something else.
    """

    own: jax.Array
    others: tuple[jax.Array, ...]
    logs: tuple[jax.Array, ...] = ()

    @property
    def likelihoods(self) -> tuple[jax.Array, ...]:
        """The log-likelihoods of the other responses, which give probabilities."""
        return self.logs or self.others


@dataclass(frozen=True)
class _OverResponses:
    """An influence that also looks at responses that a record does not have.

    What it looks at is the number r of another influence: a record's log-likelihood,
    or what of it a released surrogate misses. Probabilities of responses are those
    of the log-likelihood in any case.

    Parameters
    ----------
    among
        Which responses.
    bound
        The clip in units of a ratio before it is tempered.
    base
        The other influence: the log-likelihood ratio as it is, unless given.
    """

    among: Listed | Drawn
    bound: float
    base: Influence = PLAIN

    def extras(self, model: Model, record: Any) -> _Kept:
        """The responses that are drawn, and what the number needs of each response."""
        model, record = _bare(model, record)
        chosen: Any = self.among.extras(model, record)
        others = self.among.responses(record, chosen)
        return _Kept(
            chosen,
            self.base.extras(model, record),
            tuple(self.base.extras(model, {**record, **one}) for one in others),
        )

    def look(
        self, model: Model, theta: Any, record: Any, extras: _Kept, dtype: str
    ) -> _Looks:
        """The record's number, and that of its covariates with each response.

        Each response is evaluated apart; what does not depend on it is found to be
        the same by the compiler, and computed once.
        """
        model, record = _bare(model, record)
        others = [
            {**record, **one} for one in self.among.responses(record, extras.chosen)
        ]
        logs = () if self.base == PLAIN else others
        return _Looks(
            self.base.look(model, theta, record, extras.own, dtype),
            tuple(
                self.base.look(model, theta, one, kept, dtype)
                for one, kept in zip(others, extras.others, strict=True)
            ),
            tuple(as_float(model.log_likelihood(theta, one), dtype) for one in logs),
        )

    def public(self, model: Model, current: Any, proposed: Any) -> Any:
        """What the other influence says, which is handed no record."""
        return self.base.public(model, current, proposed)

    def _weights(
        self, current: _Looks, proposed: _Looks, extras: _Kept
    ) -> tuple[jax.Array, ...]:
        """The probabilities of the responses half-way between the two points."""
        logs = current.likelihoods, proposed.likelihoods
        return self.among.weights(*logs, extras.chosen)

    def _clip(self, number: jax.Array) -> jax.Array:
        return jnp.clip(number, -self.bound, self.bound)

    def _shrunk(self, mean: Any, own: jax.Array, farthest: jax.Array) -> jax.Array:
        """The mean, itself clipped, plus as much of a deviation as there is room for.

        ``farthest`` bounds the deviations of all responses.
        """
        centre = self._clip(jnp.asarray(mean, own.dtype))
        room = self.bound - jnp.abs(centre)
        return centre + jnp.where(farthest > room, room / farthest, 1) * own


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Centred(_OverResponses):
    """The ratio, clipped about its conditional mean, plus what that clip takes."""

    def ratio(self, current: Any, proposed: Any, record: Any, extras: Any) -> jax.Array:
        """The ratio centred: m + λ (clip(r − m) + E[(r − m) − clip(r − m)]).

        λ is 1, or makes room for what is added.

        Guarantee
        ---------
        A function of one record's numbers. The points exchanged, it is the negative.
        If the mean ratio m over all responses, by the weights, is within the bound,
        so is this number for each of them, and its mean is m.
        """
        del record
        weights = self._weights(current, proposed, extras)
        ratios = _differences(current.others, proposed.others)
        mean = mean_over(weights, ratios)
        deviations = [ratio - mean for ratio in ratios]
        clipped = [self._clip(one) for one in deviations]
        beyond = [one - cut for one, cut in zip(deviations, clipped, strict=True)]
        lost = mean_over(weights, beyond)
        own = self._clip(proposed.own - current.own - mean) + lost
        return self._shrunk(mean, own, _farthest(clipped) + jnp.abs(lost))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Shrunk(_OverResponses):
    """The ratio, drawn towards its conditional mean until no response is clipped."""

    def ratio(self, current: Any, proposed: Any, record: Any, extras: Any) -> jax.Array:
        """The ratio shrunk: m + λ (r − m), λ as large as the bound allows.

        Guarantee
        ---------
        A function of one record's numbers. The points exchanged, it is the negative.
        If the mean ratio m over all responses, by the weights, is within the bound,
        so is this number for each of them, and its mean is m.
        """
        del record
        weights = self._weights(current, proposed, extras)
        ratios = _differences(current.others, proposed.others)
        mean = mean_over(weights, ratios)
        own = proposed.own - current.own - mean
        return self._shrunk(mean, own, _farthest([one - mean for one in ratios]))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Restored(_OverResponses):
    """The ratio, clipped, plus what the clip takes from responses that were drawn."""

    def ratio(self, current: Any, proposed: Any, record: Any, extras: Any) -> jax.Array:
        """The ratio restored: clip(r) + E[r − clip(r)], the mean over drawn responses.

        It is not centred: the mean of a ratio is of third order in the move, and that
        of a few draws would be noise. Nor is it shrunk, for the same reason: the clip
        here leaves some room instead.

        Guarantee
        ---------
        A function of one record's numbers. The points exchanged, it is the negative.
        """
        del record
        most = _INNER * self.bound
        weights = self._weights(current, proposed, extras)
        ratios = _differences(current.others, proposed.others)
        lost = mean_over(weights, [one - jnp.clip(one, -most, most) for one in ratios])
        return jnp.clip(proposed.own - current.own, -most, most) + lost


def _bare(model: Model, record: Any) -> tuple[Model, Any]:
    """The record as the log-likelihood reads it, and the model of such records."""
    if model.preparation is None:
        return model, record
    return replace(model, preparation=None), model.preparation(record)


def _differences(
    current: tuple[jax.Array, ...], proposed: tuple[jax.Array, ...]
) -> list[jax.Array]:
    return [new - old for old, new in zip(current, proposed, strict=True)]


def _farthest(deviations: list[jax.Array]) -> jax.Array:
    return reduce(jnp.maximum, [jnp.abs(one) for one in deviations])
