# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the last release asks of each record: gradients with tight and wide bounds.

Nothing here is trusted: what a record answers is bounded again inside the boundary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.influence.derivatives import gradient, prepared
from dpmcmc.influence.residual import clip_factor
from dpmcmc.model.model import Model
from dpmcmc.model.responses import Nodes, Stops
from dpmcmc.private import Parts
from dpmcmc.sampling.fit.hessians import (
    IN_CONE,
    clipped,
    entries_of_outer,
    with_hessian,
)
from dpmcmc.sampling.fit.questions import EXTREME, Public, Unravel, finite

__all__ = ["FinalAnswer", "FinalPublic", "LastAnswer", "LastPublic", "Tight"]

_CENTRINGS = 4
"""Iterations that make the expectation of a clipped gradient zero."""


class LastPublic(NamedTuple):
    """Public numbers of the last sum."""

    at: Public
    tight: Any
    wide: Any
    hessian: Any
    parts: Any


class FinalPublic(NamedTuple):
    """Public numbers of the final sum: where, at which bound, and if it is tight."""

    at: Public
    bound: Any
    is_tight: Any


@dataclass(frozen=True)
class Tight:
    """Gradients that are clipped tightly, without bias.

    A tight gradient is clip(g − α), with α such that its expectation over the responses
    that the record might have had is zero, if the model is right: Fisher-consistent.
    Of a duration it is that of the record, censored before its gradient could be long.
    """

    unravel: Unravel
    nodes: Callable[[Any, Any], Nodes] | None
    stops: Stops | None = None

    @property
    def is_stated(self) -> bool:
        """Whether the responses have nodes, or times at which to stop."""
        return self.nodes is not None or self.stops is not None

    def __call__(
        self,
        model: Model,
        record: Any,
        scaled: jax.Array,
        at: Public,
        bounds: Sequence[jax.Array],
    ) -> tuple[list[jax.Array], jax.Array]:
        """The gradient of a prepared record with each bound; and three expectations.

        How much of |g|² the first keeps; |g|²; and how probable an extreme length is.
        """
        if self.nodes is not None:
            return self._centred(model, record, scaled, at, bounds)
        if self.stops is not None:
            return self._stopped(model, record, scaled, at, bounds)
        near = [scaled * clip_factor(scaled, bound) for bound in bounds]
        return near, jnp.zeros(3, scaled.dtype)

    def _centred(
        self,
        model: Model,
        record: Any,
        scaled: jax.Array,
        at: Public,
        bounds: Sequence[jax.Array],
    ) -> tuple[list[jax.Array], jax.Array]:
        """clip(g − α), with α by the responses that the record might have had."""
        assert self.nodes is not None
        kind = scaled.dtype
        metric, typical = (jnp.asarray(part, kind) for part in at[1:])
        found = self.nodes(self.unravel(jnp.asarray(at.frame.centre, kind)), record)

        def look(responses: Any) -> tuple[jax.Array, jax.Array]:
            return gradient(model, {**record, **responses}, at.frame, self.unravel)

        logs, gradients = jax.vmap(look)(found.columns)
        weights = jax.nn.softmax(logs + found.log_measure.astype(kind))
        others = jnp.where(weights[:, None] > 0, finite(gradients / metric), 0)
        near = []
        for bound in bounds:
            clip = partial(_clipped, bound=bound)
            alpha = jnp.zeros_like(metric)
            for _ in range(_CENTRINGS):
                alpha = alpha + weights @ jax.vmap(clip)(others - alpha)
            alpha = jnp.where(jnp.all(jnp.isfinite(alpha)), alpha, 0)
            near.append((clip(scaled - alpha), jax.vmap(clip)(others - alpha)))
        squares = jnp.sum(others * others, axis=1) / bounds[0] ** 2
        inside = jnp.sum(near[0][1] * others, axis=1) / bounds[0] ** 2
        is_extreme = squares > (EXTREME * typical / bounds[0]) ** 2
        rows = jnp.stack([inside, squares, is_extreme.astype(kind)], axis=1)
        return [own for own, _ in near], _fractions(weights @ rows)

    def _stopped(
        self,
        model: Model,
        record: Any,
        scaled: jax.Array,
        at: Public,
        bounds: Sequence[jax.Array],
    ) -> tuple[list[jax.Array], jax.Array]:
        """The gradient of the record, censored before it could be longer than a bound.

        By when depends on covariates alone. And the same three numbers, of the record
        as it is: when others would have been censored is not known.
        """
        assert self.stops is not None
        stops, kind = self.stops, scaled.dtype
        metric, typical = (jnp.asarray(part, kind) for part in at[1:])
        times = stops.times(self.unravel(jnp.asarray(at.frame.centre, kind)), record)

        def look(responses: Any) -> jax.Array:
            one = {**record, **responses}
            return gradient(model, one, at.frame, self.unravel)[1] / metric

        lengths = jnp.linalg.norm(jax.vmap(look)(times), axis=1)

        def before(bound: jax.Array) -> jax.Array:
            last = jnp.maximum(jnp.sum(jnp.cumprod(lengths <= bound)) - 1, 0)
            near = look(stops.stopped(record, times[stops.name][last]))
            return _clipped(near, bound)

        near = [before(bound) for bound in bounds]
        square = jnp.sum(scaled * scaled) / bounds[0] ** 2
        is_extreme = (square > (EXTREME * typical / bounds[0]) ** 2).astype(kind)
        inside = jnp.sum(near[0] * scaled) / bounds[0] ** 2
        return near, _fractions(jnp.stack([inside, square, is_extreme]))


