# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a clip is expected to take from Δ, on records simulated by the model.

A clip touches few records, so that most simulated ones would tell nothing. Random keys
are therefore drawn, once, mostly from those whose record has a large score at the
model's own point, and weighted back. Since the weights belong to the keys, the mean is
right wherever the chain goes; only its error is smaller near that point.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.scipy.special import ndtr
from jax.scipy.stats import norm

from dpmcmc.errors import InputError
from dpmcmc.model.model import Model
from dpmcmc.model.tracing import as_float, shape_of_result
from dpmcmc.private import PLAIN, Grid, Influence

__all__ = ["ExpectedLoss", "expected_loss", "require_whole_records"]

_CANDIDATES, _MOST_CANDIDATES = 128, 2**24
"""Keys that are looked at for each that is chosen, and in all."""

_AT_ONCE = 2**16
_EVERYWHERE = 0.5
"""The fraction of keys that are drawn without regard to their record."""

_GENERATOR = "threefry2x32"
_TRIED = 32
_OFF = 0.5
"""How far from its start a model is tried, in each coordinate."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class ExpectedLoss:
    """What a clip is expected to take from Δ: N E[τr − clip(τr)] at the midpoint.

    Here r is the number of a record that an influence makes: its log-likelihood ratio,
    or what of that a released surrogate misses. The surrogate of a simulated record is
    made of that record, at every step, as that of a real one is.

    Parameters
    ----------
    template
        The structure, shapes and dtypes of a record, which a simulator is given.
    grid, records
        The clip and the tempering; the number N.
    keys, weights
        The random keys, as words, and the weight of each.
    base
        Which number of a record it is that is clipped.
    """

    template: "_Template" = field(metadata={"static": True})
    grid: Grid
    records: int = field(metadata={"static": True})
    keys: Any
    weights: Any
    base: Influence = PLAIN

    @property
    def simulated(self) -> int:
        """How many records are simulated."""
        return len(self.weights)

    def __call__(self, model: Model, current: Any, proposed: Any) -> jax.Array:
        """Simulate half-way between two points, and add up what is clipped there."""
        middle = jax.tree.map(lambda old, new: (old + new) / 2, current, proposed)
        keys = jax.random.wrap_key_data(jnp.asarray(self.keys), impl=_GENERATOR)
        template = self.template.made()

        kind = jnp.result_type(float)
        scale, clip = (jnp.asarray(x, kind) for x in (self.grid.scale, self.grid.clip))

        def lost(key: jax.Array, weight: jax.Array) -> jax.Array:
            record = _simulate(model, middle, key, template)
            ratio = scale * _ratio(self.base, model, current, proposed, record)
            beyond = ratio - jnp.clip(ratio, -clip, clip)
            # A record that is impossible at one of the points would refuse the move.
            return jnp.where(jnp.isfinite(beyond), weight * beyond, 0)

        each = jax.vmap(lost)(keys, jnp.asarray(self.weights))
        return self.records * jnp.mean(each)


def expected_loss(
    model: Model,
    shapes: Any,
    grid: Grid,
    records: int,
    simulated: int,
    seed: int,
    base: Influence = PLAIN,
) -> ExpectedLoss:
    """Choose the random keys of what is simulated, from the model alone.

    Parameters
    ----------
    model
        A model that simulates whole records.
    shapes
        The shapes of one record, prepared.
    grid, records
        The clip and the tempering; the number of records.
    simulated, seed
        How many keys to choose, and which.
    base
        Which number of a record is clipped: its log-likelihood ratio unless given.
    """
    template = _Template.of(shapes)
    count = max(simulated, min(_CANDIDATES * simulated, _MOST_CANDIDATES))
    keys = jax.random.split(jax.random.key(seed, impl=_GENERATOR), count)
    # A move of the size of a posterior sd, 1/√(τN) in units of the scores, makes τr
    # normal with an sd of √(τ/N) times the score.
    touched = _touched(model, template, keys, grid.clip * (records / grid.scale) ** 0.5)
    total = np.abs(touched).sum()
    probabilities = np.full(count, 1 / count)
    if total > 0:
        tail = np.abs(touched) / total
        probabilities = _EVERYWHERE * probabilities + (1 - _EVERYWHERE) * tail
    # Evenly spaced along the order of what is touched: no part is missed by accident.
    order = np.argsort(touched)
    first = np.random.default_rng(seed).random()
    places = (np.arange(simulated) + first) / simulated
    chosen = order[
        np.searchsorted(np.cumsum(probabilities[order]), places).clip(0, count - 1)
    ]
    data = np.asarray(jax.random.key_data(keys))[chosen]
    weights = 1 / (count * probabilities[chosen])
    return ExpectedLoss(
        template,
        grid,
        records,
        np.ascontiguousarray(data, np.uint32),
        weights.astype(np.float32),
        base,
    )


def require_whole_records(model: Model, shapes: Any) -> None:
    """Refuse a simulator that reads the record it is given, by trying two of them.

    What counts is the ratio of a simulated record: it may copy what no ratio reads.
    """
    rng = np.random.default_rng(0)
    start = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), model.initial)
    other = jax.tree.map(lambda leaf: leaf + rng.normal(0, _OFF, leaf.shape), start)
    keys = jax.random.split(jax.random.key(0), _TRIED)

    def ratios(template: Any) -> Any:
        return jax.vmap(
            lambda key: _ratio(
                PLAIN, model, start, other, _simulate(model, start, key, template)
            )
        )(keys)

    shape_of_result("simulate", ratios, shapes)
    made = [
        jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes),
        jax.tree.map(
            lambda leaf: jnp.asarray(1 + 3 * rng.random(leaf.shape), leaf.dtype), shapes
        ),
    ]
    first, second = map(np.asarray, map(jax.jit(ratios), made))
    if not np.array_equal(first, second, equal_nan=True):
        raise InputError(
            "ModelCorrection needs a simulator of whole records, but what the model "
            "simulates depends on the record it is given, as on covariates. Choose "
            "ConditionalCentring or Shrinking, with Model.responses."
        )


@dataclass(frozen=True)
class _Template:
    """A record of zeros, by its structure and shapes; hashable."""

    structure: Any
    leaves: tuple[tuple[tuple[int, ...], str], ...]

    @classmethod
    def of(cls, shapes: Any) -> "_Template":
        leaves = jax.tree.leaves(shapes)
        return cls(
            jax.tree.structure(shapes),
            tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves),
        )

    def made(self) -> Any:
        zeros = [jnp.zeros(shape, dtype) for shape, dtype in self.leaves]
        return jax.tree.unflatten(self.structure, zeros)


def _touched(
    model: Model, template: _Template, keys: jax.Array, clip: float
) -> np.ndarray:
    """How much a clip takes from each simulated record, with the sign of its score.

    It is the root mean square over normal moves, in units of the scores' own
    covariance; all zero for a log-likelihood that has no derivative.
    """
    start = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), model.initial)
    vector, unravel = ravel_pytree(start)

    def score(key: jax.Array) -> jax.Array:
        record = _simulate(model, start, key, template.made())

        def log_likelihood(vector: jax.Array) -> jax.Array:
            found = model.log_likelihood(unravel(vector), record)
            return as_float(found, jnp.result_type(float))

        return jnp.nan_to_num(
            jax.grad(log_likelihood)(vector), nan=0.0, posinf=0.0, neginf=0.0
        )

    try:
        jax.eval_shape(score, keys[0])
    except Exception:  # what cannot be differentiated says so in several ways
        return np.zeros(len(keys), np.float32)
    few = np.asarray(jax.jit(jax.vmap(score))(keys[:_AT_ONCE]), np.float64)
    information = np.linalg.pinv(few.T @ few / len(few), hermitian=True)
    inverse = jnp.asarray(information, vector.dtype)

    def one(key: jax.Array) -> jax.Array:
        slope = score(key)
        size = jnp.sqrt(jnp.maximum(slope @ inverse @ slope, 1e-30))
        far = clip / size
        squares = (1 + far**2) * ndtr(-far) - far * norm.pdf(far)
        sign = jnp.where(slope[0] < 0, -1, 1)
        return sign * size * jnp.sqrt(jnp.maximum(squares, 0))

    each = jax.jit(lambda keys: jax.lax.map(one, keys, batch_size=_AT_ONCE))(keys)
    return np.asarray(each, np.float32)


def _simulate(model: Model, theta: Any, key: jax.Array, template: Any) -> Any:
    assert model.simulate is not None
    return model.simulate(theta, key, template)


def _ratio(
    base: Influence, model: Model, current: Any, proposed: Any, record: Any
) -> jax.Array:
    """The number of a simulated record, which is prepared already."""
    model, kind = replace(model, preparation=None), str(jnp.result_type(float))
    extras = base.extras(model, record)
    old, new = (
        base.look(model, theta, record, extras, kind) for theta in (current, proposed)
    )
    return base.ratio(old, new, record, extras)
