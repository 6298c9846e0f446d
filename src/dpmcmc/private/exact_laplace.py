# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Laplace noise in d dimensions, rounded to whole numbers.

A vector of d standard normal numbers times the length of another of d + 1 has a density
that falls as e^(−|z|), z its Euclidean length (docs/proofs/exact_laplace). The length
is computed in Python's integers to 1,024 binary digits, and nothing else is rounded.
"""

import math

import numpy as np

from dpmcmc.private.exact_normal import noise_words, rounded_normal
from dpmcmc.private.tape import Tape

__all__ = ["rounded_laplace"]

_DIGITS = 1024
"""Binary digits after the point."""


def rounded_laplace(tape: Tape, count: int, scale: int) -> np.ndarray:
    """Draw a Laplace vector of ``count`` coordinates, rounded, as int64.

    ``scale`` is b, a whole number from 1 to 2⁵¹/√(count + 1): the density of the vector
    before it is rounded is in proportion to e^(−|z|/b).

    Guarantee
    ---------
    For uniform words, there is a random vector Z, at most 2⁻¹⁰²² · ``count`` in total
    variation from one with that density, of which the numbers are a function that
    commutes with adding whole numbers. They depend on the tape alone, and use words
    that nothing else uses; each call uses the same.
    """
    words = noise_words(tape)
    lengths = [rounded_normal(words, 1 << _DIGITS) for _ in range(count + 1)]
    sd = math.isqrt(scale**2 * sum(one**2 for one in lengths)) + 1
    half = 1 << (_DIGITS - 1)
    fine = (rounded_normal(words, sd) for _ in range(count))
    return np.array([(one + half) >> _DIGITS for one in fine], np.int64)
