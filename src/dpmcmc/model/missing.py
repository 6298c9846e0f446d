# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Missing covariates: integrated over a distribution that is declared for them.

The likelihood of a record with a missing covariate u is ∫ p(y | u, θ) q(u) du, with a
public q: a sum over levels, or Gauss and Hermite's rule for a normal distribution. A
record in which nothing is missing counts as it does without.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

from dpmcmc.errors import InputError
from dpmcmc.model.model import Model
from dpmcmc.model.python_function import PythonFunction

__all__ = ["Missing", "as_missing", "integrate_missing"]

_NODES = 15
_MOST = 225
"""How many points all missing columns together may have."""


@dataclass(frozen=True)
class Missing:
    """The distribution of a covariate where it is missing: levels, or normal.

    Attributes
    ----------
    probabilities
        Of the levels, in their order.
    mean, sd
        Of a normal distribution; what lies outside the bounds is moved to them.
    """

    probabilities: tuple[float, ...] = ()
    mean: float = 0.0
    sd: float = 0.0

    @property
    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Values and the logarithms of their weights, which sum to one."""
        if self.probabilities:
            return np.arange(len(self.probabilities)), np.log(self.probabilities)
        places, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        return self.mean + self.sd * places, np.log(weights / weights.sum())

    def describe(self) -> str:
        """What it is, in words."""
        if self.probabilities:
            shown = ", ".join(f"{one:.3g}" for one in self.probabilities)
            return f"where missing, summed over with probabilities {shown}"
        return (
            "where missing, integrated over a normal distribution of mean "
            f"{self.mean:g} and sd {self.sd:g}"
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        if self.probabilities:
            return {"probabilities": list(self.probabilities)}
        return {"mean": self.mean, "sd": self.sd}


def as_missing(given: Any, kind: str, levels: tuple[str, ...] | None) -> Missing | None:
    """The distribution that was declared for a column of a type.

    Raises
    ------
    InputError
        If it is none that the type can have.
    """
    if given is None or isinstance(given, Missing):
        return given
    wanted = {"probabilities"} if levels else {"mean", "sd"}
    try:
        if kind not in ("number", "date", "text") or set(given) != wanted:
            raise ValueError
        if levels is None:
            found = Missing(mean=float(given["mean"]), sd=float(given["sd"]))
            is_right = math.isfinite(found.mean) and 0 < found.sd < math.inf
        else:
            found = Missing(tuple(map(float, given["probabilities"])))
            is_right = len(found.probabilities) == len(levels)
            is_right = is_right and min(found.probabilities) > 0
            is_right = is_right and math.isclose(sum(found.probabilities), 1.0)
        if not is_right:
            raise ValueError
    except (TypeError, ValueError, AttributeError):
        raise InputError(
            f"if_missing is {given!r}; it must be {{'mean': 50, 'sd': 20}} for numbers "
            "or dates (in days since its origin), or {'probabilities': [...]} for a "
            "text: one above 0 for each level, with the sum 1. Choose it without "
            "looking at the records."
        ) from None
    return found


def integrate_missing(model: Model, columns: Mapping[str, Missing]) -> Model:
    """The model of records in which these columns may be NaN.

    Parameters
    ----------
    model
        A model of one record, a dict of columns as they come.
    columns
        The distribution of each column where it is missing. They are independent of
        each other, of the other columns and of θ.

    Returns
    -------
    Model
        Of records as they come; without responses, simulator and statistics. Its
        Lipschitz bound is the model's: the gradient of a logarithm of a mean of
        likelihoods is a mean of their gradients.
    """
    if model.per == "unit" or type(model.log_likelihood) is PythonFunction:
        raise InputError(
            "a distribution is declared for missing values (if_missing), which can be "
            "integrated for a log-likelihood of one record that JAX can trace, and for "
            "no other. Leave it out, so that records with a missing value count for "
            "nothing, or treat missing values in the log-likelihood."
        )
    nodes = [one.nodes for one in columns.values()]
    points = math.prod(len(values) for values, _ in nodes)
    if points > _MOST:
        raise InputError(
            f"the columns {', '.join(columns)} may be missing together, for which a "
            f"record would be evaluated at {points} points; {_MOST} is the most. "
            "Declare if_missing for fewer columns."
        )
    grid = np.array(list(itertools.product(*(values for values, _ in nodes))))
    each = itertools.product(*(weights for _, weights in nodes))
    log_weights = np.array([sum(one) for one in each])
    stated, preparation = model.log_likelihood, model.preparation

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        def at(values: jax.Array) -> jax.Array:
            filled = dict(record)
            for place, (name, missing) in enumerate(columns.items()):
                own = jnp.asarray(record[name])
                whole = jnp.where(jnp.isnan(own), values[place], own)
                is_code = bool(missing.probabilities)
                filled[name] = whole.astype(jnp.int32) if is_code else whole
            ready = filled if preparation is None else preparation(filled)
            (found,) = jax.tree.leaves(stated(theta, ready))
            return jnp.asarray(found)

        dtype = jnp.result_type(float)
        found = jax.vmap(at)(jnp.asarray(grid, dtype))
        return logsumexp(found + jnp.asarray(log_weights, dtype))

    return replace(
        model,
        log_likelihood=log_likelihood,
        preparation=None,
        responses=None,
        simulate=None,
        statistics=None,
    )
