# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Batches: uniform choices of records, made on the host from the tape.

A batch of b of N records without replacement is made by drawing uniform records and
drawing again whatever came up before, until b distinct ones are there. It takes
O(b log b) time and never looks at all N (for b above N/2 the records left out are drawn
instead). All steps of a chunk are drawn together, with NumPy.

A batch is secret: the accountants rely on nobody knowing who was in it.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from dpmcmc.private.tape import Stream, Tape

__all__ = ["Sampling", "draw_batches"]

_HALVES_A_WORD = 2
_NONE = np.uint32(2**32 - 1)
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
        Record numbers of shape (steps, batch). A row without replacement is sorted.

    Guarantee
    ---------
    For uniform words, rows are independent, and each is a uniform choice of ``batch``
    of the ``records`` records: over all sets of that size without replacement, over
    all sequences with replacement. A row depends on the tape, the chain and its step
    alone, and uses words that nothing else uses.
    """
    records, batch = sampling.records, sampling.batch
    if sampling.replacement or batch <= records // 2:
        return _drawn(tape, chain, start, steps, sampling)
    left_out = Sampling(records, records - batch)
    absent = _drawn(tape, chain, start, steps, left_out)
    present = np.ones((steps, records), bool)
    np.put_along_axis(present, absent, False, axis=1)
    return np.nonzero(present)[1].reshape(steps, batch)


def _drawn(
    tape: Tape, chain: int, start: int, steps: int, sampling: Sampling
) -> np.ndarray:
    """Draw, then draw again what must be, until every row is whole."""
    width = -(-sampling.batch // _HALVES_A_WORD)
    words = tape.words(Stream.BATCH, chain, start * width, steps * width)
    drawn = _uniform(words, steps, sampling.records)[:, : sampling.batch]
    places = _find_places(drawn, sampling)
    spare = _spare_words(sampling)
    for attempt in itertools.count():
        rows = np.unique(places[0])
        if rows.size == 0:
            break
        words = tape.words(Stream.REDRAW, chain, start * spare, steps * spare, attempt)
        fresh = _uniform(words, steps, sampling.records)
        # Number the places of each row: place n takes the n-th fresh record.
        number = np.arange(len(places[0])) - np.searchsorted(places[0], places[0])
        there = number < fresh.shape[1]
        drawn[places] = _NONE
        drawn[places[0][there], places[1][there]] = fresh[
            places[0][there], number[there]
        ]
        part = drawn[rows]
        again = _find_places(part, sampling)
        drawn[rows] = part
        places = rows[again[0]], again[1]
    return drawn.astype(np.int64)


def _find_places(rows: np.ndarray, sampling: Sampling) -> tuple[np.ndarray, np.ndarray]:
    """Row and place of what must be drawn again, in order of rows.

    Without replacement the rows are sorted, in place, to find what came up before.
    """
    if sampling.replacement:
        return np.nonzero(rows == _NONE)  # type: ignore[return-value]
    rows.sort(axis=1)
    again = rows == _NONE
    again[:, 1:] |= rows[:, 1:] == rows[:, :-1]
    return np.nonzero(again)  # type: ignore[return-value]


def _uniform(words: np.ndarray, steps: int, records: int) -> np.ndarray:
    """Uniform record numbers from halves of words; some are marked to draw again.

    A half w gives ⌊wN/2³²⌋ unless wN mod 2³² is below 2³² mod N; that leaves exactly
    ⌊2³²/N⌋ values of w for each record.
    """
    product = words.view("<u4").astype(np.uint64) * np.uint64(records)
    number = (product >> np.uint64(32)).astype(np.uint32)
    number[product.astype(np.uint32) < 2**32 % records] = _NONE
    return number.reshape(steps, -1)


def _spare_words(sampling: Sampling) -> int:
    """Words set aside at each attempt: about twice the repeats to expect, and more."""
    repeats = sampling.batch**2 / (2 * sampling.records)
    refused = sampling.batch * (2**32 % sampling.records) / 2**32
    return 4 + int(repeats + refused)
