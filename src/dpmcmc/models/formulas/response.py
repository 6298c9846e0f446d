# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The response of a formula: its columns, their declared range, and its preparation."""

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from dpmcmc.errors import InputError
from dpmcmc.model.preparation import Clamp, Log, Standardise, Step
from dpmcmc.models.formulas.bounds_and_levels import Declared
from dpmcmc.models.formulas.terms import Call, Expression, Name
from dpmcmc.models.settings import Range

__all__ = ["Response", "response_of"]

_TRIALS = ("p", "prop", "proportion")
_WRITTEN = {
    "trials": "p(cured, patients)",
    "positive": "days, or censored(days, died) for weibull",
}


@dataclass(frozen=True)
class Response:
    """What a formula explains.

    Attributes
    ----------
    name
        The column.
    kind
        As in `Family`.
    bounds
        Of the values, as the table has them.
    beside
        A column that is read with it: the number of trials, or whether a duration has
        ended (1) or is censored (0).
    codes, levels
        What stands for its levels in a record, and what they are called.
    """

    name: str
    kind: str
    bounds: Range
    beside: str | None = None
    beside_bounds: Range = (0.0, 1.0)
    codes: tuple[int, ...] = ()
    levels: tuple[str, ...] = ()

    @property
    def most(self) -> float:
        """The largest value."""
        return self.bounds[1]

    @property
    def shift(self) -> float:
        """What is taken from a number, so that chains run on numbers about 0."""
        return sum(self.bounds) / 2 if self.kind == "number" else 0.0

    @property
    def unit(self) -> float:
        """What a number is then divided by: a quarter of its range."""
        low, high = self.bounds
        return (high - low) / 4 if self.kind == "number" else 1.0

    @property
    def outputs(self) -> int | None:
        """How many predictors it has, if it has several."""
        return len(self.codes) - 1 if self.kind == "levels" else None

    def steps(self) -> dict[str, list[Step]]:
        """How its columns are prepared."""
        low, high = self.bounds
        steps: list[Step] = [Clamp(low, high)]
        if self.kind == "number":
            steps.append(Standardise(self.shift, self.unit))
        if self.kind == "positive":
            steps.append(Log())
        found = {self.name: steps}
        if self.beside is not None:
            found[self.beside] = [Clamp(*self.beside_bounds)]
        return found

    def original(self, value: Any) -> Any:
        """A prepared value as the table has it."""
        if self.kind == "positive":
            return jnp.exp(value)
        return self.shift + self.unit * value

    def clamped(self, value: Any) -> Any:
        """A prepared value within its bounds."""
        low, high = self.bounds
        if self.kind == "positive":
            low, high = math.log(low), math.log(high)
        return jnp.clip(
            value, (low - self.shift) / self.unit, (high - self.shift) / self.unit
        )

    def place(self, y: Any) -> Any:
        """The place of a value among the levels."""
        return jnp.argmax(y == jnp.asarray(self.codes, jnp.result_type(float)))

    def known(self, y: Any, value: Any) -> Any:
        """The value, or not a number if y is no level."""
        is_level = jnp.any(y == jnp.asarray(self.codes, jnp.result_type(float)))
        return jnp.where(is_level, value, jnp.nan)

    def code(self, place: Any) -> Any:
        """What stands for a level in a record, by its place."""
        return jnp.asarray(self.codes, jnp.result_type(float))[place]


def response_of(
    expression: Expression, kind: str, family: str, declared: Declared
) -> Response:
    """The response of a formula, checked against what is declared of it.

    Raises
    ------
    InputError
        If it is written in another way than the family needs, or the declared range is
        not one that the family can have.
    """
    name, beside = _columns(expression, kind, family)
    if kind in ("ordered", "levels"):
        declared.require([], [name])
        levels = declared.levels[name]
        if len(levels.codes) < 3:
            raise InputError(
                f"the response {name!r} has {len(levels.codes)} levels; the family "
                f"{family} is for three and more. Use the family bernoulli."
            )
        ends = float(min(levels.codes)), float(max(levels.codes))
        return Response(name, kind, ends, codes=levels.codes, levels=levels.names)
    if kind == "yes-no":
        return _yes_no(name, declared)
    if name in declared.levels:
        raise InputError(
            f"the response {name!r} has levels, but the family {family} explains "
            "numbers. Give bounds, or use the family bernoulli, ordinal or categorical."
        )
    if kind == "trials":
        assert beside is not None
        declared.require([beside], [])
        trials = declared.bounds[beside]
        if trials[0] < 0:
            raise _out_of_range(beside, trials, family, "at least 0")
        bounds = declared.bounds.get(name, (0.0, trials[1]))
        if bounds[0] < 0:
            raise _out_of_range(name, bounds, family, "at least 0")
        return Response(name, kind, bounds, beside, trials)
    declared.require([name], [])
    bounds = declared.bounds[name]
    if kind == "count" and bounds[0] < 0:
        raise _out_of_range(name, bounds, family, "at least 0")
    if kind == "positive" and bounds[0] <= 0:
        raise _out_of_range(name, bounds, family, "above 0")
    return Response(name, kind, bounds, beside)


def _yes_no(name: str, declared: Declared) -> Response:
    if name in declared.levels:
        levels = declared.levels[name]
        if len(levels.codes) != 2 or levels.codes != (0, 1):
            raise InputError(
                f"the response {name!r} has the levels {', '.join(levels.names)}; for "
                "the family bernoulli it must have two: texts, the one that counts as "
                "1 last, or 0 and 1."
            )
        return Response(name, "yes-no", (0.0, 1.0), codes=(0, 1), levels=levels.names)
    bounds = declared.bounds.get(name, (0.0, 1.0))
    if bounds != (0.0, 1.0):
        raise _out_of_range(name, bounds, "bernoulli", "0 and 1")
    return Response(name, "yes-no", bounds)


def _columns(expression: Expression, kind: str, family: str) -> tuple[str, str | None]:
    """The column of the response, and the one that is read with it."""
    if isinstance(expression, Name) and kind != "trials":
        return expression.name, None
    written = isinstance(expression, Call) and not expression.settings
    names = [
        one.name
        for one in (expression.arguments if isinstance(expression, Call) else ())
        if isinstance(one, Name)
    ]
    function = expression.function if isinstance(expression, Call) else ""
    fits = (kind == "trials" and function in _TRIALS) or (
        family == "weibull" and function == "censored"
    )
    if not written or not fits or len(names) != 2:
        raise InputError(
            f"the response is {expression}; for the family {family} write "
            f"{_WRITTEN.get(kind, 'the name of a column')}. Make other responses a "
            "column before, record by record."
        )
    return names[0], names[1]


def _out_of_range(name: str, bounds: Range, family: str, allowed: str) -> InputError:
    return InputError(
        f"the response {name!r} has the bounds {bounds}; for the family {family} they "
        f"must be {allowed}."
    )
