# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors: symbolic columns of PyTensor, and its graphs turned into JAX functions.

A PyMC model is built on columns that have a shape and no values. So nothing in it can
be read off a record, and what depends on the records shows by its graph.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.tensor as pt
from jax.scipy.special import log_ndtr
from pytensor.compile.mode import JAX
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.traversal import graph_inputs
from pytensor.link.utils import fgraph_to_python
from pytensor.scalar.math import Erfcx
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.random.basic import CategoricalRV
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.shape import Shape, Shape_i
from pytensor.tensor.type import TensorType
from pytensor.tensor.variable import TensorVariable

# PyTensor sets JAX to its own precision where this is first imported.
_precision = jax.config.read("jax_enable_x64")
from pytensor.link.jax.dispatch import jax_funcify, jax_typify  # noqa: E402

jax.config.update("jax_enable_x64", _precision)

__all__ = [
    "Column",
    "as_column",
    "copied",
    "in_precision",
    "origins_of",
    "replaced",
    "to_jax",
]

_UFUNCS = {"subtract": "sub", "multiply": "mul", "divide": "true_div", "power": "pow"}
"""NumPy's names of functions that PyTensor calls otherwise."""


class Column(TensorVariable):  # type: ignore[misc]
    """A column without values, whose length is a number.

    Attributes
    ----------
    is_open
        Whether its shape is one of numbers: while the user's function is called.
        PyMC itself computes with symbolic shapes.
    """

    is_open = False

    @property
    def shape(self) -> Any:
        """The shape, which does not depend on values."""
        return tuple(self.type.shape) if self.is_open else pt.shape(self)

    @property
    def values(self) -> "Column":
        """The column itself, where a model is written for those of a table."""
        return self

    def to_numpy(self) -> "Column":
        """The column itself, as `values`."""
        return self

    def __len__(self) -> int:
        return int(self.type.shape[0])

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            "a column has no values while the model is built, so NumPy and pandas "
            "cannot compute with it. Use pm.math or pytensor.tensor; a public array is "
            "indexed by a column as pytensor.tensor.as_tensor(array)[column]"
        )

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, **settings: Any
    ) -> Any:
        function = getattr(pt, _UFUNCS.get(ufunc.__name__, ufunc.__name__), None)
        if method == "__call__" and not settings and function is not None:
            return function(*inputs)
        return self.__array__()

    def __array_function__(
        self, function: Any, _: Any, inputs: Any, settings: Any
    ) -> Any:
        name = function.__name__
        if name in ("ndim", "shape", "size"):
            return getattr(self, name)
        own = getattr(pt, name, None)
        return self.__array__() if own is None else own(*inputs, **settings)


def as_column(name: str, shape: tuple[int, ...], dtype: Any) -> Column:
    """A symbolic column of a shape."""
    kind = str(jax.dtypes.canonicalize_dtype(dtype))
    return Column(TensorType(kind, shape), None, name=name)


@contextmanager
def in_precision() -> Iterator[None]:
    """PyTensor in the precision that JAX is set to, and quiet about it."""
    name = str(jnp.result_type(float))
    with warnings.catch_warnings(), pytensor.config.change_flags(floatX=name):
        # Checks that JAX skips, and 64-bit numbers that it makes 32-bit ones.
        warnings.simplefilter("ignore")
        yield


def origins_of(outputs: Iterable[Any], columns: Mapping[str, Any]) -> frozenset[str]:
    """The columns that outputs depend on by their values, not only by their shape."""
    names = {id(column): name for name, column in columns.items()}
    seen: set[int] = set()
    found: set[str] = set()
    waiting = list(outputs)
    while waiting:
        variable = waiting.pop()
        if id(variable) in seen:
            continue
        seen.add(id(variable))
        if id(variable) in names:
            found.add(names[id(variable)])
        owner = variable.owner
        if owner is not None and not isinstance(owner.op, Shape | Shape_i):
            waiting += owner.inputs
    return frozenset(found)


