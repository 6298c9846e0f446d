# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Noisy sums over all records: one record, one bounded vector; exact sums and noise.

A record's vector is whatever a public function makes of it, such as a gradient. It is
norm-clipped, put on a grid of integers, and its length is checked once more on the
integers, so that no rounding of floats lets one record count for more than it may.

Two records' vectors may point in opposite directions, and then are as far apart as both
are long. Not so in a cone in which any two are at most at a right angle: numbers that
are never negative, or semidefinite matrices. What is in such a cone counts half.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.model.fixed_order import sum_in_order
from dpmcmc.model.model import Model
from dpmcmc.private.each_record import Parts, parts_of
from dpmcmc.private.opening import Opened
from dpmcmc.private.records import Records
from dpmcmc.private.tape import Tape
from dpmcmc.private.totals import COMPILED, Spread, add_up, foresee_total, release_total

__all__ = ["Measure", "bounded_vectors", "exact_sum", "foresee_sum", "release_sum"]

_MARGIN = 1 - 2.0**-40
"""Length to which vectors are clipped: rounding must not take them beyond 1."""

_SQUARE, _PRODUCT = 29, 41
"""What wᵢ² and wᵢwⱼ are multiplied by, for integers: 41/29 is √2 but for 0.03%, and not
more than it, so that products of any two records are positive (docs/proofs/sums)."""

_ROOT_STEPS = math.sqrt(CLIP_STEPS / _SQUARE)
"""Integers for each unit of w."""

