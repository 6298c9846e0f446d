# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How well chains have mixed: effective sample sizes, R-hat, and shortest intervals.

They are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner, *Rank-Normalization,
Folding, and Localization: An Improved R-hat* (2021), and agree with ArviZ, which takes
seconds to import.
"""

import numpy as np
from scipy.special import ndtri

__all__ = ["bulk_size", "r_hat", "shortest_interval", "tail_size"]

_TAILS = (0.05, 0.95)


def bulk_size(chains: np.ndarray) -> float:
    """How many independent draws would give the centre as well as those of chains.

    Chains are rows, of at least four draws.
    """
    return _effective_size(_normal_scores(_split(chains)))


def tail_size(chains: np.ndarray) -> float:
    """The same for the quantiles at 5% and 95%, the worse of the two."""
    return min(_effective_size(_split(_below(chains, part))) for part in _TAILS)


def r_hat(chains: np.ndarray) -> float:
    """How much wider all chains are together than each half of one: 1 if mixed.

    Of ranks, or of their distances from the median, whichever is larger.
    """
    halves = _split(chains)
    folded = np.abs(halves - np.median(halves))
    return max(_r_hat(_normal_scores(halves)), _r_hat(_normal_scores(folded)))


def shortest_interval(draws: np.ndarray, probability: float) -> tuple[float, float]:
    """The shortest interval that holds this fraction of draws."""
    ordered = np.sort(draws, axis=None)
    inside = int(probability * len(ordered))
    lows = ordered[: len(ordered) - inside]
    start = int(np.argmin(ordered[inside:] - lows))
    return float(ordered[start]), float(ordered[start + inside])


def _split(chains: np.ndarray) -> np.ndarray:
    """Each chain as two: its first half and its last."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def _normal_scores(chains: np.ndarray) -> np.ndarray:
    """Normal quantiles of ranks; equal draws share the mean of their ranks."""
    _, place, counts = np.unique(chains, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return ndtri((ranks[place].reshape(chains.shape) - 3 / 8) / (chains.size + 1 / 4))


def _below(chains: np.ndarray, part: float) -> np.ndarray:
    """Whether each draw is at most the quantile of all."""
    return (chains <= np.quantile(chains, part)).astype(np.float64)


def _r_hat(chains: np.ndarray) -> float:
    draws = chains.shape[1]
    between = draws * np.var(chains.mean(axis=1), ddof=1)
    within = np.mean(np.var(chains, axis=1, ddof=1))
    return float(np.sqrt((between / within + draws - 1) / draws))


def _effective_size(chains: np.ndarray) -> float:
    """By Geyer's initial monotone sequence of autocorrelations, over all chains.

    Autocorrelations are added in pairs, which would decrease and stay positive without
    noise: up to the first that does not, and none is taken to be above one before it.
    """
    count, draws = chains.shape
    if np.ptp(chains) < np.finfo(float).resolution:
        return float(chains.size)
    covariances = _autocovariances(chains)
    within = covariances[0] * draws / (draws - 1)
    total = covariances[0]
    if count > 1:
        total = total + np.var(chains.mean(axis=1), ddof=1)
    correlations = 1 - (within - covariances) / total
    correlations[0] = 1
    last = max((draws - 3) // 2, 0)
    even, odd = correlations[: 2 * last + 2 : 2], correlations[1 : 2 * last + 2 : 2]
    pairs = even + odd
    stops = np.flatnonzero(pairs <= 0)
    end = int(stops[0]) if len(stops) else last
    summed = 2 * np.sum(np.minimum.accumulate(pairs[:end]))
    length = max(summed + max(even[end], 0) - 1, 1 / np.log10(chains.size))
    return float(chains.size / length)


def _autocovariances(chains: np.ndarray) -> np.ndarray:
    """Of each lag, the mean over chains; by Fourier transforms of padded chains."""
    draws = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    size = 1 << (2 * draws - 1).bit_length()
    power = np.abs(np.fft.rfft(centred, size)) ** 2
    return np.fft.irfft(power.mean(axis=0), size)[:draws] / draws
