# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""NumPyro: a model as its author wrote it, turned into a `Model` of one record."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.adapters.arguments import bind
from dpmcmc.adapters.densities import Densities, Start
from dpmcmc.adapters.layout import lay_out
from dpmcmc.adapters.person_plate import (
    EFFECT,
    given_effect,
    takes_ids,
    with_effects,
)
from dpmcmc.adapters.sites import Site, require_traceable
from dpmcmc.adapters.stated_responses import responses_of
from dpmcmc.adapters.synthetic import require_separate_records
from dpmcmc.adapters.translated import kept, same_program
from dpmcmc.errors import InputError, require_count
from dpmcmc.model.coords import Coords, Dims
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Preparation
from dpmcmc.model.tracing import is_double, show_shapes

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
        observed sites.
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
        observed sites.
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
    with jax.enable_x64(_is_wide(one_record)):
        if preparation is not None:
            one_record = preparation.check(one_record)
        bound = bind(model, one_record)
        layout = lay_out(bound, count, plate)
        parts = Densities(bound, count, layout)
        given = {
            name: _value(name, value, layout.latents)
            for name, value in (initial or {}).items()
        }

        def translated() -> Model:
            return _translated(parts, given, preparation, coords or {}, dims or {})

        stated = (plate, preparation, repr(coords or {}), repr(dims or {}))
        return kept(same_program(parts, given, stated), translated)


def _translated(
    parts: Densities,
    given: Mapping[str, np.ndarray],
    preparation: Preparation | None,
    coords: Coords,
    dims: Dims,
) -> Model:
    """The model of one record, once it is known that there can be one."""
    layout, one_record = parts.layout, dict(parts.bound.one)
    start = _start(parts, given)
    require_traceable(parts.bound, parts.log_likelihood, start, one_record)
    key = jax.eval_shape(jax.random.key, 0)
    can_draw = layout.has_prior_distribution and _can_trace(parts.draw_prior, key)
    can_simulate = layout.observed is not None and _can_trace(
        parts.simulate, start, key, one_record
    )
    adapted = Model(
        log_likelihood=parts.log_likelihood,
        log_prior=jax.jit(parts.log_prior),
        initial=start,
        transform=jax.jit(parts.show),
        draw_prior=jax.jit(parts.draw_prior) if can_draw else None,
        simulate=jax.jit(parts.simulate) if can_simulate else None,
        preparation=preparation,
        responses=responses_of(parts, start),
        coords=coords,
        dims=dims,
    )
    require_separate_records(adapted, parts)
    return adapted


def _is_wide(one_record: Any) -> bool:
    """Whether JAX is set to 64-bit numbers, or a record holds them."""
    wide = is_double(jnp.result_type(float))
    return wide or any(leaf.dtype.itemsize == 8 for leaf in jax.tree.leaves(one_record))


def _can_trace(function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether all distributions that a function draws from have a sampler."""
    try:
        jax.eval_shape(function, *arguments)
    except Exception:  # a distribution without a sampler says so in several ways
        return False
    return True


def _start(parts: Densities, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The starting point, unconstrained, with the values that are given."""

    def begin(given: Mapping[str, Any]) -> Start:
        return parts.start(given, jax.random.key(0))

    require_traceable(parts.bound, begin, given)
    start = jax.device_get(jax.jit(begin)(given))
    for name, is_possible in start.is_possible.items():
        if not is_possible:
            raise InputError(
                f"initial has {name!r} outside the support of its prior. Give a value "
                "that the prior allows."
            )
    if not np.isfinite(start.log_prior):
        raise InputError(
            f"the log-density of the prior is {start.log_prior} at the starting point "
            f"{_shown(parts, start.theta)}; it must be finite. Give initial={{name: "
            "value}} with values inside the support, for some or all latent sites."
        )
    return dict(start.theta)


def _value(name: str, value: Any, latents: Mapping[str, Site]) -> np.ndarray:
    if name not in latents:
        raise InputError(
            f"initial names {name!r}, which is no parameter of the model; its "
            f"parameters are {', '.join(map(repr, latents))}."
        )
    site = latents[name]
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.shape != site.shape:
        raise InputError(
            f"initial has {name!r} as {show_shapes(value)}; it must be real numbers of "
            f"shape {site.shape}, on the scale of the site."
        )
    return np.asarray(array, int if site.is_discrete else float)


def _shown(parts: Densities, start: Mapping[str, Any]) -> str:
    values = jax.device_get(jax.jit(parts.show)(start))
    return ", ".join(f"{name} = {value}" for name, value in values.items())
