# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One bit whose log odds move by at most η: its profile and its zCDP constant.

Proofs are in ``docs/proofs/bounded_range.md``.
"""

import math

__all__ = ["bounded_range_profile", "bounded_range_rho"]

_SERIES_BELOW = 0.25


def bounded_range_profile(eta: float, epsilon: float) -> float:
    """Return the largest P(S) − e^ε Q(S) over all η-bounded-range bits.

    Parameters
    ----------
    eta
        The largest difference η of the two log odds.
    epsilon
        Any real ε; negative values give the symmetric extension.

    Guarantee
    ---------
    Exact up to float64 rounding of a few units in the last place.
    """
    if epsilon >= eta:
        return 0.0
    if epsilon <= -eta:
        return -math.expm1(epsilon)
    return math.expm1((epsilon - eta) / 2) ** 2 / -math.expm1(-eta)


def bounded_range_rho(eta: float) -> float:
    """Return the smallest ρ for which every η-bounded-range bit is ρ-zCDP.

    It is t coth t − 1 + log(sinh t / t) with t = η/2, which equals the largest
    Kullback–Leibler divergence of such a bit and lies just below η²/8.

    Guarantee
    ---------
    The Rényi divergence of order α > 1 between the two laws of the bit is at most α
    times the returned number, which is rounded up.
    """
    t = eta / 2
    if eta < _SERIES_BELOW:
        # The series alternates, so that stopping after t⁶ is an upper bound.
        rho = t**2 / 2 - t**4 / 36 + t**6 / 405
    else:
        # log(sinh t / t) without overflow for a wide clip.
        log_ratio = t + math.log(-math.expm1(-2 * t) / (2 * t))
        rho = t / math.tanh(t) - 1 + log_ratio
    return rho * (1 + 1e-12)
