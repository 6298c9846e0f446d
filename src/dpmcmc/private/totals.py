# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Noisy totals over all records: integers, added exactly and released with noise.

What a record adds is a vector of integers that `sums` or `histograms` has bounded. The
total leaves with normal noise on it, and only so.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.private.exact_normal import rounded_normals
from dpmcmc.private.records import Opened, Records, open_records, presence
from dpmcmc.private.tape import Tape

__all__ = ["Done", "Stretch", "add_up", "release_total"]

_NUMBERS_AT_ONCE = 2**20
"""Numbers that are held at once while they are added."""

_MOST_NUMBERS = 2**20
_MOST_NOISE = 2.0**30
_FOR_ROUNDING = 1 + 2.0**-50
"""Makes up for a quotient that was rounded, of which the noise was chosen."""

_STRETCHES = 50
"""How many times at most progress is reported."""

Done = Callable[[int], object]
"""Receives how many more records were added: numbers that follow from shapes alone."""

Stretch = tuple[int, int]
"""From one block of each device's records up to another."""

Add = Callable[[int, Opened, Any, Stretch], jax.Array]
"""Adds a stretch of the records, which are spread over that number of devices, with
public arrays: the exact int64 total, which never leaves as it is."""


def release_total(
    add: Add,
    records: Records,
    public: Any,
    tape: Tape,
    *,
    noise: float,
    dtype: str,
    devices: list[jax.Device],
    done: Done | None,
) -> np.ndarray:
    """Release the total of all records with noise, in units of ``CLIP_STEPS``.

    Guarantee
    ---------
    The result is a function of S + K alone, S the integers of ``add`` for all records.
    K has independent entries, each exactly a normal number rounded to the nearest
    integer, of sd at least (1 + 2⁻⁵¹) ``noise`` · ``CLIP_STEPS``, from words of the
    tape that nothing else uses. So if substituting one record moves S by at most
    m · ``CLIP_STEPS`` in length, the release is ``GaussianRelease(m / noise)``, also
    where m / noise is computed in float64. No branch depends on a record, and ``done``
    receives numbers that follow from shapes alone.
    """
    if not 0 < noise <= _MOST_NOISE:
        raise ValueError(f"a noise of {noise} is no noise")
    tape = tape.claim()
    sd = math.ceil(noise * CLIP_STEPS * _FOR_ROUNDING)
    with boundary_arithmetic():
        opened, _ = open_records(records, dtype, devices)
        exact = _in_stretches(add, opened, public, len(records), done)
        drawn = rounded_normals(tape, exact.size, sd).reshape(exact.shape)
        return (exact + drawn) / CLIP_STEPS


def add_up(
    total: Callable[[Any, jax.Array, Any], jax.Array],
    devices: int,
    opened: Opened,
    public: Any,
    stretch: Stretch,
) -> jax.Array:
    """Add what ``total`` makes of blocks of records, over blocks and devices.

    Devices go through their own blocks side by side. There is no named axis over them.

    Guarantee
    ---------
    Every record that is present is handed to ``total`` as present once, among the
    blocks of stretches that cover all blocks once, and results are added as integers.
    """
    opened = Opened(opened.arrays, presence(opened))
    sample = jax.eval_shape(total, opened.arrays, opened.present, public)
    if sample.size > _MOST_NUMBERS:
        raise ValueError(f"a total of shape {sample.shape} is too long to add")
    count, rows, blocks = _blocks(sample, devices, opened)
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

    return jax.lax.fori_loop(*stretch, add, jnp.zeros(sample.shape, jnp.int64))


def _in_stretches(
    add: Add, opened: Opened, public: Any, records: int, done: Done | None
) -> np.ndarray:
    """The exact total of all records; progress is reported after each stretch.

    Guarantee
    ---------
    The sum of ``add`` over stretches that cover all blocks once. ``done`` receives
    numbers that follow from shapes alone.
    """
    devices = len(opened.present.sharding.device_set)
    sample = jax.eval_shape(partial(add, devices), opened, public, (0, 0))
    _, _, blocks = _blocks(sample, devices, opened)
    pieces = 1 if done is None else _STRETCHES
    ends = np.unique(np.linspace(0, blocks, pieces + 1).astype(int)).tolist()
    total = np.zeros(sample.shape, np.int64)
    for stretch in itertools.pairwise(ends):
        total += np.asarray(add(devices, opened, public, stretch))
        if done is not None:
            first, last = (records * end // blocks for end in stretch)
            done(last - first)
    return total


def _blocks(sample: Any, devices: int, opened: Opened) -> tuple[int, int, int]:
    """Records of each device, those of a block, and blocks, by the shape of a total."""
    count = len(jax.tree.leaves(opened.arrays)[0]) // devices
    rows = min(max(1, _NUMBERS_AT_ONCE // sample.size), count)
    return count, rows, -(-count // rows)
