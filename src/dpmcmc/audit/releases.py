# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks on sums and histograms with noise, normal or Laplace, and on the noise."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from dpmcmc.accounting import GaussianRelease, LaplaceRelease
from dpmcmc.audit.attack import Attack, Check, Size
from dpmcmc.audit.bounds import Scores
from dpmcmc.audit.decisions import FAR, MODEL
from dpmcmc.model.model import Model
from dpmcmc.private import (
    Bins,
    Measure,
    Parts,
    Records,
    Tape,
    release_counts,
    release_sum,
)

__all__ = [
    "AT_ONCE",
    "InCone",
    "OneOf",
    "Pulls",
    "counts_of",
    "release_attacks",
    "release_checks",
    "sum_of",
    "tables",
]

_MU = 3.0
_COORDINATES = 3
_SHIFT, _LARGE_DELTA, _BEST = 3.0, 0.05, 2.2
"""Of the sum with Laplace noise: the move in units of its scale; δ; and the loss from
which on a score speaks for the first table, by which runs bound ε best."""

AT_ONCE = 100
"""Histograms of one call, each of which is a run: their noise is independent."""


@dataclass(frozen=True)
class Pulls:
    """What is asked of a record: a vector far too long, up or down on each coordinate.

    A record with 0 makes the zero vector.
    """

    coordinates: int = 1
    sign: float = 1.0

    def __call__(self, model: Model, record: Any, public: Any) -> jax.Array:
        """The vector."""
        del model, public
        return jnp.full(self.coordinates, self.sign * FAR) * record


@dataclass(frozen=True)
class InCone:
    """What is asked of a record: parts far too long, as far apart as can be.

    Free parts point in opposite directions; those in a cone are at a right angle, by
    numbers that would be opposite if they could be negative, and by factors.
    """

    is_free: bool = True

    @property
    def towards(self) -> np.ndarray:
        """What a record with 1 makes, less what one with −1 does, but for a factor."""
        cone = [1.0, -1.0, 1.0, 0.0, -1.0]
        return np.array([2.0, *cone] if self.is_free else cone)

    def __call__(self, model: Model, record: Any, public: Any) -> Parts:
        """The parts."""
        del model, public
        both = FAR * jnp.stack([record, -record])
        return Parts(
            free=both[:1] if self.is_free else both[:0],
            positive=both,
            factor=jnp.sqrt(jnp.maximum(both, 0)),
        )


@dataclass(frozen=True)
class OneOf:
    """Bins of histograms: the first for a record with 1, the second for −1."""

    histograms: int = 1

    @property
    def count(self) -> int:
        """Two bins."""
        return 2

    def __call__(self, model: Model, record: Any, public: Any) -> jax.Array:
        """The bins of a record; none for 0."""
        del model, public
        place = jnp.where(record > 0, 0, jnp.where(record < 0, 1, -1))
        return jnp.full(self.histograms, place)


def tables() -> tuple[Records, Records]:
    """Two sealed tables that differ in their last record."""
    return Records(np.array([0.0, 0.0, 1.0])), Records(np.array([0.0, 0.0, -1.0]))


def sum_of(
    records: Records,
    measure: Measure,
    noise: float,
    model: Model = MODEL,
    *,
    laplace: bool = False,
) -> np.ndarray:
    """A noisy sum, by the boundary's own function and a fresh tape."""
    return release_sum(
        model,
        records,
        measure,
        (),
        Tape.fresh(),
        noise=noise,
        laplace=laplace,
        dtype="float32",
        devices=jax.devices()[:1],
    )


def counts_of(records: Records, bins: Bins, noise: float) -> np.ndarray:
    """Noisy histograms, by the boundary's own function and a fresh tape."""
    return release_counts(
        MODEL,
        records,
        bins,
        (),
        Tape.fresh(),
        noise=noise,
        dtype="float32",
        devices=jax.devices()[:1],
    )


def release_attacks() -> list[Attack]:
    """Sums, histograms alone and together, and two questions that undo each other.

    Scores of the sum with Laplace noise are far from normal. So runs are counted, for
    which δ is large.
    """
    with_cone, alone = (
        partial(_summed_in_cone, InCone(free)) for free in (True, False)
    )
    return [
        _attack("sum of norm-clipped vectors", _summed, {_MU: 1}, 1e-5, quick=3_000),
        _attack("sum with parts in a cone", with_cone, {_MU: 1}, 1e-5, quick=3_000),
        _attack("sum of parts in a cone", alone, {_MU: 1}, 1e-5, quick=3_000),
        _attack("histogram", _counted, {_MU: 1}, 1e-5, quick=40_000),
        _attack("histogram, large δ", _counted, {_MU: 1}, 0.1, quick=40_000),
        _attack("four histograms", _counted_by_four, {_MU: 1}, 1e-5, quick=2_000),
        _attack(
            "two sums that undo each other",
            _asked_both_ways,
            {_MU / math.sqrt(2): 2},
            1e-5,
            quick=2_000,
        ),
        Attack(
            name="sum with Laplace noise",
            events={LaplaceRelease(_COORDINATES, _SHIFT): 1},
            delta=_LARGE_DELTA,
            play=_laplace_scores,
            runs={Size.QUICK: 10_000, Size.WHOLE: 100_000},
            threshold=_BEST,
            goal=0.7,
        ),
    ]


