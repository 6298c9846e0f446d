# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Graphs: a PyMC model built for a number of records, and its functions in JAX."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import pymc as pm
import pytensor.tensor as pt
from pymc.initial_point import make_initial_point_expression
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.replace import clone_replace

from dpmcmc.adapters.arguments import Bound
from dpmcmc.adapters.data_containers import columns_for_containers
from dpmcmc.adapters.tensors import (
    Column,
    as_column,
    copied,
    in_precision,
    origins_of,
    replaced,
    to_jax,
)
from dpmcmc.errors import InputError
from dpmcmc.model.tracing import show_shapes

__all__ = ["Graph", "build", "columns_of"]


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A PyMC model of a number of records.

    Attributes
    ----------
    model
        The model.
    count
        The number of records.
    columns
        The symbolic columns, by name.
    swaps
        What stands for data in a model that was built beforehand, and the columns that
        take its place.
    """

    model: pm.Model
    count: int
    columns: Mapping[str, Column]
    swaps: Mapping[Any, Any]

    @property
    def latents(self) -> dict[str, Any]:
        """The free random variables, by name."""
        return {one.name: one for one in self.model.free_RVs}

    def values(self) -> dict[str, Any]:
        """The values of the free random variables, unconstrained."""
        known = self.model.rvs_to_values
        return {name: known[one] for name, one in self.latents.items()}

    def initial_point(self, chosen: Mapping[str, Any]) -> list[Any]:
        """PyMC's initial point, unconstrained, with the values that are chosen."""
        model = self.model
        known = {model[name]: value for name, value in chosen.items()}
        values = {**model.rvs_to_initial_values, **known}
        with in_precision():
            zeros = {
                one: pt.zeros(one.type.shape, one.dtype)
                for one in self.columns.values()
            }
            drawn = replaced(self.swapped(model.free_RVs), zeros)
            pairs = list(zip(drawn, model.free_RVs, strict=True))
            return make_initial_point_expression(
                free_rvs=drawn,
                rvs_to_transforms={
                    one: model.rvs_to_transforms[before] for one, before in pairs
                },
                initval_strategies={one: values.get(before) for one, before in pairs},
                return_transformed=True,
            )

    @cached_property
    def theta(self) -> dict[str, jax.ShapeDtypeStruct]:
        """Shapes of the unconstrained values."""
        function = to_jax([], self.initial_point({}))
        key = jax.eval_shape(jax.random.key, 0)
        found = jax.eval_shape(lambda key: function(key=key), key)
        return dict(zip(self.latents, found, strict=True))

    def terms(self) -> dict[str, Any]:
        """The log-density of each variable and potential, as an array."""
        model = self.model
        parts = [*model.free_RVs, *model.observed_RVs, *model.potentials]
        try:
            with in_precision():
                found = model.logp(vars=parts, jacobian=True, sum=False)
            terms = self.swapped(found)
        except Exception as error:
            raise InputError(_no_density(self, error)) from None
        return {one.name: term for one, term in zip(parts, terms, strict=True)}

    def shown(self, variables: Sequence[Any]) -> list[Any]:
        """Variables as functions of the unconstrained values."""
        with in_precision():
            return self.swapped(self.model.replace_rvs_by_values(list(variables)))

    def swapped(self, outputs: Sequence[Any]) -> list[Any]:
        """Outputs with the columns in the place of data."""
        with in_precision():
            if not self.swaps:
                return list(outputs)
            # Types are made anew: data have a fixed length, of other records.
            known = dict(self.swaps)
            return list(clone_replace(list(outputs), known, rebuild_strict=False))

    def origins(self, outputs: Sequence[Any]) -> frozenset[str]:
        """The columns that outputs depend on."""
        return origins_of(outputs, self.columns)

    def function(self, outputs: Sequence[Any]) -> Callable[..., list[jax.Array]]:
        """Outputs as a JAX function of θ, columns and a key."""
        names = list(self.values())
        inputs = [*self.values().values(), *self.columns.values()]
        try:
            compiled = to_jax(inputs, outputs)
        except Exception as error:
            raise InputError(_no_density(self, error)) from None

        def function(
            theta: Mapping[str, Any],
            columns: Mapping[str, Any],
            key: jax.Array | None = None,
        ) -> list[jax.Array]:
            given = [theta[name] for name in names]
            return compiled(*given, *[columns[one] for one in self.columns], key=key)

        return function


