# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Rényi divergences of the paper's Gaussian tests, as stated and sharpened."""

import functools
import math

import numpy as np
from scipy import special

from dpmcmc.accounting.noise import VARIANCE_ROUNDING
from dpmcmc.accounting.registry import NotApplicableError
from dpmcmc.accounting.renyi import LARGEST_ORDER, Divergence
from dpmcmc.arithmetic import log_odds_range

__all__ = [
    "gaussian_divergence",
    "paper_full_data",
    "paper_minibatch",
    "sharpened_minibatch",
    "subsampled",
]

_UPWARD = 1 + 1e-9
"""Covers the rounding of the formulas: logarithms of factorials err by 1e-11."""


def gaussian_divergence(
    order: float, mean_gap: float, variance: float, other_variance: float
) -> float:
    """Return the Rényi divergence of two normal laws (the paper, Lemma 1).

    Parameters
    ----------
    order
        The order α > 1.
    mean_gap
        The difference of the means.
    variance, other_variance
        Variances of the first and the second law; infinite divergence is returned
        where the mixed variance α σ₂² + (1 − α) σ₁² is not positive.
    """
    mixed = order * other_variance + (1 - order) * variance
    if mixed <= 0:
        return math.inf
    return (
        math.log(other_variance / variance) / 2
        + math.log(other_variance / mixed) / (2 * (order - 1))
        + order * mean_gap**2 / (2 * mixed)
    )


def paper_full_data(clip: float, variance: float) -> Divergence:
    """Return the divergence of one bit on all records (the paper, Theorem 2).

    Guarantee
    ---------
    The divergence of order α between the two Gaussians that the test thresholds is
    at most 2 α B² / C, for every α > 1.
    """
    return Divergence(lambda order: 2 * order * clip**2 / variance)


def paper_minibatch(batch: int) -> Divergence:
    """Return the divergence of one batch of b records (the paper, Theorem 3).

    Guarantee
    ---------
    Holds for C = 2, ratios of at most √b/N each, and orders α < b/5.
    """
    largest = _orders_below(batch, 5)

    def at(order: int) -> float:
        rest = batch - 5 * order
        return (
            5 / (2 * batch)
            + math.log(2 * batch / rest) / (2 * (order - 1))
            + 2 * order / rest
        )

    return Divergence(at, largest)


def sharpened_minibatch(batch: int, clip: float, variance: float) -> Divergence:
    """Return a sharper divergence of one batch, for any C and scaled clip.

    The batch variance changes by at most 4 (b − 1) κ² / b² when one of b scaled
    ratios in [−κ, κ] is replaced, which bounds the variance terms of Lemma 1 by
    second-order ones.

    Guarantee
    ---------
    The divergence of order α between N(Δ*, C − s²) for two batches that differ in
    one record, Δ* and s² as the test computes them, is at most the returned bound,
    for α w < 1 with w = E / v, E the largest change of s² and v the least variance,
    both with their rounding.
    """
    shift = log_odds_range(clip / math.sqrt(batch), batch)
    least = variance - clip**2 - VARIANCE_ROUNDING
    w = (4 * (batch - 1) * clip**2 / batch**2 + VARIANCE_ROUNDING) / least
    # The largest integer strictly below 1 / w.
    largest = math.ceil(1 / w) - 1
    if largest < 2:
        raise NotApplicableError(
            f"batch is {batch}; the sharpened Rényi bound needs an order of at least "
            f"2 below {1 / w:.3g}. Take a larger batch."
        )

    def at(order: int) -> float:
        bound = w**2 / (4 * (1 - w)) + shift**2 / (2 * least)
        return _UPWARD * (order / (1 - order * w)) * bound

    return Divergence(at, min(largest, LARGEST_ORDER))


def subsampled(base: Divergence, batch: int, records: int) -> Divergence:
    """Amplify by drawing the batch without replacement (Wang et al. 2019).

    Guarantee
    ---------
    For every integer order at which ``base`` and all smaller integer orders hold,
    the divergence of the release on all records is at most the returned bound, under
    substitution of one record.
    """
    log_q = math.log(batch / records)

    @functools.cache
    def logs(size: int) -> tuple[float, np.ndarray]:
        second = base.at(2)
        pair = 2 * log_q + min(math.log(4) + _log_expm1(second), math.log(2) + second)
        j = np.arange(3, size + 1)
        rest = (
            math.log(2)
            + j * log_q
            + np.array([(i - 1) * base.at(i) for i in range(3, size + 1)])
        )
        return pair, rest

    @functools.cache
    def at(order: int) -> float:
        size = min(base.largest, 2 ** max(6, order.bit_length()))
        pair, rest = logs(size)
        j = np.arange(3, order + 1)
        terms = rest[: order - 2] + _log_binomial(order, j)
        pairs = pair + math.log(order * (order - 1) / 2)
        log_sum = special.logsumexp(np.append(terms, pairs))
        return _UPWARD * float(np.logaddexp(0.0, log_sum)) / (order - 1)

    return Divergence(at, base.largest)


def _orders_below(batch: int, divisor: int) -> int:
    largest = math.ceil(batch / divisor) - 1
    if largest < 2:
        raise NotApplicableError(
            f"batch is {batch}; Theorem 3 needs an integer order α with 2 ≤ α < b/5, "
            "so a batch of at least 11. Take a larger batch."
        )
    return largest


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x))


def _log_binomial(n: int, k: np.ndarray) -> np.ndarray:
    return special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
