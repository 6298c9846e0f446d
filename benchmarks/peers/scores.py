# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How good a set of draws is, by the scores of the papers."""

import numpy as np
from scipy import interpolate, spatial

__all__ = [
    "LEVELS",
    "calibration_error",
    "coverage_error",
    "discrepancy",
    "floor_of_coverage_error",
    "reference_frequencies",
    "symmetric_divergence",
]

LEVELS = np.concatenate([[0.001], np.arange(0.05, 1, 0.05), [0.999]])
"""Probabilities at which coverage is compared."""

_REACH = 4.0
"""Reference points are up to this many sd from the mean of the draws."""


def reference_frequencies(
    draws: np.ndarray,
    truth: np.ndarray,
    generator: np.random.Generator,
    points: int = 20,
) -> np.ndarray:
    """How often a draw is nearer to a random point than the truth is (TARP).

    With θ drawn from the prior, records from the model, and draws from the posterior
    given what was released, these are uniform (Lemos et al. 2023). Points are uniform
    within four sd of the mean of the draws, as in Alrawajfeh et al. (2025).
    """
    mean, sd = draws.mean(0), draws.std(0)
    drawn = mean + _REACH * sd * generator.uniform(-1, 1, (points, len(truth)))
    ours = spatial.distance.cdist(drawn, draws)
    return np.mean(ours < np.linalg.norm(drawn - truth, axis=1)[:, None], axis=1)


def coverage_error(frequencies: np.ndarray) -> float:
    """Root mean squared error of coverage, from a row of frequencies a data set."""
    found = [np.mean(frequencies < level) for level in LEVELS]
    return float(np.sqrt(np.mean((np.array(found) - LEVELS) ** 2)))


def floor_of_coverage_error(sets: int) -> float:
    """About what it is for right posteriors, by chance, with one point a data set."""
    return float(np.sqrt(np.mean(LEVELS * (1 - LEVELS)) / sets))


def calibration_error(outcomes: np.ndarray, predicted: np.ndarray) -> float:
    """Root mean squared error of the calibration curve.

    Ten bins of equally many predictions; the curve through their means is read at
    probabilities from 0.01 to 0.99, as in the code of Alrawajfeh et al. (2025). It is
    not extended beyond the last bins, where theirs is.
    """
    order = np.argsort(predicted)
    bins = [
        (outcomes[part].mean(), predicted[part].mean())
        for part in np.array_split(order, 10)
    ]
    true, said = np.array(sorted(bins)).T
    at = np.linspace(0.01, 0.99, 100)
    at = at[(at >= true[0]) & (at <= true[-1])]
    if len(at) == 0:
        return float(np.sqrt(np.mean((true - said) ** 2)))
    curve = interpolate.interp1d(true, said)(at)
    return float(np.sqrt(np.mean((curve - at) ** 2)))


def discrepancy(
    draws: np.ndarray,
    exact: np.ndarray,
    generator: np.random.Generator,
    most: int = 1000,
) -> float:
    """Maximum mean discrepancy, with the normal kernel of the median distance.

    As in the code of Räisä et al. (2021): the median is over 500 pairs of one draw of
    each kind. Its square is unbiased; the root of its absolute value is returned.
    """
    one, two = (
        part[generator.permutation(len(part))[:most]].astype(np.float64)
        for part in (draws, exact)
    )
    pairs = [part[generator.integers(len(part), size=500)] for part in (one, two)]
    scale = np.median(np.linalg.norm(pairs[0] - pairs[1], axis=1))

    def kernel(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        squared = spatial.distance.cdist(first / scale, second / scale, "sqeuclidean")
        return np.exp(-squared / 2)

    def within(part: np.ndarray) -> float:
        values = kernel(part, part)
        return (values.sum() - len(part)) / (len(part) * (len(part) - 1))

    return float(np.sqrt(abs(within(one) + within(two) - 2 * kernel(one, two).mean())))


def symmetric_divergence(
    draws: np.ndarray, weights: np.ndarray, edges: tuple[np.ndarray, np.ndarray]
) -> float:
    """KL(p, q) + KL(q, p) of draws in two dimensions to weights of the cells of a grid.

    One draw is shared out over the cells by their weights, so that none is empty.
    """
    counts, _, _ = np.histogram2d(draws[:, 0], draws[:, 1], bins=edges)
    exact = np.maximum(weights, 1e-9) / np.maximum(weights, 1e-9).sum()
    found = (counts + exact) / (counts.sum() + 1)
    return float(np.sum((found - exact) * np.log(found / exact)))
