# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the fit asks of each record: bins and vectors made of its derivatives.

Nothing here is trusted: what a record answers is bounded again inside the boundary.
Numbers that change from round to round are arguments, so that one program serves all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.influence.derivatives import (
    Frame,
    derivatives,
    gradient,
    prepared,
)
from dpmcmc.influence.residual import clip_factor
from dpmcmc.model.model import Model
from dpmcmc.private import Parts
from dpmcmc.sampling.fit.hessians import (
    IN_CONE,
    clipped,
    entries_of_outer,
    with_hessian,
)
from dpmcmc.sampling.fit.tails import BINS, EDGES

__all__ = [
    "EXTREME",
    "CurvatureBins",
    "LengthBins",
    "Public",
    "RoundAnswer",
    "RoundPublic",
    "Unravel",
    "finite",
]

_POWERS = 60
"""Powers of two from 2⁻⁶⁰ to 2⁶⁰ are told apart."""

EXTREME = float(EDGES[np.searchsorted(EDGES, 2.8)])
"""Gradients so many times as long as usual are extreme."""

Unravel = Callable[[jax.Array], Any]


class Public(NamedTuple):
    """Where records are looked at: public numbers of every question.

    Attributes
    ----------
    frame
        Coordinates v, with θ = centre + factor · v.
    metric
        Gradients are measured by the length of g / metric.
    typical
        The typical such length.
    """

    frame: Frame
    metric: Any
    typical: Any


class RoundPublic(NamedTuple):
    """Public numbers of a round's sum: bounds, and what each part is paid.

    Bounds on gradients are lengths of g / metric; ``squares`` bounds those whose
    squares are added; that on Hessians is in the Frobenius norm. ``parts`` are roots of
    fractions of the budget: how long each part may be, if it is in no cone.
    """

    at: Public
    gradient: Any
    squares: Any
    hessian: Any
    parts: Any


@dataclass(frozen=True)
class CurvatureBins:
    """Histograms of the curvature of each coordinate, over powers of two.

    Before anything is known, they say the scale of each coordinate of θ.
    """

    unravel: Unravel

    @property
    def count(self) -> int:
        """One bin for each power."""
        return 2 * _POWERS + 1

    @staticmethod
    def powers() -> np.ndarray:
        """The least number in each bin."""
        return 2.0 ** np.arange(-_POWERS, _POWERS + 1)

    def __call__(self, model: Model, record: Any, public: Frame) -> jax.Array:
        """The power of two below each |Hessian entry| of the diagonal."""
        record = prepared(model, record)
        _, hessian = derivatives(model, record, public, self.unravel)
        return _power(jnp.diagonal(hessian))


@dataclass(frozen=True)
class LengthBins:
    """Histograms of the lengths of gradients, and of Hessians unless left out.

    Before typical lengths are known, bins are powers of two.
    """

    unravel: Unravel
    is_first: bool = False
    has_hessians: bool = True

    @property
    def count(self) -> int:
        """Bins of a histogram."""
        return 2 * _POWERS + 1 if self.is_first else BINS

    def __call__(self, model: Model, record: Any, public: Public) -> jax.Array:
        """The bin of the gradient's length, and of the Hessian's."""
        record = prepared(model, record)
        if not self.has_hessians:
            _, first = gradient(model, record, public.frame, self.unravel)
            length = jnp.linalg.norm(first / jnp.asarray(public.metric, first.dtype))
            return _place(length / jnp.asarray(public.typical, length.dtype))[None]
        first, second = derivatives(model, record, public.frame, self.unravel)
        length = jnp.linalg.norm(first / jnp.asarray(public.metric, first.dtype))
        size = jnp.linalg.norm(second) / len(first)
        if self.is_first:
            return _power(jnp.stack([length, size]))
        relative = jnp.stack([length / jnp.asarray(public.typical, length.dtype), size])
        return _place(relative)


@dataclass(frozen=True)
class RoundAnswer:
    """Gradient, squares of its coordinates, and Hessian: a round's vector.

    Squares are in a cone, and so are Hessians that are ``is_concave``, as in `Setting`.
    """

    unravel: Unravel
    is_concave: bool = False

    @property
    def longer(self) -> np.ndarray:
        """How long each part may be beside free ones that are paid the same."""
        return np.array([1.0, IN_CONE, IN_CONE if self.is_concave else 1.0])

    def split(self, total: np.ndarray, size: int) -> list[np.ndarray]:
        """Each part of a total, in this order; Hessians by their entries."""
        if self.is_concave:
            first, squares, outer = np.split(total, [size, 2 * size])
            return [first, squares, entries_of_outer(outer, size)]
        first, entries, squares = np.split(total, [size, len(total) - size])
        return [first, squares, entries]

    def __call__(self, model: Model, record: Any, public: RoundPublic) -> Parts:
        """The parts, each clipped to its bound, in units in which all are at most 1."""
        record = prepared(model, record)
        first, second = with_hessian(
            model, record, public.at.frame, self.unravel, self.is_concave
        )
        scaled = first / jnp.asarray(public.at.metric, first.dtype)
        bound, narrow, most, parts = (
            jnp.asarray(part, first.dtype)
            for part in (public.gradient, public.squares, public.hessian, public.parts)
        )
        lengths = parts * jnp.asarray(self.longer, first.dtype)
        inner = scaled * clip_factor(scaled, narrow) / narrow
        entries, root = clipped(second, most, lengths[2])
        near = lengths[0] * scaled * clip_factor(scaled, bound) / bound
        return Parts(
            free=jnp.concatenate([near, entries]),
            positive=lengths[1] * inner * inner,
            factor=root,
        )


def _place(lengths: jax.Array) -> jax.Array:
    """The bin of each length."""
    edges = jnp.asarray(EDGES, lengths.dtype)
    return jnp.searchsorted(edges, finite(lengths), side="right")


def _power(numbers: jax.Array) -> jax.Array:
    """The bin of each |number| by the power of two below it; none for 0."""
    sizes = jnp.abs(finite(numbers))
    power = jnp.floor(jnp.log2(jnp.where(sizes > 0, sizes, 1.0)))
    bins = jnp.clip(power, -_POWERS, _POWERS) + _POWERS
    return jnp.where(sizes > 0, bins, -1).astype(jnp.int32)


def finite(numbers: jax.Array) -> jax.Array:
    """Numbers that are not finite count as huge, those that are none as zero."""
    most = float(np.finfo(numbers.dtype).max) / 4
    return jnp.nan_to_num(numbers, nan=0.0, posinf=most, neginf=-most)
