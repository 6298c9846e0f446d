# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Noisy histograms over all records: one record, one count in each histogram.

Bins have public edges. A record is in at most one bin of each histogram. Counts are
exact integers; they leave with normal noise on them, and only so.
"""

import math
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
from dpmcmc.private.sums import Done, devices_of, in_stretches, sum_over
from dpmcmc.private.tape import Tape

__all__ = ["Bins", "exact_counts", "release_counts"]

_MOST_NOISE = 2.0**30


class Bins(Protocol):
    """Which bins a record is in. It must be hashable."""

    @property
    def count(self) -> int:
        """How many bins each histogram has."""
        ...

    def __call__(self, model: Model, record: Any, public: Any) -> jax.Array:
        """Return the number of a bin for each histogram, from 0 to ``count`` − 1.

        A record is in no bin of a histogram for which it returns another number.
        """
        ...


def release_counts(
    model: Model,
    records: Records,
    bins: Bins,
    public: Any,
    tape: Tape,
    *,
    noise: float,
    dtype: str,
    devices: list[jax.Device],
    done: Done | None = None,
) -> np.ndarray:
    """Release noisy histograms of the records.

    Parameters
    ----------
    model, records, bins, tape
        The model; the sealed records; the bins that each record is in; the
        randomness, which serves this release alone.
    public
        Arrays that ``bins`` reads beside the record, such as edges, computed from
        earlier releases and public numbers alone.
    noise
        The sd of the noise on each count, in records.
    dtype
        The precision in which records are looked at, "float32" or "float64".
    devices
        Where the records are spread.
    done
        Is called now and then with how many more records were counted.

    Returns
    -------
    numpy.ndarray
        Noisy counts in float64, of shape (histograms, bins).

    Guarantee
    ---------
    The result is a function of G C + K alone, G = ``CLIP_STEPS``. C holds the exact
    counts of h histograms, to each of which a record adds at most one; so substituting
    one record moves G C by at most √(2h) G in length. K has independent entries, each
    exactly a normal number rounded to the nearest integer, of sd at least ``noise``
    times G. So the release is ``GaussianRelease(√(2h) / noise)``. The noise uses words
    of the tape that nothing else uses. No branch depends on a record, and ``done``
    receives numbers that follow from shapes alone.
    """
    if not 0 < noise <= _MOST_NOISE:
        raise ValueError(f"a noise of {noise} is no noise")
    tape = tape.claim()
    # CLIP_STEPS is a power of two, so that the product is exact.
    deviation = math.ceil(noise * CLIP_STEPS)
    with boundary_arithmetic():
        opened, _ = open_records(records, dtype, devices)
        count = partial(exact_counts, model, bins, dtype, devices_of(opened))
        exact = np.asarray(in_stretches(count, opened, public, len(records), done))
        drawn = rounded_normals(tape, 0, exact.size, deviation).reshape(exact.shape)
        return exact + drawn / CLIP_STEPS


@partial(jax.jit, static_argnames=("model", "bins", "dtype", "devices"))
def exact_counts(
    model: Model,
    bins: Bins,
    dtype: str,
    devices: int,
    opened: Opened,
    public: Any,
    stretch: tuple[int, int] | None = None,
) -> jax.Array:
    """The exact histograms of all records; they never leave as they are.

    Guarantee
    ---------
    Int64 counts. A record that is present adds one to at most one bin of each
    histogram, which depends on that record and on public numbers alone; one that is not
    adds nothing. Counts of stretches that cover all blocks once add up to those of all
    records.
    """

    def place(record: Any, public: Any) -> jax.Array:
        with jax.enable_x64(is_double(dtype)):
            return bins(model, record, public).astype(jnp.int32)

    def total(arrays: Any, present: jax.Array, public: Any) -> jax.Array:
        found = jax.vmap(place, (0, None))(arrays, public)
        is_in = present[:, None] & (found >= 0) & (found < bins.count)
        histograms = found.shape[1]
        row = jnp.broadcast_to(jnp.arange(histograms), found.shape)
        counts = jnp.zeros((histograms, bins.count), jnp.int64)
        return counts.at[row, jnp.where(is_in, found, 0)].add(is_in.astype(jnp.int64))

    return sum_over(total, devices, opened, public, stretch)