_MOST = math.isqrt(2 * CLIP_STEPS**2)
_MOST_ROOT = math.isqrt(_MOST // _SQUARE)
"""The largest integers in a cone, and in w."""


class Measure(Protocol):
    """What is asked of a record: a vector, or parts of one. It must be hashable."""

    def __call__(self, model: Model, record: Any, public: Any) -> jax.Array | Parts:
        """Return the vector, in units in which its length should be at most 1.

        Of parts, 2 |free|² + |positive|² + |factor|⁴ should be at most 2: what is in a
        cone may be √2 times as long.
        """
        ...


def release_sum(
    model: Model,
    records: Records,
    measure: Measure,
    public: Any,
    tape: Tape,
    *,
    noise: float,
    laplace: bool = False,
    dtype: str,
    devices: list[jax.Device],
) -> np.ndarray:
    """Release the noisy sum of one bounded vector for each record.

    Of parts, what is free comes first, then what is positive, then the upper triangle
    of the outer products, row by row: wᵢ² as they are, wᵢwⱼ times 41/29.

    Parameters
    ----------
    model, records, measure, tape
        The model; the sealed records; what is asked of each record; the randomness,
        which serves this release alone.
    public
        Arrays that the measure reads beside the record, computed from earlier releases
        and public numbers alone.
    noise
        The sd of the noise on each coordinate, or with ``laplace`` the scale of Laplace
        noise, in units of the longest vector, as the result is.
    laplace
        Whether noise is Laplace instead of normal.
    dtype, devices
        The precision, "float32" or "float64"; where the records are spread.

    Guarantee
    ---------
    The release of d numbers is ``GaussianRelease(2 / noise)``, or with ``laplace``
    ``LaplaceRelease(d, 2 / noise)``: what `release_total` makes of `exact_sum`, which
    one substitution moves by at most 2 · ``CLIP_STEPS``.
    """
    return release_total(
        partial(exact_sum, model, measure, dtype),
        records,
        public,
        tape,
        noise=noise,
        laplace=laplace,
        dtype=dtype,
        devices=devices,
    )


def foresee_sum(
    model: Model,
    records: Records,
    measure: Measure,
    public: Any,
    *,
    dtype: str,
    devices: list[jax.Device],
) -> Callable[[], object]:
    """Trace a sum to come; what is returned compiles it: see `foresee_total`."""
    lower = partial(exact_sum.lower, model, measure, dtype)
    return foresee_total(lower, records, public, dtype=dtype, devices=devices)


@partial(
    jax.jit,
    static_argnames=("model", "measure", "dtype", "spread"),
    compiler_options=COMPILED,
)
def exact_sum(
    model: Model,
    measure: Measure,
    dtype: str,
    spread: Spread,
    opened: Opened,
    public: Any,
) -> jax.Array:
    """The exact sum of the integer vectors of all records; never leaves as it is.

    Guarantee
    ---------
    The int64 sum of one vector of `bounded_vectors` for each record, made from that
    record and from public numbers. So substituting one record moves it by at most
    2 · ``CLIP_STEPS`` in length.
    """

    def total(parts: Parts, present: jax.Array) -> jax.Array:
        bounded = bounded_vectors(parts, present, model.fixed_order)
        return jnp.sum(bounded, axis=0, dtype=jnp.int64)

    parts = partial(parts_of, measure, model, dtype)
    return add_up(parts, total, spread, opened, public)


def bounded_vectors(
    parts: Parts, present: jax.Array, fixed_order: bool = False
) -> jax.Array:
    """Turn each record's vector into integers of bounded length.

    Parts together are norm-clipped so that 2 |free|² + |positive|² + |factor|⁴ is at
    most about 2; a record with a NaN or an infinity, or that is not present, becomes 0.
    Numbers are rounded toward zero to multiples of 1/``CLIP_STEPS``; those of a factor
    to the nearest of its steps, as its square would be too small on average.

    Guarantee
    ---------
    For rows of at most 2²⁰ coordinates: each row (a, c) of the result, a as long as
    ``free``, depends on its own rows and entry alone; 2 |a|² + |c|² ≤
    2 · ``CLIP_STEPS``² as integers, and c · c′ ≥ 0 for any two rows, whatever bits the
    parts hold: a row for which the sum is larger becomes 0.
    """
    wide = Parts(*(part.astype(jnp.float64) for part in parts))
    whole = jnp.concatenate(wide, axis=-1)
    usable = (present & jnp.all(jnp.isfinite(whole), axis=-1))[:, None]
    free, positive, factor = (jnp.where(usable, part, 0.0) for part in wide)
    positive = jnp.maximum(positive, 0.0)
    scale = _scale(Parts(free, positive, factor), fixed_order)
    free, positive = (
        jnp.trunc(scale * part * CLIP_STEPS).astype(jnp.int64)
        for part in (free, positive)
    )
    root = jnp.round(jnp.sqrt(scale) * factor * _ROOT_STEPS).astype(jnp.int64)
    free = jnp.clip(free, -CLIP_STEPS, CLIP_STEPS)
    positive = jnp.clip(positive, 0, _MOST)
    cone = jnp.concatenate([positive, _outer(root)], axis=-1)
    squares = 2 * jnp.sum(free * free, axis=-1) + jnp.sum(cone * cone, axis=-1)
    steps = jnp.concatenate([free, cone], axis=-1)
    return jnp.where((squares <= 2 * CLIP_STEPS**2)[:, None], steps, 0)


def _scale(parts: Parts, fixed_order: bool) -> jax.Array:
    """What to multiply each record's vector by, so that it is not too long."""
    free, positive, factor = (part * part for part in parts)

    def added(terms: jax.Array) -> jax.Array:
        return sum_in_order(terms) if fixed_order else jnp.sum(terms, axis=-1)

    size = factor.shape[-1]
    length = added(factor)[:, None] if size else factor
    squared = [free, positive / 2, length * length / 2]
    length = jnp.sqrt(added(jnp.concatenate(squared, axis=-1)))
    # Rounding to the nearest lengthens a factor by at most half a step for each entry.
    rounding = math.sqrt(size) / 2 / _ROOT_STEPS
    limit = _MARGIN * (1 - rounding / 2**0.25) ** 2
    return jnp.where(length > 0, jnp.minimum(1.0, limit / length), 0.0)[:, None]


def _outer(root: jax.Array) -> jax.Array:
    """Integers in the proportions of the upper triangle of w wᵀ, for each row w."""
    rows, columns = np.triu_indices(root.shape[-1])
    times = np.where(rows == columns, _SQUARE, _PRODUCT)
    root = jnp.clip(root, -_MOST_ROOT, _MOST_ROOT)
    return root[:, rows] * root[:, columns] * times
