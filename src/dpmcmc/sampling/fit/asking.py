# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How a fit asks the records: it yields questions, and is sent noisy answers.

A fit is a generator that sees nothing of the records but the answers. So what it asks
next depends on what was released and on nothing else; and a fit that was interrupted
goes on by being sent again what was kept.
"""

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dpmcmc.private import Bins, Measure

__all__ = ["Answer", "Ask", "Asking"]

T = TypeVar("T")


class Ask(NamedTuple):
    """A question to all records.

    Attributes
    ----------
    question
        What is asked of each record: a vector, or its bins.
    public
        What the question reads beside a record.
    fraction
        The fraction of the budget for normal noise to pay, in squares of μ.
    histograms
        How many histograms are asked for; 0 for a sum of vectors.
    is_final
        Whether this is the final sum, which is paid apart and has Laplace noise.
    to_come
        Questions that are likely to follow, with public numbers of the right shapes and
        no fraction: their programs may be compiled meanwhile.
    """

    question: Measure | Bins
    public: Any
    fraction: float = 0.0
    histograms: int = 0
    is_final: bool = False
    to_come: "Sequence[Ask]" = ()


class Answer(NamedTuple):
    """A noisy sum, or noisy counts by histogram and bin; and the sd of the noise.

    Noise is infinite if a final sum was charged before, and lost.
    """

    values: np.ndarray
    noise: float

    @property
    def is_lost(self) -> bool:
        """Whether it was charged before an interruption, and is not to be had again."""
        return not np.isfinite(self.noise)


Asking = Generator[Ask, Answer, T]
"""Asks, and returns what it found."""
