# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Origins: which inputs of a traced function each of its results may depend on.

The function is traced with shapes alone, and dependence is followed through the
operations of the traced program. So no value is needed, and a result without an
origin cannot depend on the input, whatever values it takes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

__all__ = ["Origin", "origins"]


@dataclass(frozen=True)
class Origin:
    """Where a result comes from.

    Attributes
    ----------
    names
        The inputs that the result may depend on.
    copy_of
        The input that the result is, unchanged, if it is one.
    """

    names: frozenset[str]
    copy_of: str | None


def origins(
    function: Callable[[Mapping[str, Any]], Any], inputs: Mapping[str, Any]
) -> Any:
    """Return the `Origin` of each result of ``function(inputs)``.

    Parameters
    ----------
    function
        What is traced; it takes a mapping of names to arrays.
    inputs
        The shape and dtype of each input.

    Returns
    -------
    Any
        A pytree like the function's result, with an `Origin` for each array.
    """
    names = sorted(inputs)
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(
        {name: inputs[name] for name in names}
    )
    program = closed.jaxpr
    known = {id(var): name for var, name in zip(program.invars, names, strict=True)}
    flowed = _flow(program, [frozenset([name]) for name in names])
    found = [
        Origin(origin, known.get(id(var)))
        for origin, var in zip(flowed, program.outvars, strict=True)
    ]
    return jax.tree.unflatten(jax.tree.structure(shapes), found)


def _flow(program: Any, given: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Follow origins through a traced program, from its inputs to its results."""
    nothing: frozenset[str] = frozenset()
    # Variables are known by identity; what is not in the dict is a constant.
    at = {id(var): origin for var, origin in zip(program.invars, given, strict=True)}
    for equation in program.eqns:
        sources = [at.get(id(var), nothing) for var in equation.invars]
        inner = (
            equation.params.get("jaxpr") if equation.primitive.name == "jit" else None
        )
        if inner is not None:
            results = _flow(inner.jaxpr, sources)
        else:
            # Any result of any other operation may depend on all that it reads.
            results = [nothing.union(*sources)] * len(equation.outvars)
        at.update(
            (id(var), origin)
            for var, origin in zip(equation.outvars, results, strict=True)
        )
    return [at.get(id(var), nothing) for var in program.outvars]
