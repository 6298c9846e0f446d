# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What is made of each record: by functions of one record, under vmap.

There is no named axis over records, here or anywhere else, so that a function of one
record has no name by which to reach another. Nothing else in the boundary calls a
user's function on a record.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from dpmcmc.model.fixed_order import in_order_of
from dpmcmc.model.model import Model
from dpmcmc.model.tracing import is_double
from dpmcmc.private.influence import Influence

__all__ = ["Parts", "Read", "extras_of_each", "looks_of_each", "parts_of"]
__all__ += ["ratio_of_each", "vector_of", "vector_of_each"]

T = TypeVar("T")


class Parts(NamedTuple):
    """A record's vector in three parts; those that are not free lie in a cone.

    Attributes
    ----------
    free
        Any numbers.
    positive
        Numbers that are not negative: those that are count as 0.
    factor
        A vector w of which the outer product w wᵀ is meant.
    """

    free: jax.Array
    positive: jax.Array
    factor: jax.Array


class Read(NamedTuple):
    """Records, and what is worked out of each of them once."""

    records: Any
    extras: Any


def vector_of_each(function: Callable[[Any, Any], T], records: Any, public: Any) -> T:
    """One vector of each record, or several, as the rows of matrices.

    Guarantee
    ---------
    Row i is a function of record i and of public numbers.
    """
    return jax.vmap(function, (0, None))(records, public)


# Part of the program that calls it; traced once for blocks of any length.
@partial(jax.jit, static_argnums=(0, 1, 2), inline=True)
def vector_of(
    function: Any, model: Model, dtype: str, record: Any, public: Any
) -> jax.Array:
    """The vector that a function of the model makes of one record.

    What is not a vector is refused, by its shape.
    """

    def one(record: Any, public: Any) -> jax.Array:
        with jax.enable_x64(is_double(dtype)):
            return jnp.asarray(function(model, record, public))

    return _as_vector(in_order_of(model, one)(record, public))


@partial(jax.jit, static_argnums=(0, 1, 2), inline=True)
def parts_of(
    function: Any, model: Model, dtype: str, record: Any, public: Any
) -> Parts:
    """The parts that a function of the model makes of one record.

    A vector alone is free. What is not a vector is refused, by its shape.
    """

    def one(record: Any, public: Any) -> Parts:
        with jax.enable_x64(is_double(dtype)):
            found = function(model, record, public)
            if isinstance(found, Parts):
                return Parts(*map(jnp.asarray, found))
            free, none = jnp.asarray(found), jnp.zeros(0)
            return Parts(free, none, none)

    return Parts(*map(_as_vector, in_order_of(model, one)(record, public)))


def _as_vector(made: jax.Array) -> jax.Array:
    if made.ndim != 1:
        raise ValueError(f"a record makes {made.shape}, which must be a vector")
    return made


@partial(jax.jit, static_argnames=("model", "dtype"))
def extras_of_each(model: Model, influence: Influence, records: Any, dtype: str) -> Any:
    """What is worked out of each record once.

    Guarantee
    ---------
    Entry i is a function of record i and of public numbers.
    """

    def one(record: Any) -> Any:
        with jax.enable_x64(is_double(dtype)):
            return influence.extras(model, record)

    return jax.vmap(in_order_of(model, one))(records)


def looks_of_each(
    model: Model, influence: Influence, point: Any, read: Read, dtype: str
) -> Any:
    """What each record shows at one point.

    Guarantee
    ---------
    Entry i is a function of the point and of record i: the preparation, the
    influence and the user's function see one record at a time.
    """

    def one(record: Any, extras: Any) -> Any:
        with jax.enable_x64(is_double(dtype)):
            return influence.look(model, point, record, extras, dtype)

    return jax.vmap(in_order_of(model, one))(read.records, read.extras)


def ratio_of_each(
    model: Model, influence: Influence, current: Any, proposed: Any, read: Read
) -> jax.Array:
    """One number of each record on one chain's move.

    Guarantee
    ---------
    Entry i is a function of record i, of what it shows at the two points, and of
    public numbers.
    """
    one = in_order_of(model, influence.ratio)
    return jax.vmap(one)(current, proposed, read.records, read.extras)
