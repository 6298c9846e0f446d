# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What events add up to, and whether what was charged is within what was reserved.

Releases with normal noise add up by the squares of their μ; of every other event it is
counted how often it happened. The ledger and the folder of a run compare by this alone.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import attrs
from dp_accounting.dp_event import DpEvent, GaussianDpEvent

from dpmcmc.accounting.registry import flatten
from dpmcmc.errors import require_positive
from dpmcmc.ledger.codec import composed, encode

__all__ = ["Tally", "tally_of"]


def _of_multiplier(event: GaussianDpEvent) -> Fraction:
    multiplier = event.noise_multiplier
    return 2 / Fraction(require_positive("noise_multiplier", multiplier, "Add noise."))


_MU: dict[type[DpEvent], Callable[[Any], Fraction]] = {GaussianDpEvent: _of_multiplier}
"""How the μ of a release with normal noise is read, where it is no field ``mu``."""


@dataclass(frozen=True)
class Tally:
    """What events add up to, exactly.

    Attributes
    ----------
    square
        The sum of μ² over all releases with normal noise, where μ is how far one
        substitution moves the mean, in standard deviations of the noise.
    counts
        How often each other event happened.
    """

    square: Fraction = Fraction(0)
    counts: Counter[DpEvent] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        return bool(self.square or self.counts)

    def plus(self, other: "Tally") -> "Tally":
        """Return the tally of both."""
        return Tally(self.square + other.square, self.counts + other.counts)

    def within(self, total: "Tally") -> bool:
        """Say whether a run that reserved the total may be charged for all of this.

        Guarantee
        ---------
        If true, Σμ² of these releases is at most that of the total, exactly, and no
        other event occurs more often than in the total.
        """
        return self.square <= total.square and self.counts <= total.counts

    def scaled(self, factor: Fraction) -> "Tally":
        """Return a part of it, with counts rounded down."""
        counts = {event: int(count * factor) for event, count in self.counts.items()}
        return Tally(self.square * factor, +Counter(counts))

    def event(self) -> DpEvent:
        """Return an event that comes to this tally; its noise is rounded down."""
        leaves = dict(self.counts)
        if mu := math.sqrt(self.square):
            leaves[GaussianDpEvent(2 / mu * (1 - 2.0**-50))] = 1
        return composed(leaves)


def tally_of(event: DpEvent) -> Tally:
    """Return what an event adds up to, after checking that a ledger can hold it."""
    encode(event)
    square, counts = Fraction(0), Counter[DpEvent]()
    for leaf, count in flatten(event).items():
        mu = _mu(leaf)
        if mu is None:
            counts[leaf] = count
        else:
            square += count * mu**2
    return Tally(square, counts)


def _mu(event: DpEvent) -> Fraction | None:
    """Return the μ of a release with normal noise, which is drawn exactly."""
    if type(event) in _MU:
        return _MU[type(event)](event)
    is_normal = any(each.name == "mu" for each in attrs.fields(type(event)))
    return Fraction(event.mu) if is_normal else None
