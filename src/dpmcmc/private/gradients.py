# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Noisy sums over batches: one record, one bounded vector; exact sums, exact noise.

A record's vector is whatever a public function makes of its log-likelihood, such as a
gradient. It is clipped in length, put on a grid of whole numbers, and its length is
checked once more on the whole numbers, so that no rounding of floats can make one
record count for more than it may. The sum of a batch leaves with normal noise on it,
and only so.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.model import Model
from dpmcmc.private.batches import Sampling, draw_batches
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.private.exact_normal import rounded_normals
from dpmcmc.private.laws import normal
from dpmcmc.private.records import Opened, Records, open_on_host
from dpmcmc.private.tape import Stream, Tape
from dpmcmc.tracing import as_float, is_double

__all__ = ["Measure", "NoisySums", "bounded_vectors"]

_CHAIN = 2**64 - 1
"""The number by which batches are drawn here; no chain of a run has it."""

_MARGIN = 1 - 2.0**-40
"""Length to which vectors are clipped: rounding must not take them beyond 1."""

_RECORDS_AT_ONCE = 2**18
"""Most records drawn and looked up at once: enough to hide the cost of each call."""

_BYTES_AT_ONCE = 2**26
"""Memory for what is looked up at once, however wide a record is."""

_NUMBERS_AT_ONCE = 2**20
"""Coordinates of vectors held at once while they are added, whatever the batch."""

_MOST_COORDINATES = 2**20
_MOST_NOISE = 2.0**30


class Measure(Protocol):
    """What a record is asked: a vector from its log-likelihood. Frozen and hashable."""

    def __call__(
        self, log_likelihood: Callable[[Any], jax.Array], public: Any
    ) -> jax.Array:
        """Return the vector, in units in which its length should be at most 1."""
        ...