def release_checks() -> list[Check]:
    """The noise of releases: its distribution, independent, and new each time."""
    runs = {Size.QUICK: 20, Size.WHOLE: 400}
    many = {Size.QUICK: 4_000, Size.WHOLE: 80_000}
    return [
        Check("Laplace noise: lengths", _has_lengths_of_laplace, many),
        Check("Laplace noise: directions", _has_any_direction, many),
        Check("noise of releases: normal", _is_normal, runs),
        Check("noise of releases: independent", _is_independent, runs),
    ]


def _attack(
    name: str,
    score: Callable[[Records, int], np.ndarray],
    shifts: dict[float, int],
    delta: float,
    quick: int,
) -> Attack:
    def play(runs: int) -> Scores:
        return Scores(*(score(records, runs) for records in tables()))

    return Attack(
        name=name,
        events={GaussianRelease(mu): count for mu, count in shifts.items()},
        delta=delta,
        play=play,
        runs={Size.QUICK: quick, Size.WHOLE: 10 * quick},
        goal=0.85,
        is_gaussian=True,
    )


def _summed(records: Records, runs: int) -> np.ndarray:
    measure, noise = Pulls(_COORDINATES), 2 / _MU
    return np.array([sum_of(records, measure, noise).sum() for _ in range(runs)])


def _summed_in_cone(measure: InCone, records: Records, runs: int) -> np.ndarray:
    found = [sum_of(records, measure, 2 / _MU) for _ in range(runs)]
    return np.asarray(np.array(found) @ measure.towards)


def _asked_both_ways(records: Records, runs: int) -> np.ndarray:
    """Noise that two releases had in common would fall out of their difference."""
    up, down, noise = Pulls(1), Pulls(1, -1.0), 2 * math.sqrt(2) / _MU
    found = [
        sum_of(records, up, noise) - sum_of(records, down, noise) for _ in range(runs)
    ]
    return np.concatenate(found)


def _counted(records: Records, runs: int) -> np.ndarray:
    bins, noise = OneOf(AT_ONCE), math.sqrt(2) / _MU
    found = [counts_of(records, bins, noise) for _ in range(-(-runs // AT_ONCE))]
    first, second = np.concatenate(found).T
    return np.asarray(first - second)


def _counted_by_four(records: Records, runs: int) -> np.ndarray:
    bins, noise = OneOf(4), math.sqrt(8) / _MU
    found = [counts_of(records, bins, noise).sum(axis=0) for _ in range(runs)]
    first, second = np.array(found).T
    return np.asarray(first - second)


def _laplace_scores(runs: int) -> Scores:
    """The loss of each sum: by how much it is nearer to what the first table adds."""
    measure, scale = Pulls(_COORDINATES), 2 / _SHIFT
    far = np.full(_COORDINATES, math.sqrt(1 / _COORDINATES))

    def score(records: Records) -> float:
        found = sum_of(records, measure, scale, laplace=True)
        lengths = np.linalg.norm([found + far, found - far], axis=1)
        return float(lengths[0] - lengths[1]) / scale

    made = [[score(records) for _ in range(runs)] for records in tables()]
    return Scores(*map(np.array, made))


def _laplace_noise(runs: int) -> np.ndarray:
    """Laplace noise alone, in units of its scale, a row for each release."""
    records, measure = Records(np.zeros(3)), Pulls(_COORDINATES)
    found = [sum_of(records, measure, 0.7, laplace=True) for _ in range(runs)]
    return np.array(found) / 0.7


def _has_lengths_of_laplace(runs: int) -> float:
    """Compare lengths with the Gamma distribution, by Kolmogorov's distance."""
    lengths = np.linalg.norm(_laplace_noise(runs), axis=1)
    return float(stats.kstest(lengths, stats.gamma(_COORDINATES).cdf).pvalue)


def _has_any_direction(runs: int) -> float:
    """In three dimensions, each number over the length is uniform from −1 to 1."""
    found = _laplace_noise(runs)
    cosines = (found / np.linalg.norm(found, axis=1, keepdims=True)).T
    uniform = stats.uniform(-1, 2).cdf
    tests = [stats.kstest(one, uniform).pvalue for one in cosines]
    return min(1.0, len(tests) * min(tests))


def _noise(runs: int) -> np.ndarray:
    """The noise alone, in sd of what was asked for, a row for each release."""
    records = Records(np.zeros(3))
    found = [sum_of(records, Pulls(1_000), 0.7) for _ in range(runs)]
    return np.array(found) / 0.7


def _is_normal(runs: int) -> float:
    """Compare all numbers with the normal distribution, its tails included."""
    found = _noise(runs).reshape(-1)
    inner = np.linspace(-2.5, 2.5, 21)
    edges = np.array([-np.inf, -3.0, *inner, 3.0, np.inf])
    seen, _ = np.histogram(found, edges)
    expected = len(found) * np.diff(stats.norm.cdf(edges))
    return float(stats.chisquare(seen, expected).pvalue)


def _is_independent(runs: int) -> float:
    """Correlations of numbers next to each other, and of releases one after another."""
    found = _noise(runs)
    pairs = [
        (found[:, :-1].ravel(), found[:, 1:].ravel()),
        (found[:-1].ravel(), found[1:].ravel()),
    ]
    return min(1.0, len(pairs) * min(stats.pearsonr(*pair).pvalue for pair in pairs))