@dataclass(frozen=True)
class LastAnswer:
    """The last vector: gradients, tight and what that leaves, and the Hessian.

    What tight gradients leave is the gradient clipped to a wide bound, less the tight
    one; with both sums the wide one is known, too. Where there are no tight ones, all
    is in the second part. What the model expects is in a cone, and so are Hessians that
    are ``is_concave``, as in `Setting`.
    """

    tight: Tight
    is_concave: bool = False

    @property
    def longer(self) -> np.ndarray:
        """How long each part may be beside free ones that are paid the same."""
        return np.array([1.0, 1.0, IN_CONE if self.is_concave else 1.0, IN_CONE])

    def split(self, total: np.ndarray, size: int) -> list[np.ndarray]:
        """Each part of a total, in this order; Hessians by their entries."""
        if self.is_concave:
            ends = np.cumsum([size, size, 3])
            near, far, expected, outer = np.split(total, ends)
            return [near, far, entries_of_outer(outer, size), expected]
        return np.split(total, [size, 2 * size, len(total) - 3])

    def __call__(self, model: Model, record: Any, public: LastPublic) -> Parts:
        """The parts, each clipped to its bound, in units in which all are at most 1."""
        record = prepared(model, record)
        first, second = with_hessian(
            model, record, public.at.frame, self.tight.unravel, self.is_concave
        )
        metric = jnp.asarray(public.at.metric, first.dtype)
        scaled = first / metric
        tight, wide, most, parts = (
            jnp.asarray(part, first.dtype)
            for part in (public.tight, public.wide, public.hessian, public.parts)
        )
        lengths = parts * jnp.asarray(self.longer, first.dtype)
        (near, whole), kept = self.tight(
            model, record, scaled, public.at, (tight, wide)
        )
        near = jnp.where(lengths[0] > 0, near, 0)
        whole = jnp.where(lengths[0] > 0, whole, _clipped(scaled, wide))
        rest, room = whole - near, wide - jnp.where(lengths[0] > 0, tight, 0)
        entries, root = clipped(second, most, lengths[2])
        far = lengths[1] * _clipped(rest, room) / room
        return Parts(
            free=jnp.concatenate([lengths[0] * near / tight, far, entries]),
            positive=lengths[3] * kept,
            factor=root,
        )


@dataclass(frozen=True)
class FinalAnswer:
    """The final vector: the gradient alone, clipped tightly or to a wide bound."""

    tight: Tight

    def __call__(self, model: Model, record: Any, public: FinalPublic) -> jax.Array:
        """The gradient, in units in which it is at most 1 long."""
        record = prepared(model, record)
        _, first = gradient(model, record, public.at.frame, self.tight.unravel)
        scaled = first / jnp.asarray(public.at.metric, first.dtype)
        bound = jnp.asarray(public.bound, first.dtype)
        (near,), _ = self.tight(model, record, scaled, public.at, (bound,))
        wide = _clipped(scaled, bound)
        return jnp.where(jnp.asarray(public.is_tight), near, wide) / bound


def _clipped(vector: jax.Array, bound: jax.Array) -> jax.Array:
    return vector * clip_factor(vector, bound)


def _fractions(numbers: jax.Array) -> jax.Array:
    """Three numbers from 0 to 1, as a vector that is at most 1 long."""
    limited = jnp.clip(jnp.where(jnp.isfinite(numbers), numbers, 0), 0, 1)
    return limited / np.sqrt(3)
