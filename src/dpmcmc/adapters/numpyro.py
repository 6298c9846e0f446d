# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""NumPyro: a model as its author wrote it, turned into a `Model` of one record."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from dpmcmc.adapters.arguments import bind
from dpmcmc.adapters.assembled import assemble, is_wide
from dpmcmc.adapters.bare_sites import with_plate
from dpmcmc.adapters.densities import Densities
from dpmcmc.adapters.layout import lay_out
from dpmcmc.adapters.person_plate import (
    EFFECT,
    given_effect,
    takes_ids,
    with_effects,
)
from dpmcmc.adapters.stated_responses import responses_of
from dpmcmc.errors import require_count
from dpmcmc.model.coords import Coords, Dims
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Preparation

__all__ = ["NumPyro", "from_numpyro"]


@dataclass(frozen=True, eq=False)
class NumPyro:
    """A NumPyro model, with what `sample` cannot read off it.

    Parameters
    ----------
    model
        A NumPyro model that takes the columns of the records by name. Public
        arguments have defaults, or are bound with `functools.partial`.
    plate
        The name of the plate of the records; unless given, the one that holds all
        observed sites. They may also stand in none, with one entry for each record.
    preparation
        What is done to each record before the model reads it, by public bounds.
    coords, dims
        Names for the places of sites, as in `Model`.
    """

    model: Callable[..., Any]
    plate: str | None = None
    preparation: Preparation | None = None
    coords: Coords = field(default_factory=dict)
    dims: Dims = field(default_factory=dict)

    def for_records(
        self, count: int, one_record: Any, initial: Mapping[str, Any] | None = None
    ) -> Model:
        """The model of one record, from the number and the shape of records."""
        return from_numpyro(
            self.model,
            count,
            one_record,
            plate=self.plate,
            preparation=self.preparation,
            initial=initial,
            coords=self.coords,
            dims=self.dims,
        )

    def for_units(
        self,
        count: int,
        one_record: Any,
        unit: str,
        initial: Mapping[str, Any] | None = None,
    ) -> Model:
        """The model of one unit if it takes the ids of units, else of one record.

        The effects of units, in a plate of their own, are integrated out.
        """
        if not takes_ids(self.model, unit):
            return self.for_records(count, one_record, initial)
        whole, preparation = one_record, self.preparation
        if preparation is not None:
            whole = preparation.check(one_record)
        given = given_effect(self.model, whole, unit)
        inner = from_numpyro(
            given,
            count,
            {**whole, EFFECT: jax.ShapeDtypeStruct((), jnp.result_type(float))},
            plate=self.plate,
            initial=initial,
            coords=self.coords,
            dims=self.dims,
        )
        return with_effects(inner, preparation)


def from_numpyro(
    model: Callable[..., Any],
    count: int,
    one_record: Any,
    *,
    plate: str | None = None,
    preparation: Preparation | None = None,
    initial: Mapping[str, Any] | None = None,
    coords: Coords | None = None,
    dims: Dims | None = None,
) -> Model:
    """Turn a NumPyro model into a `Model`, from the shapes of the records alone.

    The likelihood of a record is the product of the observed sites in the plate of
    the records, with the model run on that record alone; discrete latents in the
    plate are summed over. θ is a dict of the other latent sites, unconstrained, and
    draws are shown on their own scale, with the deterministic sites that hold no
    value of a record.

    Parameters
    ----------
    model
        A NumPyro model that takes the columns of the records by name. Public
        arguments have defaults, or are bound with `functools.partial`.
    count
        The number of records.
    one_record
        The shape and dtype of one record: a dict of columns. Columns that the model
        does not take are ignored.
    plate
        The name of the plate of the records; unless given, the one that holds all
        observed sites. They may also stand in none, with one entry for each record.
    preparation
        What is done to a record before the model reads it.
    initial
        Where chains start: values of latent sites by name, on their own scale. The
        others start at the median of their prior, or at its mean.
    coords, dims
        Names for the places of sites, as in `Model`.

    Returns
    -------
    Model
        With ``draw_prior`` if the latent sites can be drawn and no factor, mask or
        scale changes their distribution; with ``simulate`` if each observed site in
        the plate reads a column as it is; and then with ``responses``, the values of
        those that can be listed, unless a mask or scale changes their distribution.

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
        bound = bind(model, one_record, "NumPyro")
        if plate is None:
            bound = with_plate(bound, count)
        layout = lay_out(bound, count, plate)
        parts = Densities(bound, count, layout)
        return assemble(
            parts,
            lambda theta: responses_of(parts, theta),
            initial=initial,
            preparation=preparation,
            coords=coords or {},
            dims=dims or {},
            stated=(plate,),
        )
