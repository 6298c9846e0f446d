# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Assembled: the parts of a model of another library, made one `Model` and checked."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.adapters.arguments import require_traceable
from dpmcmc.adapters.parts import Latent, Parts, Start, Theta
from dpmcmc.adapters.synthetic import require_separate_records
from dpmcmc.adapters.translated import kept, same_program
from dpmcmc.errors import InputError
from dpmcmc.model.coords import Coords, Dims
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Preparation
from dpmcmc.model.responses import Responses
from dpmcmc.model.tracing import is_double, show_shapes

__all__ = ["assemble", "is_wide"]


def assemble(
    parts: Parts,
    responses_at: Callable[[Theta], Responses | None],
    *,
    initial: Mapping[str, Any] | None,
    preparation: Preparation | None,
    coords: Coords,
    dims: Dims,
    stated: tuple[Hashable, ...] = (),
) -> Model:
    """The model of one record; the one made before, if it computes the same.

    Parameters
    ----------
    parts
        What the adapter has worked out.
    responses_at
        The columns that the model explains, found at a point.
    initial
        Where chains start: values of parameters by name, on their own scale.
    preparation, coords, dims
        As in `Model`.
    stated
        Other settings in which two translations may differ.

    Raises
    ------
    InputError
        If there is no place to start, or the model mixes records. No record is read.
    """
    given = {
        name: _value(name, value, parts.layout.latents)
        for name, value in (initial or {}).items()
    }

    def translated() -> Model:
        return _translated(parts, responses_at, given, preparation, coords, dims)

    settings = (*stated, preparation, repr(coords), repr(dims))
    return kept(same_program(parts, given, settings), translated)


def _translated(
    parts: Parts,
    responses_at: Callable[[Theta], Responses | None],
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
        responses=responses_at(start),
        coords=coords,
        dims=dims,
    )
    require_separate_records(adapted, parts)
    return adapted


def is_wide(one_record: Any) -> bool:
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


def _start(parts: Parts, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
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
            "value}} with values inside the support, for some or all parameters."
        )
    return dict(start.theta)


def _value(name: str, value: Any, latents: Mapping[str, Latent]) -> np.ndarray:
    if name not in latents:
        raise InputError(
            f"initial names {name!r}, which is no parameter of the model; its "
            f"parameters are {', '.join(map(repr, latents))}."
        )
    latent = latents[name]
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.shape != latent.shape:
        raise InputError(
            f"initial has {name!r} as {show_shapes(value)}; it must be real numbers of "
            f"shape {latent.shape}, on the scale of the parameter."
        )
    return np.asarray(array, int if latent.is_discrete else float)


def _shown(parts: Parts, start: Mapping[str, Any]) -> str:
    values = jax.device_get(jax.jit(parts.show)(start))
    return ", ".join(f"{name} = {value}" for name, value in values.items())
