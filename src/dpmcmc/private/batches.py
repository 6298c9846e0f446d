# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Batches: uniform choices of records, made on the host from the tape.

A batch of b of N records without replacement is made by drawing uniform records and
drawing again whatever came up before, until b distinct ones are there. It takes O(b)
time where Numba is installed, else O(b log b) with NumPy, and never looks at all N (for
b above N/2 the records left out are drawn instead). Many steps are drawn together.

A batch is secret: the accountants rely on nobody knowing who was in it.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from dpmcmc.private.batch_loop import MOST, Loop, find_loop, take_distinct
from dpmcmc.private.tape import Stream, Tape

__all__ = ["Sampling", "draw_batches"]

_HALVES_A_WORD = 2
_NONE = np.uint32(2**32 - 1)
"""Stands for a place in a batch that must be drawn (again); no record has it."""

_MANY = 2**13
"""Records to draw at once from which on a loop is worth compiling."""


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
        drawn = _drawn(tape, chain, start, steps, sampling)
        return drawn.astype(np.intp, copy=False)
    left_out = Sampling(records, records - batch)
    absent = _drawn(tape, chain, start, steps, left_out)
    present = np.ones((steps, records), bool)
    np.put_along_axis(present, absent.astype(np.intp, copy=False), False, axis=1)
    return np.nonzero(present)[1].reshape(steps, batch)


def _drawn(
    tape: Tape, chain: int, start: int, steps: int, sampling: Sampling
) -> np.ndarray:
    """Draw the rows of some steps, and draw again what must be."""
    if sampling.batch == 0:
        return np.empty((steps, 0), np.uint32)
    many = steps * sampling.batch >= _MANY and sampling.batch <= MOST
    loop = find_loop() if many and not sampling.replacement else None
    if loop is not None:
        return _drawn_by_loop(loop, tape, chain, start, steps, sampling)
    width = _words(sampling)
    words = tape.words(Stream.BATCH, chain, start * width, steps * width)
    drawn = np.ascontiguousarray(
        _uniform(words, steps, sampling.records)[:, : sampling.batch]
    )
    if not sampling.replacement:
        drawn.sort(axis=1)
    _redraw(drawn, tape, chain, start, sampling)
    return drawn


def _drawn_by_loop(
    loop: Loop, tape: Tape, chain: int, start: int, steps: int, sampling: Sampling
) -> np.ndarray:
    """The same rows in another order, with the same words.

    In both ways a row that lacks m records is offered the next m, attempt by attempt,
    and takes those that it does not have.
    """
    drawn = np.empty((steps, sampling.batch), np.intp)
    found = np.zeros(steps, np.int64)
    width = _words(sampling)
    words = tape.words(Stream.BATCH, chain, start * width, steps * width)
    spare = _spare_words(sampling)
    for attempt in itertools.count():
        if take_distinct(loop, drawn, found, words, sampling.records) == 0:
            return drawn
        words = tape.words(Stream.REDRAW, chain, start * spare, steps * spare, attempt)
    raise AssertionError("never reached")


def _redraw(
    drawn: np.ndarray, tape: Tape, chain: int, start: int, sampling: Sampling
) -> None:
    """Fill, in place, what was refused or, without replacement, came up before.

    Rows without replacement come sorted. Each record in a row has a key that holds
    both; all keys are sorted, so that a look-up finds what a row has already.
    """
    steps, batch = drawn.shape
    flat = drawn.reshape(-1)
    again = flat == _NONE
    if not sampling.replacement:
        again[1:] |= flat[1:] == flat[:-1]
        again[::batch] = flat[::batch] == _NONE
    places = np.flatnonzero(again)
    had = []
    if not sampling.replacement:
        touched = np.unique(places // batch)
        had.append(_keys(touched[:, None], drawn[touched]).reshape(-1))
    spare = _spare_words(sampling)
    for attempt in itertools.count():
        if places.size == 0:
            return
        words = tape.words(Stream.REDRAW, chain, start * spare, steps * spare, attempt)
        fresh = _uniform(words, steps, sampling.records)
        rows = places // batch
        # Number the places of each row: place n takes the n-th fresh record.
        number = np.arange(places.size) - np.searchsorted(rows, rows)
        there = number < fresh.shape[1]
        record = np.where(there, fresh[rows, np.where(there, number, 0)], _NONE)
        good = record != _NONE
        if not sampling.replacement:
            keys = _keys(rows, record)
            good &= _is_first(keys)
            for held in had:
                good &= ~_is_among(keys, held)
            had.append(np.sort(keys[good]))
        flat[places[good]] = record[good]
        places = places[~good]


def _keys(rows: np.ndarray, records: np.ndarray) -> np.ndarray:
    """One number for a row and a record in it, ordered by row, then by record."""
    return (rows.astype(np.uint64) << np.uint64(32)) | records


def _is_among(keys: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Whether each key is among those held, which are sorted."""
    at = np.searchsorted(held, keys)
    found = np.zeros(keys.size, bool)
    inside = at < held.size
    found[inside] = held[at[inside]] == keys[inside]
    return found


def _is_first(keys: np.ndarray) -> np.ndarray:
    """Whether a key stands for the first time."""
    first = np.zeros(keys.size, bool)
    first[np.unique(keys, return_index=True)[1]] = True
    return first


def _uniform(words: np.ndarray, steps: int, records: int) -> np.ndarray:
    """Uniform record numbers from halves of words; some are marked to draw again.

    A half w gives ⌊wN/2³²⌋ unless wN mod 2³² is below 2³² mod N; that leaves exactly
    ⌊2³²/N⌋ values of w for each record.
    """
    product = np.multiply(words.view("<u4"), np.uint64(records), dtype="<u8")
    low, high = product.view("<u4")[::2], product.view("<u4")[1::2]
    number = high.copy()
    number[low < 2**32 % records] = _NONE
    return number.reshape(steps, -1)


def _words(sampling: Sampling) -> int:
    """Words of a row: half a word for each record."""
    return -(-sampling.batch // _HALVES_A_WORD)


def _spare_words(sampling: Sampling) -> int:
    """Words set aside at each attempt: about twice the repeats to expect, and more."""
    repeats = sampling.batch**2 / (2 * sampling.records)
    refused = sampling.batch * (2**32 % sampling.records) / 2**32
    return 4 + int(repeats + refused)
