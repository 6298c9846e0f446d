# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a model says of its derivatives: what scales it, and what is linear in θ.

Along a coordinate t that scales the log-likelihood, such as the logarithm of an sd, it
is −a t − q e^{−ct} + b for every record, with a and c the same for all: log σ of a
normal distribution has a = 1 and c = 2, the log rate of an exponential one a = c = −1.
Newton's method crawls there if q is large and leaps too far if q is small. But where
the mean is highest is known:
t = log(c q̄ / a) / c; and how a move changes the curvature of all else is known, too.
Which coordinate is such is a property of the model: it is found from made-up records,
and is public. Where there are several, none is treated so.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.influence.derivatives import Frame, derivatives, prepared
from dpmcmc.model.tracing import is_double
from dpmcmc.sampling.fit.basis import made_up
from dpmcmc.sampling.fit.questions import Unravel
from dpmcmc.sampling.problem import Problem

__all__ = ["Dispersion", "Shape", "shape_of"]

_RECORDS, _FEWEST = 512, 30
_ASIDE = 0.4
"""a and c must be the same so far aside."""

_SIZES = 1e-2, 1e2
"""Records count whose curvature is between these: others say nothing, or too much for
the arithmetic."""

_ALIKE, _ROUNDING = 2e-3, 1e-5
_FARTHEST = 10.0
"""The largest factor by which cq is believed to differ from a."""


class Dispersion(NamedTuple):
    """A coordinate that scales the log-likelihood.

    Attributes
    ----------
    place
        Which of the informed coordinates it is.
    level, rate
        a and c.
    scaled
        Which informed coordinates have a curvature in proportion to e^{−ct}.
    """

    place: int
    level: float
    rate: float
    scaled: np.ndarray

    def by_curvature(self, curvature: float) -> float:
        """How far the highest point is, by the mean curvature c² q."""
        return float(np.log(curvature / (self.rate * self.level)) / self.rate)

    def ratio(self, gradient: float, sd: float) -> float:
        """How many times as high cq is as where the mean is highest, by −a + cq.

        What noise, of that sd, hides is not believed, nor more than `_FARTHEST`.
        """
        believed = gradient / self.level / (1 + (sd / self.level) ** 2)
        return float(np.clip(1 + believed, 1 / _FARTHEST, _FARTHEST))

    def curvature(self, gradient: float, sd: float) -> float:
        """The mean curvature along it, c² q, by the mean gradient and its sd."""
        return self.rate * self.level * self.ratio(gradient, sd)

    def by_gradient(self, gradient: float, sd: float) -> float:
        """How far the highest point is, by the mean gradient and its sd."""
        return float(np.log(self.ratio(gradient, sd)) / self.rate)


class Shape(NamedTuple):
    """What is known of the derivatives of every record's log-likelihood beforehand.

    Attributes
    ----------
    scaling
        The coordinate that scales the log-likelihood, if there is one.
    bent
        Of which informed coordinates the derivative is not linear in the others: all,
        for a logistic regression; none but that of the scale, for a linear one.
    """

    scaling: Dispersion | None
    bent: np.ndarray

    @property
    def is_straight(self) -> bool:
        """Whether no step is too long, but along the scale."""
        own = -1 if self.scaling is None else self.scaling.place
        return bool(np.all(np.flatnonzero(self.bent) == own))


def shape_of(
    problem: Problem, start: np.ndarray, factor: np.ndarray, unravel: Unravel
) -> Shape:
    """Look at the derivatives of made-up records; no record is read.

    Parameters
    ----------
    problem
        The model.
    start
        Where to look, by coordinates of θ.
    factor
        Makes θ − start of informed coordinates; of one entry in each column.
    unravel
        Makes θ of its coordinates.
    """
    size = factor.shape[1]
    with jax.enable_x64(is_double(problem.dtype)):
        records = jax.tree.map(lambda column: column[:_RECORDS], made_up(problem))

        @jax.jit
        def look(at: jax.Array) -> tuple[jax.Array, jax.Array]:
            def one(record: Any) -> tuple[jax.Array, jax.Array]:
                record = prepared(problem.model, record)
                frame = Frame(at, jnp.asarray(factor, at.dtype))
                return derivatives(problem.model, record, frame, unravel)

            return jax.vmap(one)(records)

        def seen(move: np.ndarray) -> _Seen:
            at = jnp.asarray(start + factor @ move, problem.dtype)
            return _Seen(*(np.asarray(part, np.float64) for part in look(at)))

        here = seen(np.zeros(size))
        signs = np.random.default_rng(0).choice([-_ASIDE, _ASIDE], size)
        place = _scale(here)
        if place is None:
            return Shape(None, _bent(here, seen(signs), signs))
        aside = seen(_ASIDE * np.eye(size)[place])
        scaling = _scaling(place, here, aside)
        if scaling is None:
            return Shape(None, _bent(here, seen(signs), signs))
        signs[place] = 0
        bent = _bent(here, seen(signs), signs)
        # What a scale changes in another way is not known, and its own derivative is
        # an exponential function of it.
        bent |= ~(scaling.scaled | _is_times(here, aside, 1.0))
        bent[place] = True
        return Shape(scaling, bent)


