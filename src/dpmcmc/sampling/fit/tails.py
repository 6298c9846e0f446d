# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a noisy histogram of lengths says of the tail, and of what a bound would cut.

Far bins hold few records, fewer than the noise shows, but each is long. So counts are
not read one by one: their logarithms are taken to fall at a rate that changes slowly
from bin to bin, and counts that fit the noisy ones are drawn by forward filtering and
backward sampling. What a bound cuts is a quantile over these draws.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["BINS", "EDGES", "LENGTHS", "Counts", "Tail"]

_RATIO = 1.3
_LOW, _HIGH = -12, 30
_TAIL = 10
"""Edges below the tail, where counts rise with length."""

EDGES = _RATIO ** np.arange(_LOW, _HIGH)
"""Edges of the bins, in units of the typical length."""

BINS = len(EDGES) + 1
"""Bins of lengths: below the first edge, between edges, and beyond the last."""

LENGTHS = np.concatenate([[EDGES[0] / 2], EDGES * _RATIO**0.5])
_MIDDLES = LENGTHS[_TAIL + 1 :]
"""Lengths of records in each bin; and in those of the tail."""

_LEVEL_STEP = 0.4
"""Counts are 0, or powers of e^0.4 from a half on."""

_SLOPES = np.arange(-1, 16)
"""How many levels a count falls by from one bin to the next."""

_PERSISTENCE, _JUMP = 0.7, 0.02
"""How slowly the rate of falling changes, and how often it jumps."""

_LEVEL, _STEEP = 0.5, 0.2
"""At the mode, how much less likely it is, in logarithms, for each level by which a
count falls less than 1, as the power 1.5 of lengths, or more than 2, as the power 3:
noise in far bins is not taken for a tail that hardly falls, nor is a tail to end where
it is last seen. Far from the mode lengths may be of any kind.
"""

_DRAWS = 200

_GROUP, _VISIBLE, _TAIL_FROM = 4, 4.0, 1.5
"""Bins that are added up to see a tail fall, how many sd a group must be from none, and
the shortest length at which it is looked for."""

_SLOW = 3.0
"""Lengths whose counts fall as a power below 2 have no variance: it rests on records
too few to be seen. Where a tail is last seen it often falls faster than farther out, so
that lower powers than this are slow."""


class Counts(NamedTuple):
    """A noisy histogram of lengths, and the sd of its noise."""

    values: np.ndarray
    sd: float


