# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Public numbers of a step: checked when it is declared, fitted when it is traced."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError

__all__ = [
    "Public",
    "fitted",
    "is_list",
    "public",
    "require_below",
    "set_range",
    "show",
    "show_range",
]

Public = float | Sequence[float]
"""A public number, or one for each entry of a vector."""


def fitted(public: Public, value: jax.Array) -> jax.Array:
    """A public number as an array that fits the value."""
    array = jnp.asarray(public, value.dtype)
    if array.ndim and array.shape != value.shape:
        raise InputError(
            f"there are {array.size} public numbers, but it has the shape "
            f"{value.shape}. Give one number, or one for each entry."
        )
    return array


def set_range(step: Any, low: str, high: str) -> None:
    """Check and set the two ends of a step's range."""
    for name in (low, high):
        object.__setattr__(step, name, public(name, getattr(step, name)))
    require_below(low, getattr(step, low), high, getattr(step, high))


def public(name: str, value: Any) -> float | tuple[float, ...]:
    """A public number, or several, finite."""
    listed = list(value) if is_list(value) else [value]
    real = [isinstance(part, Real) and not isinstance(part, bool) for part in listed]
    if not listed or not all(real) or not all(map(math.isfinite, listed)):
        raise InputError(
            f"{name} is {value!r}; it must be a finite number, or a list of them with "
            "one for each entry. Choose it without looking at the records."
        )
    return tuple(map(float, listed)) if is_list(value) else float(value)


def is_list(value: Any) -> bool:
    """Whether a setting is a list of numbers, one for each entry."""
    is_vector = isinstance(value, np.ndarray) and value.ndim == 1
    return is_vector or isinstance(value, list | tuple | range)


def require_below(low_name: str, low: Any, high_name: str, high: Any) -> None:
    """Refuse ends of a range that are not in order, entry by entry."""
    lengths = {np.size(bound) for bound in (low, high) if np.ndim(bound)}
    if len(lengths) > 1:
        raise InputError(
            f"{low_name} has {np.size(low)} entries and {high_name} {np.size(high)}; "
            "they must have as many."
        )
    if not np.all(np.asarray(low) < np.asarray(high)):
        raise InputError(
            f"{low_name} is {low!r} and {high_name} is {high!r}; {low_name} must be "
            f"below {high_name}."
        )


def show_range(low: Any, high: Any) -> str:
    """Show a range, or one for each entry."""
    pairs = np.stack(np.broadcast_arrays(low, high), axis=-1).reshape(-1, 2)
    shown = ", ".join(f"[{show(start)}, {show(end)}]" for start, end in pairs)
    return f"{shown} entry by entry" if len(pairs) > 1 else shown


def show(value: Any) -> str:
    """Show a public number, or several.

    One with more than nine digits, as a logarithm has, is rounded to six, after ≈;
    a whole one from twelve digits on.
    """
    if np.ndim(value):
        return ", ".join(show(part) for part in value)
    number = float(value)
    shown = f"{number:.12g}" if number.is_integer() else f"{number:.9g}"
    return shown if float(shown) == number else f"≈{number:.6g}"
