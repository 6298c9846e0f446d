# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The design: one row of numbers for each record, in units of the declared bounds.

Chains run on columns z that are centred and scaled by declared bounds; coefficients are
shown for the columns x as the formula has them. Both span the same functions, so that
z = a + A x with public numbers, and η = c + z·γ is (c + a·γ) + x·(Aᵀγ).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.models.formulas.bounds_and_levels import Declared
from dpmcmc.models.formulas.components import Component, Term, components_of, terms_of
from dpmcmc.models.formulas.expressions import Columns
from dpmcmc.models.formulas.terms import Expression, columns_in

__all__ = ["DesignRows", "Scaled", "rows_of", "scaled_number"]

_SAME = 1e-7
"""Columns that differ by less, in units of their scale, are the same functions."""


@dataclass(frozen=True, eq=False)
class Scaled:
    """A number of a record in units of its declared range: (value − shift) / unit."""

    component: Component
    shift: float
    unit: float

    def at(self, columns: Columns) -> Any:
        """The number in these units."""
        return (self.raw(columns) - self.shift) / self.unit

    def raw(self, columns: Columns) -> Any:
        """The number as the formula has it."""
        return self.component.at(columns, False, False)[0]


@dataclass(frozen=True, eq=False)
class DesignRows:
    """The rows of a design, scaled and as the formula has them.

    Attributes
    ----------
    terms
        The terms, without intercept and groups.
    names
        What the columns are called.
    is_centred
        Whether plain columns are centred before products are taken.
    shift, unit
        A column z of a row is (its value − shift) / unit.
    constant, matrix
        a and A of z = a + A x.
    """

    terms: tuple[Term, ...]
    names: tuple[str, ...]
    is_centred: bool
    shift: np.ndarray
    unit: np.ndarray
    constant: np.ndarray
    matrix: np.ndarray

    @property
    def size(self) -> int:
        """How many columns there are."""
        return len(self.names)

    def at(self, columns: Columns) -> jax.Array:
        """The scaled row z of one record."""
        row = _row(self.terms, columns, self.is_centred)
        shift, unit = (jnp.asarray(one, row.dtype) for one in (self.shift, self.unit))
        return (row - shift) / unit

    def moved(self, place: int) -> float:
        """What a plain column was centred by before its shift."""
        term = next(one for one in self.terms if self.names[place] in one.names)
        (component,) = term.components if len(term.components) == 1 else (None,)
        if not self.is_centred or component is None or component.centre is None:
            return 0.0
        return component.centre

    def raw(self, columns: Columns) -> jax.Array:
        """The row x of one record, as the formula has it."""
        return _row(self.terms, columns, False)

    def shown(self, scaled: Any) -> tuple[Any, Any]:
        """Coefficients of x, and what the intercept gains, from those of z."""
        scaled = jnp.asarray(scaled)
        matrix, constant = (
            jnp.asarray(one, scaled.dtype) for one in (self.matrix, self.constant)
        )
        highest = jax.lax.Precision.HIGHEST
        return (
            jnp.matmul(matrix.T, scaled, precision=highest),
            jnp.matmul(constant, scaled, precision=highest),
        )


def rows_of(
    products: Sequence[tuple[Expression, ...]], has_intercept: bool, declared: Declared
) -> DesignRows:
    """The rows of the common terms of a formula.

    Raises
    ------
    InputError
        If bounds or levels are missing, a column is not finite everywhere within the
        bounds, or columns depend on each other.
    """
    components = [components_of(one, declared) for one in products]
    terms = terms_of(components, has_intercept)
    names = tuple(name for term in terms for name in term.names)
    if not names:
        nothing = np.zeros(0)
        return DesignRows((), (), False, nothing, nothing, nothing, np.zeros((0, 0)))
    read = [name for one in products for part in one for name in columns_in(part)]
    points = declared.points(list(dict.fromkeys(read)))
    plain = _values(terms, points, is_centred=False)
    _require_finite(names, plain)
    _require_independent(names, plain, has_intercept)
    numbers = np.concatenate([np.full(len(one.names), one.has_number) for one in terms])
    for is_centred in (has_intercept, False):
        values = _values(terms, points, is_centred)
        shift, unit = _scales(values, numbers, has_intercept)
        found = _same_functions((values - shift) / unit, plain, has_intercept)
        if found is not None:
            break
    assert found is not None
    return DesignRows(terms, names, is_centred, shift, unit, *found)


