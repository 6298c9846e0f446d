# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The last release: how often it asks for lengths, and how tight its bound is."""

import numpy as np
import pytest
from test_rounds import prior_of, unravel

from dpmcmc.sampling.fit import last
from dpmcmc.sampling.fit.asking import Answer, Ask
from dpmcmc.sampling.fit.basis import Basis
from dpmcmc.sampling.fit.curvature import Curvature
from dpmcmc.sampling.fit.known import Known
from dpmcmc.sampling.fit.place import Place, Setting
from dpmcmc.sampling.fit.questions import LengthBins
from dpmcmc.sampling.fit.rounds import Arrival
from dpmcmc.sampling.fit.tails import BINS, EDGES, LENGTHS, Counts, Tail

RECORDS, SIZE = 100_000, 2
LEFT = 0.6


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
    asking, found = last.ask_last(arrival(), LEFT, None, unravel), []
    ask = next(asking)
    while isinstance(ask.question, LengthBins):
        found.append(ask)
        ask = asking.send(Answer(falling(rate)[None], 5.0))
    return [*found, ask, asking.send(Answer(np.zeros(2 * SIZE + 6), 1.0))]


@pytest.mark.parametrize(("rate", "looks"), [(0.3, 1), (0.75, 3)])
def test_lengths_are_asked_again_where_much_may_be_cut(rate: float, looks: int) -> None:
    """One histogram each time, two sums, and all fractions are what was left."""
    found = asked(rate)
    assert len(found) == looks + 2
    assert [ask.histograms for ask in found] == [1] * looks + [0, 0]
    assert sum(ask.fraction for ask in found) == pytest.approx(LEFT)


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
