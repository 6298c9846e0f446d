# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Which coordinates of θ and which columns of a record a log-likelihood reads.

In a hierarchical model the distribution of group effects has parameters that no
record's log-likelihood reads. The gradient there is zero, whatever the records are: so
nothing has to be asked, and no noise added. It is read off the traced program, from
shapes alone, and so it is public.
"""

import warnings
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from dpmcmc.model.model import Model

__all__ = ["columns_read", "informed_coordinates"]


def informed_coordinates(model: Model, one_record: Any) -> np.ndarray:
    """Say of each coordinate of θ whether the log-likelihood of a record reads it.

    A leaf of θ counts as a whole, and is held to be read unless the program shows
    that it is not. If nothing is read, or the program cannot be traced (checks of the
    model say why), all coordinates count as read.

    Parameters
    ----------
    model
        The model.
    one_record
        Shape and dtype of one record.

    Returns
    -------
    np.ndarray
        Of booleans, in the order of ``jax.flatten_util.ravel_pytree``.
    """
    leaves = jax.tree.leaves(model.initial)
    sizes = [int(np.size(leaf)) for leaf in leaves]
    informed = np.repeat(_inputs_read(model, one_record)[: len(leaves)], sizes)
    return informed if informed.any() else np.full(sum(sizes), True)


def columns_read(model: Model, one_record: Mapping[str, Any]) -> list[str]:
    """The columns that the log-likelihood reads, itself or once they are prepared.

    All of them, unless the program shows that one is not read.
    """
    parameters = len(jax.tree.leaves(model.initial))
    read = _inputs_read(model, dict(one_record))[parameters:]
    return [
        name for name, is_read in zip(sorted(one_record), read, strict=True) if is_read
    ]


def _inputs_read(model: Model, one_record: Any) -> list[bool]:
    """Which leaves of θ, then of a record, the log-likelihood reads."""
    count = len(jax.tree.leaves((model.initial, one_record)))
    try:
        # one answer, whatever the precision of the chain
        with jax.enable_x64(False), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theta = jax.tree.map(
                lambda leaf: jnp.asarray(np.asarray(leaf)), model.initial
            )
            traced = jax.make_jaxpr(model.record_log_likelihood)(theta, one_record)
    except Exception:
        return [True] * count
    return _read(traced.jaxpr, [True] * len(traced.jaxpr.outvars))


def _read(program: Any, wanted: list[bool]) -> list[bool]:
    """Which inputs of a program the wanted outputs depend on.

    It is followed backwards: an operation of which any output is wanted wants all its
    inputs, but for inner programs of `jax.jit`, which are followed themselves.
    """
    needed = {
        variable
        for variable, is_wanted in zip(program.outvars, wanted, strict=True)
        if is_wanted and not isinstance(variable, Literal)
    }
    for equation in reversed(program.eqns):
        made = [variable in needed for variable in equation.outvars]
        if not any(made) and not equation.effects:
            continue
        given = [True] * len(equation.invars)
        if equation.primitive.name in ("jit", "pjit"):
            given = _read(equation.params["jaxpr"].jaxpr, made)
        needed.update(
            variable
            for variable, is_needed in zip(equation.invars, given, strict=True)
            if is_needed and not isinstance(variable, Literal)
        )
    return [variable in needed for variable in program.invars]
