# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The exact probability of a bit, counted in words, from the compiled test alone."""

import jax.numpy as jnp
import numpy as np


def accepting_words(bit, *arguments, size=None):
    """How many of the 2⁵³ uniforms make ``bit(word, *arguments)`` true, entry-wise.

    The bit must be true below some uniform and false from it on.
    """
    size = len(arguments[0]) if size is None else size
    low, high = np.zeros(size, np.uint64), np.full(size, 2**53, np.uint64)
    while np.any(low < high):
        middle = (low + high) // 2
        # the lower 11 bits of the word must not matter: set them all
        word = (np.minimum(middle, 2**53 - 1) << 11) | 0x7FF
        is_true = np.asarray(bit(jnp.asarray(word), *arguments)) & (middle < 2**53)
        undecided = low < high
        low = np.where(undecided & is_true, middle + 1, low)
        high = np.where(undecided & ~is_true, middle, high)
    return [int(count) for count in low]