class Tail:
    """Counts that a histogram of lengths may have had, given noisy ones.

    Parameters
    ----------
    observed
        Noisy histograms of the same lengths.
    records
        How many records there are.
    seed
        Of the draws, which are public.
    at_mode
        Whether these are lengths where the posterior is.

    Attributes
    ----------
    sd
        Of the noise of a count, by all histograms together.
    """

    def __init__(
        self,
        observed: Sequence[Counts],
        records: int,
        seed: int = 0,
        *,
        at_mode: bool = False,
    ) -> None:
        generator = np.random.default_rng(seed)
        self._draws = _drawn_counts(observed, records, _turns(at_mode), generator)
        self._shape = _weighted(observed)
        self.sd = _sd(observed)
        self._records = records

    def cut(self, bound: float, quantile: float = 0.5) -> float:
        """The sum over records of what a bound cuts off their lengths.

        Lengths and the bound are in units of the typical length.
        """
        beyond = self._draws @ np.maximum(_MIDDLES - bound, 0)
        return float(np.quantile(beyond, quantile))

    def scatter(self, bound: float) -> float:
        """The sum over records of the squares of what a bound cuts off."""
        return float(np.median(self._draws @ np.maximum(_MIDDLES - bound, 0) ** 2))

    def beyond(self, bound: float) -> float:
        """How many records are longer than a bound."""
        return float(np.median(self._draws @ (bound < _MIDDLES)))

    def slow(self) -> float | None:
        """As which power of lengths counts fall where they are last seen, if slowly.

        Two groups of bins are compared, the farthest that stand out of the noise; it
        is none if the farther one is seen to end.
        """
        ratio = _RATIO**_GROUP
        first = int(np.searchsorted(EDGES, _TAIL_FROM))
        for start in range(len(EDGES) - 2 * _GROUP, first - 1, -1):
            near, far = self._shape[start + 1 :][: 2 * _GROUP].reshape(2, -1).sum(1)
            if min(near, far) > _VISIBLE * self.sd * np.sqrt(_GROUP):
                power = float(np.log(max(near / far, 1.0)) / np.log(ratio))
                outer = self._shape[start + 1 :][_GROUP : 2 * _GROUP][_GROUP // 2 :]
                is_slow = power < _SLOW and not self._ends(outer.sum(), far, power)
                return power if is_slow else None
        return None

    def _ends(self, outer: float, group: float, power: float) -> bool:
        """Whether the outer half of a group has fewer records than the power says."""
        expected = group / (1 + _RATIO ** (power * _GROUP / 2))
        sd = np.sqrt(_GROUP / 2 * self.sd**2 + expected)
        return bool(outer < expected - 3 * sd)

    def root_mean_square(self, quantile: float = 0.5) -> float:
        """Of all lengths, in units of the typical one."""
        return float(np.sqrt(self._mean_power(2, quantile)))

    def mean(self, quantile: float = 0.5) -> float:
        """Of all lengths, in units of the typical one."""
        return self._mean_power(1, quantile)

    def _mean_power(self, power: int, quantile: float) -> float:
        """The mean of a power of lengths; below the tail, of what the tail leaves."""
        low = np.maximum(self._shape[: _TAIL + 1], 0)
        low *= max(self._records - np.median(self._draws.sum(axis=1)), 0) / max(
            low.sum(), 1.0
        )
        tail = np.quantile(self._draws @ _MIDDLES**power, quantile)
        return float((low @ LENGTHS[: _TAIL + 1] ** power + tail) / self._records)

    def choose(self, noise: float, least: float, quantile: float = 0.5) -> float:
        """The bound that balances what it cuts with the noise that it costs.

        Parameters
        ----------
        noise
            The noise for a bound of 1, in the units of what is cut.
        least
            The smallest bound.
        quantile
            Of what may be cut; higher is more cautious.
        """
        bounds = np.exp(np.arange(np.log(least), np.log(1000.0), 0.06))
        beyond = self._draws @ np.maximum(_MIDDLES[:, None] - bounds, 0)
        errors = (noise * bounds) ** 2 + np.quantile(beyond, quantile, axis=0) ** 2
        return float(bounds[int(np.argmin(errors))])


def _turns(at_mode: bool) -> np.ndarray:
    """How likely each rate of falling is to follow each."""
    turns = np.exp(-np.abs(_SLOPES[:, None] - _SLOPES) * _PERSISTENCE)
    if at_mode:
        turns *= np.exp(-_LEVEL * np.maximum(1 - _SLOPES, 0))
        turns *= np.exp(-_STEEP * np.maximum(_SLOPES - 2, 0))
    turns /= turns.sum(axis=1, keepdims=True)
    return np.asarray((1 - _JUMP) * turns + _JUMP / len(_SLOPES))


def _drawn_counts(
    observed: Sequence[Counts],
    records: int,
    turns: np.ndarray,
    generator: np.random.Generator,
) -> np.ndarray:
    """Draw counts of the bins of the tail, of shape (draws, bins).

    Those before their peak, from which they fall, are taken as they are.
    """
    means = _weighted(observed)[_TAIL + 1 :]
    peak = int(np.argmax(means))
    if means[peak] < _VISIBLE * _sd(observed):
        peak = 0
    levels = np.concatenate(
        [[0.0], np.exp(np.arange(np.log(0.5), np.log(records) + 0.4, _LEVEL_STEP))]
    )
    fits = _fits(observed, levels)[peak:]
    # The level to which each (level, slope) leads; nothing follows an empty bin.
    leads = np.clip(np.arange(len(levels))[:, None] - _SLOPES, 0, len(levels) - 1)
    leads[0] = 0
    forward = _filtered(fits, leads, turns)
    falling = levels[_sampled(forward, leads, turns, generator)]
    rising = np.tile(np.maximum(means[:peak], 0), (len(falling), 1))
    return np.concatenate([rising, falling], axis=1)


def _sd(observed: Sequence[Counts]) -> float:
    """The sd of the mean of noisy histograms, by their precision."""
    return float(sum(counts.sd**-2 for counts in observed) ** -0.5)


def _weighted(observed: Sequence[Counts]) -> np.ndarray:
    """The mean of noisy histograms, by their precision."""
    weights = np.array([counts.sd**-2 for counts in observed])
    rows = np.stack([counts.values for counts in observed])
    return weights @ rows / weights.sum()


def _fits(observed: Sequence[Counts], levels: np.ndarray) -> np.ndarray:
    """How well each level fits the noisy counts of each bin of the tail."""
    logs = np.zeros((len(_MIDDLES), len(levels)))
    for values, sd in observed:
        variance = sd**2 + levels  # counts scatter about their level by themselves
        logs -= (values[_TAIL + 1 :, None] - levels) ** 2 / variance / 2 + np.log(
            variance
        ) / 2
    return np.exp(np.maximum(logs - logs.max(axis=1, keepdims=True), -600))


def _filtered(
    fits: np.ndarray, leads: np.ndarray, turns: np.ndarray
) -> list[np.ndarray]:
    """Probabilities of (level, slope) in each bin, given the bins up to it."""
    shape = leads.shape
    places = (leads * shape[1] + np.arange(shape[1])).ravel()
    now = fits[0][:, None] * np.ones(shape[1])
    forward = [now / now.sum()]
    for fit in fits[1:]:
        led = np.bincount(places, forward[-1].ravel(), minlength=leads.size)
        now = led.reshape(shape) @ turns * fit[:, None]
        forward.append(now / now.sum())
    return forward


def _sampled(
    forward: list[np.ndarray],
    leads: np.ndarray,
    turns: np.ndarray,
    generator: np.random.Generator,
) -> np.ndarray:
    """Draw levels of all bins together, from the last back to the first."""
    size, slopes = leads.size, leads.shape[1]
    states = generator.choice(size, size=_DRAWS, p=forward[-1].ravel())
    found = [states // slopes]
    for now in forward[-2::-1]:
        each, which = np.unique(states, return_inverse=True)
        level, slope = np.divmod(each, slopes)
        weights = now * (leads == level[:, None, None]) * turns.T[slope][:, None, :]
        rows = weights.reshape(len(each), size)
        sums = np.cumsum(rows / rows.sum(axis=1, keepdims=True), axis=1)
        uniform = np.empty(_DRAWS)
        uniform[np.argsort(which, kind="stable")] = generator.random(_DRAWS)
        states = np.sum((sums / sums[:, -1:])[which] <= uniform[:, None], axis=1)
        found.append(states // slopes)
    return np.stack(found[::-1], axis=1)
