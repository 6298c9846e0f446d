# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A model whose records count for less where their covariates are extreme.

A weight that depends on covariates alone multiplies a record's whole log-likelihood.
Where the model is right, the mean of a weighted score is zero given the covariates, so
that the posterior stays where it is; it is a little wider. No gradient has to be cut.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from dpmcmc.errors import InputError, require_positive
from dpmcmc.model.model import Model
from dpmcmc.model.preparation.public_numbers import Public, fitted, public

__all__ = ["Leverage", "survey_weighted", "weighted"]


def weighted(model: Model, weight: Callable[[Any], Any]) -> Model:
    """Return the model with each record's log-likelihood times its weight.

    Parameters
    ----------
    model
        The model; if it names responses, the weight sees zeros in their place.
    weight
        A function of one record (prepared) to a number, such as `Leverage`; it is
        clamped to [0, 1]. It must read nothing but its argument and public numbers,
        and of the record nothing that the model explains: a weight that depends on
        responses biases the posterior.

    Returns
    -------
    Model
        Without `Model.responses` and statistics: its log-likelihood is no longer the
        logarithm of a probability, so that no mean over responses can be taken.
    """
    if not callable(weight):
        raise InputError(
            f"weight is a {type(weight).__name__}; it must be a function of one "
            "record, such as models.Leverage(scale=1.0, most=4.0)."
        )
    log_likelihood, explained = model.log_likelihood, tuple(model.responses or ())

    def times_weight(theta: Any, record: Any) -> jax.Array:
        seen = record
        if isinstance(record, Mapping):
            hidden = {name: jnp.zeros_like(record[name]) for name in explained}
            seen = {**record, **hidden}
        whole = jnp.asarray(log_likelihood(theta, record))
        return jnp.clip(jnp.asarray(weight(seen), whole.dtype), 0, 1) * whole

    return replace(model, log_likelihood=times_weight, responses=None, statistics=None)


def survey_weighted(
    model: Model, column: str, *, usual: float = 1.0, most: float = 10.0
) -> Model:
    """Return the model with each record's log-likelihood times its survey weight.

    A record counts as often as its weight says, before anything is bounded: the
    posterior is for the population that the weights stand for. It is a
    pseudo-posterior, whose intervals take the weights as if they were records.

    Parameters
    ----------
    model
        The model of one record, a dict with the column of weights.
    column
        The column of weights; those below 0 or missing count as 0.
    usual
        The usual weight, which is public: a record with it counts once. With the mean
        weight of the survey's design, the records count for as many as there are.
    most
        The largest weight, in usual ones, which is public: larger ones are cut to it.
        A large one makes long gradients, and so more noise.

    Returns
    -------
    Model
        Without responses, statistics and simulator, as for `weighted`; its Lipschitz
        bound is ``most`` times as large.
    """
    usual = require_positive("usual", usual, "Give the mean weight of the design.")
    most = require_positive("most", most, "Choose it without looking at the records.")
    if not isinstance(column, str) or model.per == "unit":
        raise InputError(
            f"column is {column!r}, and the log-likelihood is of one {model.per}; give "
            "the name of the column of weights, and a model of one record."
        )
    log_likelihood = model.log_likelihood

    def times_weight(theta: Any, record: Any) -> jax.Array:
        if not isinstance(record, Mapping) or column not in record:
            raise InputError(f"a record has no column {column!r}, which is its weight.")
        whole = jnp.asarray(log_likelihood(theta, record))
        weight = jnp.asarray(record[column], whole.dtype) / usual
        return jnp.clip(jnp.nan_to_num(weight, posinf=most), 0, most) * whole

    return replace(
        model,
        log_likelihood=times_weight,
        lipschitz=None if model.lipschitz is None else most * model.lipschitz,
        responses=None,
        simulate=None,
        statistics=None,
    )


@dataclass(frozen=True)
class Leverage:
    """The weight min(1, most · √d / ‖x / scale‖) of the d covariates ``x``.

    Parameters
    ----------
    scale
        About the usual size of each covariate about zero: public, a number or one for
        each. A column that is nearly always zero has a small one.
    most
        How many times the usual length counts in full.
    column
        The column that holds the covariates.
    """

    scale: Public
    most: float = 3.0
    column: str = "x"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", public("scale", self.scale))
        require_positive("most", self.most, "Three times the usual length is common.")

    def __call__(self, record: Any) -> jax.Array:
        """The weight of one record."""
        x = jnp.ravel(record[self.column])
        length = jnp.sqrt(jnp.sum((x / fitted(self.scale, x)) ** 2))
        bound = self.most * x.size**0.5
        return bound / jnp.maximum(length, bound)
