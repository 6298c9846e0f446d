# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The same bits of a record, on any number of devices and processes.

A compiler adds the terms of a product of matrices, or of a sum, in an order that it
chooses by the number of rows, fuses a multiplication with an addition, which rounds
once in place of twice, where that suits the loop, and multiplies by the inverse where
many numbers are divided by one. So the last bits of what is computed
from a record depend on how many others a device holds. For a model with ``fixed_order``
terms are added one by one, and what is multiplied passes through an addition of an
integer zero of which the compiler does not know that it is one, so that it can fuse and
reorder nothing. That takes about twice as long, and is done for records in parts alone.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from dpmcmc.model.model import Model

__all__ = ["fixed_model", "in_order_of", "sum_in_order"]

_MULTIPLIER, _RARE = np.uint32(0x9E3779B1), np.uint32(0x7F4A7C15)
"""Of a hash: the golden ratio, by which numbers are spread; and one of its values."""

_WRITTEN_OUT = 64
"""Terms that are written out; more are added in a loop."""

_INLINED = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "checkpoint": "jaxpr",
}
"""Operations that only hold a program, and where."""

_LOOPS = ("scan", "while", "cond")

_ROUNDED_ONCE = frozenset(
    {
        *("add", "sub", "add_any", "neg", "abs", "sign", "max", "min", "sqrt"),
        *("floor", "ceil", "round", "select_n", "convert_element_type", "copy"),
        *("reshape", "broadcast_in_dim", "squeeze", "transpose", "rev", "concatenate"),
        *("pad", "slice", "dynamic_slice", "dynamic_update_slice", "gather", "split"),
        *("stack", "iota", "stop_gradient", "reduce_max", "reduce_min", "expand_dims"),
    }
)
"""Operations after which there is no multiplication that could be fused."""

_MULTIPLIED = frozenset({"mul", "integer_pow", "square"})
"""Operations that are multiplications. Others, such as an exponential, are computed in
another way where a compiler knows what is before them: a mean, or a largest entry."""


_FIXED: WeakKeyDictionary[Model, Model] = WeakKeyDictionary()


def fixed_model(model: Model) -> Model:
    """The same model with ``fixed_order``; always the same object."""
    if model not in _FIXED:
        _FIXED[model] = replace(model, fixed_order=True)
    return _FIXED[model]


