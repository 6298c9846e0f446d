# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Normal noise rounded to whole numbers, with exactly that distribution.

No number is rounded on the way: uniform real numbers are known by their first digits,
and further digits are drawn where a comparison needs them. Comparisons of uniform
numbers make coins of probability e^−x (von Neumann 1951), and such coins make a normal
number (Karney 2016). All arithmetic is of Python's integers.

Nothing here reads a record, so that the time it takes tells nothing of any.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from dpmcmc.private.tape import Stream, Tape

__all__ = ["noise_words", "rounded_normal", "rounded_normals"]

_DIGIT_BITS = 64
_HALF = 1 << (_DIGIT_BITS - 1)
_WORDS_AT_ONCE = 256

Digits = list[int]
"""A uniform number in (0, 1) by its first digits in base 2⁶⁴; more are drawn lazily."""


def rounded_normals(tape: Tape, count: int, sd: int) -> np.ndarray:
    """Draw ``count`` normal numbers, rounded to the nearest whole numbers, as int64.

    ``sd`` is their standard deviation before rounding, a whole number from 1 to 2⁵¹.

    Guarantee
    ---------
    For uniform words, the numbers are independent and each is k with probability
    Φ((k + ½)/sd) − Φ((k − ½)/sd) exactly. They depend on the tape alone, and use
    words that nothing else uses; each call uses the same.
    """
    words = noise_words(tape)
    return np.array([rounded_normal(words, sd) for _ in range(count)], np.int64)


def noise_words(tape: Tape) -> Iterator[int]:
    """Every word of the noise's own stretch of the tape, in order."""
    for start in itertools.count(0, _WORDS_AT_ONCE):
        yield from tape.words(Stream.NOISE, 0, start, _WORDS_AT_ONCE).tolist()


def rounded_normal(words: Iterator[int], sd: int) -> int:
    """One normal number times the sd, rounded to the nearest whole number.

    The sd may be any positive whole number.
    """
    while True:
        whole = _whole_part(words)
        part: Digits = []
        if all(_keeps(words, whole, part) for _ in range(whole + 1)):
            size = _rounded(words, whole, part, sd)
            return size if next(words) < _HALF else -size


def _whole_part(words: Iterator[int]) -> int:
    """Draw k from 0, 1, 2, … with probability in proportion to e^(−k²/2)."""
    while True:
        whole = 0
        while _half_coin(words):
            whole += 1
        if all(_half_coin(words) for _ in range(whole * (whole - 1))):
            return whole


def _half_coin(words: Iterator[int]) -> bool:
    """Flip a coin that is true with probability e^(−1/2)."""
    last: Digits = [next(words)]
    if last[0] >= _HALF:
        return True
    length = 1
    while True:
        fresh: Digits = []
        if not _is_below(words, fresh, last):
            return length % 2 == 0
        last, length = fresh, length + 1


def _keeps(words: Iterator[int], whole: int, part: Digits) -> bool:
    """Flip a coin that is true with probability e^(−x(2k + x)/(2k + 2)).

    Here k is the whole part and x the number of which ``part`` holds digits; digits of
    x that are drawn are kept.
    """
    last, length = part, 0
    while True:
        fresh: Digits = []
        if not _is_below(words, fresh, last):
            return length % 2 == 0
        choice = _below(words, 2 * whole + 2)
        if choice == 2 * whole + 1:
            return length % 2 == 0
        if choice == 2 * whole and not _is_below(words, [], part):
            return length % 2 == 0
        last, length = fresh, length + 1


def _is_below(words: Iterator[int], one: Digits, other: Digits) -> bool:
    """Whether one uniform number is below another, drawing digits until they differ."""
    place = 0
    while True:
        for digits in (one, other):
            if len(digits) == place:
                digits.append(next(words))
        if one[place] != other[place]:
            return one[place] < other[place]
        place += 1


def _below(words: Iterator[int], number: int) -> int:
    """Draw a uniform whole number from 0 to ``number`` − 1.

    A word beyond the largest multiple of the number is drawn again.
    """
    top = 2**_DIGIT_BITS - 2**_DIGIT_BITS % number
    while True:
        word = next(words)
        if word < top:
            return word % number


def _rounded(words: Iterator[int], whole: int, part: Digits, sd: int) -> int:
    """Round (k + x) times the sd to the nearest, drawing digits of x until settled."""
    known = whole
    for digit in part:
        known = (known << _DIGIT_BITS) | digit
    scale = 1 << (_DIGIT_BITS * len(part))
    while True:
        # (k + x) scale lies between known and known + 1, the latter left out.
        least = (2 * sd * known + scale) // (2 * scale)
        most = (2 * sd * (known + 1) + scale - 1) // (2 * scale)
        if least == most:
            return least
        known = (known << _DIGIT_BITS) | next(words)
        scale <<= _DIGIT_BITS
