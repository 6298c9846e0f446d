# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""PyMC: a model as its author wrote it, turned into a `Model` of one record."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import pymc as pm

from dpmcmc.adapters.arguments import Bound, bind
from dpmcmc.adapters.assembled import assemble, is_wide
from dpmcmc.adapters.graphs import build, columns_of
from dpmcmc.adapters.pymc_densities import PyMCDensities
from dpmcmc.adapters.pymc_layout import PyMCLayout, lay_out_pymc
from dpmcmc.adapters.pymc_responses import pymc_responses
from dpmcmc.errors import InputError, require_count
from dpmcmc.model.coords import Coords, Dims
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Preparation

__all__ = ["PyMC", "from_pymc"]


@dataclass(frozen=True, eq=False)
class PyMC:
    """A PyMC model, with what `sample` cannot read off it.

    Parameters
    ----------
    model
        A function of the columns of the records, by name, that returns a `pymc.Model`;
        public arguments have defaults, or are bound with `functools.partial`. Or a
        `pymc.Model` whose data containers have the names of columns.
    preparation
        What is done to each record before the model reads it, by public bounds.
    coords, dims
        Names for the places of parameters, as in `Model`; those of the PyMC model
        unless given.
    """

    model: Callable[..., pm.Model] | pm.Model
    preparation: Preparation | None = None
    coords: Coords = field(default_factory=dict)
    dims: Dims = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a model takes if it was built beforehand."""
        return tuple(columns_of(self.model))

    def for_records(
        self, count: int, one_record: Any, initial: Mapping[str, Any] | None = None
    ) -> Model:
        """The model of one record, from the number and the shape of records."""
        return from_pymc(
            self.model,
            count,
            one_record,
            preparation=self.preparation,
            initial=initial,
            coords=self.coords,
            dims=self.dims,
        )


def from_pymc(
    model: Callable[..., pm.Model] | pm.Model,
    count: int,
    one_record: Any,
    *,
    preparation: Preparation | None = None,
    initial: Mapping[str, Any] | None = None,
    coords: Coords | None = None,
    dims: Dims | None = None,
) -> Model:
    """Turn a PyMC model into a `Model`, from the shapes of the records alone.

    The likelihood of a record is the product of the observed variables and potentials
    that read the records, of the model built for that record alone. θ is a dict of the
    free random variables, unconstrained by PyMC's own transforms; draws are shown on
    their own scale, with the deterministic variables that hold no value of a record.

    Parameters
    ----------
    model
        A function of the columns of the records, by name, that returns a `pymc.Model`,
        or a `pymc.Model` whose data containers have the names of columns.
    count
        The number of records.
    one_record
        The shape and dtype of one record: a dict of columns. Columns that the model
        does not take are ignored.
    preparation
        What is done to a record before the model reads it.
    initial
        Where chains start: values of parameters by name, on their own scale. The others
        start at PyMC's initial point.
    coords, dims
        Names for the places of parameters, as in `Model`; those of the PyMC model
        unless given.

    Returns
    -------
    Model
        With ``draw_prior`` if PyTensor can draw the parameters in JAX and no potential
        changes their distribution; with ``simulate`` and ``responses`` if each observed
        variable reads a column as it is.

    Raises
    ------
    InputError
        If the model is not one of independent records given public parameters, or
        something given does not fit it. No record is read.
    """
    count = require_count("count", count, "Give the number of records.")
    with jax.enable_x64(is_wide(one_record)):
        if preparation is not None:
            one_record = preparation.check(one_record)
        bound = _bind(model, one_record)
        whole, one = build(bound, count), build(bound, 1)
        layout = lay_out_pymc(bound, whole, one)
        parts = PyMCDensities(bound, whole, one, layout)
        names, axes = _labels(whole.model, layout)
        return assemble(
            parts,
            lambda theta: pymc_responses(parts, theta),
            initial=initial,
            preparation=preparation,
            coords={**names, **(coords or {})},
            dims={**axes, **(dims or {})},
        )


def _bind(model: Any, one_record: Any) -> Bound:
    if not isinstance(model, pm.Model):
        return bind(model, one_record, "PyMC")
    names = columns_of(model)

    def taken(**columns: Any) -> None:
        """Stand for the model while columns are matched."""

    bound = bind(taken, one_record, "PyMC")
    one = {name: leaf for name, leaf in bound.one.items() if name in names}
    if not one:
        raise InputError(
            f"no column ({', '.join(map(repr, bound.one))}) has the name of a data "
            f"container or observed variable of the PyMC model, which are "
            f"{', '.join(map(repr, names)) or 'none'}. Name them alike; or give a "
            "function of the columns that returns the model."
        )
    return Bound(model, one, ())


def _labels(model: pm.Model, layout: PyMCLayout) -> tuple[Coords, Dims]:
    """The coords and dims of what is shown; axes without coords are numbered."""
    dims = {
        name: tuple(
            axis if axis is not None and model.coords.get(axis) is not None else None
            for axis in model.named_vars_to_dims[name]
        )
        for name in (*layout.latents, *layout.shown)
        if name in model.named_vars_to_dims
    }
    used = {axis for axes in dims.values() for axis in axes if axis}
    coords = {axis: tuple(map(str, model.coords[axis])) for axis in sorted(used)}
    return coords, dims
