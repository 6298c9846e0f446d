# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Effects that vary over public groups: intercepts and slopes with a common sd.

Effects u of G groups are normal with an sd. Records cannot tell their mean ū from the
coefficient of the same column: it is in the prior alone. So θ has what records do tell,
the coefficient with ū added to it and the contrasts v = Qᵀu, Q a basis of the vectors
that sum to zero; and beside them ū, of which no record's likelihood depends. ū is there
in units of its own sd, so that its scale does not change with that of the effects.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

from dpmcmc.errors import InputError
from dpmcmc.models.formulas.bounds_and_levels import Declared
from dpmcmc.models.formulas.expressions import Columns
from dpmcmc.models.formulas.rows import DesignRows, Scaled, scaled_number
from dpmcmc.models.formulas.terms import Group

__all__ = ["Effect", "Effects", "effects_of"]


@dataclass(frozen=True, eq=False)
class Effect:
    """One group term.

    Attributes
    ----------
    group
        The term of the formula.
    levels
        The groups.
    slope
        The number whose slope varies; None for an intercept.
    place
        Whose coefficient has the same column: the place in the row, −1 for the
        intercept, None if there is none.
    """

    group: Group
    levels: tuple[str, ...]
    slope: Scaled | None
    place: int | None

    @property
    def log_sd(self) -> str:
        """The leaf of θ with the logarithm of the sd."""
        return f"log_sd {self.group.name}"

    @property
    def mean(self) -> str:
        """The leaf of θ with the mean effect, if a coefficient has the same column.

        It is in units of its sd, that of the effects over √G.
        """
        return f"mean {self.group.name}"

    @property
    def dim(self) -> str:
        """The dimension of the groups."""
        return f"{self.group.factor}_level"

    @property
    def contrasts(self) -> np.ndarray:
        """Q: a basis of the vectors that sum to zero, of unit length each."""
        size = len(self.levels)
        whole = np.linalg.qr(np.hstack([np.ones((size, 1)), np.eye(size)[:, 1:]]))[0]
        return np.asarray(whole[:, 1:])

    def about_mean(self, theta: Any) -> Any:
        """The effects less their mean, where a coefficient has it."""
        own = jnp.asarray(theta[self.group.name])
        if self.place is None:
            return own
        basis = jnp.asarray(self.contrasts, own.dtype)
        return jnp.dot(basis, own, precision=jax.lax.Precision.HIGHEST)

    def mean_effect(self, theta: Any) -> Any:
        """The mean effect ū."""
        sd = jnp.exp(theta[self.log_sd]) / math.sqrt(len(self.levels))
        return theta[self.mean] * sd

    def whole(self, theta: Any) -> Any:
        """The effects u."""
        centred = self.about_mean(theta)
        return centred if self.place is None else self.mean_effect(theta) + centred

    def of_record(self, effects: Any, columns: Columns) -> Any:
        """The effect of the record's group."""
        found = columns[self.group.factors[0]]
        for name in self.group.factors[1:]:
            found = jnp.outer(found, columns[name]).ravel()
        return jnp.dot(found, effects, precision=jax.lax.Precision.HIGHEST)