def in_order_of(model: Model, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one record, with sums in a fixed order if the model asks for it.

    It is differentiated before, not after: what is left is what is computed.
    """
    if not model.fixed_order:
        return function

    def run(*arguments: Any) -> Any:
        trace = jax.make_jaxpr(function, return_shape=True)
        program, shape = trace(*arguments)
        made = _run(program, *jax.tree.leaves(arguments))
        return jax.tree.unflatten(jax.tree.structure(shape), made)

    return run


def sum_in_order(terms: jax.Array) -> jax.Array:
    """Sum over the last axis, from its first entry to its last."""
    zero = _unknown_zero([terms[..., :1]], axis=-1)
    return _summed(_opaque(terms, zero))


def _summed(terms: jax.Array) -> jax.Array:
    return _added(partial(_entry, terms), terms.shape[-1])


def _unknown_zero(arrays: Sequence[Any], axis: int | None = None) -> jax.Array:
    """A zero that the compiler does not know: whether a hash has one value of 2³².

    The hash is of the first number of the first array of floats, or of the first along
    an axis. Where it has that value, a product is off in its last bit, the same for
    that record wherever it is.
    """
    for array in map(jnp.asarray, arrays):
        if _is_float(array) and array.size:
            first = array if axis is not None else jnp.ravel(array)[0]
            narrow = first.astype(jnp.float32)
            mixed = jax.lax.bitcast_convert_type(narrow, jnp.uint32) * _MULTIPLIER
            return (mixed ^ (mixed >> 16) == _RARE).astype(jnp.int32)
    return jnp.zeros((), jnp.int32)


def _opaque(array: jax.Array, zero: jax.Array) -> jax.Array:
    """The same numbers; the compiler cannot know, and must round them as they are."""
    whole = {2: jnp.int16, 4: jnp.int32, 8: jnp.int64}[array.dtype.itemsize]
    words = jax.lax.bitcast_convert_type(array, whole) + zero.astype(whole)
    return jax.lax.bitcast_convert_type(words, array.dtype)


def _run(program: ClosedJaxpr, *arguments: Any) -> list[Any]:
    """Run a traced program, operation by operation."""
    return _follow(program, arguments, _unknown_zero(arguments))


def _follow(program: ClosedJaxpr, arguments: Any, zero: jax.Array) -> list[Any]:
    inner = program.jaxpr
    known = dict(zip(inner.constvars, program.consts, strict=True))
    known.update(zip(inner.invars, arguments, strict=True))

    def read(variable: Any) -> Any:
        return variable.val if isinstance(variable, Literal) else known[variable]

    for equation in inner.eqns:
        given = [read(variable) for variable in equation.invars]
        made = _operation(inner, equation, given, zero)
        known.update(zip(equation.outvars, made, strict=True))
    return [read(variable) for variable in inner.outvars]


def _operation(
    program: Any, equation: Any, given: list[Any], zero: jax.Array
) -> list[Any]:
    """What one operation of a program makes, in a fixed order where it adds."""
    name, settings = equation.primitive.name, equation.params
    kind = equation.outvars[0].aval
    if name in _INLINED:
        held = settings[_INLINED[name]]
        is_closed = isinstance(held, ClosedJaxpr)
        return _follow(held if is_closed else ClosedJaxpr(held, ()), given, zero)
    if name in _LOOPS:
        inner = {key: _rewritten(value) for key, value in settings.items()}
        equation = equation.replace(params=inner)
    elif _is_float(kind):
        if name == "dot_general":
            left, right = given
            return [_product(left, right, settings["dimension_numbers"], kind, zero)]
        if name == "reduce_sum":
            return [_reduced(given[0], settings["axes"])]
    if name == "div":
        # What is divided by one number might be multiplied by its inverse.
        own = _unknown_zero(given[:1], axis=-1)
        given = [given[0], _hidden(given[1], own)]
    elif not (name in _LOOPS or name in _ROUNDED_ONCE or name in _MULTIPLIED):
        given = [_hidden(each, zero) for each in given]
    pairs = zip(equation.invars, given, strict=True)
    known = {at: value for at, value in pairs if not isinstance(at, Literal)}
    one = program.replace(
        constvars=[], invars=list(known), outvars=equation.outvars, eqns=[equation]
    )
    made = jax.core.eval_jaxpr(one, [], *known.values())
    if name in _LOOPS or name in _ROUNDED_ONCE:
        return list(made)
    return [_hidden(each, zero) for each in made]


def _hidden(array: Any, zero: jax.Array) -> Any:
    """The same numbers, opaque if they are floats."""
    array = jnp.asarray(array)
    return _opaque(array, zero) if _is_float(array) else array


def _rewritten(setting: Any) -> Any:
    """A program that a loop holds, with sums in a fixed order; other settings as is."""
    if isinstance(setting, tuple):
        return tuple(map(_rewritten, setting))
    if not isinstance(setting, ClosedJaxpr):
        return setting
    return jax.make_jaxpr(partial(_run, setting))(*setting.in_avals)


def _is_float(array: Any) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.floating))


def _product(
    left: Any, right: Any, dimensions: Any, kind: Any, zero: jax.Array
) -> jax.Array:
    """A product of matrices as XLA defines it: axes of batches, of left, of right."""
    ((left_sum, right_sum), (left_batch, right_batch)) = dimensions

    def arranged(array: Any, batch: Any, summed: Any) -> jax.Array:
        """Axes (batch, the rest, summed), each flattened."""
        rest = [a for a in range(array.ndim) if a not in (*batch, *summed)]
        sizes = [[array.shape[a] for a in axes] for axes in (batch, rest, summed)]
        ordered = jnp.transpose(array, (*batch, *rest, *summed))
        return ordered.reshape([math.prod(size) for size in sizes]).astype(kind.dtype)

    left = arranged(jnp.asarray(left), left_batch, left_sum)[:, :, None]
    right = arranged(jnp.asarray(right), right_batch, right_sum)[:, None]

    def term(place: Any) -> jax.Array:
        return _opaque(_entry(left, place) * _entry(right, place), zero)

    return _kept(_added(term, left.shape[-1]).reshape(kind.shape))


def _reduced(array: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    """A sum over axes."""
    rest = [axis for axis in range(array.ndim) if axis not in axes]
    shape = [array.shape[axis] for axis in rest]
    terms = jnp.transpose(array, (*rest, *axes)).reshape(*shape, -1)
    return _kept(_summed(terms))


def _kept(total: jax.Array) -> jax.Array:
    """A sum that is computed once, as without a fixed order, and not where it is read.

    Otherwise programs that use sums of sums grow beyond what can be compiled.
    """
    return jax.lax.optimization_barrier(total)


def _entry(array: jax.Array, place: Any) -> jax.Array:
    """What is at one place of the last axis; the place may be traced."""
    at = (
        jax.lax.index_in_dim if isinstance(place, int) else jax.lax.dynamic_index_in_dim
    )
    return at(array, place, axis=-1, keepdims=False)


def _added(term: Callable[[Any], jax.Array], count: int) -> jax.Array:
    """Add terms 0, 1, …, each to the sum of those before."""
    if count == 0:
        return jnp.zeros_like(jax.eval_shape(term, 0))
    if count <= _WRITTEN_OUT:
        return reduce(
            lambda total, place: total + term(place), range(1, count), term(0)
        )
    return jax.lax.fori_loop(1, count, lambda at, total: total + term(at), term(0))
