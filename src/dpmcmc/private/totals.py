# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Noisy totals over all records: integers, added exactly and released with noise.

What a record adds is a vector of integers that `sums` or `histograms` has bounded. The
total leaves with normal or Laplace noise on it, and only so.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc import processes
from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.private.each_record import vector_of_each
from dpmcmc.private.exact_laplace import rounded_laplace
from dpmcmc.private.exact_normal import rounded_normals
from dpmcmc.private.opening import Opened, open_blocks, open_records, presence
from dpmcmc.private.placing import placed, placement
from dpmcmc.private.records import Records
from dpmcmc.private.tape import Tape

__all__ = [
    "COMPILED",
    "Spread",
    "add_up",
    "foresee_total",
    "release_total",
    "spread_over",
]

_NUMBERS_AT_ONCE, _ON_ACCELERATOR = 2**20, 2**24
"""Numbers that are held at once while they are added: as many as a processor's cache
holds, or enough to keep an accelerator busy. What a record's numbers are made of, such
as gradients for all its possible responses, may take many times their memory."""

_MOST_NUMBERS = 2**20
_MOST_NOISE = 2.0**30
_FOR_ROUNDING = 1 + 2.0**-50
"""Makes up for a quotient that was rounded, of which the noise was chosen."""


COMPILED = {"xla_gpu_autotune_level": 0}
"""How programs are compiled: a GPU does not try several kernels against the clock,
which takes ten seconds for a fit, and may choose others the next time."""


class Spread(NamedTuple):
    """How records are gone through: over how many devices, side by side.

    ``numbers`` is how many numbers each holds at once.
    """

    devices: int
    numbers: int


T = TypeVar("T")
Add = Callable[[Spread, Opened, Any], jax.Array]
"""Adds the records, which are spread over devices, with public arrays: the exact int64
total, which never leaves as it is."""


def release_total(
    add: Add,
    records: Records,
    public: Any,
    tape: Tape,
    *,
    noise: float,
    laplace: bool = False,
    dtype: str,
    devices: list[jax.Device],
) -> np.ndarray:
    """Release the total of all records with noise, in units of ``CLIP_STEPS``.

    Guarantee
    ---------
    The result is a function of S + K alone, S the integers of ``add`` for all records.
    K has independent entries, each exactly a normal number rounded to the nearest
    integer, of sd at least (1 + 2⁻⁵¹) ``noise`` · ``CLIP_STEPS``, from words of the
    tape that nothing else uses. So if substituting one record moves S by at most
    m · ``CLIP_STEPS`` in length, the release is ``GaussianRelease(m / noise)``, also
    where m / noise is computed in float64. With ``laplace`` K is a vector of
    `rounded_laplace` of at least that scale, and the release of d numbers is
    ``LaplaceRelease(d, m / noise)``. No branch depends on a record.
    """
    if not 0 < noise <= _MOST_NOISE:
        raise ValueError(f"a noise of {noise} is no noise")
    in_parts = records.sizes is not None
    tape = tape.claim(everywhere=in_parts)
    if in_parts:
        public = processes.agreed(public)
    scale = math.ceil(noise * CLIP_STEPS * _FOR_ROUNDING)
    draw = rounded_laplace if laplace else rounded_normals
    with boundary_arithmetic():
        exact = _total(add, records, public, dtype, devices)
        if laplace and noise * math.sqrt(exact.size + 1) > _MOST_NOISE:
            raise ValueError(f"a scale of {noise} is too large for {exact.size}")
        drawn = draw(tape, exact.size, scale).reshape(exact.shape)
        return (exact + drawn) / CLIP_STEPS


def _total(
    add: Add, records: Records, public: Any, dtype: str, devices: list[jax.Device]
) -> np.ndarray:
    """The exact total of all records, block by block if they are streamed."""
    total: Any = 0
    spread = spread_over(devices)
    for opened in open_blocks(records, dtype, devices):
        added = placed(add(spread, opened, public), placement(opened, devices))
        total = np.asarray(added) + total  # waits: one block is used at a time
    return np.asarray(total)


def foresee_total(
    lower: Callable[[Spread, Opened, Any], jax.stages.Lowered],
    records: Records,
    public: Any,
    *,
    dtype: str,
    devices: list[jax.Device],
) -> Callable[[], object]:
    """Trace a total to come; what is returned compiles it, on any thread.

    It opens the records, as the release will: call it after a charge.

    Parameters
    ----------
    lower
        Traces what `release_total` will add records with.
    records, public, dtype, devices
        As it will be given them; of ``public``, shapes and dtypes.

    Guarantee
    ---------
    What is returned depends on the records by their number, shapes and dtypes alone.
    """
    with boundary_arithmetic():
        opened = open_records(records, dtype, devices)[0]
        traced = lower(spread_over(devices), opened, public)

    def compiled() -> None:
        with boundary_arithmetic():
            traced.compile()

    return compiled


def spread_over(devices: list[jax.Device]) -> Spread:
    """How records are gone through on these devices."""
    is_cpu = devices[0].platform == "cpu"
    return Spread(len(devices), _NUMBERS_AT_ONCE if is_cpu else _ON_ACCELERATOR)


def add_up(
    vector: Callable[[Any, Any], T],
    total: Callable[[T, jax.Array], jax.Array],
    spread: Spread,
    opened: Opened,
    public: Any,
) -> jax.Array:
    """Add what ``total`` makes of vectors of records, over blocks and devices.

    ``vector`` makes one of a record, or several. Devices go through their own blocks
    side by side; there is no named axis over them.

    Guarantee
    ---------
    The vector of every record that is present is handed to ``total`` as present once,
    and results are added as integers.
    """
    opened = Opened(opened.arrays, presence(opened))

    def added(arrays: Any, present: jax.Array) -> jax.Array:
        return total(vector_of_each(vector, arrays, public), present)

    def alone(opened: Opened) -> jax.Array:
        arrays, present = jax.tree.map(lambda leaf: leaf[0], opened)
        one = jax.tree.map(lambda leaf: leaf[None], vector(arrays, public))
        return total(one, present[None])

    sample = jax.eval_shape(alone, opened)
    if sample.size > _MOST_NUMBERS:
        raise ValueError(f"a total of shape {sample.shape} is too long to add")
    devices = spread.devices
    count = len(opened.present) // devices
    rows = min(max(1, spread.numbers // sample.size), count)
    if rows == count:
        return added(*opened)

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
        return sums + added(arrays, present & is_new)

    blocks, zeros = -(-count // rows), jnp.zeros(sample.shape, jnp.int64)
    return jax.lax.fori_loop(0, blocks, add, zeros)
