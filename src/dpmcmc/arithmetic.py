# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The finite arithmetic that the boundary obeys and that the accountants charge for.

The privacy boundary decides with integers and float64 numbers, not with real
numbers. Each constant below is used twice: by the code that reads records, to stay
inside a limit, and by the accountants, to charge for what the limit leaves open.
They live here, below both, so that nobody writes one of them a second time. The
proofs are in ``docs/proofs/arithmetic.md``.
"""

import math

__all__ = [
    "BIT_SLACK",
    "CLIP_STEPS",
    "LOG_ODDS_LIMIT",
    "PUBLIC_LIMIT",
    "RECORD_LIMIT",
    "log_odds_range",
]

CLIP_STEPS = 2**20
"""Integer steps from 0 to the clip: a clipped ratio is one of ±0 … ±2²⁰ steps."""

RECORD_LIMIT = 2**42
"""Most records one data set may have: 2⁴² · 2²⁰ = 2⁶² steps fit an int64 sum."""

PUBLIC_LIMIT = 1e6
"""Limit on the public part of the log odds (prior and proposal ratio)."""

LOG_ODDS_LIMIT = 40.0
"""Limit on the log odds: beyond it, σ differs from 0 or 1 by less than 2⁻⁵³."""

BIT_SLACK = 2.0**-51
"""Total variation between a released bit and an ideal Bernoulli(σ(Δ)) bit."""

_UNIT_ROUNDOFF = 2.0**-53


def log_odds_range(clip: float, records: int) -> float:
    """How far one substituted record can move the computed log odds of a bit.

    In real numbers it is twice the clip. Turning the integer sum into float64 and
    adding the public part rounds each of the two log odds by at most
    ``u (3 N B + c)``, with u the unit roundoff, N the records, B the clip and c
    the limit of the public part; both roundings are added.

    Parameters
    ----------
    clip
        The clip B of one record's ratio.
    records
        The number of records N.

    Returns
    -------
    float
        The range, rounded up.

    Guarantee
    ---------
    For any two data sets of N records that differ in one record, any θ, θ′ and
    any public part, the float64 log odds that the Barker test computes differ by
    at most the returned number.
    """
    rounding = 2 * _UNIT_ROUNDOFF * (3 * records * clip + PUBLIC_LIMIT)
    return math.nextafter(2 * clip + math.nextafter(rounding, math.inf), math.inf)
