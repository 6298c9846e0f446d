# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The last release: how often it asks for lengths, and how tight its bound is."""

import hypothesis.strategies as some
import numpy as np
import pytest
from hypothesis import given
from test_rounds import prior_of, unravel

from dpmcmc.sampling.fit import last
from dpmcmc.sampling.fit.asking import Answer, Ask
from dpmcmc.sampling.fit.basis import Basis
from dpmcmc.sampling.fit.curvature import Curvature
from dpmcmc.sampling.fit.known import Known
from dpmcmc.sampling.fit.last_sums import Bounds, Choice
from dpmcmc.sampling.fit.place import Place, Setting
from dpmcmc.sampling.fit.questions import LengthBins
from dpmcmc.sampling.fit.rounds import Arrival
from dpmcmc.sampling.fit.tails import BINS, EDGES, LENGTHS, Counts, Tail

RECORDS, SIZE = 100_000, 2
LEFT = 0.6
FINAL = 2.5
"""The noise of the final sum, in units of its bound."""


def arrival() -> Arrival:
    """Where rounds might have ended, with nothing known of lengths."""
    basis = Basis(np.eye(SIZE), np.eye(SIZE), np.zeros((SIZE, 0)))
    setting = Setting(basis, prior_of(SIZE), RECORDS, 1.0)
    place = Place(setting, np.zeros(SIZE), np.eye(SIZE), np.ones(SIZE))
    nothing = Counts(np.zeros(BINS), 1e3)
    curvature = Curvature(np.eye(SIZE), 0.1 * np.eye(SIZE))
    known = Known(np.zeros(SIZE), np.eye(SIZE))
    return Arrival(
        place, nothing, nothing, curvature, known, np.eye(SIZE), 5, False, 0.4, 1.5
    )


def falling(rate: float) -> np.ndarray:
    """Counts that fall by a factor from bin to bin, from the typical length on."""
    beyond = np.maximum(np.arange(BINS) - np.searchsorted(EDGES, 1.0), 0)
    return np.round(20_000 * rate**beyond)


def asked(rate: float) -> list[Ask]:
    """What is asked of records with such lengths, to the end."""
    asking, found = last.ask_last(arrival(), LEFT, FINAL, None, unravel), []
    ask = next(asking)
    try:
        while True:
            found.append(ask)
            if isinstance(ask.question, LengthBins):
                answer = Answer(falling(rate)[None], 5.0)
            elif ask.is_final:
                answer = Answer(np.zeros(SIZE), FINAL)
            else:
                answer = Answer(np.zeros(2 * SIZE + 6), 1.0)
            ask = asking.send(answer)
    except StopIteration:
        return found


@pytest.mark.parametrize(("rate", "looks"), [(0.3, 1), (0.75, 2)])
def test_lengths_are_asked_again_where_much_may_be_cut(rate: float, looks: int) -> None:
    """One histogram each time, a sum in two parts, and all fractions are what was left.

    At the end there is one final sum, which is paid apart.
    """
    found = asked(rate)
    assert [ask.histograms for ask in found] == [1] * looks + [0, 0, 0]
    assert [ask.is_final for ask in found] == [False] * (looks + 2) + [True]
    assert sum(ask.fraction for ask in found) == pytest.approx(LEFT)
    assert found[-1].fraction == 0


def tail(rate: float) -> Tail:
    return Tail([Counts(falling(rate), 1e-3)], RECORDS)


def test_the_tight_bound_is_wider_where_more_is_lost_and_noise_is_small() -> None:
    """Noise of 30 for a bound of 1; it stays within its limits."""
    short, long = last._tight(tail(0.2), 30.0), last._tight(tail(0.6), 30.0)
    assert last._TIGHT[0] == short < long <= last._TIGHT[1]
    assert last._tight(tail(0.6), 1e4) == last._TIGHT[0]
    assert last._tight(tail(0.6), 1e-3) == last._TIGHT[1]


def test_scatter_is_the_sum_of_squares_beyond_a_bound() -> None:
    """Counts are known but for their own scatter, and lie on levels e^0.4 apart."""
    exact = falling(0.5) @ np.maximum(LENGTHS - 2.0, 0) ** 2
    assert tail(0.5).scatter(2.0) == pytest.approx(exact, rel=0.2)


