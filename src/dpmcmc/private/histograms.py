# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Noisy histograms over all records: one record, one count in each histogram.

Bins have public edges. A record is in at most one bin of each histogram. Counts are
exact integers, and leave with normal noise on them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.model.model import Model
from dpmcmc.private.each_record import vector_of
from dpmcmc.private.opening import Opened
from dpmcmc.private.records import Records
from dpmcmc.private.tape import Tape
from dpmcmc.private.totals import COMPILED, Spread, add_up, foresee_total, release_total

__all__ = ["Bins", "exact_counts", "foresee_counts", "release_counts"]


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
) -> np.ndarray:
    """Release noisy histograms of the records, of shape (histograms, bins).

    Parameters
    ----------
    bins
        The bins that each record is in.
    noise
        The sd of the noise on each count, in records.
    model, records, public, tape, dtype, devices
        As in `release_sum`; ``public`` holds edges, for instance.

    Guarantee
    ---------
    For h histograms the release is ``GaussianRelease(√(2h) / noise)``: what
    `release_total` makes of `exact_counts`, which one substitution moves by at most
    √(2h) · ``CLIP_STEPS``.
    """
    return release_total(
        partial(exact_counts, model, bins, dtype),
        records,
        public,
        tape,
        noise=noise,
        dtype=dtype,
        devices=devices,
    )


def foresee_counts(
    model: Model,
    records: Records,
    bins: Bins,
    public: Any,
    *,
    dtype: str,
    devices: list[jax.Device],
) -> Callable[[], object]:
    """Trace histograms to come; what is returned compiles them: see `foresee_total`."""
    lower = partial(exact_counts.lower, model, bins, dtype)
    return foresee_total(lower, records, public, dtype=dtype, devices=devices)


@partial(
    jax.jit,
    static_argnames=("model", "bins", "dtype", "spread"),
    compiler_options=COMPILED,
)
def exact_counts(
    model: Model,
    bins: Bins,
    dtype: str,
    spread: Spread,
    opened: Opened,
    public: Any,
) -> jax.Array:
    """``CLIP_STEPS`` times the exact counts; they never leave as they are.

    Guarantee
    ---------
    A record that is present adds ``CLIP_STEPS`` to at most one bin of each histogram,
    as an int64, which depends on that record and on public numbers alone; one that is
    not adds nothing. So substituting one record moves the h histograms together by at
    most √(2h) · ``CLIP_STEPS`` in length.
    """

    def total(found: jax.Array, present: jax.Array) -> jax.Array:
        is_in = present[:, None] & (found >= 0) & (found < bins.count)
        place = jnp.where(is_in, found, 0).astype(jnp.int32)
        row = jnp.broadcast_to(jnp.arange(found.shape[1]), found.shape)
        counts = jnp.zeros((found.shape[1], bins.count), jnp.int64)
        return CLIP_STEPS * counts.at[row, place].add(is_in.astype(jnp.int64))

    vector = partial(vector_of, bins, model, dtype)
    return add_up(vector, total, spread, opened, public)
