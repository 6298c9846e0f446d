# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Noisy sums over all records: one record, one bounded vector; exact sums and noise.

A record's vector is whatever a public function makes of it, such as a gradient. It is
norm-clipped, put on a grid of integers, and its length is checked once more on the
integers, so that no rounding of floats lets one record count for more than it may.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.model.fixed_order import sum_in_order
from dpmcmc.model.model import Model
from dpmcmc.private.each_record import vector_of
from dpmcmc.private.opening import Opened
from dpmcmc.private.records import Records
from dpmcmc.private.tape import Tape
from dpmcmc.private.totals import COMPILED, Spread, add_up, foresee_total, release_total

__all__ = ["Measure", "bounded_vectors", "exact_sum", "foresee_sum", "release_sum"]

_MARGIN = 1 - 2.0**-40
"""Length to which vectors are clipped: rounding must not take them beyond 1."""


class Measure(Protocol):
    """What is asked of a record: a vector. It must be hashable."""

    def __call__(self, model: Model, record: Any, public: Any) -> jax.Array:
        """Return the vector, in units in which its length should be at most 1."""
        ...


def release_sum(
    model: Model,
    records: Records,
    measure: Measure,
    public: Any,
    tape: Tape,
    *,
    noise: float,
    dtype: str,
    devices: list[jax.Device],
) -> np.ndarray:
    """Release the noisy sum of one bounded vector for each record.

    Parameters
    ----------
    model, records, measure, tape
        The model; the sealed records; what is asked of each record; the randomness,
        which serves this release alone.
    public
        Arrays that the measure reads beside the record, computed from earlier releases
        and public numbers alone.
    noise
        The sd of the noise on each coordinate, in units of the longest vector, as the
        result is.
    dtype, devices
        The precision, "float32" or "float64"; where the records are spread.

    Guarantee
    ---------
    The release is ``GaussianRelease(2 / noise)``: what `release_total` makes of
    `exact_sum`, which one substitution moves by at most 2 · ``CLIP_STEPS``.
    """
    return release_total(
        partial(exact_sum, model, measure, dtype),
        records,
        public,
        tape,
        noise=noise,
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

    def total(vectors: jax.Array, present: jax.Array) -> jax.Array:
        bounded = bounded_vectors(vectors, present, model.fixed_order)
        return jnp.sum(bounded, axis=0, dtype=jnp.int64)

    vector = partial(vector_of, measure, model, dtype)
    return add_up(vector, total, spread, opened, public)


def bounded_vectors(
    vectors: jax.Array, present: jax.Array, fixed_order: bool = False
) -> jax.Array:
    """Turn each record's vector into integers of bounded length.

    A vector longer than 1 is norm-clipped to about 1; one that holds a NaN or an
    infinity, or whose record is not present, becomes 0. Coordinates are rounded
    toward zero to multiples of 1/``CLIP_STEPS``.

    Guarantee
    ---------
    For rows of at most 2²⁰ coordinates: each row of the result depends on its own row
    and entry alone, and the sum of its squares, as integers, is at most
    ``CLIP_STEPS``², whatever bits the row holds: a row for which it is not becomes 0.
    """
    wide = vectors.astype(jnp.float64)
    usable = present & jnp.all(jnp.isfinite(wide), axis=-1)
    wide = jnp.where(usable[:, None], wide, 0.0)
    squared = wide * wide
    length = jnp.sqrt(sum_in_order(squared) if fixed_order else jnp.sum(squared, -1))
    factor = jnp.where(length > 0, jnp.minimum(1.0, _MARGIN / length), 0.0)
    steps = jnp.trunc(factor[:, None] * wide * CLIP_STEPS).astype(jnp.int64)
    steps = jnp.clip(steps, -CLIP_STEPS, CLIP_STEPS)
    squares = jnp.sum(steps * steps, axis=-1, dtype=jnp.int64)
    return jnp.where((squares <= CLIP_STEPS**2)[:, None], steps, 0)
