# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Units: models of all records of one person, made of models of one record.

What is protected is then a person: the log-likelihoods of a person's records are added
before anything is bounded. A model may also state the log-likelihood of a unit itself,
such as one whose effect of the person is integrated out.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from dpmcmc.errors import InputError
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Preparation
from dpmcmc.model.python_function import PythonFunction

__all__ = ["Unit", "sum_over_records", "unit_model"]


class Unit(NamedTuple):
    """All records of one unit, as a log-likelihood of a unit reads them.

    Attributes
    ----------
    rows
        The records, prepared one by one, with a leading axis.
    present
        Which of them are there: those before the first that is not. The others repeat
        the first, and must not count.
    """

    rows: Any
    present: Any


def sum_over_records(log_likelihood: Callable[[Any], Any], unit: Unit) -> jax.Array:
    """Add up a log-likelihood of one record over the records that are there.

    Parameters
    ----------
    log_likelihood
        A function of one record.
    unit
        The records.
    """

    def one(record: Any) -> jax.Array:
        (value,) = jax.tree.leaves(log_likelihood(record))
        return jnp.asarray(value)

    if len(unit.present) == 1:  # as without units, operation by operation
        values = one(jax.tree.map(lambda leaf: leaf[0], unit.rows))[None]
    else:
        values = jax.vmap(one)(unit.rows)
    return jnp.sum(jnp.where(unit.present, values, 0))


def unit_model(model: Model, most: int) -> Model:
    """The model of one unit of at most ``most`` records; always the same object.

    What a model states of one record alone is not stated of a unit: its responses,
    simulator and statistics. Its Lipschitz bound is that of all records together.

    Raises
    ------
    InputError
        If the log-likelihood of a record is a Python function.
    """
    made = model.units
    if most not in made:
        made[most] = _made(model, most)
    return made[most]


def _made(model: Model, most: int) -> Model:
    stated, preparation = model.log_likelihood, model.preparation
    if model.per == "unit" and preparation is None:
        return model
    if type(stated) is PythonFunction:
        raise InputError(
            "the log-likelihood is a PythonFunction, but records are grouped into "
            "units. Write one of a whole unit that needs no preparation, with "
            "Model(per='unit'): it is given a dpmcmc.model.Unit of NumPy arrays."
        )
    if model.per == "unit":

        def log_likelihood(theta: Any, unit: Unit) -> Any:
            return stated(theta, _prepared(preparation, unit))

        return replace(model, log_likelihood=log_likelihood, preparation=None)

    def added(theta: Any, unit: Unit) -> jax.Array:
        whole = _prepared(preparation, unit)
        return sum_over_records(lambda record: stated(theta, record), whole)

    lipschitz = None if model.lipschitz is None else most * model.lipschitz
    return replace(
        model,
        log_likelihood=added,
        preparation=None,
        lipschitz=lipschitz,
        responses=None,
        simulate=None,
        statistics=None,
        per="unit",
    )


def _prepared(preparation: Preparation | None, unit: Unit) -> Unit:
    """Prepare each record of a unit by itself."""
    if preparation is None:
        return unit
    if len(unit.present) == 1:
        one = preparation(jax.tree.map(lambda leaf: leaf[0], unit.rows))
        return Unit(
            jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], one), unit.present
        )
    return Unit(jax.vmap(preparation)(unit.rows), unit.present)
