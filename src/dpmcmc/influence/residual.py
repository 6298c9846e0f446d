# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The residual: what of a record's log-likelihood a released surrogate misses.

Once the sum of the records' vectors has been released with noise, the surrogates' part
of every decision is public, and a record speaks on a move only by ℓ_i − h_i, which is
clipped as any other number.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.influence.taylor import Taylor
from dpmcmc.model.model import Model
from dpmcmc.model.tracing import as_float

__all__ = ["Residual"]

_KEPT = 10
"""Most predictors k for which k(k + 3)/2 derivatives of each record are kept: beyond,
memory is saved, and every step differentiates along its own move."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Residual:
    """A record's log-likelihood less its surrogate; the released sum is public.

    Attributes
    ----------
    taylor
        The surrogate of each record.
    total
        The sum of the records' vectors as it was released, noise and all.
    tempering
        The power τ of the likelihood. The test multiplies the records' numbers by
        it; the public part is multiplied here.
    """

    taylor: Taylor
    total: np.ndarray
    tempering: float = 1.0

    def extras(self, model: Model, record: Any) -> Any:
        """What the surrogate is made of; or its weights alone, where that is long."""
        record, likelihood = _prepared(model, record), model.log_likelihood
        weights = self.taylor.weights(likelihood, record)
        if self.taylor.count(likelihood, record) > _KEPT:
            return weights
        return self.taylor.expanded(likelihood, record, weights)

    def look(
        self, model: Model, theta: Any, record: Any, extras: Any, dtype: str
    ) -> jax.Array:
        """The log-likelihood less the surrogate."""
        record, likelihood = _prepared(model, record), model.log_likelihood
        if self.taylor.count(likelihood, record) > _KEPT:
            surrogate = self.taylor.surrogate(likelihood, record, extras, theta)
            return as_float(likelihood(theta, record), dtype) - surrogate
        value, surrogate = self.taylor.with_surrogate(likelihood, record, extras, theta)
        return value.astype(dtype) - surrogate

    def ratio(self, current: Any, proposed: Any, record: Any, extras: Any) -> jax.Array:
        """The difference of the residuals."""
        del record, extras
        return proposed - current

    def public(self, model: Model, current: Any, proposed: Any) -> jax.Array:
        """The surrogates' part of the log posterior ratio, from the released sum."""
        del model
        new, old = self.taylor.features(proposed), self.taylor.features(current)
        power = jnp.asarray(self.tempering, new.dtype)
        return power * jnp.dot(jnp.asarray(self.total, new.dtype), new - old)


def _prepared(model: Model, record: Any) -> Any:
    return record if model.preparation is None else model.preparation(record)
