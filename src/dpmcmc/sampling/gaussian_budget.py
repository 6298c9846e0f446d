# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One budget for releases with normal noise and for decisions, split by fractions.

Both are measured in squares of μ, the shift that one substitution makes in sd of the
noise: a release with noise has its own μ, and T decisions with clip B have about B √T.
The largest μ whose composition fits (ε, δ) is found once, before a record is read.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from dpmcmc.accounting import (
    BarkerBit,
    Event,
    GaussianRelease,
    LaplaceRelease,
    largest,
)
from dpmcmc.errors import InputError

if TYPE_CHECKING:  # they need JAX, and a plan does not
    from dpmcmc.sampling.plan import Request
    from dpmcmc.sampling.stages import Events

__all__ = ["USUAL_SPLIT", "Split", "Splitting", "laplace_beside", "split_budget"]

_NO_NOISE = 1e4
"""The μ of releases without a budget, which are not private: noise is negligible."""


class Split(NamedTuple):
    """What a budget buys.

    Attributes
    ----------
    releases
        The μ of each release with noise.
    clip
        The clip of a decision; 0 if there are none, or there is no budget.
    """

    releases: tuple[float, ...]
    clip: float


class Splitting(NamedTuple):
    """How a budget is split between releases with noise and decisions.

    Attributes
    ----------
    decisions
        How many decisions there are; 0 for none.
    fraction
        The fraction of the budget, in squares of μ, for the decisions.
    releases
        What fraction of the rest each release has.
    """

    decisions: int = 0
    fraction: float = 0.0
    releases: Sequence[float] = (1.0,)

    def at(self, mu: float) -> Split:
        """What a budget of μ in all buys."""
        clip, rest = 0.0, mu
        if self.decisions:
            clip = mu * math.sqrt(self.fraction / self.decisions)
            rest = mu * math.sqrt(1 - self.fraction)
        return Split(tuple(rest * math.sqrt(part) for part in self.releases), clip)

    def events(self, mu: float, records: int) -> "Events":
        """What is released for it."""
        releases, clip = self.at(mu)
        events: Counter[Event] = Counter(GaussianRelease(one) for one in releases)
        if self.decisions:
            events[BarkerBit(clip=clip, records=records)] = self.decisions
        return events


USUAL_SPLIT = Splitting(decisions=2000, fraction=0.06, releases=(0.99, 0.01))
"""That of control variates: decisions, shared by all chains; a fit and a check."""


def split_budget(request: "Request", records: int, splitting: Splitting) -> Split:
    """Split a budget between releases with noise and decisions.

    Parameters
    ----------
    request
        The budget; a run that is not private may have none, and then has hardly any
        noise, and no clip.
    records
        The number of records.
    splitting
        How it is split.

    Raises
    ------
    InputError
        If no ε was given for a private run.

    Guarantee
    ---------
    Where ε was given, a ``GaussianRelease`` of each of the releases' μ composed with
    the decisions, on all records and with the clip, are (ε, δ)-differentially private.
    """
    if request.epsilon is None and not request.is_private:
        return splitting._replace(decisions=0).at(_NO_NOISE)
    if request.epsilon is None:
        raise InputError(
            "this method needs epsilon: its noise is chosen by it. Give epsilon and "
            "delta."
        )
    return splitting.at(
        largest(
            lambda mu: splitting.events(mu, records), request.epsilon, request.delta
        )
    )


def laplace_beside(request: "Request", events: "Events", dimension: int) -> float:
    """The shift of a sum with Laplace noise for which the budget has room.

    Parameters
    ----------
    request
        The budget, as in `split_budget`.
    events
        What else is released.
    dimension
        How many coordinates the sum has.

    Guarantee
    ---------
    Where ε was given, the events composed with a ``LaplaceRelease`` of the returned
    shift are (ε, δ)-differentially private.
    """
    if request.epsilon is None:
        return _NO_NOISE

    def together(shift: float) -> "Events":
        return {**events, LaplaceRelease(dimension, shift): 1}

    return largest(together, request.epsilon, request.delta)
