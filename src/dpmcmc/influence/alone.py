# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What enters a decision where a release says all there is to say: nothing of a record.

A quadratic that was released with noise is such a release where what records add to it
is less than its noise. Its likelihood is then that of the released gradient, which
scatters about the true one by the noise, and that about its mean by the model.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.model.model import Model

__all__ = ["QuadraticAlone", "ReadsNothing"]


class ReadsNothing:
    """A part of influences that read nothing of a record."""

    def extras(self, model: Model, record: Any) -> tuple[()]:
        """Nothing."""
        del model, record
        return ()

    def look(
        self, model: Model, theta: Any, record: Any, extras: Any, dtype: str
    ) -> jax.Array:
        """Nothing."""
        del model, theta, record, extras
        return jnp.zeros((), dtype)

    def ratio(self, current: Any, proposed: Any, record: Any, extras: Any) -> jax.Array:
        """Nothing."""
        del record, extras
        return proposed - current


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class QuadraticAlone(ReadsNothing):
    """The likelihood of a noisy quadratic: gradient · v − ½ vᵀ precision v.

    Attributes
    ----------
    centre, inverse
        What makes v of θ: inverse · (θ − centre).
    gradient, precision
        Aware of the noise, by `dpmcmc.sampling.fit.fitted.Fitted.aware`.
    """

    centre: np.ndarray
    inverse: np.ndarray
    gradient: np.ndarray
    precision: np.ndarray

    def public(self, model: Model, current: Any, proposed: Any) -> jax.Array:
        """What the quadratic says of a move."""
        del model
        old, new = self._coordinates(current), self._coordinates(proposed)
        precision = jnp.asarray(self.precision, new.dtype)
        slope = jnp.asarray(self.gradient, new.dtype) - precision @ (new + old) / 2
        return jnp.dot(slope, new - old)

    def _coordinates(self, theta: Any) -> jax.Array:
        flat = ravel_pytree(theta)[0]
        centre = jnp.asarray(self.centre, flat.dtype)
        return jnp.asarray(self.inverse, flat.dtype) @ (flat - centre)