# The bounds from which that of the final sum is chosen.

NARROW, WIDEST = 2.0, 8.0


def chosen(
    found: Tail, tight: float = NARROW, wide: float = WIDEST
) -> tuple[Bounds, list[Choice]]:
    return last._choices(found, Bounds(tight, wide, 1.0, 0.0, is_tight=True))


def check(bounds: Bounds, choices: list[Choice], tight: float, wide: float) -> None:
    """What holds for choices whatever the tail is."""
    rows = np.array(choices)
    assert np.all(np.isfinite(rows))
    assert np.isfinite(bounds.whole)
    assert 1 <= bounds.whole <= 2 + 1e-9
    assert tight < bounds.wide <= wide
    bound, left, other = rows.T
    assert np.all(np.diff(bound) > 0)
    assert np.all((left >= 0) & (left <= 1))
    assert np.all(np.diff(left) <= 0)
    assert np.all(other >= 0)
    assert choices[-1] == (wide, 0, 0)
    if len(choices) > 1:
        assert bound[0] == tight
        assert left[0] == pytest.approx(1, rel=1e-12)


@given(
    rate=some.floats(0.0, 0.95),
    sd=some.floats(1e-3, 300.0),
    seed=some.integers(0, 100),
    tight=some.floats(2.0, 4.0),
    times=some.floats(1.26, 20.0),
)
def test_choices_leave_from_all_of_the_excess_to_none(
    rate: float, sd: float, seed: int, tight: float, times: float
) -> None:
    """Whatever noisy counts say of the tail."""
    noise = sd * np.random.default_rng(seed).standard_normal(BINS)
    found = Tail([Counts(falling(rate) + noise, sd)], RECORDS)
    check(*chosen(found, tight, times * tight), tight, times * tight)


def test_where_none_are_seen_beyond_the_tight_bound_nothing_is_left() -> None:
    """There is one choice, the widest; the first sum has as much room."""
    tight = 1.5 * float(LENGTHS[-1])
    found = tail(0.6)
    assert found.cut(tight) == 0
    bounds, choices = chosen(found, tight, 2 * tight)
    check(bounds, choices, tight, 2 * tight)
    assert choices == [(2 * tight, 0, 0)]
    assert bounds == Bounds(tight, 2 * tight, 1.0, 0.0, is_tight=True)


def test_half_of_the_excess_or_more_is_in_the_first_sum() -> None:
    """Of lengths that fall slowly it is wider; what is hidden is as lengths say.

    Parts of the excess are what bounds cut of what the tight one cuts.
    """
    widths = []
    for rate in (0.3, 0.6, 0.75):
        found = tail(rate)
        bounds, choices = chosen(found)
        widths.append(bounds.wide)
        beyond = np.array([found.cut(one.bound) for one in choices])
        beyond -= beyond[-1]
        place = [one.bound for one in choices].index(bounds.wide)
        seen = beyond[0] - beyond[place]
        assert bounds.wide >= last._SHELL * NARROW
        assert seen >= beyond[0] / 2
        assert bounds.whole == pytest.approx(beyond[0] / seen)
        left = [one.left for one in choices]
        np.testing.assert_allclose(left, beyond / beyond[0], atol=1e-12)
        is_less = choices[place - 1].bound < last._SHELL * NARROW
        assert is_less or beyond[place - 1] > beyond[0] / 2
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


def test_what_the_first_sum_does_not_tell_is_most_in_between() -> None:
    """All that it sees is left at the tight bound, and none of it from its own on.

    There the rest is what is further out, by the square of the whole.
    """
    bounds, choices = chosen(tail(0.6))
    hidden = (bounds.whole - 1) / bounds.whole**2
    place = [one.bound for one in choices].index(bounds.wide)
    assert choices[0].other == pytest.approx(hidden)
    assert choices[place].other == pytest.approx(hidden)
    between = [one.other for one in choices[1:place]]
    assert min(between) > hidden
    assert max(between) <= hidden + 1 / 4 / bounds.whole**2 + 1e-12
    assert np.all(np.diff([one.other for one in choices[place:]]) <= 0)
