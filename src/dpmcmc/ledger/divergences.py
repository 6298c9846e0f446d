# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""From a privacy profile to a Rényi divergence of one order.

A profile bounds P(S) − e^ε Q(S) up to some last ε. Beyond it the loss may be unbounded,
and then so is the divergence; but that happens with a tiny probability, which is
counted as slack. Proofs are in ``docs/proofs/ledger.md``.
"""

import math

import numpy as np
from numpy.typing import NDArray

from dpmcmc.accounting.profiles import Profile, lower_hull

__all__ = ["bit_divergence", "lattice_divergence"]

Array = NDArray[np.float64]

_OUTWARD = 1e-9
"""How far corners and results are moved outward: more than float64 rounds them."""

_SMALL = 1e-4
_LARGEST_LOG = 650.0


def bit_divergence(profile: Profile, order: int) -> tuple[float, float]:
    """Return a Rényi divergence of order α ≥ 2 of one bit, and a slack.

    The profile bounds that of the bit, in both orders of the pair. The divergence is
    infinite where float64 does not hold it.

    Guarantee
    ---------
    For any ordered pair of distributions P, Q of a bit with that profile there is a
    distribution P̃ within total variation ``slack`` of P whose divergence of order α
    from Q is at most ``divergence``.
    """
    last = float(profile.deltas[-1])
    excess = np.expm1(profile.epsilons)
    kept = lower_hull(excess, profile.deltas)
    excess, deltas = excess[kept], profile.deltas[kept]
    lower = -np.diff(deltas) / np.diff(excess)
    gap = deltas[:-1] + excess[:-1] * lower
    upper = np.minimum(lower + gap, 1.0)
    cut = np.maximum(gap - last * (1 - _OUTWARD), 0.0) * (1 + _OUTWARD)
    powers = [
        _power(p, rest, d, order)
        for p, rest, d in (
            *zip(lower, 1 - lower, cut, strict=True),
            *zip(1 - upper, upper, cut, strict=True),
        )
    ]
    return _divergence(max(powers, default=0.0), order), last


def lattice_divergence(values: Array, step: float, order: int) -> tuple[float, float]:
    """Return a Rényi divergence of order α ≥ 2 of any release, and a slack.

    The values bound its profile at ε = 0, h, 2h, …, in both orders of the pair, where h
    is the step.

    Guarantee
    ---------
    As of ``bit_divergence``, for any release with that profile.
    """
    # One more cell, on which the profile is at most its last value: e^h − 1 ≥ δ.
    last = float(values[-1])
    ends = step * np.arange(len(values))
    far = max(step, math.log1p(last))
    logs = np.append(ends, ends[-1] + far)
    places = np.exp(logs)
    heights = np.append(values, last)
    if (order - 1) * logs[-1] > _LARGEST_LOG:
        return math.inf, last
    # The chord of a convex weight and of a convex profile are above both.
    weights = np.exp((order - 2) * logs) + np.exp(-(order + 1) * logs)
    a, b = weights[:-1], weights[1:]
    c, d = heights[:-1], heights[1:]
    parts = np.diff(places) / 6 * (2 * a * c + a * d + b * c + 2 * b * d)
    # Beyond the last place the other order of the pair alone is left.
    beyond = last * math.exp(-order * ends[-1]) / order
    power = order * (order - 1) * (math.fsum(parts) + beyond)
    return _divergence(power, order), last


def _divergence(power: float, order: int) -> float:
    """Return log(1 + power) / (α − 1), moved outward."""
    if not math.isfinite(power):
        return math.inf
    return math.log1p(power) / (order - 1) * (1 + 10 * _OUTWARD)


def _power(accept: float, rest: float, gap: float, order: int) -> float:
    """Return E_Q[(P/Q)^α] − 1 for P = Q + gap on accept, Q = (accept, rest)."""
    if gap <= 0:
        return 0.0
    if accept <= 0:
        return math.inf
    up = gap / accept * (1 + _OUTWARD)
    down = min(gap / rest * (1 + _OUTWARD), 1.0)
    return accept * _excess(up, order) + rest * _excess(-down, order)


def _excess(x: float, order: int) -> float:
    """Return (1 + x)^α − 1 − α x, or slightly more, for x ≥ −1."""
    if order * abs(x) < _SMALL:
        # Taylor's remainder; the formula itself would cancel.
        return order * (order - 1) / 2 * x**2 * math.exp((order - 2) * max(x, 0.0))
    if x <= -1:
        return order - 1.0
    log = order * math.log1p(x)
    if log > _LARGEST_LOG:
        return math.inf
    return math.expm1(log) - order * x
