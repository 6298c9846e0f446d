# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments: the columns of the records that a model takes, by the names it has."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from dpmcmc.errors import InputError
from dpmcmc.model.tracing import shape_of_result, show_shapes

__all__ = ["Bound", "bind", "listed", "require_traceable"]

Columns = Mapping[str, Any]
"""Arrays by the name of their column, with a common leading axis."""


@dataclass(frozen=True, eq=False, repr=False)
class Bound:
    """A model with the shapes of the columns that it is called with.

    Attributes
    ----------
    model
        The model, as the user gave it.
    one
        The shape and dtype of one record's part of each column it takes.
    left_out
        Arguments with a default, for which there is no column.
    """

    model: Callable[..., Any]
    one: Mapping[str, jax.ShapeDtypeStruct]
    left_out: tuple[str, ...]

    def __call__(self, columns: Columns) -> Any:
        """Call the model with the columns."""
        first = [
            parameter.name
            for parameter in inspect.signature(self.model).parameters.values()
            if parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in columns
        ]
        rest = {name: column for name, column in columns.items() if name not in first}
        return self.model(*[columns[name] for name in first], **rest)

    def shapes(self, count: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Shapes of the columns of that number of records."""
        return {
            name: jax.ShapeDtypeStruct((count, *leaf.shape), leaf.dtype)
            for name, leaf in self.one.items()
        }

    def blanks(self, count: int) -> dict[str, jax.Array]:
        """Zeros in the place of that number of records, where values do not matter."""
        return {
            name: jnp.zeros(leaf.shape, jax.dtypes.canonicalize_dtype(leaf.dtype))
            for name, leaf in self.shapes(count).items()
        }

    def of_one(self, record: Columns) -> dict[str, jax.Array]:
        """The columns of one record, with a leading axis of length one."""
        return {name: jnp.asarray(record[name])[None] for name in self.one}

    def redrawn(
        self,
        record: Columns,
        observed: Mapping[str, str],
        draw: Callable[[Columns], Mapping[str, Any]],
    ) -> dict[str, Any]:
        """A record with the columns of observed variables drawn; others are copied.

        ``observed`` is the column of each variable; ``draw`` runs the model on the
        columns of one record and gives the variables by name, always the same ones for
        the same columns.
        """
        columns = self.of_one(record)
        # A later variable may read an earlier column. What does not is drawn the same
        # again, so each run makes one more variable right.
        for _ in observed:
            drawn = draw(columns)
            for name, column in observed.items():
                like = columns[column]
                columns[column] = drawn[name].astype(like.dtype).reshape(like.shape)
        return {**record, **{name: columns[name][0] for name in observed.values()}}

    @property
    def code(self) -> Any:
        """The code of the user's function, to place a failure in it."""
        function: Any = self.model
        while isinstance(function, functools.partial):
            function = function.func
        return getattr(inspect.unwrap(function), "__code__", None)


def bind(model: Callable[..., Any], one_record: Any, library: str) -> Bound:
    """Match the columns of a record with the arguments of a model, by name.

    Columns that the model does not take are left out. Arguments with a default, such
    as those bound by `functools.partial`, need no column. ``library`` is the one that
    the model is written for.

    Raises
    ------
    InputError
        If the model is no function, the records are not columns with names, a column
        is missing, or one has the name of an argument that is bound already.
    """
    if not callable(model) or isinstance(model, type):
        raise InputError(
            f"model is a {type(model).__name__}; it must be a {library} model: a "
            "function of the columns of the records. Pass the function itself."
        )
    columns = _columns(one_record, library)
    parameters = _parameters(model, library)
    taken = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    missing = [p.name for p in taken if p.default is p.empty and p.name not in columns]
    if missing:
        raise InputError(
            f"the model needs {listed(missing)}, which the records do not have; their "
            f"columns are {listed(columns)}. Add the column, or bind the argument, if "
            "it is public, with functools.partial."
        )
    twice = sorted(set(_keywords(model)) & set(columns))
    if twice:
        raise InputError(
            f"the argument {listed(twice)} is bound with functools.partial, and the "
            "records have a column of that name; which one is meant is not clear. "
            "Rename or drop the column, or leave the argument free."
        )
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
    names = [p.name for p in taken if p.name in columns]
    names += [name for name in columns if takes_all and name not in names]
    left_out = tuple(p.name for p in taken if p.name not in columns)
    return Bound(model, {name: columns[name] for name in names}, left_out)


def require_traceable(
    bound: Bound, function: Callable[..., Any], *arguments: Any
) -> None:
    """Refuse a model in which a function that runs it fails, and name the line.

    Raises
    ------
    InputError
        If it fails; the line is the last one in the file of the model.
    """

    class Placed:
        """The function, said to be where the model is."""

        __code__ = bound.code

        def __call__(self, *arguments: Any) -> Any:
            return function(*arguments)

    shape_of_result("the model", Placed(), *arguments)


def _parameters(model: Callable[..., Any], library: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(model).parameters.values())
    except ValueError:  # a function that is not written in Python
        raise InputError(
            f"the arguments of the model {model!r} cannot be read. Give a {library} "
            "model: a function of the columns of the records, written in Python."
        ) from None


def _columns(one_record: Any, library: str) -> dict[str, jax.ShapeDtypeStruct]:
    is_dict = isinstance(one_record, Mapping)
    named = is_dict and all(isinstance(name, str) for name in one_record)
    leaves = list(one_record.values()) if named else []
    if not named or not jax.tree_util.all_leaves(leaves):
        raise InputError(
            f"one record is {show_shapes(one_record)}, but a {library} model takes "
            "columns by name. Give a table, or a dict of arrays such as "
            '{"x": x, "y": y}, named like the arguments of the model.'
        )
    return dict(one_record)


def _keywords(model: Callable[..., Any]) -> Mapping[str, Any]:
    return model.keywords if isinstance(model, functools.partial) else {}


def listed(names: Iterable[str], nothing: str = "") -> str:
    """Names for a sentence."""
    return ", ".join(map(repr, names)) or nothing