def replaced(outputs: Sequence[Any], known: Mapping[Any, Any]) -> list[Any]:
    """Outputs with other variables in the place of some; those above do not matter."""
    met: dict[Any, Any] = {}
    seen: set[int] = set()
    waiting = list(outputs)
    while waiting:
        variable = waiting.pop()
        if id(variable) in seen:
            continue
        seen.add(id(variable))
        if variable in known:
            met[variable] = known[variable]
        elif variable.owner is not None:
            waiting += variable.owner.inputs
    direct = [known.get(one, one) for one in outputs]
    return list(pytensor.graph_replace(direct, met, strict=False)) if met else direct


def copied(variable: Any) -> Any:
    """What a variable is a copy of, in whatever dtype."""
    owner = variable.owner
    is_cast = isinstance(getattr(owner, "op", None), Elemwise) and str(
        owner.op.scalar_op
    ).startswith("Cast")
    return copied(owner.inputs[0]) if is_cast else variable


def to_jax(
    inputs: Sequence[Any], outputs: Sequence[Any]
) -> Callable[..., list[jax.Array]]:
    """A graph as a JAX function of the values of its inputs.

    What is drawn in the graph is drawn from ``key``. Shared variables, such as public
    data, are constants.
    """
    with in_precision():
        known = {id(one) for one in inputs}
        roots = [one for one in graph_inputs(outputs) if id(one) not in known]
        sources = [one for one in roots if isinstance(one.type, RandomType)]
        fixed = {
            one: pt.constant(one.get_value(borrow=True))
            for one in roots
            if isinstance(one, SharedVariable) and one not in sources
        }
        outputs = replaced(outputs, fixed)
        fresh = [one.type() for one in sources]
        drawn = dict(zip(sources, fresh, strict=True))
        outputs = replaced(outputs, drawn)
        graph = FunctionGraph([*inputs, *fresh], outputs, clone=True)
        _draw_categories(graph)
        mode = JAX.including("local_check_parameter_to_ninf_switch")
        mode.optimizer.rewrite(graph)
        with jax.ensure_compile_time_eval():  # constants outlive what is being traced
            compiled = fgraph_to_python(
                graph, jax_funcify, type_conversion_fn=_as_constant
            )

    def function(*values: Any, key: jax.Array | None = None) -> list[jax.Array]:
        keys: Any = [] if key is None else jax.random.split(key, max(1, len(fresh)))
        states = [{"jax_state": one} for one in keys][: len(fresh)]
        with in_precision():
            results = compiled(*map(jnp.asarray, values), *states)
        return list(results or ())  # None for a graph without outputs

    return function


def _as_constant(data: Any, **settings: Any) -> Any:
    """A constant for JAX; a number keeps its dtype, which some operations look at."""
    if isinstance(data, np.ndarray) and data.ndim == 0:
        return data[()]
    return jax_typify(data, **settings)


@jax_funcify.register(Erfcx)  # type: ignore[untyped-decorator]
def _scaled_tail(*_: Any, **__: Any) -> Callable[[Any], jax.Array]:
    """exp(x²) erfc(x), of a normal tail, for which PyTensor needs another library."""

    def erfcx(x: Any) -> jax.Array:
        near, far = jnp.where(x < 10.0, x, 1.0), jnp.where(x < 10.0, 10.0, x)
        series, part = jnp.ones(()), 0.5 / far**2
        for odd in range(11, 0, -2):  # the asymptotic series, from its last term
            series = 1 - odd * part * series
        return jnp.where(
            x < 10.0,
            jnp.exp(near**2 + jnp.log(2.0) + log_ndtr(-jnp.sqrt(2.0) * near)),
            series / (far * jnp.sqrt(jnp.pi)),
        )

    return erfcx


def _draw_categories(graph: FunctionGraph) -> None:
    """Draw categories by a uniform number: PyTensor's own draw in JAX is not of p."""
    for node in graph.toposort():
        if isinstance(node.op, CategoricalRV):
            source, _, p = node.inputs
            draw = node.outputs[1]
            uniform = pt.random.uniform(size=draw.shape, rng=source)
            ends = pt.cumsum(p, axis=-1)[..., :-1]
            chosen = pt.sum(uniform[..., None] > ends, axis=-1)
            graph.replace(draw, chosen.astype(draw.dtype), import_missing=True)
