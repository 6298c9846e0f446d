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

__all__ = ["Leverage", "weighted"]


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