class NoisySums:
    """Sums of bounded vectors over fresh batches of sealed records, with noise.

    Parameters
    ----------
    model, records, measure, tape
        The model; the sealed records; what each record is asked; the randomness.
    batch
        How many records are drawn, without replacement, for each sum.
    noise_multiplier
        The deviation of the noise on each coordinate, in units of the longest vector.
    dtype
        The precision of log-likelihoods, "float32" or "float64".
    device
        Where sums are computed.
    """

    def __init__(
        self,
        model: Model,
        records: Records,
        measure: Measure,
        tape: Tape,
        *,
        batch: int,
        noise_multiplier: float,
        dtype: str,
        device: jax.Device,
    ) -> None:
        if not 0 < noise_multiplier <= _MOST_NOISE:
            raise ValueError(f"a noise multiplier of {noise_multiplier} is no noise")
        self._model, self._measure, self._tape = model, measure, tape.claim()
        self._dtype, self._device = dtype, device
        self._sampling = Sampling(len(records), batch)
        # CLIP_STEPS is a power of two, so that the product is exact.
        self._deviation = math.ceil(noise_multiplier * CLIP_STEPS)
        self._steps, self._points = itertools.count(), 0
        self._ahead: tuple[int, Any] = (0, None)
        with boundary_arithmetic():
            source = open_on_host(records, dtype)
            # A batch of all records is the same every time: it moves but once.
            is_whole = batch == len(records)
            self._source = jax.device_put(source, device) if is_whole else source

    def release(self, public: Any) -> np.ndarray:
        """Release the noisy sum over the next batch.

        Parameters
        ----------
        public
            Arrays that the measure reads besides the record; computed from earlier
            releases and public numbers alone.

        Returns
        -------
        numpy.ndarray
            The noisy sum in float64, in units of the longest vector.

        Guarantee
        ---------
        The result is a function of S + K alone. S is the exact sum, over a batch
        drawn uniformly without replacement for this call, of one integer vector for
        each record, of length at most ``CLIP_STEPS``. K has independent coordinates,
        each exactly a normal number rounded to the nearest integer, of deviation at
        least ``noise_multiplier`` times ``CLIP_STEPS``. Batch and noise use words of
        the tape that nothing else uses. No branch depends on a record.
        """
        step = next(self._steps)  # first: no word is read twice, come what may
        with boundary_arithmetic():
            batch = jax.device_put(self._batch(step), self._device)
            total = _sum_of_vectors(
                self._model, self._measure, self._dtype, batch, public
            )
            exact = np.asarray(total)
            noise = rounded_normals(self._tape, step, exact.size, self._deviation)
            return (exact + noise) / CLIP_STEPS

    def normals(self, count: int) -> np.ndarray:
        """Read the next ``count`` standard normal numbers for public use."""
        start, self._points = self._points, self._points + count
        with boundary_arithmetic():
            words = self._tape.words(Stream.POINTS, 0, start, count)
            return np.asarray(normal(jnp.asarray(words)))

    def __reduce__(self) -> NoReturn:
        raise TypeError("noisy sums cannot be copied or saved: they hold the records")

    def _batch(self, step: int) -> Opened:
        """The records of a step's batch; some steps are looked up together.

        Guarantee
        ---------
        The records that `draw_batches` draws for this step, and no other.
        """
        records, batch = self._sampling.records, self._sampling.batch
        if batch == records:
            return self._source
        first, found = self._ahead
        size = sum(leaf.nbytes for leaf in jax.tree.leaves(self._source)) / records
        count = max(1, int(min(_RECORDS_AT_ONCE, _BYTES_AT_ONCE / size)) // batch)
        if found is None or step >= first + count:
            first = step
            drawn = draw_batches(self._tape, _CHAIN, first, count, self._sampling)
            found = jax.tree.map(lambda leaf: np.take(leaf, drawn, 0), self._source)
            self._ahead = first, found
        return jax.tree.map(lambda leaf: leaf[step - first], found)


@partial(jax.jit, static_argnames=("model", "measure", "dtype"))
def _sum_of_vectors(
    model: Model, measure: Measure, dtype: str, batch: Opened, public: Any
) -> jax.Array:
    """The exact sum of the integer vectors of a batch; never leaves as it is.

    Guarantee
    ---------
    The int64 sum of one vector of `bounded_vectors` for each record, made from that
    record and from public numbers. Substituting one record moves it by at most
    2 · ``CLIP_STEPS`` in length.
    """

    def vector(record: Any) -> jax.Array:
        def log_likelihood(theta: Any) -> jax.Array:
            return as_float(model.record_log_likelihood(theta, record), dtype)

        with jax.enable_x64(is_double(dtype)):
            return measure(log_likelihood, public)

    def total(arrays: Any, present: jax.Array) -> jax.Array:
        bounded = bounded_vectors(jax.vmap(vector)(arrays), present)
        return jnp.sum(bounded, axis=0, dtype=jnp.int64)

    count, size = jax.eval_shape(jax.vmap(vector), batch.arrays).shape
    if size > _MOST_COORDINATES:
        raise ValueError(f"a vector has {size} coordinates, too many to add exactly")
    present = jnp.ones(count, bool) if batch.present is None else batch.present
    rows = max(1, _NUMBERS_AT_ONCE // size)
    if count <= rows:
        return total(batch.arrays, present)

    def add(block: jax.Array, sums: jax.Array) -> jax.Array:
        # The last block reaches back to be as long as the others: whoever is in it
        # and was counted before is not present there.
        first = jnp.minimum(block * rows, count - rows)
        arrays, there = jax.tree.map(
            lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, first, rows),
            (batch.arrays, present),
        )
        return sums + total(arrays, there & (first + jnp.arange(rows) >= block * rows))

    blocks = -(-count // rows)
    return jax.lax.fori_loop(0, blocks, add, jnp.zeros(size, jnp.int64))


def bounded_vectors(vectors: jax.Array, present: jax.Array) -> jax.Array:
    """Turn each record's vector into whole numbers of bounded length.

    A vector longer than 1 is shortened to about 1; one that holds a NaN or an
    infinity, or whose record is not present, becomes 0. Coordinates are rounded
    toward zero to whole multiples of 1/``CLIP_STEPS``.

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
    from jax_privacy.clipping import clip_pytree  # noqa: PLC0415 - slow to import

    wide = vectors.astype(jnp.float64)
    usable = present & jnp.all(jnp.isfinite(wide), axis=-1)
    wide = jnp.where(usable[:, None], wide, 0.0)
    clipped, _ = jax.vmap(lambda row: clip_pytree(row, _MARGIN))(wide)
    steps = jnp.trunc(clipped * CLIP_STEPS).astype(jnp.int64)
    steps = jnp.clip(steps, -CLIP_STEPS, CLIP_STEPS)
    squares = jnp.sum(steps * steps, axis=-1, dtype=jnp.int64)
    return jnp.where((squares <= CLIP_STEPS**2)[:, None], steps, 0)
