# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A model whose gradients are its records, and their vectors of whole numbers."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.model.model import Model
from dpmcmc.private.vectors import bounded_vectors

SIZE = 3


@dataclass(frozen=True)
class Slope:
    """The gradient at a public point: here the record itself, as a vector."""

    def __call__(self, log_likelihood, public):
        return jax.grad(log_likelihood)(public)


LINEAR = Model(lambda theta, record: theta @ record, lambda theta: 0.0, np.zeros(SIZE))
POINT = np.zeros(SIZE, np.float32)


def bounded(rows, present=None):
    rows = np.asarray(rows)
    present = np.ones(len(rows), bool) if present is None else present
    with jax.enable_x64(True):
        found = jax.jit(bounded_vectors)(jnp.asarray(rows), jnp.asarray(present))
        return np.asarray(found)
