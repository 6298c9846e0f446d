# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Predictors: the few numbers through which a record's log-likelihood depends on θ.

A regression depends on θ through x · θ alone. Its log-likelihood is ℓ = f(η), with η
affine in θ, so that two derivatives of f say all that a gradient and a Hessian in θ
would. Which numbers they are is read off the traced program, from shapes alone: a
program is followed as long as it is affine in θ, and cut where it is narrowest.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

from dpmcmc.model.tracing import as_float

__all__ = ["PredictorPlace", "Predictors", "find_predictors"]

_OF_ALL = frozenset({"add", "sub", "add_any", "concatenate", "pad"})
"""Operations that are affine in all their operands together."""

_OF_FIRST = frozenset(
    {
        *("neg", "copy", "convert_element_type", "reduce_sum", "cumsum"),
        *("reshape", "broadcast_in_dim", "squeeze", "transpose", "rev", "split"),
        *("slice", "dynamic_slice", "gather", "div"),
    }
)
"""Operations that are affine in their first operand, the others fixed."""

_OF_ONE = frozenset({"mul", "dot_general"})
"""Operations that are affine in any one operand, the others fixed."""


class _Kind(NamedTuple):
    """How a number of a program depends on θ and on the record.

    ``through`` holds the places of the affine numbers from which it can be computed
    without θ: none for a number that does not depend on θ.
    """

    through: frozenset[int]
    is_affine: bool
    of_record: bool


_PUBLIC = _Kind(frozenset(), is_affine=True, of_record=False)
_RECORD = _Kind(frozenset(), is_affine=True, of_record=True)


class PredictorPlace(NamedTuple):
    """An array of a program where it is cut."""

    shape: tuple[int, ...]
    of_record: bool

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Predictors:
    """A log-likelihood of one record, in two parts: affine in θ, and the rest.

    Attributes
    ----------
    places
        What each predictor is: its shape, and whether it depends on the record, or
        on θ alone.
    at
        Makes the predictors of θ and a record.
    log_likelihood
        Makes the log-likelihood of predictors and a record.
    """

    places: tuple[PredictorPlace, ...]
    at: Callable[[Any, Any], tuple[jax.Array, ...]]
    log_likelihood: Callable[[Any, Any], jax.Array]

    @property
    def size(self) -> int:
        """How many numbers the predictors are."""
        return sum(place.size for place in self.places)


def find_predictors(
    log_likelihood: Callable[[Any, Any], Any], theta: Any, record: Any
) -> Predictors:
    """Find the predictors of a log-likelihood, from shapes alone.

    If no cut is narrower than θ they are the coordinates of θ.

    Parameters
    ----------
    log_likelihood
        A function of θ and one record, prepared.
    theta, record
        A point and a record, of which only shapes and dtypes are looked at.
    """
    dtype = jnp.result_type(float)
    traced = jax.make_jaxpr(lambda t, r: as_float(log_likelihood(t, r), dtype))
    closed = traced(theta, record)
    leaves = jax.tree.leaves(theta)
    narrowest = _Narrowest(len(leaves), closed.jaxpr)
    places = narrowest.places

    def run(theta: Any, record: Any, known: dict[int, Any]) -> tuple[Any, _Values]:
        values = _Values(closed.jaxpr, known, places)
        inputs = [values.put(place, leaf) for place, leaf in enumerate(theta)]
        inputs += jax.tree.leaves(record)
        numbers = itertools.count(len(theta))
        (result,) = _follow(closed.jaxpr, closed.consts, inputs, values, numbers)
        return result, values

    def at(theta: Any, record: Any) -> tuple[jax.Array, ...]:
        _, values = run(jax.tree.leaves(theta), record, {})
        return tuple(jnp.asarray(values.seen[place]) for place in places)

    def rest(predictors: Any, record: Any) -> jax.Array:
        known = dict(zip(places, predictors, strict=True))
        result, _ = run([None] * len(leaves), record, known)
        return jnp.asarray(result)

    return Predictors(tuple(places.values()), at, rest)


