# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tails of noisy histograms: by enumeration, by counts that are known, by order."""

import itertools

import numpy as np
import pytest
from scipy import stats

from dpmcmc.sampling.fit import tails
from dpmcmc.sampling.fit.tails import BINS, EDGES, Counts, Tail

MIDDLES = EDGES * (EDGES[1] / EDGES[0]) ** 0.5
RECORDS = 100_000


def histogram(rate: float, sd: float = 0.0, seed: int = 0) -> Counts:
    """Counts that fall by a constant factor from length 1 on, with noise."""
    beyond = np.arange(BINS) - np.searchsorted(EDGES, 1.0)
    counts = np.round(20_000 * rate ** np.maximum(beyond, 0.0))
    noise = np.random.default_rng(seed).normal(0, sd, BINS)
    return Counts(counts + noise, max(sd, 1e-3))


def test_bins_cover_all_lengths() -> None:
    assert len(EDGES) == BINS - 1
    assert np.all(np.diff(EDGES) > 0)
    assert EDGES[0] < 1 < EDGES[-1]


# Against enumeration.


def test_draws_are_of_the_distribution_of_all_paths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four bins, four levels, three slopes: every path by its weight.

    A chi-square test of 20,000 draws, with a false-alarm rate of 10⁻⁶.
    """
    draws = 20_000
    monkeypatch.setattr(tails, "_DRAWS", draws)
    generator = np.random.default_rng(1)
    bins, levels, slopes = 4, 4, 3
    fits = generator.random((bins, levels)) + 0.05
    turns = generator.random((slopes, slopes)) + 0.05
    turns /= turns.sum(axis=1, keepdims=True)
    leads = np.clip(
        np.arange(levels)[:, None] - np.arange(-1, slopes - 1), 0, levels - 1
    )
    weights: dict[tuple[int, ...], float] = {}
    states = list(itertools.product(range(levels), range(slopes)))
    for first in states:
        for turned in itertools.product(range(slopes), repeat=bins - 1):
            level, slope = first
            path, weight = [level], fits[0, level]
            for row, after in enumerate(turned, start=1):
                level = int(leads[level, slope])
                weight *= turns[slope, after] * fits[row, level]
                slope = after
                path.append(level)
            weights[tuple(path)] = weights.get(tuple(path), 0.0) + weight
    total = sum(weights.values())
    forward = tails._filtered(fits, leads, turns)
    found = tails._sampled(forward, leads, turns, generator)
    rows, counts = np.unique(found, axis=0, return_counts=True)
    seen = dict(zip(map(tuple, rows.tolist()), counts.tolist(), strict=True))
    assert set(seen) <= set(weights)
    expected = {path: draws * weight / total for path, weight in weights.items()}
    large = [path for path, value in expected.items() if value >= 10]
    rest = [draws - sum(expected[path] for path in large)]
    others = [draws - sum(seen.get(path, 0) for path in large)]
    statistic = stats.chisquare(
        [*(seen.get(path, 0) for path in large), *others],
        [*(expected[path] for path in large), *rest],
    )
    assert statistic.pvalue > 1e-6
    assert len(large) > 20


# Counts that are known.


@pytest.mark.parametrize(
    ("rate", "bound"), [(0.3, 1.0), (0.5, 1.0), (0.5, 2.0), (0.7, 1.0), (0.7, 5.0)]
)
def test_with_little_noise_what_is_cut_is_known(rate: float, bound: float) -> None:
    """To a third or so: counts are on a grid of e^0.4, and are taken to scatter."""
    observed = histogram(rate)
    counts = observed.values[1:]
    tail = Tail([observed], RECORDS)
    cut = counts @ np.maximum(MIDDLES - bound, 0)
    assert tail.cut(bound) == pytest.approx(cut, rel=0.4)
    beyond = counts @ (bound < MIDDLES)
    assert tail.beyond(bound) == pytest.approx(beyond, rel=0.4)


def test_a_few_records_far_out_are_found_in_the_noise_of_none() -> None:
    """Five hundred records in one far bin, with noise of sd 20."""
    observed = histogram(0.2, sd=20.0)
    place = int(np.searchsorted(EDGES, 100.0))
    far = observed.values.copy()
    far[place] += 500
    near_tail, far_tail = Tail([observed], RECORDS), Tail([Counts(far, 20.0)], RECORDS)
    length = MIDDLES[place - 1]
    assert far_tail.cut(5.0) == pytest.approx(500 * (length - 5), rel=0.5)
    assert near_tail.cut(5.0) < 0.2 * far_tail.cut(5.0)


@pytest.mark.parametrize("rate", [0.3, 0.4])
def test_the_root_mean_square_is_that_of_all_lengths(rate: float) -> None:
    observed = histogram(rate)
    lengths = np.concatenate([[EDGES[0] / 2], MIDDLES])
    records = int(observed.values.sum())
    expected = np.sqrt(observed.values @ lengths**2 / records)
    found = Tail([observed], records).root_mean_square()
    assert found == pytest.approx(expected, rel=0.2)


# Order.


def test_a_larger_bound_cuts_less_and_a_higher_quantile_more() -> None:
    tail = Tail([histogram(0.6, sd=30.0)], RECORDS)
    bounds = np.geomspace(0.5, 100, 20)
    cuts = [tail.cut(bound) for bound in bounds]
    assert cuts == sorted(cuts, reverse=True)
    beyond = [tail.beyond(bound) for bound in bounds]
    assert beyond == sorted(beyond, reverse=True)
    quantiles = [tail.cut(2.0, quantile) for quantile in (0.05, 0.5, 0.95)]
    assert quantiles == sorted(quantiles)
    assert quantiles[0] < quantiles[-1]


def test_a_second_look_narrows_what_may_be_cut() -> None:
    looks = [histogram(0.6, sd=100.0, seed=seed) for seed in range(8)]

    def width(observed: list[Counts]) -> float:
        tail = Tail(observed, RECORDS)
        return tail.cut(3.0, 0.9) - tail.cut(3.0, 0.1)

    assert width(looks) < width(looks[:1])


def test_the_same_histogram_is_read_the_same_way() -> None:
    observed = [histogram(0.6, sd=30.0)]
    assert Tail(observed, RECORDS).cut(2.0) == Tail(observed, RECORDS).cut(2.0)


# The bound.


def test_more_noise_asks_for_a_smaller_bound() -> None:
    tail = Tail([histogram(0.6, sd=30.0)], RECORDS)
    bounds = [tail.choose(noise, 0.5) for noise in (1.0, 100.0, 1e4, 1e6)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > bounds[-1]
    assert bounds[-1] == pytest.approx(0.5)


def test_the_bound_balances_both_errors() -> None:
    """No other bound has a smaller sum of squares, of noise and of what is cut."""
    tail = Tail([histogram(0.6, sd=30.0)], RECORDS)
    noise = 300.0

    def error(bound: float) -> float:
        return (noise * bound) ** 2 + tail.cut(bound) ** 2

    chosen = tail.choose(noise, 0.5)
    others = np.geomspace(0.5, 500, 200)
    assert error(chosen) <= min(map(error, others)) * 1.02


@pytest.mark.parametrize("sd", [1.0, 100.0, 1e4])
def test_pure_noise_breaks_nothing(sd: float) -> None:
    values = np.random.default_rng(3).normal(0, sd, BINS)
    tail = Tail([Counts(values, sd)], 50)
    assert np.isfinite(tail.cut(1.0))
    assert 0.5 <= tail.choose(10.0, 0.5) <= 1000


# Tails that fall too slowly.


def power_law(power: float, sd: float, seed: int = 0) -> Counts:
    """100,000 lengths of at least 1, of which L⁻ᵖ are longer than L."""
    generator = np.random.default_rng(seed)
    lengths = generator.random(RECORDS) ** (-1 / power)
    counts = np.bincount(np.searchsorted(EDGES, lengths, side="right"), minlength=BINS)
    return Counts(counts + generator.normal(0, sd, BINS), sd)


@pytest.mark.parametrize("power", [1.3, 1.6])
def test_a_slow_tail_is_seen(power: float) -> None:
    """The farther group is 4 sd from none: its logarithm, over log 2.86, has sd 0.24.

    The median of eight powers is within 0.3. What is cut is taken for an sd: the 95%
    quantile is a third of it or more in seven of eight.
    """
    bound = 30.0
    beyond = RECORDS * bound**-power
    expected = beyond * bound / (power - 1) * (1 - beyond ** (1 / power - 1))
    tails = [Tail([power_law(power, 30.0, seed)], RECORDS) for seed in range(8)]
    found = [tail.slow() for tail in tails]
    powers = [one for one in found if one is not None]
    assert len(powers) == len(found)
    assert np.median(powers) == pytest.approx(power, abs=0.3)
    cuts = np.array([tail.cut(bound, 0.95) for tail in tails])
    assert np.sum(cuts > expected / 3) >= 7


@pytest.mark.parametrize("power", [4.0, 6.0])
def test_a_tail_with_a_variance_is_none(power: float) -> None:
    for seed in range(8):
        assert Tail([power_law(power, 30.0, seed)], RECORDS).slow() is None


def test_noise_alone_has_no_tail() -> None:
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(0, 100.0, BINS)
        noise[: np.searchsorted(EDGES, 1.0)] += 10_000
        assert Tail([Counts(noise, 100.0)], RECORDS).slow() is None


def test_a_tail_that_is_seen_to_end_is_none() -> None:
    """As a column with few levels makes it: a last group of records, then none."""
    for seed in range(8):
        counts = power_law(1.6, 30.0, seed)
        end = np.searchsorted(EDGES, 12.0)
        noise = np.random.default_rng(seed).normal(0, 30.0, BINS - end)
        counts.values[end:] = noise
        counts.values[end] += 1000
        assert Tail([counts], RECORDS).slow() is None


def test_a_far_count_alone_is_no_tail() -> None:
    """Noise makes one in thousands of bins stand out: what is cut stays what it was."""
    counts = histogram(0.3, 50.0)
    far = counts.values.copy()
    far[-5] += 450
    assert Tail([Counts(far, 50.0)], RECORDS).slow() is None


# Lengths none of which is short.


def between(low: float, high: float, sd: float) -> Counts:
    """100,000 lengths between two, and none elsewhere."""
    generator = np.random.default_rng(0)
    lengths = generator.uniform(low, high, RECORDS)
    counts = np.bincount(np.searchsorted(EDGES, lengths, side="right"), minlength=BINS)
    return Counts(counts + generator.normal(0, sd, BINS), sd)


@pytest.mark.parametrize(("low", "high"), [(1.3, 5.0), (2.0, 2.1), (20.0, 50.0)])
def test_lengths_that_begin_beyond_the_first_bins_are_seen(
    low: float, high: float
) -> None:
    """As those of Hessians whose signs differ: a bound of 1 cuts most of each.

    Lengths are known to their bin, 13% to either side.
    """
    tail = Tail([between(low, high, 50.0)], RECORDS)
    expected = RECORDS * ((low + high) / 2 - 1)
    assert tail.cut(1.0) == pytest.approx(expected, rel=0.3)
    assert tail.choose(100.0, 1.0) > 0.7 * high


@pytest.mark.parametrize(("at_mode", "least", "most"), [(True, 0, 3e3), (0, 6e3, 1e9)])
def test_noise_in_far_bins_is_hardly_taken_for_a_tail_at_the_mode(
    at_mode: bool, least: float, most: float
) -> None:
    """Exponential lengths, none of which is beyond 9; and half an sd of noise in each
    bin from there on. What one draw in a hundred says is cut at 30, over ten seeds."""
    edges = np.concatenate([[0.0], EDGES, [np.inf]])
    values = RECORDS * -np.diff(np.exp(-np.sqrt(2) * edges))
    values[22:] += 10.0
    observed = [Counts(values, 20.0)]
    tails = [Tail(observed, RECORDS, seed, at_mode=at_mode) for seed in range(10)]
    assert least < np.median([tail.cut(30, 0.99) for tail in tails]) < most
