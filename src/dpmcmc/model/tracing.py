# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tracing a user's functions: their shapes, and errors that help."""

import traceback
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from dpmcmc.errors import InputError

__all__ = [
    "as_float",
    "is_double",
    "require_visible",
    "shape_of_result",
    "shapes_of",
    "show_shapes",
]

_UNSEEN = ("callback", "print", "custom_vmap", "ffi_call", "infeed", "outfeed")
"""Parts of the names of operations that JAX cannot see through."""


def is_double(dtype: Any) -> bool:
    """Whether ``dtype`` is float64."""
    return bool(jnp.dtype(dtype) == jnp.dtype("float64"))


def as_float(value: Any, dtype: Any) -> jax.Array:
    """Turn a function's single result into a float array of the given dtype."""
    (leaf,) = jax.tree.leaves(value)
    return jnp.asarray(leaf).astype(dtype)


def shape_of_result(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Shapes and dtypes that ``function`` returns, without computing anything.

    Raises
    ------
    InputError
        If the function raises. The message names the user's line that failed; the
        arguments are abstract, so that it cannot hold the value of a record.
    """
    try:
        return jax.eval_shape(function, *arguments)
    except Exception as error:
        raise InputError(
            f"{name} failed with {type(error).__name__}{_place(error, function)}: "
            f"{_first_line(error)} It was traced with "
            f"{', '.join(map(show_shapes, arguments))}; it must run on arrays of "
            "these shapes, in operations that JAX can trace."
        ) from None


def require_visible(name: str, function: Callable[..., Any], *arguments: Any) -> None:
    """Refuse a function that leaves JAX, or that says itself how it is batched.

    A callback sees records outside the boundary, where it may show them or fail by
    their values. A rule of its own for batches sees many records at once. Neither
    can be vouched for.

    Raises
    ------
    InputError
        If the traced function holds such an operation, at any depth.
    """
    for operation in _operations(jax.make_jaxpr(function)(*arguments).jaxpr):
        if any(word in operation for word in _UNSEEN):
            raise InputError(
                f"{name} uses {operation}, which sees many records at once or outside "
                "the privacy boundary. Write it in operations of JAX alone, without "
                "callbacks, printing or batching rules of its own."
            )


def shapes_of(tree: Any) -> tuple[Any, list[tuple[int, ...]]]:
    """The structure of a pytree and the shapes of its leaves, to be compared."""
    return jax.tree.structure(tree), [jnp.shape(leaf) for leaf in jax.tree.leaves(tree)]


def show_shapes(tree: Any) -> str:
    """Show the structure of a pytree of arrays as text: shapes and dtypes only."""
    return str(jax.tree.map(_show_leaf, tree)).replace("'", "")


def _show_leaf(leaf: Any) -> str:
    if not (hasattr(leaf, "shape") or isinstance(leaf, int | float)):
        return type(leaf).__name__
    array = jax.eval_shape(jnp.asarray, leaf)
    shape = "scalar" if array.shape == () else "×".join(map(str, array.shape))
    return f"{array.dtype}[{shape}]"


def _operations(program: Any) -> Iterator[str]:
    """Names of all operations of a traced program, those of inner programs too."""
    for equation in program.eqns:
        yield equation.primitive.name
        for value in equation.params.values():
            for part in value if isinstance(value, tuple | list) else [value]:
                inner = getattr(part, "jaxpr", part)
                if hasattr(inner, "eqns"):
                    yield from _operations(inner)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    line = lines[0].rstrip(".") if lines else "no message"
    return f"{line}."


def _place(error: Exception, function: Callable[..., Any]) -> str:
    """Where in the user's own file it failed, as ' at file:line'."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == code.co_filename]
    return f" at {own[-1].filename}:{own[-1].lineno}" if own else ""