class _Narrowest:
    """Follows a program on kinds of numbers, and finds where to cut it."""

    def __init__(self, leaves: int, program: Any) -> None:
        self._leaves, self._of = leaves, dict[int, PredictorPlace]()
        inputs = [
            self._leaf(place, variable.aval)
            for place, variable in enumerate(program.invars[:leaves])
        ]
        inputs += [_RECORD] * (len(program.invars) - leaves)
        consts = [_PUBLIC] * len(program.constvars)
        numbers = itertools.count(leaves)
        (end,) = _follow(program, consts, inputs, self, numbers)
        self._ends = end.through

    @property
    def places(self) -> dict[int, PredictorPlace]:
        """Where to cut, and what is there; the leaves of θ if nothing is narrower."""
        cut = {place: self._of[place] for place in sorted(self._ends)}
        whole = {place: self._of[place] for place in range(self._leaves)}
        return cut if self._width(self._ends) < self._width(whole) else whole

    def literal(self, _: Any) -> _Kind:
        return _PUBLIC

    def __call__(
        self, equation: Any, inputs: list[_Kind], places: list[int]
    ) -> list[_Kind]:
        is_affine = _is_affine(equation, inputs)
        of_record = any(kind.of_record for kind in inputs)
        through = frozenset[int]().union(*(kind.through for kind in inputs))
        kinds = []
        for place, variable in zip(places, equation.outvars, strict=True):
            here = PredictorPlace(variable.aval.shape, of_record)
            if is_affine and here.size < self._width(through):
                self._of[place] = here
                kinds.append(_Kind(frozenset({place}), is_affine, of_record))
            else:
                kinds.append(_Kind(through, is_affine, of_record))
        return kinds

    def _leaf(self, place: int, aval: Any) -> _Kind:
        self._of[place] = PredictorPlace(aval.shape, False)
        return _Kind(frozenset({place}), is_affine=True, of_record=False)

    def _width(self, places: Any) -> int:
        return sum(self._of[place].size for place in places)


def _is_affine(equation: Any, inputs: list[_Kind]) -> bool:
    """Whether the outputs of an operation are affine in θ, as its inputs are."""
    if not all(kind.is_affine for kind in inputs):
        return False
    moving = [number for number, kind in enumerate(inputs) if kind.through]
    if not moving:
        return True
    if any(not jnp.issubdtype(v.aval.dtype, jnp.floating) for v in equation.outvars):
        return False
    name = equation.primitive.name
    if name == "select_n":
        return 0 not in moving
    return (
        name in _OF_ALL
        or (name in _OF_FIRST and moving == [0])
        or (name in _OF_ONE and len(moving) == 1)
    )


class _Values:
    """Follows a program on numbers; some are known, those before them are not made."""

    def __init__(self, program: Any, known: dict[int, Any], kept: Any) -> None:
        self._program, self._known, self._kept = program, known, kept
        self.seen: dict[int, Any] = {}

    def literal(self, value: Any) -> Any:
        return value

    def put(self, place: int, value: Any) -> Any:
        value = self._known.get(place, value)
        if place in self._kept:
            self.seen[place] = value
        return value

    def __call__(self, equation: Any, inputs: list[Any], places: list[int]) -> Any:
        if any(value is None for value in inputs):
            made = [None] * len(places)
        else:
            given = zip(equation.invars, inputs, strict=True)
            known = {at: value for at, value in given if not isinstance(at, Literal)}
            one = self._program.replace(
                constvars=[],
                invars=list(known),
                outvars=equation.outvars,
                eqns=[equation],
            )
            made = jax.core.eval_jaxpr(one, [], *known.values())
        return [self.put(*pair) for pair in zip(places, made, strict=True)]


def _follow(
    program: Any, consts: Any, inputs: list[Any], visit: Any, numbers: Iterator[int]
) -> list[Any]:
    """Follow a traced program in order, inner programs of `jax.jit` too.

    Every output of an operation gets the next of ``numbers``, so that two who follow
    the same program know it by the same number.
    """
    known = dict(zip(program.constvars, consts, strict=True))
    known.update(zip(program.invars, inputs, strict=True))

    def read(variable: Any) -> Any:
        if isinstance(variable, Literal):
            return visit.literal(variable.val)
        return known[variable]

    for equation in _needed(program):
        given = [read(variable) for variable in equation.invars]
        if equation.primitive.name in ("jit", "pjit"):
            inner = equation.params["jaxpr"]
            held = [visit.literal(value) for value in inner.consts]
            made = _follow(inner.jaxpr, held, given, visit, numbers)
        else:
            places = [next(numbers) for _ in equation.outvars]
            made = visit(equation, given, places)
        known.update(zip(equation.outvars, made, strict=True))
    return [read(variable) for variable in program.outvars]


def _needed(program: Any) -> list[Any]:
    """The operations that the outputs of a program depend on, in order.

    The others, such as checks of arguments whose outcome nothing reads, would be traced
    and batched again in every program that the predictors are part of.
    """
    read = {v for v in program.outvars if not isinstance(v, Literal)}
    needed = []
    for equation in reversed(program.eqns):
        if equation.effects or not read.isdisjoint(equation.outvars):
            needed.append(equation)
            read.update(v for v in equation.invars if not isinstance(v, Literal))
    return needed[::-1]
