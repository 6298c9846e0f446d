# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Noisy sums over batches: one record, one bounded vector; exact sums, exact noise.

The sum of a batch leaves with normal noise on it, and only so.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.model.model import Model
from dpmcmc.private.batches import Sampling, draw_batches
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.private.exact_normal import rounded_normals
from dpmcmc.private.laws import normal
from dpmcmc.private.records import Opened, Records, open_on_host
from dpmcmc.private.tape import Stream, Tape
from dpmcmc.private.vectors import Measure, rows_at_once, sum_of_vectors

__all__ = ["NoisySums"]

_CHAIN = 2**64 - 1
"""The number by which batches are drawn here; no chain of a run has it."""

_RECORDS_AT_ONCE = 2**18
"""Most records drawn and looked up at once: enough to hide the cost of each call."""

_BYTES_AT_ONCE = 2**26
"""Memory for what is looked up at once, however wide a record is."""

_STRETCHES = 50
"""Most times that it is told how many records were added."""

_MOST_NOISE = 2.0**30

Done = Callable[[int], object]
"""Is told how many more records were added: numbers that follow from shapes alone."""


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

    def release(self, public: Any, done: Done | None = None) -> np.ndarray:
        """Release the noisy sum over the next batch.

        Parameters
        ----------
        public
            Arrays that the measure reads besides the record; computed from earlier
            releases and public numbers alone.
        done
            Is called now and then with how many more records were added, if given.

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
        the tape that nothing else uses. No branch depends on a record, and ``done`` is
        called with numbers that follow from shapes alone.
        """
        step = next(self._steps)  # first: no word is read twice, come what may
        with boundary_arithmetic():
            batch = jax.device_put(self._batch(step), self._device)
            exact = np.asarray(self._sum(batch, public, done))
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

    def _sum(self, batch: Opened, public: Any, done: Done | None) -> jax.Array:
        """The exact sum over a batch, in stretches if someone is told of them.

        Guarantee
        ---------
        What `sum_of_vectors` returns for the whole batch. ``done`` is called with
        numbers that follow from shapes alone.
        """
        add = partial(sum_of_vectors, self._model, self._measure, self._dtype)
        if done is None:
            return add(batch, public)
        count = self._sampling.batch
        rows = rows_at_once(jax.eval_shape(add, batch, public, (0, 1)).size)
        ends = np.linspace(0, -(-count // rows), _STRETCHES + 1).astype(int)
        total = jnp.zeros((), jnp.int64)
        for first, last in itertools.pairwise(np.unique(ends).tolist()):
            total = jax.block_until_ready(total + add(batch, public, (first, last)))
            done(min(last * rows, count) - first * rows)
        return total

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
