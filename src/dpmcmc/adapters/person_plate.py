# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Plates of persons: one normal effect of each, integrated out by quadrature.

A model of several records of a person takes the ids, has a plate of persons with an
effect of each, and reads ``effect[person]`` in the plate of the records. One person's
likelihood is an integral over one effect. So the model is run on single records, each
with an effect that is given, and the effect is integrated out over a person's records.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from numpyro import distributions as dist
from numpyro import handlers
from numpyro.infer.reparam import LocScaleReparam

from dpmcmc.adapters.arguments import bind
from dpmcmc.errors import InputError
from dpmcmc.model.effects import integrate_effect
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Preparation
from dpmcmc.model.units import Unit, sum_over_records

__all__ = ["EFFECT", "given_effect", "takes_ids", "with_effects"]

EFFECT = "effect_of_the_unit"
"""The column that holds the effect, in standard units, when a record is evaluated."""


def takes_ids(model: Callable[..., Any], unit: str) -> bool:
    """Whether a model has an argument named like the column of ids."""
    try:
        return unit in inspect.signature(model).parameters
    except (TypeError, ValueError):  # no function, or not of Python
        return False


def given_effect(
    model: Callable[..., Any], one_record: Mapping[str, Any], unit: str
) -> Callable[..., Any]:
    """The NumPyro model of records whose effects of persons are given in a column.

    Parameters
    ----------
    model
        A model with a plate of persons, of size one by default.
    one_record
        The shape and dtype of one record: a dict of columns, without the ids.
    unit
        The argument that takes the ids.

    Raises
    ------
    InputError
        If its effects cannot be recognised.
    """
    site, plate = _effect_site(model, one_record, unit)

    def model_given_effect(**columns: Any) -> Any:
        effect = columns.pop(EFFECT)
        # whatever its mean and sd, the effect is a shifted and scaled standard normal
        standard = handlers.reparam(model, config={site: LocScaleReparam(0)})
        placed = handlers.substitute(standard, data={f"{site}_decentered": effect})
        hidden = handlers.block(placed, hide=[site, f"{site}_decentered", plate])
        return hidden(**{unit: jnp.arange(effect.shape[0])}, **columns)

    own = inspect.signature(model)
    kept = [one for name, one in own.parameters.items() if name != unit]
    last = kept[-1:] if kept and kept[-1].kind is inspect.Parameter.VAR_KEYWORD else []
    added = inspect.Parameter(EFFECT, inspect.Parameter.KEYWORD_ONLY)
    order = [*kept[: len(kept) - len(last)], added, *last]
    setattr(model_given_effect, "__signature__", own.replace(parameters=order))  # noqa: B010
    return model_given_effect


def with_effects(inner: Model, preparation: Preparation | None) -> Model:
    """The model of a unit, from one of records that are given the unit's effect."""

    def log_likelihood(theta: Any, unit: Unit) -> jax.Array:
        def given(effect: jax.Array) -> jax.Array:
            return sum_over_records(
                lambda row: inner.log_likelihood(theta, {**row, EFFECT: effect}), unit
            )

        return integrate_effect(given)

    return Model(
        log_likelihood,
        inner.log_prior,
        inner.initial,
        transform=inner.transform,
        draw_prior=inner.draw_prior,
        preparation=preparation,
        per="unit",
        coords=inner.coords,
        dims=inner.dims,
    )


def _effect_site(
    model: Callable[..., Any], one_record: Mapping[str, Any], unit: str
) -> tuple[str, str]:
    """The site of the effects, and its plate."""
    ids = jax.ShapeDtypeStruct((), jnp.int32)
    bound = bind(model, {**one_record, unit: ids}, "NumPyro")
    try:
        seeded = handlers.seed(bound, rng_seed=jax.random.key(0))
        trace = handlers.trace(seeded).get_trace(bound.blanks(2))
    except Exception as problem:
        raise InputError(
            f"the model takes {unit!r}, the ids of units, but cannot be run on two "
            f"records of one unit: {type(problem).__name__}. {_ADVICE.format(unit)}"
        ) from problem
    found = [
        (name, frames[0].name, one)
        for name, one in trace.items()
        if one["type"] == "sample" and not one["is_observed"]
        if len(frames := one["cond_indep_stack"]) == 1 and frames[0].size == 1
    ]
    if len(found) != 1 or not _is_normal(found[0][2]["fn"]):
        listed = ", ".join(repr(name) for name, _, _ in found) or "none"
        raise InputError(
            f"the model takes {unit!r}, the ids of units, but its effects of units "
            f"cannot be told: latent sites in a plate of size one are {listed}. "
            f"{_ADVICE.format(unit)}"
        )
    return found[0][0], found[0][1]


_ADVICE = (
    "Write one plate of units whose size is an argument with the default 1, and in it "
    "one latent site with a normal distribution, a number for each unit; read it as "
    "effect[{0}] in the plate of the records. Leave the argument {0!r} out for a model "
    "without effects."
)


def _is_normal(distribution: Any) -> bool:
    """Whether it is a normal distribution of one number for each unit."""
    base = distribution
    while isinstance(base, dist.ExpandedDistribution):
        base = base.base_dist
    return isinstance(base, dist.Normal) and distribution.shape() == (1,)
