# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Noisy sums over all records: one record, one bounded vector; exact sums and noise.

A record's vector is whatever a public function makes of it, such as a gradient. It is
norm-clipped, put on a grid of integers, and its length is checked once more on the
integers, so that no rounding of floats lets one record count for more than it may. The
sum leaves with normal noise on it, and only so.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.model.model import Model
from dpmcmc.model.tracing import is_double
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.private.exact_normal import rounded_normals
from dpmcmc.private.records import Opened, Records, open_records
from dpmcmc.private.tape import Tape

__all__ = ["Done", "Measure", "bounded_vectors", "exact_sum", "release_sum"]

_MARGIN = 1 - 2.0**-40
"""Length to which vectors are clipped: rounding must not take them beyond 1."""

_NUMBERS_AT_ONCE = 2**20
"""Coordinates of vectors held at once while they are added."""

_MOST_COORDINATES = 2**20

_STRETCHES = 50
"""How many times at most progress is reported."""

_MOST_NOISE = 2.0**30

Done = Callable[[int], object]
"""Receives how many more records were added: numbers that follow from shapes alone."""


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
    done: Done | None = None,
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
        The sd of the noise on each coordinate, in units of the longest vector.
    dtype
        The precision of the measure, "float32" or "float64".
    devices
        Where the records are spread.
    done
        Is called now and then with how many more records were added.

    Returns
    -------
    numpy.ndarray
        The noisy sum in float64, in units of the longest vector.

    Guarantee
    ---------
    The result is a function of S + K alone. S is the exact sum of one integer vector
    for each record, of length at most ``CLIP_STEPS``; so substituting one record moves
    it by at most 2 · ``CLIP_STEPS``. K has independent coordinates, each exactly a
    normal number rounded to the nearest integer, of sd at least ``noise`` times
    ``CLIP_STEPS``. So the release is ``GaussianRelease(2 / noise)``. The noise uses
    words of the tape that nothing else uses. No branch depends on a record, and
    ``done`` receives numbers that follow from shapes alone.
    """
    if not 0 < noise <= _MOST_NOISE:
        raise ValueError(f"a noise of {noise} is no noise")
    tape = tape.claim()
    # CLIP_STEPS is a power of two, so that the product is exact.
    deviation = math.ceil(noise * CLIP_STEPS)
    with boundary_arithmetic():
        opened, _ = open_records(records, dtype, devices)
        add = partial(exact_sum, model, measure, dtype, devices_of(opened))
        exact = in_stretches(add, opened, public, len(records), done)
        drawn = rounded_normals(tape, 0, exact.size, deviation)
        return (np.asarray(exact).ravel() + drawn).reshape(exact.shape) / CLIP_STEPS


@partial(jax.jit, static_argnames=("model", "measure", "dtype", "devices"))
def exact_sum(
    model: Model,
    measure: Measure,
    dtype: str,
    devices: int,
    opened: Opened,
    public: Any,
    stretch: tuple[int, int] | None = None,
) -> jax.Array:
    """The exact sum of the integer vectors of all records; never leaves as it is.

    A stretch, from one block of each device's records up to another, is added alone.

    Guarantee
    ---------
    The int64 sum of one vector of `bounded_vectors` for each record, made from that
    record and from public numbers. Substituting one record moves it by at most
    2 · ``CLIP_STEPS`` in length. Sums of stretches that cover all blocks once add up
    to that of all records.
    """

    def vector(record: Any, public: Any) -> jax.Array:
        with jax.enable_x64(is_double(dtype)):
            return measure(model, record, public)

    def total(arrays: Any, present: jax.Array, public: Any) -> jax.Array:
        vectors = jax.vmap(vector, (0, None))(arrays, public)
        if math.prod(vectors.shape[1:]) > _MOST_COORDINATES:
            raise ValueError(
                f"a vector of shape {vectors.shape[1:]} is too long to add"
            )
        return jnp.sum(bounded_vectors(vectors, present), axis=0, dtype=jnp.int64)

    return sum_over(total, devices, opened, public, stretch)


def sum_over(
    total: Callable[[Any, jax.Array, Any], jax.Array],
    devices: int,
    opened: Opened,
    public: Any,
    stretch: tuple[int, int] | None,
) -> jax.Array:
    """Add what ``total`` makes of blocks of records, over blocks and devices.

    Devices go through their own blocks side by side. There is no named axis over them:
    a function that sees one record can reach no other through it.

    Guarantee
    ---------
    Every record that is present is handed to ``total`` as present once, among the
    blocks of the stretch, and results are added as integers, in any order.
    """
    count = len(opened.present) // devices
    sample = jax.eval_shape(total, opened.arrays, opened.present, public)
    rows = min(rows_at_once(sample.size), count)
    blocks = -(-count // rows)
    if blocks == 1:
        return total(opened.arrays, opened.present, public)

    def part(leaf: jax.Array, start: jax.Array) -> jax.Array:
        """Rows of one block, from each device."""
        local = leaf.reshape(devices, count, *leaf.shape[1:])
        rest = jax.lax.dynamic_slice_in_dim(local, start, rows, axis=1)
        return rest.reshape(devices * rows, *leaf.shape[1:])

    def add(block: jax.Array, sums: jax.Array) -> jax.Array:
        # The last block reaches back to be as long as the others: records in it that
        # were counted before are not present there.
        start = jnp.minimum(block * rows, count - rows)
        arrays, present = jax.tree.map(lambda leaf: part(leaf, start), opened)
        is_new = jnp.tile(start + jnp.arange(rows) >= block * rows, devices)
        return sums + total(arrays, present & is_new, public)

    first, last = (0, blocks) if stretch is None else stretch
    return jax.lax.fori_loop(first, last, add, jnp.zeros(sample.shape, jnp.int64))


def in_stretches(
    add: Callable[..., jax.Array],
    opened: Opened,
    public: Any,
    records: int,
    done: Done | None,
) -> jax.Array:
    """The exact sum, in stretches if progress is reported.

    Guarantee
    ---------
    What ``add`` returns for all records. ``done`` receives numbers that follow from
    shapes alone.
    """
    if done is None:
        return add(opened, public)
    size = jax.eval_shape(add, opened, public).size
    local = len(opened.present) // devices_of(opened)
    blocks = -(-local // min(rows_at_once(size), local))
    ends = np.unique(np.linspace(0, blocks, _STRETCHES + 1).astype(int)).tolist()
    total = jnp.zeros((), jnp.int64)
    for first, last in itertools.pairwise(ends):
        total = jax.block_until_ready(total + add(opened, public, (first, last)))
        done(records * last // blocks - records * first // blocks)
    return total


def devices_of(opened: Opened) -> int:
    """Over how many devices opened records are spread."""
    return len(opened.present.sharding.device_set)


def rows_at_once(size: int) -> int:
    """How many records with this many numbers each make a block."""
    return max(1, _NUMBERS_AT_ONCE // size)


def bounded_vectors(vectors: jax.Array, present: jax.Array) -> jax.Array:
    """Turn each record's vector into integers of bounded length.

    A vector longer than 1 is norm-clipped to about 1; one that holds a NaN or an
    infinity, or whose record is not present, becomes 0. Coordinates are rounded
    toward zero to multiples of 1/``CLIP_STEPS``.

    Parameters
    ----------
    vectors
        One row for each record.
    present
        Which records count.

    Guarantee
    ---------
    Each row of the result depends on its own row and entry alone, and the sum of its
    squares, as integers, is at most ``CLIP_STEPS``², whatever bits the row holds: a
    row for which it is not becomes 0.
    """
    wide = vectors.astype(jnp.float64)
    usable = present & jnp.all(jnp.isfinite(wide), axis=-1)
    wide = jnp.where(usable[:, None], wide, 0.0)
    length = jnp.sqrt(jnp.sum(wide * wide, axis=-1))
    factor = jnp.where(length > 0, jnp.minimum(1.0, _MARGIN / length), 0.0)
    steps = jnp.trunc(factor[:, None] * wide * CLIP_STEPS).astype(jnp.int64)
    steps = jnp.clip(steps, -CLIP_STEPS, CLIP_STEPS)
    squares = jnp.sum(steps * steps, axis=-1, dtype=jnp.int64)
    return jnp.where((squares <= CLIP_STEPS**2)[:, None], steps, 0)
