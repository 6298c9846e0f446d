# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What events add up to, and whether what was charged is within what was reserved.

Releases with normal noise add up by the squares of their μ; of every other event it is
counted how often it happened. The ledger and the folder of a run compare by this alone.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from dpmcmc.accounting import Event, GaussianRelease
from dpmcmc.accounting.registry import flatten
from dpmcmc.ledger.codec import Events, encode

__all__ = ["Tally", "tally_of"]


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
    counts: Counter[Event] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        return bool(self.square or self.counts)

    @property
    def events(self) -> Events:
        """Events that come to this tally, up to the rounding of one μ."""
        mu = math.sqrt(self.square)
        return {**self.counts, **({GaussianRelease(mu): 1} if mu else {})}

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


def tally_of(events: Events) -> Tally:
    """Return what events add up to, after checking that a ledger can hold them."""
    encode(events)
    square, counts = Fraction(0), Counter[Event]()
    for event, count in flatten(events).items():
        if isinstance(event, GaussianRelease):
            square += count * Fraction(event.mu) ** 2
        else:
            counts[event] = count
    return Tally(square, counts)
