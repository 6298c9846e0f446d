# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The two sums of the last release: pooled, divided, and asked where they lead."""

from dataclasses import dataclass

import numpy as np
import pytest
from test_last import RECORDS, SIZE, arrival
from test_rounds import unravel

from dpmcmc.sampling.fit.asking import Answer, Ask
from dpmcmc.sampling.fit.last_sums import Bounds, Fractions, Sums, _Part, ask_sums
from dpmcmc.sampling.fit.questions import LastAnswer
from dpmcmc.sampling.fit.rounds import Arrival

TIGHT, WIDE = 2.0, 6.0
BOUNDS = Bounds(TIGHT, WIDE, 1.0, 0.0, is_tight=True)
MODE = np.array([0.3, -0.2])
"""Records pull to it, with the identity for their curvature."""


@dataclass
class Records:
    """Answers of records that are normal about the mode: exact, but for what is added.

    ``excess`` is a mean gradient that is beyond the tight bound.
    """

    noise: float = 1.0
    excess: float = 0.0

    def answer(self, ask: Ask) -> Answer:
        at, parts = ask.public.at, ask.public.parts
        unit = at.metric * at.typical / RECORDS
        near = (MODE - at.frame.centre) / unit / TIGHT
        far = np.full(SIZE, self.excess) / unit / (WIDE - TIGHT)
        hessian = -np.array([1.0, 0.0, 1.0]) * RECORDS / SIZE
        kept = np.array([1.0, 1.0, 0.0]) * RECORDS / np.sqrt(3) * np.sqrt(2)
        rows = near, far, hessian, kept
        total = np.concatenate([p * r for p, r in zip(parts, rows, strict=True)])
        return Answer(total, self.noise / np.sqrt(ask.fraction))


def asked(records: Records) -> tuple[list[Ask], Arrival, Sums]:
    """All that is asked of them, where it ended, and what was found."""
    question = LastAnswer(unravel, lambda *_: None)  # type: ignore[arg-type, return-value]
    asking = ask_sums(arrival(), BOUNDS, Fractions(0.1, 0.01), 0.6, question)
    asks, reply = [next(asking)], None
    while True:
        try:
            reply = records.answer(asks[-1])
            asks.append(asking.send(reply))
        except StopIteration as ended:
            return asks, *ended.value


def test_the_second_sum_is_asked_where_the_first_leads() -> None:
    asks, ended, found = asked(Records())
    assert [ask.fraction for ask in asks] == pytest.approx([0.6 * 0.35, 0.6 * 0.65])
    first, second = (np.asarray(ask.public.at.frame.centre) for ask in asks)
    np.testing.assert_array_equal(first, 0)
    np.testing.assert_allclose(second, MODE, atol=0.05)
    np.testing.assert_array_equal(second, ended.place.point)
    np.testing.assert_allclose(found.gradient, MODE - second, atol=1e-3)


def test_what_is_known_of_the_gradient_moves_along() -> None:
    """It was nothing but its mean at the start, zero; a step leaves its negative."""
    _, ended, _ = asked(Records())
    np.testing.assert_allclose(ended.known.mean, -ended.place.point, rtol=0.01)
    assert np.all(np.diag(ended.known.covariance) >= 1)


@pytest.mark.parametrize(("excess", "least", "most"), [(0.0, 0, 0.2), (0.5, 0.5, 0.9)])
def test_the_second_sum_gives_the_excess_what_the_first_found_of_it(
    excess: float, least: float, most: float
) -> None:
    """The bound of the excess is twice the tight one: two thirds, if it is believed."""
    asks, _, _ = asked(Records(excess=excess))
    near, far = asks[1].public.parts[:2] ** 2
    assert least <= far / (near + far) <= most


@pytest.mark.parametrize("excess", [0.0, 0.5])
def test_noise_of_both_is_that_of_one_sum_where_the_excess_is_clear(
    excess: float,
) -> None:
    """Less than that of a single sum with the wide bound, or hardly more.

    What is not known of an excess that was not found counts, too.
    """
    _, _, found = asked(Records(excess=excess))
    unit = WIDE * np.sqrt(SIZE) / RECORDS
    single = unit / np.sqrt(0.6 * 0.89)
    ratio = np.sqrt(np.mean(found.variance)) / single
    assert ratio < (1.15 if excess else 0.85)


def test_parts_are_pooled_by_their_precision() -> None:
    """Two measurements of one number, one twice as precise: a weighted mean."""
    one, other = _Part(np.array([2.0]), 1.0), _Part(np.array([10.0]), 2.0)
    both = one.and_also(other)
    assert both.mean == pytest.approx(4.0)
    assert both.sd == pytest.approx(3**-0.5)


def test_a_change_adds_its_variance_to_that_of_the_noise() -> None:
    changed = _Part(np.array([2.0]), 1.0).changed(np.array([0.5]), 3.0)
    assert changed.mean == pytest.approx(2.5)
    assert changed.sd == pytest.approx(2.0)


def test_a_part_that_was_not_asked_for_knows_nothing() -> None:
    nothing = _Part(np.zeros(2), 0.0)
    assert nothing.sd > 1e100
    np.testing.assert_array_equal(nothing.changed(np.ones(2), 1.0).weighted, 0)
