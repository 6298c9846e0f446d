# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One budget for releases with normal noise and for decisions, split by fractions.

Both are measured in squares of μ, the shift that one substitution makes in sd of the
noise: a release with noise has its own μ, and T decisions with clip B have about B √T.
The largest μ whose composition fits (ε, δ) is found once, before a record is read.
"""

import math
from typing import NamedTuple

from dpmcmc.accounting import BarkerBit, GaussianRelease, largest
from dpmcmc.errors import InputError
from dpmcmc.private import Grid
from dpmcmc.sampling.plan import Request
from dpmcmc.sampling.stages import Events

__all__ = ["Split", "split_budget", "split_or_open"]

_NO_NOISE = 1e4
"""The μ of a release without a budget, which is not private: hardly any noise."""

_NO_CLIP = 1e-9
"""The clip of a grid on which nothing is decided."""


class Split(NamedTuple):
    """What a budget buys.

    Attributes
    ----------
    release
        The μ of all releases with noise together.
    clip
        The clip of a decision; 0 if there are none.
    """

    release: float
    clip: float


def split_budget(
    request: Request, records: int, decisions: int, fraction: float
) -> Split:
    """Split a budget between releases with noise and decisions.

    Parameters
    ----------
    request
        The budget.
    records
        The number of records.
    decisions
        How many decisions there are; 0 for none.
    fraction
        The fraction of the budget, in squares of μ, for the decisions.

    Raises
    ------
    InputError
        If no ε was given.

    Guarantee
    ---------
    ``GaussianRelease(release)`` composed with ``decisions`` decisions on all records
    with the clip are (ε, δ)-differentially private.
    """
    if request.epsilon is None:
        raise InputError(
            "this method needs epsilon: its noise is chosen by it. Give epsilon and "
            "delta."
        )
    fraction = fraction if decisions else 0.0

    def split(mu: float) -> Split:
        clip = mu * math.sqrt(fraction / decisions) if decisions else 0.0
        return Split(mu * math.sqrt(1 - fraction), clip)

    def events_of(mu: float) -> Events:
        release, clip = split(mu)
        if not decisions:
            return {GaussianRelease(release): 1}
        decision = BarkerBit(clip=clip, records=records)
        return {GaussianRelease(release): 1, decision: decisions}

    return split(largest(events_of, request.epsilon, request.delta))


def split_or_open(
    request: Request, records: int, decisions: int, fraction: float, tempering: float
) -> tuple[Split, Grid]:
    """Split a budget; a run that is not private and has none has no noise and no clip.

    Parameters
    ----------
    request, records, decisions, fraction
        As in `split_budget`.
    tempering
        The power of the likelihood, by which ratios are scaled.

    Returns
    -------
    tuple
        What the budget buys, and the grid on which decisions are made.
    """
    if request.is_open:
        return Split(_NO_NOISE, 0.0), Grid.unclipped(records, tempering)
    split = split_budget(request, records, decisions, fraction)
    return split, Grid(split.clip or _NO_CLIP, scale=tempering)