@dataclass(frozen=True, eq=False)
class Effects:
    """All group terms of a formula.

    They are parameters themselves, not multiples of their sd: with many records of each
    group that is also what mixes best.
    """

    terms: tuple[Effect, ...]
    outputs: int | None
    scale: float

    def start(self) -> dict[str, Any]:
        """No effects, and a usual sd."""
        found: dict[str, Any] = {}
        for one in self.terms:
            size = len(one.levels) - (one.place is not None)
            found[one.group.name] = np.zeros(self._shape(size))
            found[one.log_sd] = math.log(self.scale)
            if one.place is not None:
                found[one.mean] = np.zeros(self._shape())
        return found

    def log_density(self, theta: Any) -> Any:
        """The log-density of effects given their sd, and of the sd."""
        total = jnp.zeros(())
        for one in self.terms:
            log_sd = theta[one.log_sd]
            sd = jnp.exp(log_sd)
            total += norm.logpdf(log_sd, math.log(self.scale), 1.0)
            total += jnp.sum(norm.logpdf(theta[one.group.name], 0.0, sd))
            if one.place is not None:
                total += jnp.sum(norm.logpdf(theta[one.mean]))
        return total

    def draw(self, key: jax.Array) -> dict[str, Any]:
        """A draw of the prior."""
        found: dict[str, Any] = {}
        keys = jax.random.split(key, max(len(self.terms), 1))
        for one, own in zip(self.terms, keys, strict=False):
            first, second = jax.random.split(own)
            log_sd = math.log(self.scale) + jax.random.normal(first)
            found[one.log_sd] = log_sd
            shape = self._shape(len(one.levels))
            drawn = jnp.exp(log_sd) * jax.random.normal(second, shape)
            found[one.group.name] = drawn
            if one.place is not None:
                found[one.group.name] = jnp.dot(one.contrasts.T, drawn)
                mean = jnp.mean(drawn, axis=0)
                found[one.mean] = mean * math.sqrt(len(one.levels)) / jnp.exp(log_sd)
        return found

    def means(self, theta: Any) -> list[tuple[int, Any]]:
        """Mean effects, with the places of the coefficients that have them."""
        return [
            (one.place, one.mean_effect(theta))
            for one in self.terms
            if one.place is not None
        ]

    def add(self, eta: Any, theta: Any, columns: Columns) -> Any:
        """η with the effects of the record's groups about their means."""
        for one in self.terms:
            own = one.of_record(one.about_mean(theta), columns)
            eta = eta + (own if one.slope is None else one.slope.at(columns) * own)
        return eta

    def add_shown(self, eta: Any, draw: Any, columns: Columns) -> Any:
        """η with the effects of the record's groups as they are shown."""
        for one in self.terms:
            own = one.of_record(draw[one.group.name], columns)
            eta = eta + (own if one.slope is None else one.slope.raw(columns) * own)
        return eta

    def shown(self, theta: Any, unit: float) -> dict[str, Any]:
        """Effects for columns as the formula has them, and their sds.

        A slope for z = (x − shift) / unit moves the group's intercept where x is 0.
        The sd of intercepts stays that at the shift, the middle of the bounds.
        """
        found: dict[str, Any] = {}
        for one in self.terms:
            name, per = one.group.name, 1.0
            moved = one.whole(theta)
            if one.slope is not None:
                per = 1 / one.slope.unit
            else:
                for other in self.terms:
                    if other.slope and other.group.factors == one.group.factors:
                        ratio = other.slope.shift / other.slope.unit
                        moved = moved - ratio * other.whole(theta)
            found[f"{name}_sd"] = unit * per * jnp.exp(theta[one.log_sd])
            found[name] = unit * per * moved
        return found

    def names(self) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """Coords and dims."""
        category = ["category"] if self.outputs else []
        coords = {one.dim: list(one.levels) for one in self.terms}
        return coords, {one.group.name: [one.dim, *category] for one in self.terms}

    def _shape(self, *size: int) -> tuple[int, ...]:
        return (*size, *([self.outputs] if self.outputs else []))


def effects_of(
    groups: Sequence[Group],
    rows: DesignRows,
    has_constant: bool,
    declared: Declared,
    outputs: int | None,
    scale: float,
) -> Effects:
    """The group terms of a formula, checked against what is declared.

    ``has_constant`` says whether there is an intercept, or cutpoints in its place.
    """
    with_intercept = {one.factors for one in groups if one.slope is None}
    terms = []
    for one in groups:
        declared.require([], one.factors)
        if "/" in one.name:
            raise InputError(
                f"a group term is named {one.name!r}; it must have no '/'."
            )
        names = [declared.levels[name].names for name in one.factors]
        slope, place = None, -1 if has_constant else None
        if one.slope is not None:
            slope = scaled_number(one.slope, declared, one.factors in with_intercept)
            place = _place(slope, str(one.slope), rows)
        levels = tuple(map(":".join, product(*names)))
        terms.append(Effect(one, levels, slope, place))
    return Effects(tuple(terms), outputs, scale)


def _place(slope: Scaled, name: str, rows: DesignRows) -> int | None:
    """Where a row has the same column, in the same units."""
    if name not in rows.names:
        return None
    place = rows.names.index(name)
    same = math.isclose(
        rows.shift[place], slope.shift - rows.moved(place), abs_tol=1e-9
    )
    return place if same and math.isclose(rows.unit[place], slope.unit) else None
