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
from typing import NamedTuple

from dpmcmc.accounting import BarkerBit, Event, GaussianRelease, largest
from dpmcmc.errors import InputError
from dpmcmc.sampling.plan import Request
from dpmcmc.sampling.stages import Events

__all__ = ["Split", "split_budget"]


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


def split_budget(
    request: Request,
    records: int,
    decisions: int,
    fraction: float,
    releases: Sequence[float] = (1.0,),
) -> Split:
    """Split a budget between releases with noise and decisions.

    Parameters
    ----------
    request
        The budget; a run that is not private may have none, and then has hardly any
        noise, and no clip.
    records
        The number of records.
    decisions
        How many decisions there are; 0 for none.
    fraction
        The fraction of the budget, in squares of μ, for the decisions.
    releases
        What fraction of the rest each release has.

    Raises
    ------
    InputError
        If no ε was given for a private run.

    Guarantee
    ---------
    Where ε was given, a ``GaussianRelease`` of each of the releases' μ composed with
    ``decisions`` decisions on all records with the clip are (ε, δ)-differentially
    private.
    """
    if request.is_open:
        return Split(tuple(_NO_NOISE * math.sqrt(part) for part in releases), 0.0)
    if request.epsilon is None:
        raise InputError(
            "this method needs epsilon: its noise is chosen by it. Give epsilon and "
            "delta."
        )
    fraction = fraction if decisions else 0.0

    def split(mu: float) -> Split:
        clip = mu * math.sqrt(fraction / decisions) if decisions else 0.0
        rest = mu * math.sqrt(1 - fraction)
        return Split(tuple(rest * math.sqrt(part) for part in releases), clip)

    def events_of(mu: float) -> Events:
        each, clip = split(mu)
        events: Counter[Event] = Counter(GaussianRelease(one) for one in each)
        if decisions:
            events[BarkerBit(clip=clip, records=records)] = decisions
        return events

    return split(largest(events_of, request.epsilon, request.delta))
