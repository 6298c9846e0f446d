# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a user hands to the sampler, turned into a `Model` from shapes alone."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import jax

from dpmcmc.errors import InputError
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Preparation
from dpmcmc.model.tracing import shapes_of, show_shapes
from dpmcmc.private import Records

__all__ = ["as_model"]


def as_model(
    model: Model | Callable[..., Any],
    records: Records,
    dtype: str,
    *,
    plate: str | None,
    preparation: Preparation | None,
    start: Any,
) -> Model:
    """Turn what was given into a model that starts at ``start``, if that is a point.

    Parameters
    ----------
    model
        A `Model`, or a NumPyro model that takes the columns of the records.
    records
        The sealed records; only their number and shapes are looked at.
    dtype
        The chain's precision.
    plate
        The plate of the records, for a NumPyro model.
    preparation
        What is done to each record first; what a model does itself comes after.
    start
        A point, or None for the model's own.

    Raises
    ------
    InputError
        If these do not fit each other. No record is read.
    """
    if isinstance(model, Model):
        return _own(model, plate, preparation, start)
    if not callable(model) or isinstance(model, type):
        raise InputError(
            f"model is a {type(model).__name__}; it must be a dpmcmc.Model or a "
            "NumPyro model. Make one from a log-likelihood of one record, a prior, and "
            "a place to start."
        )
    if start is not None and not isinstance(start, Mapping):
        raise InputError(
            f"start is {show_shapes(start)}; for a NumPyro model it must be a dict of "
            "values of its latent sites, by name, or one of 'prior', 'variational'."
        )
    from_numpyro = _numpyro_adapter()
    with jax.enable_x64(dtype == "float64"):
        return from_numpyro(
            model,
            len(records),
            records.shape_of_one(dtype),
            plate=plate,
            preparation=preparation,
            initial=start,
        )


def _numpyro_adapter() -> Callable[..., Model]:
    try:
        from dpmcmc.adapters import from_numpyro  # noqa: PLC0415 - slow to import
    except ModuleNotFoundError:
        raise InputError(
            "model is a function, which stands for a NumPyro model, but NumPyro is not "
            "installed. Install dpmcmc[numpyro], or give a dpmcmc.Model."
        ) from None
    return from_numpyro


def _own(
    model: Model, plate: str | None, preparation: Preparation | None, start: Any
) -> Model:
    if plate is not None:
        raise InputError(
            f"plate is {plate!r}, but the model is a dpmcmc.Model, which states one "
            "record at a time and has no plates. Leave plate out."
        )
    if start is not None and start is not model.initial:  # else it is compiled anew
        _require_like(start, model.initial)
        model = replace(model, initial=start)
    if preparation is None:
        return model
    own = model.preparation
    return replace(
        model, preparation=preparation if own is None else preparation.then(own)
    )


def _require_like(start: Any, initial: Any) -> None:
    try:
        same = shapes_of(start) == shapes_of(initial)
    except TypeError:  # a leaf that is no array
        same = False
    if not same:
        raise InputError(
            f"start is {show_shapes(start)}, but θ is {show_shapes(initial)}; it must "
            "be a point like θ, or one of 'prior', 'variational'."
        )
