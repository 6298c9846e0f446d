# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Distinct records, by a compiled loop: O(b) a batch, without a sort.

NumPy finds repeats by sorting. A loop finds each as it comes, in a small table of who
is in the batch already, in half the time; Numba compiles it, where it is installed.
Both give the same batches, so that nothing depends on which of them was there.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["MOST", "Loop", "fill_rows", "find_loop", "take_distinct"]

MOST = 2**20
"""Most records of a batch for which a table is made; it takes 128 to 256 bytes each."""

_ROOM = 16
"""Slots of the table for each record of a batch, at least: most are empty, so that a
look at one is mostly enough."""

_SIGNATURE = "int64(int64[:, ::1], int64[::1], uint32[:, ::1], int64, uint64[::1])"

Loop = Callable[[np.ndarray, np.ndarray, np.ndarray, int, np.ndarray], int]


def fill_rows(drawn: Any, found: Any, halves: Any, records: int, slots: Any) -> int:
    """Fill each row with the records that its halves name and it does not have.

    A half w names ⌊wN/2³²⌋ unless wN mod 2³² is below 2³² mod N.

    A slot holds the number of a row, from 1 on, and a record of it; whatever an
    earlier row left there counts as empty. A record looks for itself from the slot on
    that its last bits say, which are spread evenly, up to an empty one. There must be
    more slots than places in a row, by a power of two, and all empty at first.

    Guarantee
    ---------
    Each row is changed by its own halves alone. A row that lacks m records takes, of
    the records that its next m halves name, or of all if it has fewer, those that it
    does not have, each once. Halves name every record equally often, and some none.
    """
    least = np.uint64(2**32 % records)
    number, half, low = np.uint64(records), np.uint64(32), np.uint64(2**32 - 1)
    last, one = np.uint64(slots.size - 1), np.uint64(1)
    steps, batch = drawn.shape
    empty = 0
    for row in range(steps):
        count = found[row]
        lacking = batch - count
        if lacking == 0:
            continue
        own = np.uint64(row + 1)
        mark = own << half
        for place in range(count):
            slot = np.uint64(drawn[row, place]) & last
            while slots[slot] >> half == own:
                slot = (slot + one) & last
            slots[slot] = mark | np.uint64(drawn[row, place])
        for place in range(min(lacking, halves.shape[1])):
            product = np.uint64(halves[row, place]) * number
            if product & low < least:
                continue
            record = product >> half
            slot = record & last
            while slots[slot] >> half == own and slots[slot] != mark | record:
                slot = (slot + one) & last
            if slots[slot] != mark | record:
                slots[slot] = mark | record
                drawn[row, count] = record
                count += 1
        found[row] = count
        empty += batch - count
    return empty


def take_distinct(
    loop: Loop, drawn: np.ndarray, found: np.ndarray, words: np.ndarray, records: int
) -> int:
    """Go on filling batches from words, and return how many places are still empty.

    Parameters
    ----------
    loop
        `fill_rows`, or what `find_loop` returned.
    drawn, found
        Record numbers, one row for each batch, and how many of each row there are;
        both are changed in place.
    words
        Words of the tape, equally many for each row.
    records
        How many records there are.
    """
    steps, batch = drawn.shape
    slots = np.zeros(1 << (_ROOM * batch - 1).bit_length(), np.uint64)
    halves = words.view("<u4").reshape(steps, -1)
    return loop(drawn, found, halves, records, slots)


@functools.cache
def find_loop() -> Loop | None:
    """Return the loop, compiled; None where that cannot be.

    It is compiled here and now, so that whatever keeps it from that is met here, where
    NumPy can take its place, and not in the midst of a run. Compiled code is not kept
    in a file, which somebody might exchange.
    """
    try:
        import numba  # noqa: PLC0415 - slow to import, and not needed by most runs

        return numba.njit(_SIGNATURE, nogil=True)(fill_rows)
    except Exception:  # a missing or broken compiler is no reason to fail
        return None
