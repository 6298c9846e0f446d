# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Synthetic records: made-up numbers on which a model shows whether it mixes records.

The likelihood that runs is that of one record alone, whatever the model does; so this
check guards the meaning of the posterior, not its privacy. It reads no real record.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.adapters.arguments import Bound
from dpmcmc.adapters.parts import Parts
from dpmcmc.errors import InputError
from dpmcmc.model.model import Model

__all__ = ["require_separate_records"]

_TOGETHER = 3
"""Records that are evaluated together, and each alone."""

_TOLERANCE = 1e-4
"""Largest difference, in relation to the values; rounding makes far smaller ones."""

Maker = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]

_FLOATS: tuple[Maker, ...] = (
    lambda rng, shape: rng.uniform(0.1, 0.9, shape),
    lambda rng, shape: rng.normal(size=shape),
    lambda rng, shape: rng.integers(1, 4, shape).astype(float),
)
"""Floats at which a likelihood should be finite: a fraction, any real, a count."""


def require_separate_records(model: Model, parts: Parts) -> None:
    """Refuse a model in which the likelihood of a record depends on other records.

    On synthetic records, the log-likelihood of each is computed from a run of the
    model on all of them, and from runs on each alone; the two must agree. Where the
    model's observed columns can be drawn, they are.

    Raises
    ------
    InputError
        If they differ.
    """

    @jax.jit
    def drawn(theta: Any, columns: Any, seed: int) -> Any:
        assert model.simulate is not None
        keys = jax.random.split(jax.random.key(seed), _TOGETHER)
        return jax.vmap(model.simulate, (None, 0, 0))(theta, keys, columns)

    @jax.jit
    def both(theta: Any, columns: Any) -> tuple[jax.Array, jax.Array]:
        together = parts.log_likelihoods(theta, columns, _TOGETHER)
        alone = jax.vmap(lambda record: parts.log_likelihood(theta, record))(columns)
        return together, alone

    for attempt, floats in enumerate(_FLOATS):
        rng = np.random.default_rng(attempt)
        theta = {name: _near(value, rng) for name, value in model.initial.items()}
        columns = _columns(parts.bound, rng, floats)
        if model.simulate is not None:  # in its own precision: samplers insist on it
            own = _like(theta, model.initial), _like(columns, parts.bound.one)
            columns = _like(jax.device_get(drawn(*own, attempt)), columns)
        # In float64, so that a sharp likelihood is not taken for a mixed one.
        with jax.enable_x64(True):
            together, alone = map(np.asarray, both(theta, columns))
        # PyMC makes all records impossible where the parameters of one are.
        none_possible = np.any(alone == -np.inf) and np.all(together == -np.inf)
        same = np.allclose(together, alone, _TOLERANCE, _TOLERANCE, equal_nan=True)
        if not (same or none_possible):
            raise InputError(
                "the likelihood of a record depends on the other records: the model "
                "gives a synthetic record another log-likelihood alone than among "
                f"{_TOGETHER}. In the likelihood, use what belongs to one record: no "
                "mean over records, not their number, and observations of the shape of "
                "their distribution. Bind public numbers with functools.partial."
            )


def _like(
    values: Mapping[str, np.ndarray], others: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Values in the dtypes of others."""
    return {
        name: np.asarray(value, others[name].dtype) for name, value in values.items()
    }


def _near(value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A point near the start; discrete values stay where they are."""
    if value.dtype.kind != "f":
        return value
    return np.asarray(value + rng.normal(0, 0.5, value.shape), np.float64)


def _columns(
    bound: Bound, rng: np.random.Generator, floats: Maker
) -> dict[str, np.ndarray]:
    return {
        name: floats(rng, leaf.shape)
        if jnp.issubdtype(leaf.dtype, jnp.floating)
        else np.asarray(rng.integers(0, 2, leaf.shape), leaf.dtype)
        for name, leaf in bound.shapes(_TOGETHER).items()
    }
