# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on ε from what an attack saw, with exact confidence.

An attack scores runs on two neighbouring tables and says "first" above a threshold that
was fixed before. How often it is right and wrong bounds ε from below, for
P(S) ≤ e^ε Q(S) + δ holds for every event S.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

__all__ = [
    "Scores",
    "Seen",
    "counting_bound",
    "gaussian_bound",
    "gaussian_epsilon",
    "laplace_bound",
    "laplace_epsilon",
    "seen_above",
]

_WIDEST = 200.0
"""No bound on ε is sought beyond this."""

_LEAST = 0.05
"""Normal noise with a smaller shift counts for nothing beside Laplace noise."""

_FARTHEST, _TINY = 20.0, np.finfo(float).tiny
"""A shift of more sd than that is no larger to us; scores without noise have one."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
"""Of a quadrature over Laplace noise."""


class Scores(NamedTuple):
    """Scores of runs on the first table, and of runs on its neighbour.

    Of runs with normal and Laplace noise there are two columns: see `laplace_bound`.
    """

    first: np.ndarray
    second: np.ndarray


class Seen(NamedTuple):
    """How often the attack said "first", on each table, and of how many runs."""

    right: int
    of_first: int
    wrong: int
    of_second: int


def seen_above(scores: Scores, threshold: float) -> Seen:
    """Count the runs whose score is at least the threshold."""
    right, wrong = (int(np.count_nonzero(part >= threshold)) for part in scores)
    return Seen(right, len(scores.first), wrong, len(scores.second))


def counting_bound(seen: Seen, delta: float, error: float) -> float:
    """Return an ε that the mechanism exceeds at this δ, by Clopper and Pearson.

    Parameters
    ----------
    seen
        What the attack saw; its threshold was fixed beforehand.
    delta
        The δ of the statement.
    error
        The probability with which the bound may be wrong: half of it for each rate.
    """
    right, wrong = _rates(seen, error / 2)
    if right - delta <= 0:
        return 0.0
    return max(0.0, math.log(right - delta) - math.log(wrong))


def gaussian_bound(scores: Scores, delta: float, error: float) -> float:
    """Return such an ε for a mechanism that is known to add normal noise.

    The shift μ of scores, in sd of their noise, says ε at every δ. It is bounded by the
    noncentral t distribution, which is exact where scores are normal with one variance;
    their own test must say that they are. The sd is that of the scores, not what the
    mechanism says.
    """
    least = _least_shift(scores, error)
    return gaussian_epsilon(least, delta) if least > 0 else least


def laplace_bound(scores: Scores, delta: float, error: float) -> float:
    """Return such an ε for normal noise, and Laplace noise on one number beside it.

    The first column is the score of what has normal noise. The second is the number, so
    that without noise it would be 1 on the first table and −1 on the second. What is
    away from that is Laplace noise, and sizes of it add up to a Gamma variable, which
    bounds the scale. Each of the two bounds may be wrong with half of the error.
    """
    normal = Scores(scores.first[:, 0], scores.second[:, 0])
    sizes = np.abs([*(scores.first[:, 1] - 1), *(scores.second[:, 1] + 1)])
    quantile = float(special.gammaincinv(len(sizes), error / 2))
    shift = 2 * quantile / max(math.fsum(sizes), _TINY)
    mu = _least_shift(normal, error / 2)
    return math.nan if math.isnan(mu + shift) else laplace_epsilon(mu, shift, delta)


def _least_shift(scores: Scores, error: float) -> float:
    """The least shift of normal scores in sd of their noise; NaN if they are."""
    of_first, of_second = map(len, scores)
    freedom, unit = of_first + of_second - 2, math.sqrt(1 / of_first + 1 / of_second)
    shift = float(np.mean(scores.first) - np.mean(scores.second))
    squares = math.fsum(float(np.var(part)) * len(part) for part in scores)
    seen = shift / max(math.sqrt(squares / freedom), abs(shift) / _FARTHEST, _TINY)
    if math.isnan(seen):
        return math.nan
    return max(0.0, unit * float(special.nctdtrinc(freedom, 1 - error, seen / unit)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the exact ε of normal noise that one substitution shifts by μ sd.

    It is not asked of the accountants, which are themselves under audit.
    """

    def excess(epsilon: float) -> float:
        near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        return float(
            special.ndtr(near) - math.exp(epsilon + special.log_ndtr(far)) - delta
        )

    return _root(excess)


def laplace_epsilon(mu: float, shift: float, delta: float) -> float:
    """Return the ε of normal noise, and Laplace noise on one number beside it.

    One substitution shifts the number by ``shift`` in units of its noise's scale. Its
    loss is the shift or minus it, but where it lies between the two means. The ε is
    exact, but that normal noise which hardly tells anything counts for nothing.
    """
    if mu < _LEAST:
        return max(0.0, shift + 2 * math.log1p(-delta))
    between = shift * (_NODES + 1) / 2
    losses = np.array([shift, -shift, *(shift - 2 * between)])
    inside = np.exp(-between) * _WEIGHTS * shift / 4
    masses = np.array([0.5, math.exp(-shift) / 2, *inside])

    def excess(epsilon: float) -> float:
        rest = epsilon - losses
        near, far = mu / 2 - rest / mu, -mu / 2 - rest / mu
        deltas = special.ndtr(near) - np.exp(rest + special.log_ndtr(far))
        return float(np.sum(masses * deltas)) - delta

    return _root(excess)


def _root(excess: Callable[[float], float]) -> float:
    """Where what δ exceeds becomes zero; it falls with ε."""
    if excess(0.0) <= 0:
        return 0.0
    if excess(_WIDEST) > 0:
        return _WIDEST
    return float(optimize.brentq(excess, 0.0, _WIDEST))


def _rates(seen: Seen, error: float) -> tuple[float, float]:
    """The least rate of "first" on the first table, and the most on the second."""
    right, of_first, wrong, of_second = seen
    least, most = 0.0, 1.0
    if right > 0:
        least = float(special.betaincinv(right, of_first - right + 1, error))
    if wrong < of_second:
        most = float(special.betaincinv(wrong + 1, of_second - wrong, 1 - error))
    return least, most
