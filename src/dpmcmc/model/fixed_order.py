# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The same bits of a record, on any number of devices and processes.

A compiler adds the terms of a product of matrices, or of a sum, in an order that it
chooses by the number of rows, and fuses a multiplication with an addition, which rounds
once in place of twice, where that suits the loop. So the last bits of what is computed
from a record depend on how many others a device holds. For a model with ``fixed_order``
terms are added one by one, and nothing is rewritten or fused. That takes about twice as
long, and is done for records in parts alone.
"""

import math
import platform
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial, reduce
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Literal

from dpmcmc.model.model import Model

__all__ = ["Compiled", "fixed_model", "in_order_of", "sum_in_order"]

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


_FIXED: WeakKeyDictionary[Model, Model] = WeakKeyDictionary()


def fixed_model(model: Model) -> Model:
    """The same model with ``fixed_order``; always the same object."""
    if model not in _FIXED:
        _FIXED[model] = replace(model, fixed_order=True)
    return _FIXED[model]


class Compiled:
    """A function of a model and other arguments, compiled as the model asks for.

    ``settings`` are those of `jax.jit`; the model is the first argument, and static.
    """

    def __init__(self, function: Callable[..., Any], **settings: Any) -> None:
        self._function, self._settings = function, settings
        self.fast: Any = jax.jit(function, **settings)
        self.__doc__ = function.__doc__

    @cached_property
    def _fixed(self) -> Any:
        options = _options(jax.default_backend(), platform.machine())
        return jax.jit(self._function, compiler_options=options, **self._settings)

    def __call__(self, model: Model, *arguments: Any) -> Any:
        """Call it."""
        return (self._fixed if model.fixed_order else self.fast)(model, *arguments)

    def clear_cache(self) -> None:
        """Forget what was compiled."""
        self.fast.clear_cache()
        self._fixed.clear_cache()


def _options(backend: str, machine: str) -> dict[str, str]:
    """What the compiler must not do where records have the same bits everywhere.

    Rewrite (a · b) · c by the rules of algebra, as it does in another order if a
    program is for several devices; and fuse operations, which instructions of x86
    processors from before AVX2 do not.
    """
    if backend != "cpu":
        return {}
    same = {"xla_disable_hlo_passes": "algsimp"}
    is_x86 = machine in ("x86_64", "AMD64")
    return {**same, "xla_cpu_max_isa": "AVX"} if is_x86 else same


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
    return _added(partial(_entry, terms), terms.shape[-1])


def _run(program: ClosedJaxpr, *arguments: Any) -> list[Any]:
    """Run a traced program, operation by operation."""
    inner = program.jaxpr
    known = dict(zip(inner.constvars, program.consts, strict=True))
    known.update(zip(inner.invars, arguments, strict=True))

    def read(variable: Any) -> Any:
        return variable.val if isinstance(variable, Literal) else known[variable]

    for equation in inner.eqns:
        given = [read(variable) for variable in equation.invars]
        made = _operation(inner, equation, given)
        known.update(zip(equation.outvars, made, strict=True))
    return [read(variable) for variable in inner.outvars]


def _operation(program: Any, equation: Any, given: list[Any]) -> list[Any]:
    """What one operation of a program makes, in a fixed order where it adds."""
    name, settings = equation.primitive.name, equation.params
    kind = equation.outvars[0].aval
    if name in _INLINED:
        held = settings[_INLINED[name]]
        is_closed = isinstance(held, ClosedJaxpr)
        return _run(held if is_closed else ClosedJaxpr(held, ()), *given)
    if name in _LOOPS:
        inner = {key: _rewritten(value) for key, value in settings.items()}
        equation = equation.replace(params=inner)
    elif jnp.issubdtype(kind.dtype, jnp.floating):
        if name == "dot_general":
            left, right = given
            return [_product(left, right, settings["dimension_numbers"], kind)]
        if name == "reduce_sum":
            return [_reduced(given[0], settings["axes"])]
    pairs = zip(equation.invars, given, strict=True)
    known = {at: value for at, value in pairs if not isinstance(at, Literal)}
    one = program.replace(
        constvars=[], invars=list(known), outvars=equation.outvars, eqns=[equation]
    )
    return list(jax.core.eval_jaxpr(one, [], *known.values()))


def _rewritten(setting: Any) -> Any:
    """A program that a loop holds, with sums in a fixed order; other settings as is."""
    if isinstance(setting, tuple):
        return tuple(map(_rewritten, setting))
    if not isinstance(setting, ClosedJaxpr):
        return setting
    return jax.make_jaxpr(partial(_run, setting))(*setting.in_avals)


def _product(left: Any, right: Any, dimensions: Any, kind: Any) -> jax.Array:
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
        return _entry(left, place) * _entry(right, place)

    return _added(term, left.shape[-1]).reshape(kind.shape)


def _reduced(array: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    """A sum over axes."""
    rest = [axis for axis in range(array.ndim) if axis not in axes]
    shape = [array.shape[axis] for axis in rest]
    terms = jnp.transpose(array, (*rest, *axes)).reshape(*shape, -1)
    return sum_in_order(terms)


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
