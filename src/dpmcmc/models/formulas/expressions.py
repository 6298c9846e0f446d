# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of one record: arithmetic, functions and bases that a formula may use.

None of them looks at other records. What R and others take from the data (the centre
and the scale of a column, the knots of a spline) is taken from declared bounds.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.models.formulas.bounds_and_levels import Declared
from dpmcmc.models.formulas.terms import Call, Expression, Name, Value, columns_in
from dpmcmc.models.settings import Range

__all__ = ["Columns", "Expansion", "basis_of", "evaluate", "require_known"]

Columns = Mapping[str, Any]
"""One prepared record: numbers by column, and vectors of levels."""

_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    ">": lambda a, b: jnp.where(a > b, 1.0, 0.0),
    "<": lambda a, b: jnp.where(a < b, 1.0, 0.0),
    ">=": lambda a, b: jnp.where(a >= b, 1.0, 0.0),
    "<=": lambda a, b: jnp.where(a <= b, 1.0, 0.0),
    "==": lambda a, b: jnp.where(a == b, 1.0, 0.0),
    "!=": lambda a, b: jnp.where(a != b, 1.0, 0.0),
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "I": lambda x: x,
    "abs": jnp.abs,
    "cos": jnp.cos,
    "exp": jnp.exp,
    "log": jnp.log,
    "log10": jnp.log10,
    "log1p": jnp.log1p,
    "log2": jnp.log2,
    "sin": jnp.sin,
    "sqrt": jnp.sqrt,
}
_BY_BOUNDS = ("center", "scale", "standardize")
_BASES = ("bs", "poly")
_DEGREE, _COLUMNS = 3, 5
"""Of a spline, unless the formula says otherwise."""


def evaluate(
    expression: Expression, columns: Columns, bounds: Mapping[str, Range]
) -> Any:
    """The value of an expression at one record."""
    if isinstance(expression, Name):
        return columns[expression.name]
    if isinstance(expression, Value):
        return expression.value
    if expression.function in _BY_BOUNDS:
        (column,) = columns_in(expression)
        low, high = bounds[column]
        width = 1.0 if expression.function == "center" else (high - low) / 4
        return (columns[column] - (low + high) / 2) / width
    function = {**_OPERATORS, **_FUNCTIONS}[expression.function]
    return function(*(evaluate(one, columns, bounds) for one in expression.arguments))


def require_known(expression: Expression) -> None:
    """Refuse functions that a formula cannot use, and settings that none has."""
    if not isinstance(expression, Call):
        return
    if expression.function not in (*_OPERATORS, *_FUNCTIONS, *_BY_BOUNDS):
        raise InputError(
            f"the formula has {expression}, but {expression.function!r} is not a "
            f"function that it can use: {', '.join([*_FUNCTIONS, *_BY_BOUNDS])}, and "
            f"{', '.join(_BASES)} and C as terms. Make the column before, record by "
            "record."
        )
    by_bounds = expression.function in _BY_BOUNDS
    plain = len(expression.arguments) == 1 and isinstance(expression.arguments[0], Name)
    if expression.settings or (by_bounds and not plain):
        raise InputError(
            f"the formula has {expression}; {expression.function} takes one column, "
            "and no settings: its centre and scale are those of the declared bounds."
        )
    for one in expression.arguments:
        require_known(one)


@dataclass(frozen=True, eq=False)
class Expansion:
    """Several columns made of one: splines or polynomials on its declared bounds.

    Attributes
    ----------
    column
        The column.
    size
        How many columns it makes.
    at
        Makes them from a value of the column.
    """

    column: str
    size: int
    at: Callable[[Any], jax.Array]


def basis_of(call: Call, declared: Declared) -> Expansion | None:
    """The basis that a call stands for; None if it is no basis.

    ``bs(x, df=5, degree=3)`` are B-splines with evenly spaced knots between the
    declared bounds, without the first; ``poly(x, 2)`` are Legendre polynomials on them.
    """
    if call.function not in _BASES:
        return None
    settings = dict(call.settings)
    names = ("df", "degree") if call.function == "bs" else ("degree",)
    head, *rest = call.arguments or (None,)
    settings.update(zip(names, rest, strict=False))
    whole = {
        name: int(value.value)
        for name, value in settings.items()
        if name in names
        and isinstance(value, Value)
        and isinstance(value.value, int)
        and value.value >= 1
    }
    if (
        not isinstance(head, Name)
        or len(whole) < len(settings)
        or len(rest) > len(names)
    ):
        raise InputError(
            f"the formula has {call}; write bs(age, df=5, degree=3) or poly(age, 2): a "
            "column, and whole numbers of at least 1. Knots are evenly spaced between "
            "the declared bounds."
        )
    declared.require([head.name], [])
    low, high = declared.bounds[head.name]
    if call.function == "poly":
        degree = whole.get("degree", 2)
        return Expansion(head.name, degree, _Legendre(low, high, degree))
    degree, size = whole.get("degree", _DEGREE), whole.get("df", _COLUMNS)
    if size < degree:
        raise InputError(
            f"the formula has {call}; df must be at least the degree, {degree}."
        )
    return Expansion(head.name, size, _Splines(low, high, degree, size))


@dataclass(frozen=True)
class _Legendre:
    low: float
    high: float
    degree: int

    def __call__(self, value: Any) -> jax.Array:
        """By (n + 1) P(n+1) = (2n + 1) x P(n) − n P(n−1)."""
        x = 2 * (value - self.low) / (self.high - self.low) - 1
        found = [jnp.ones_like(x), x]
        for n in range(1, self.degree):
            found.append(((2 * n + 1) * x * found[n] - n * found[n - 1]) / (n + 1))
        return jnp.stack(found[1:])


@dataclass(frozen=True)
class _Splines:
    low: float
    high: float
    degree: int
    size: int

    def __call__(self, value: Any) -> jax.Array:
        """By the recursion of Cox and de Boor, on all knots together.

        There are size + 1 splines that sum to one. The first is left out, as the
        intercept stands for it.
        """
        inner = self.size - self.degree
        edges = np.linspace(self.low, self.high, inner + 2)
        ends = self.degree
        knots = np.concatenate(
            [np.full(ends, self.low), edges, np.full(ends, self.high)]
        )
        x = jnp.asarray(value)
        # the last piece has both its ends
        place = jnp.clip(jnp.sum(x >= jnp.asarray(edges[1:-1], x.dtype)), 0, inner)
        found = jax.nn.one_hot(place + ends, len(knots) - 1, dtype=x.dtype)
        for degree in range(1, self.degree + 1):
            found = _raised(found, x, knots, degree)
        return found[1:]


def _raised(
    lower: jax.Array, x: jax.Array, knots: np.ndarray, degree: int
) -> jax.Array:
    """Splines of a degree from those of one less; pieces of no width give none."""
    widths = knots[degree:] - knots[:-degree]
    inverse = np.where(widths > 0, 1 / np.where(widths > 0, widths, 1), 0.0)
    rise = jnp.asarray(inverse[:-1], x.dtype) * (
        x - jnp.asarray(knots[: -degree - 1], x.dtype)
    )
    fall = jnp.asarray(inverse[1:], x.dtype) * (
        jnp.asarray(knots[degree + 1 :], x.dtype) - x
    )
    return rise * lower[:-1] + fall * lower[1:]
