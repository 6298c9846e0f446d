# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The declaration: which steps are taken on which columns, and in what order."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import jax
import jax.numpy as jnp

from dpmcmc.errors import InputError
from dpmcmc.model.preparation.columns import Copy, Stack, as_float, column_of
from dpmcmc.model.preparation.steps import (
    Clamp,
    ClampNorm,
    Log,
    OneHot,
    Scale,
    Standardise,
)
from dpmcmc.model.preparation.whiten import Whiten

__all__ = ["Preparation", "Step"]

Step = Clamp | ClampNorm | Scale | Standardise | Whiten | Log | OneHot | Copy | Stack
"""One thing done to one column of one record."""

Steps = Step | Sequence[Step]


@dataclass(frozen=True, eq=False)
class Preparation:
    """What is done to each column of a record; the others stay as they are.

    Parameters
    ----------
    columns
        For each named column a step, or a list of steps that follow each other.
        Columns are prepared in the order given, so that `Stack` and `Copy` read the
        columns before them as prepared. For records that are one bare array: the
        steps alone. What is prepared becomes a float, but for integers that are only
        clamped, such as codes.
    first
        A preparation that is done before; `then` sets it.

    Examples
    --------
    >>> Preparation({
    ...     "age": [Clamp(0, 120), Scale(0, 120)],
    ...     "region": OneHot(4, drop_first=True),
    ...     "x": Stack(["age", "region"]),
    ... }).describe()[0]
    'age clamped to [0, 120], then scaled from [0, 120] to [0, 1]'
    """

    columns: Mapping[str, Steps] | Steps
    first: "Preparation | None" = None

    def __post_init__(self) -> None:
        self._plan()

    def __call__(self, record: Any) -> Any:
        """Prepare one record."""
        if self.first is not None:
            record = self.first(record)
        plan = self._plan()
        if None in plan:
            return _prepare_bare(plan[None], record)
        if not isinstance(record, Mapping):
            needed = ", ".join(f"{name!r}: array" for name in plan)
            raise InputError(
                f"each record is {_kind_of(record)}, but columns are prepared by name. "
                f"Give the records as {{{needed}}}, or as a table with these columns; "
                "or prepare a bare array by steps alone, as Preparation(Clamp(0, 1))."
            )
        prepared = dict(record)
        for name, steps in plan.items():
            assert name is not None
            prepared[name] = _prepare_column(name, steps, prepared)
        return prepared

    def then(self, other: "Preparation") -> "Preparation":
        """Return the preparation that does this, and then the other."""
        before = self if other.first is None else self.then(other.first)
        return replace(other, first=before)

    def check(self, record: Any) -> Any:
        """Return the shape of a prepared record, from the shape of one as it comes.

        Parameters
        ----------
        record
            A pytree of ``jax.ShapeDtypeStruct``: shapes and dtypes, no values.

        Raises
        ------
        InputError
            If a column is not there, or a step does not fit its shape.
        """
        try:
            return jax.eval_shape(self, record)
        except InputError as error:
            raise InputError(str(error)) from None

    @property
    def made(self) -> frozenset[str]:
        """The names of the columns that it makes or changes."""
        before = frozenset[str]() if self.first is None else self.first.made
        own = self.columns if isinstance(self.columns, Mapping) else ()
        return before | frozenset(own)

    def steps_of(self, name: str) -> tuple[Step, ...]:
        """The steps that a named column goes through, one after the other."""
        before = () if self.first is None else self.first.steps_of(name)
        return before + self._plan().get(name, ())

    def describe(self, without: Collection[str] = ()) -> tuple[str, ...]:
        """Say what is done to each column, but those without, one line each."""
        before = () if self.first is None else self.first.describe(without)
        own = tuple(
            f"{'each record' if name is None else name} "
            f"{', then '.join(step.describe() for step in steps)}"
            for name, steps in self._plan().items()
            if name not in without
        )
        return before + own

    def _plan(self) -> dict[str | None, tuple[Step, ...]]:
        """The steps of each column, checked; of None for a bare array."""
        given: Any = self.columns
        if not isinstance(given, Mapping):
            return {None: _checked("the record", given, bare=True)}
        for name in given:
            if not isinstance(name, str):
                raise InputError(f"{name!r} is not the name of a column: give text.")
        return {name: _checked(f"column {name!r}", given[name]) for name in given}


def _checked(what: str, steps: Any, bare: bool = False) -> tuple[Step, ...]:
    listed = tuple(steps) if isinstance(steps, list | tuple) else (steps,)
    for place, step in enumerate(listed):
        if type(step) not in get_args(Step):  # a kind of one could do anything
            raise InputError(
                f"a step for {what} is {step!r}; it must be one of "
                f"{', '.join(kind.__name__ for kind in get_args(Step))}. Anything else "
                "can be done in the log-likelihood."
            )
        if isinstance(step, Copy | Stack) and (bare or place > 0):
            raise InputError(
                f"{type(step).__name__} for {what} makes a named column anew; it must "
                "be the first step of one."
            )
    if not listed:
        raise InputError(f"there is no step for {what}. Leave it out.")
    return listed


def _prepare_bare(steps: tuple[Step, ...], record: Any) -> jax.Array:
    if not jax.tree_util.all_leaves([record]):
        raise InputError(
            f"each record is {_kind_of(record)}, not a bare array. Name the column "
            "that is prepared: Preparation({'name': step})."
        )
    return _apply("the record", steps, _as_steps_read(steps, record))


def _kind_of(record: Any) -> str:
    """What a record is, in words; it may be traced, and has no values then."""
    if not jax.tree_util.all_leaves([record]):
        return f"a {type(record).__name__}"
    shape = jnp.shape(record)
    return f"an array of shape {shape}" if shape else "one number"


def _prepare_column(
    name: str, steps: tuple[Step, ...], record: Mapping[str, Any]
) -> jax.Array:
    head, *rest = steps
    what = f"column {name!r}"
    if isinstance(head, Copy | Stack):
        return _apply(what, tuple(rest), head(record))
    return _apply(what, steps, _as_steps_read(steps, column_of(record, name)))


def _as_steps_read(steps: tuple[Step, ...], value: Any) -> jax.Array:
    """The value as a float; or as it is, where integers are only clamped."""
    array = jnp.asarray(value)
    is_whole = jnp.issubdtype(array.dtype, jnp.integer)
    are_clamps = all(isinstance(step, Clamp) for step in steps)
    return array if is_whole and are_clamps else as_float(value)


def _apply(what: str, steps: tuple[Step, ...], value: jax.Array) -> jax.Array:
    for step in steps:
        try:
            value = step(value)  # type: ignore[arg-type]
        except InputError as error:
            raise InputError(f"{what} cannot be {step.describe()}: {error}") from None
    return value