class _Seen(NamedTuple):
    """Gradients and Hessians of made-up records."""

    first: np.ndarray
    second: np.ndarray

    @property
    def diagonal(self) -> np.ndarray:
        """Second derivatives by each coordinate alone."""
        return np.diagonal(self.second, axis1=1, axis2=2)

    @property
    def is_finite(self) -> np.ndarray:
        """Which records have derivatives."""
        first = np.all(np.isfinite(self.first), axis=1)
        return np.asarray(first & np.all(np.isfinite(self.second), axis=(1, 2)))


def _scale(here: _Seen) -> int | None:
    """The one coordinate whose derivatives are those of a scale."""
    pairs = zip(here.first.T, here.diagonal.T, strict=True)
    places = [at for at, pair in enumerate(pairs) if _line(*pair) is not None]
    return places[0] if len(places) == 1 else None


def _scaling(place: int, here: _Seen, aside: _Seen) -> Dispersion | None:
    """The coordinate, if it scales by the same a and c aside along it."""
    line, again = (
        _line(seen.first[:, place], seen.diagonal[:, place]) for seen in (here, aside)
    )
    if line is None or again is None or not np.allclose(line, again, rtol=_ALIKE):
        return None
    level, rate = line
    times = float(np.exp(-rate * _ASIDE))
    return Dispersion(place, level, rate, _is_times(here, aside, times))


def _is_times(here: _Seen, aside: _Seen, times: float) -> np.ndarray:
    """Whose second derivatives are so many times as large aside, where finite."""
    expected = times * here.diagonal
    is_finite = np.isfinite(expected) & np.isfinite(aside.diagonal)
    with np.errstate(invalid="ignore"):
        missed = np.abs(aside.diagonal - expected)
    is_close = missed <= _ALIKE * (np.abs(expected) + 0.01)
    return np.all(is_close | ~is_finite, axis=0) & np.any(is_finite, axis=0)


def _bent(here: _Seen, there: _Seen, move: np.ndarray) -> np.ndarray:
    """Whose derivatives a move changes otherwise than second derivatives say.

    Beside the change, and beside the derivatives as far as they are rounded.
    """
    is_finite = here.is_finite & there.is_finite
    if np.sum(is_finite) < _FEWEST:
        return np.ones(len(move), bool)
    before, after = here.first[is_finite], there.first[is_finite]
    second = here.second[is_finite]
    change = after - before
    missed = np.abs(change - second @ move)
    changes = np.abs(change) + np.abs(second) @ np.abs(move)
    rounding = _ROUNDING * (np.abs(before) + np.abs(after)) + 1e-6
    return np.any(missed > _ALIKE * changes + rounding, axis=0)


def _line(first: np.ndarray, second: np.ndarray) -> tuple[float, float] | None:
    """Find a and c, if gradients of all records are −a − (second derivatives) / c."""
    sizes = np.abs(second)
    counts = np.isfinite(first) & (sizes > _SIZES[0]) & (sizes < _SIZES[1])
    first, second = first[counts], second[counts]
    if len(first) < _FEWEST or np.ptp(second) < _SIZES[0] or np.any(second > 0):
        return None
    slope, level = np.polyfit(second, first, 1)
    missed = np.abs(first - level - slope * second)
    if np.any(missed > _ALIKE * (1 + np.abs(second))) or abs(slope) < _ALIKE:
        return None
    level, rate = -float(level), -1 / float(slope)
    return (level, rate) if level * rate > _ALIKE else None
