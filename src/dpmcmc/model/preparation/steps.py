# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Steps: what can be done to one column of one record, by public numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError, require_positive
from dpmcmc.model.preparation.public_numbers import (
    Public,
    fitted,
    is_list,
    public,
    require_below,
    set_range,
    show,
    show_range,
)

__all__ = ["Clamp", "ClampNorm", "Log", "OneHot", "Scale", "Standardise"]


@dataclass(frozen=True)
class Clamp:
    """Move what lies outside public bounds to the nearer of them, infinities too.

    Parameters
    ----------
    low, high
        The bounds: numbers, or one for each entry of a vector.
    """

    low: Public
    high: Public

    def __post_init__(self) -> None:
        set_range(self, "low", "high")

    def __call__(self, value: jax.Array) -> jax.Array:
        """Clamp one column of one record."""
        low, high = self.low, self.high
        if jnp.issubdtype(value.dtype, jnp.integer):
            # The nearest integers within the bounds, as far as the type goes.
            kind = np.iinfo(value.dtype)
            low, high = (
                np.clip(end, kind.min, kind.max).tolist()
                for end in (np.ceil(low), np.floor(high))
            )
        return jnp.clip(value, fitted(low, value), fitted(high, value))

    def describe(self) -> str:
        """Name the bounds."""
        return f"clamped to {show_range(self.low, self.high)}"


@dataclass(frozen=True)
class ClampNorm:
    """Shrink a vector longer than a public bound until it is just as long.

    Its direction stays, unless an entry is too large to be squared.

    Parameters
    ----------
    bound
        The greatest Euclidean length.
    """

    bound: float

    def __post_init__(self) -> None:
        require_positive("bound", self.bound, "Choose the greatest length of a vector.")

    def __call__(self, value: jax.Array) -> jax.Array:
        """Shrink one column of one record."""
        # Entries whose squares would overflow, infinities too, are cut off first.
        limit = math.sqrt(float(np.finfo(value.dtype).max) / max(1, value.size)) / 2
        limited = jnp.clip(value, -limit, limit)
        length = jnp.sqrt(jnp.sum(limited**2))
        return jnp.where(length > self.bound, limited * (self.bound / length), limited)

    def describe(self) -> str:
        """Name the bound."""
        return f"shrunk to a length of at most {show(self.bound)}"


@dataclass(frozen=True)
class Scale:
    """Map a public interval to [0, 1], or to another, in a straight line.

    What lies outside is mapped outside: clamp it first.

    Parameters
    ----------
    low, high
        The interval: numbers, or one for each entry of a vector.
    to
        Where it is mapped to.
    """

    low: Public
    high: Public
    to: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        set_range(self, "low", "high")
        if not isinstance(self.to, Sequence) or len(self.to) != 2:
            raise InputError(f"to is {self.to!r}; it must be a pair (low, high).")
        start, end = public("to", self.to[0]), public("to", self.to[1])
        require_below("to[0]", start, "to[1]", end)

    def __call__(self, value: jax.Array) -> jax.Array:
        """Scale one column of one record."""
        low, high = fitted(self.low, value), fitted(self.high, value)
        start, end = self.to
        return start + (value - low) * ((end - start) / (high - low))

    def describe(self) -> str:
        """Name both intervals."""
        return (
            f"scaled from {show_range(self.low, self.high)} to {show_range(*self.to)}"
        )


@dataclass(frozen=True)
class Standardise:
    """Take a public centre away and divide by a public scale.

    They must be known without the records: the records' own mean and standard
    deviation are not public.

    Parameters
    ----------
    centre, scale
        Numbers, or one for each entry of a vector; scales are above zero.
    """

    centre: Public
    scale: Public

    def __post_init__(self) -> None:
        for name in ("centre", "scale"):
            object.__setattr__(self, name, public(name, getattr(self, name)))
        if np.min(self.scale) <= 0:
            raise InputError(f"scale is {self.scale!r}; it must be above 0.")

    def __call__(self, value: jax.Array) -> jax.Array:
        """Standardise one column of one record."""
        return (value - fitted(self.centre, value)) / fitted(self.scale, value)

    def describe(self) -> str:
        """Name the centre and the scale."""
        return f"less {show(self.centre)}, divided by {show(self.scale)}"


@dataclass(frozen=True)
class Log:
    """Take the natural logarithm. Of zero and less there is none: clamp first."""

    def __call__(self, value: jax.Array) -> jax.Array:
        """Take the logarithm of one column of one record."""
        return jnp.where(value > 0, jnp.log(value), jnp.nan)

    def describe(self) -> str:
        """Say that it is taken."""
        return "its logarithm taken"


@dataclass(frozen=True)
class OneHot:
    """Turn a code into a vector with a one in the place of its level.

    A record whose code is no level counts for nothing.

    Parameters
    ----------
    levels
        How many levels there are, with the codes 0, 1, …; or the codes, which are
        whole numbers.
    drop_first
        Leave the place of the first level out, as a regression with an intercept
        wants it; the first level is then the vector of zeros.
    """

    levels: int | Sequence[int]
    drop_first: bool = False

    def __post_init__(self) -> None:
        given: Any = self.levels
        if isinstance(given, Integral) and not isinstance(given, bool):
            given = range(int(given))
        codes = tuple(given) if is_list(given) else ()
        whole = all(isinstance(code, Integral) for code in codes)
        if not whole or len(codes) < 2 or len(set(codes)) < len(codes):
            raise InputError(
                f"levels is {self.levels!r}; it must be a whole number of at least 2, "
                "or a list of at least two different whole numbers, the codes."
            )
        object.__setattr__(self, "levels", tuple(map(int, codes)))

    def __call__(self, value: jax.Array) -> jax.Array:
        """Turn one column of one record into a vector."""
        if value.shape != ():
            raise InputError(f"it has the shape {value.shape}; one code is expected.")
        hot = value == jnp.asarray(self.levels, value.dtype)
        known = jnp.where(jnp.any(hot), hot.astype(value.dtype), jnp.nan)
        return known[1:] if self.drop_first else known

    def describe(self) -> str:
        """Name the levels."""
        codes = tuple(self.levels)  # type: ignore[arg-type]
        in_a_row = codes == tuple(range(len(codes)))
        levels = f"0 to {codes[-1]}" if in_a_row else show(codes)
        dropped = ", the first left out" if self.drop_first else ""
        return f"coded as one of the levels {levels}{dropped}"
