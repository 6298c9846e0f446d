# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Terms of a formula as columns of a design: numbers, levels, bases, and products."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp

from dpmcmc.errors import InputError
from dpmcmc.models.formulas.bounds_and_levels import Declared
from dpmcmc.models.formulas.expressions import (
    Columns,
    Expansion,
    basis_of,
    evaluate,
    require_known,
)
from dpmcmc.models.formulas.terms import Call, Expression, Name, columns_in

__all__ = ["Component", "Term", "components_of", "terms_of"]


@dataclass(frozen=True, eq=False)
class Component:
    """One factor of a term: a number, the levels of a column, or a basis."""

    expression: Expression
    declared: Declared
    levels_of: str | None = None
    basis: Expansion | None = None

    @property
    def key(self) -> str:
        """What says that two components are the same."""
        return self.levels_of or str(self.expression)

    @property
    def is_number(self) -> bool:
        """Whether it is one number, of any size."""
        return self.levels_of is None and self.basis is None

    @cached_property
    def centre(self) -> float | None:
        """The middle of its range within the declared bounds, if it is a number."""
        if not self.is_number:
            return None
        points = self.declared.points(columns_in(self.expression))
        with jax.enable_x64(True), jax.ensure_compile_time_eval():
            columns = {name: jnp.asarray(values) for name, values in points.items()}
            values = evaluate(self.expression, columns, self.declared.bounds)
            return float(jnp.min(values) + jnp.max(values)) / 2

    def names(self, is_reduced: bool) -> tuple[str, ...]:
        """What its columns are called; the first level is left out if reduced."""
        if self.levels_of is not None:
            levels = self.declared.levels[self.levels_of].names
            kept = levels[1:] if is_reduced else levels
            return tuple(f"{self.levels_of}={level}" for level in kept)
        if self.basis is not None:
            return tuple(
                f"{self.expression}[{one + 1}]" for one in range(self.basis.size)
            )
        return (str(self.expression),)

    def at(self, columns: Columns, is_reduced: bool, is_centred: bool) -> Any:
        """Its columns at one record.

        A number may be centred at the middle of its range: products of numbers are
        then nearly independent of the numbers themselves.
        """
        if self.levels_of is not None:
            hot = columns[self.levels_of]
            return hot[1:] if is_reduced else hot
        if self.basis is not None:
            return self.basis.at(columns[self.basis.column])
        value = evaluate(self.expression, columns, self.declared.bounds)
        if is_centred and self.centre is not None:
            value = value - self.centre
        return jnp.reshape(value, (1,))


@dataclass(frozen=True, eq=False)
class Term:
    """A product of components; each of levels is whole, or without its first."""

    components: tuple[Component, ...]
    reduced: tuple[bool, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What its columns are called."""
        found = [""]
        for component, reduced in zip(self.components, self.reduced, strict=True):
            found = [
                f"{left}:{right}" if left else right
                for left in found
                for right in component.names(reduced)
            ]
        return tuple(found)

    @property
    def has_number(self) -> bool:
        """Whether its columns have the units of a column of the table."""
        return any(component.is_number for component in self.components)

    def at(self, columns: Columns, is_centred: bool) -> Any:
        """Its columns at one record."""
        parts = [
            component.at(columns, reduced, is_centred)
            for component, reduced in zip(self.components, self.reduced, strict=True)
        ]
        found = parts[0]
        for part in parts[1:]:
            found = jnp.outer(found, part).ravel()
        return found


def components_of(
    expressions: Sequence[Expression], declared: Declared
) -> tuple[Component, ...]:
    """The components of a term, checked against what is declared."""
    return tuple(_component(one, declared) for one in expressions)


def terms_of(
    products: Sequence[tuple[Component, ...]], has_intercept: bool
) -> tuple[Term, ...]:
    """Terms whose columns are independent of each other, by R's rule.

    The first level of a component is left out where the term without the component is
    in the model, too; the empty term is the intercept.
    """
    known = {frozenset(one.key for one in product) for product in products}
    if has_intercept:
        known.add(frozenset())
    found, has_whole = [], False
    for product in products:
        keys = [one.key for one in product]
        reduced = tuple(
            frozenset(keys) - {one.key} in known or (has_whole and len(product) == 1)
            for one in product
        )
        # without an intercept, the first column of levels stands for it
        has_whole |= len(product) == 1 and product[0].levels_of is not None
        found.append(Term(product, reduced))
    return tuple(found)


def _component(expression: Expression, declared: Declared) -> Component:
    if isinstance(expression, Call) and expression.function == "C":
        inside = expression.arguments
        if len(inside) != 1 or not isinstance(inside[0], Name) or expression.settings:
            raise InputError(
                f"the formula has {expression}; write C(region), with the level to "
                "compare with first in levels."
            )
        column = inside[0].name
        declared.require([], [column])
        return Component(expression, declared, levels_of=column)
    if isinstance(expression, Name) and expression.name in declared.levels:
        return Component(expression, declared, levels_of=expression.name)
    if isinstance(expression, Call) and (found := basis_of(expression, declared)):
        return Component(expression, declared, basis=found)
    require_known(expression)
    for column in columns_in(expression):
        if column in declared.levels:
            raise InputError(
                f"the formula has {expression}, but {column!r} has levels and is no "
                "number. Write it as a term of its own."
            )
    declared.require(columns_in(expression), [])
    return Component(expression, declared)