def build(bound: Bound, count: int) -> Graph:
    """Build a model for a number of records, on columns without values.

    Raises
    ------
    InputError
        If the function fails, or does not return a PyMC model.
    """
    columns = {
        name: as_column(name, leaf.shape, leaf.dtype)
        for name, leaf in bound.shapes(count).items()
    }
    if isinstance(bound.model, pm.Model):
        return Graph(bound.model, count, columns, _swaps(bound.model, columns, count))
    try:
        with in_precision(), columns_for_containers():
            _set_open(columns, True)
            model = bound(columns)
    except Exception as error:
        raise InputError(_failure(bound, count, error)) from None
    finally:
        _set_open(columns, False)
    if not isinstance(model, pm.Model):
        raise InputError(
            f"the function returns a {type(model).__name__}; it must return the PyMC "
            'model. Write "with pm.Model() as model:" and end with "return model".'
        )
    return Graph(model, count, columns, {})


def _set_open(columns: Mapping[str, Column], is_open: bool) -> None:
    for column in columns.values():
        column.is_open = is_open


def columns_of(model: pm.Model) -> dict[str, Any]:
    """What stands for a column in a model that was built beforehand, by name.

    Data containers have their name; data observed by a variable have the variable's.
    """
    found = {
        one.name: copied(model.rvs_to_values[one])
        for one in model.observed_RVs
        if isinstance(copied(model.rvs_to_values[one]), Constant | SharedVariable)
    }
    containers = {one.name: one for one in model.data_vars}
    return {**found, **containers}


def _swaps(
    model: pm.Model, columns: Mapping[str, Column], count: int
) -> dict[Any, Any]:
    places = columns_of(model)
    swaps: dict[Any, Any] = {}
    for name, column in columns.items():
        place = places[name]
        if place.ndim != column.ndim:
            raise InputError(
                f"{name!r} has {place.ndim} axes in the PyMC model, but {column.ndim} "
                "in the records. Give it one row for each record in both."
            )
        with in_precision():
            swaps[place] = column.astype(place.dtype)
    for one in model.observed_RVs:
        first = (model.named_vars_to_dims.get(one.name) or (None,))[0]
        length = model.dim_lengths.get(first)
        if isinstance(length, SharedVariable):
            swaps[length] = pt.constant(count, dtype=length.dtype)
    return swaps


def _no_density(graph: Graph, error: Exception) -> str:
    """Why log-densities cannot be computed, in PyMC's own words."""
    first = (str(error).strip().splitlines() or ["no message"])[0].rstrip(".")
    if "Random variables detected" in first:
        return (
            "a log-density holds a random draw that is no variable of the model, such "
            "as pm.Normal.dist inside an expression, so that it would change at each "
            "evaluation. Name it as a variable."
        )
    count = graph.count
    advice = (
        "In a model that is built already, make all data pm.Data containers with the "
        "names of columns, those that are observed too."
        if graph.swaps
        else "Sizes that follow the records must be taken from columns, such as "
        "len(y), and operations must have a JAX form in PyTensor."
    )
    return (
        f"the log-densities of the model of {count} record{'s' * (count > 1)} cannot "
        f"be computed in JAX: {type(error).__name__}: {first}. {advice}"
    )


def _failure(bound: Bound, count: int, error: Exception) -> str:
    """What is wrong with a function that cannot be called, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    file = getattr(bound.code, "co_filename", None)
    own = [frame for frame in frames if frame.filename == file]
    place = f" at {own[-1].filename}:{own[-1].lineno}" if own else ""
    first = (str(error).strip().splitlines() or ["no message"])[0].rstrip(".")
    if "Shared variable values can not be symbolic" in first:
        advice = (
            "Columns go into the model as they are, or as pm.Data(name, column) inside "
            '"with pm.Model():".'
        )
    else:
        advice = (
            "Columns have shapes and no values while the model is built: "
            f"{show_shapes(bound.shapes(count))}. Compute with pm.math or "
            "pytensor.tensor; bind public numbers, such as a number of groups, with "
            "functools.partial."
        )
    return f"the model failed with {type(error).__name__}{place}: {first}. {advice}"
