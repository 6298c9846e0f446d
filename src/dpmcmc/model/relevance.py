# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Which coordinates of θ records tell of; the others are in the prior alone.

In a hierarchical model the law of the groups' levels has parameters that no record's
log-likelihood reads. What records say of them is zero, whatever the records are: so
nothing has to be asked, and no noise added. It is read off the traced program, from
shapes alone, and so it is public.
"""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from dpmcmc.model.model import Model
from dpmcmc.private import Records

__all__ = ["told_coordinates"]


def told_coordinates(model: Model, records: Records) -> np.ndarray:
    """Say of each coordinate of θ whether the log-likelihood of a record reads it.

    A leaf of θ counts as a whole, and is held to be read unless the program shows
    that it is not. If nothing is read, or the program cannot be traced (whoever
    checks the model says why), all coordinates count as read.

    Parameters
    ----------
    model, records
        The model; the sealed records, of which only shapes are looked at.

    Returns
    -------
    np.ndarray
        Of booleans, in the order of ``jax.flatten_util.ravel_pytree``.
    """
    leaves = jax.tree.leaves(model.initial)
    sizes = [int(np.size(leaf)) for leaf in leaves]
    record = records.shape_of_one("float32")
    try:
        # one answer, whatever the precision of the chain
        with jax.enable_x64(False), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theta = jax.tree.map(
                lambda leaf: jnp.asarray(np.asarray(leaf)), model.initial
            )
            traced = jax.make_jaxpr(model.record_log_likelihood)(theta, record)
    except Exception:
        return np.full(sum(sizes), True)
    read = _read(traced.jaxpr, [True] * len(traced.jaxpr.outvars))[: len(leaves)]
    told = np.repeat(read, sizes)
    return told if told.any() else np.full(sum(sizes), True)


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