def scaled_number(
    expression: Expression, declared: Declared, is_centred: bool
) -> Scaled:
    """One number of a record, such as a slope that varies over groups."""
    (component,) = components_of([expression], declared)
    if not component.is_number:
        raise InputError(
            f"the formula has ({expression} | …); a slope that varies over groups must "
            "be of a number. For levels, write (1 | group:levels)."
        )
    points = declared.points(columns_in(expression))
    values = _values((Term((component,), (False,)),), points, False)
    _require_finite((str(expression),), values)
    shift, unit = _scales(values, np.array([True]), is_centred)
    return Scaled(component, float(shift[0]), float(unit[0]))


def _row(terms: Sequence[Term], columns: Columns, is_centred: bool) -> jax.Array:
    return jnp.concatenate([term.at(columns, is_centred) for term in terms])


def _values(
    terms: Sequence[Term], points: dict[str, np.ndarray], is_centred: bool
) -> np.ndarray:
    """Rows at points of the declared box, in float64."""
    with jax.enable_x64(True):
        made = jax.jit(jax.vmap(lambda one: _row(terms, one, is_centred)))(points)
        return np.asarray(made, np.float64)


def _scales(
    values: np.ndarray, numbers: np.ndarray, is_centred: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Shift and unit of each column: half of its range is two units.

    A column that fills its bounds has an sd of about one then. Levels and bases, which
    have no units, stay as they are.
    """
    low, high = values.min(axis=0), values.max(axis=0)
    shift = np.where(numbers & is_centred, (low + high) / 2, 0.0)
    width = np.maximum(np.abs(high - shift), np.abs(low - shift))
    return shift, np.where(numbers & (width > 0), width / 2, 1.0)


def _same_functions(
    scaled: np.ndarray, plain: np.ndarray, has_intercept: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return a and A of z = a + A x; None if the scaled columns are other functions."""
    size = np.abs(plain).max(axis=0)
    ones = np.ones((len(plain), int(has_intercept)))
    found, *_ = np.linalg.lstsq(np.hstack([ones, plain / size]), scaled, rcond=None)
    rest = scaled - np.hstack([ones, plain / size]) @ found
    if np.abs(rest).max() > _SAME:
        return None
    constant = found[0] if has_intercept else np.zeros(scaled.shape[1])
    matrix = found[int(has_intercept) :].T / size
    return constant, np.where(np.abs(matrix * size) < _SAME, 0.0, matrix)


def _require_finite(names: Sequence[str], values: np.ndarray) -> None:
    wrong = [
        name
        for name, good in zip(names, np.isfinite(values).all(axis=0), strict=True)
        if not good
    ]
    if wrong:
        raise InputError(
            f"{', '.join(map(repr, wrong))} is not finite everywhere within the "
            "declared bounds. Choose bounds that leave out what has no value, such as "
            "the logarithm of 0."
        )


def _require_independent(
    names: Sequence[str], values: np.ndarray, has_intercept: bool
) -> None:
    """Refuse columns that others determine: their coefficients have no meaning."""
    size = np.maximum(np.abs(values).max(axis=0), 1e-300)
    ones = np.ones((len(values), int(has_intercept)))
    # the diagonal of R is what is left of each column after those before it
    left = np.abs(np.diag(np.linalg.qr(np.hstack([ones, values / size]), mode="r")))
    for name, rest in zip(names, left[int(has_intercept) :], strict=True):
        if rest < _SAME * len(values) ** 0.5:
            raise InputError(
                f"the column {name!r} of the formula is determined by those before it"
                f"{' and the intercept' if has_intercept else ''}. Leave one of them "
                "out."
            )
