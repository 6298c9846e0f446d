# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Batches: uniform choices of records, made on the host from the tape.

A batch of b of N records without replacement is made by drawing uniform records and
drawing again whatever came up before, until b distinct ones are there (for b above N/2
the records left out are drawn instead): O(b log b) time, many steps together.

A batch is secret: the accountants rely on nobody knowing who was in it.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from dpmcmc.private.tape import Stream, Tape

__all__ = ["NONE", "Sampling", "draw_batches", "spare_words"]

NONE = np.uint32(2**32 - 1)
"""Stands for a place in a batch that must be drawn (again); no record has it."""


@dataclass(frozen=True)
class Sampling:
    """How a batch is drawn: ``batch`` of ``records``, and whether with replacement.

    ``records`` is below 2³² − 1, so that half a word of the tape names a record.
    """

    records: int
    batch: int
    replacement: bool = False


def draw_batches(
    tape: Tape, chain: int, start: int, steps: int, sampling: Sampling
) -> np.ndarray:
    """Draw the batches of steps ``start`` to ``start + steps`` of one chain.

    Returns
    -------
    numpy.ndarray
        Record numbers of shape (steps, batch), in no order that matters.

    Guarantee
    ---------
    For uniform words, rows are independent, and each is a uniform choice of ``batch``
    of the ``records`` records: over all sets of that size without replacement, over
    all sequences with replacement. A row depends on the tape, the chain and its step
    alone, and uses words that nothing else uses.
    """
    records, batch = sampling.records, sampling.batch
    if sampling.replacement or batch <= records // 2:
        return _drawn(tape, chain, start, steps, sampling).astype(np.intp)
    left_out = Sampling(records, records - batch)
    absent = _drawn(tape, chain, start, steps, left_out)
    present = np.ones((steps, records), bool)
    np.put_along_axis(present, absent.astype(np.intp), False, axis=1)
    return np.nonzero(present)[1].reshape(steps, batch)


def _drawn(
    tape: Tape, chain: int, start: int, steps: int, sampling: Sampling
) -> np.ndarray:
    """Draw the rows of some steps, and draw again what must be.

    Rows without replacement are sorted, so that repeats stand side by side.
    """
    if sampling.batch == 0:
        return np.empty((steps, 0), np.uint32)
    width = -(-sampling.batch // 2)  # half a word names a record
    words = tape.words(Stream.BATCH, chain, start * width, steps * width)
    named = _uniform(words, steps, sampling.records)
    drawn = np.ascontiguousarray(named[:, : sampling.batch])
    again = drawn == NONE
    if not sampling.replacement:
        drawn.sort(axis=1)
        again = drawn == NONE
        again[:, 1:] |= drawn[:, 1:] == drawn[:, :-1]
    _draw_again(drawn, np.flatnonzero(again), tape, chain, start, sampling)
    return drawn


def _draw_again(
    drawn: np.ndarray,
    places: np.ndarray,
    tape: Tape,
    chain: int,
    start: int,
    sampling: Sampling,
) -> None:
    """Fill places of the rows, in place: attempt by attempt, until all are filled.

    A row with m empty places is offered the next m records, or as many as there are,
    and without replacement takes those that it does not have. A record in a row has a
    key that holds both, so that one search among sorted keys looks into all rows.
    """
    steps, batch = drawn.shape
    touched = np.unique(places // batch)
    had = [_keys(touched[:, None], drawn[touched]).reshape(-1)]
    spare = spare_words(sampling)
    for attempt in itertools.count():
        if places.size == 0:
            return
        words = tape.words(Stream.REDRAW, chain, start * spare, steps * spare, attempt)
        fresh = _uniform(words, steps, sampling.records)
        rows = places // batch
        # Number the empty places of each row: place n is offered the n-th record.
        number = np.arange(places.size) - np.searchsorted(rows, rows)
        there = number < fresh.shape[1]
        record = np.where(there, fresh[rows, np.where(there, number, 0)], NONE)
        good = record != NONE
        if not sampling.replacement:
            keys = _keys(rows, record)
            _, first = np.unique(keys, return_index=True)
            good &= np.isin(np.arange(keys.size), first)
            for held in had:
                good &= held.take(np.searchsorted(held, keys), mode="clip") != keys
            had += [np.sort(keys[good])] if good.any() else []
        drawn.reshape(-1)[places[good]] = record[good]
        places = places[~good]


def _keys(rows: np.ndarray, records: np.ndarray) -> np.ndarray:
    """One number for a row and a record in it, ordered by row, then by record."""
    return (rows.astype(np.uint64) << np.uint64(32)) | records


def _uniform(words: np.ndarray, steps: int, records: int) -> np.ndarray:
    """Uniform record numbers from halves of words; some are marked to draw again.

    A half w gives ⌊wN/2³²⌋ unless wN mod 2³² is below 2³² mod N; that leaves exactly
    ⌊2³²/N⌋ values of w for each record.
    """
    product = np.multiply(words.view("<u4"), np.uint64(records), dtype=np.uint64)
    number = (product >> np.uint64(32)).astype(np.uint32)
    number[product.astype(np.uint32) < np.uint32(2**32 % records)] = NONE
    return number.reshape(steps, -1)


def spare_words(sampling: Sampling) -> int:
    """Words set aside at each attempt: about twice the repeats to expect, and more."""
    repeats = sampling.batch**2 / (2 * sampling.records)
    refused = sampling.batch * (2**32 % sampling.records) / 2**32
    return 4 + int(repeats + refused)
