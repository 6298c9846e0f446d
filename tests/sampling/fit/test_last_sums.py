# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The sums of the last release: asked where they lead, and which bound is chosen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from test_last import RECORDS, SIZE, arrival
from test_rounds import unravel

from dpmcmc.sampling.fit.asking import Answer, Ask
from dpmcmc.sampling.fit.curvature import Curvature
from dpmcmc.sampling.fit.excess import Sizes
from dpmcmc.sampling.fit.last_questions import FinalAnswer, LastAnswer, Tight
from dpmcmc.sampling.fit.last_sums import (
    Bounds,
    Choice,
    Fractions,
    Sums,
    _Found,
    _LastSums,
    _Part,
    ask_sums,
)
from dpmcmc.sampling.fit.rounds import Arrival

TIGHT, WIDE = 2.0, 6.0
BOUNDS = Bounds(TIGHT, WIDE, 1.0, 0.0, is_tight=True)
FRACTIONS = Fractions(0.1, 0.01)
PAID, FINAL = 0.6, 1.2
"""The fraction for the first sum, and the noise of the final one for a bound of 1."""

LEFT = np.linspace(1, 0, 9) ** 3
CHOICES = [
    Choice(float(bound), float(left), float(left * (1.1 - left)))
    for bound, left in zip(np.linspace(TIGHT, WIDE, 9), LEFT, strict=True)
]
MODE = np.array([0.3, -0.2])
"""Records pull to it, with the identity for their curvature."""

QUESTION = LastAnswer(Tight(unravel, lambda *_: None))  # type: ignore[arg-type]


@dataclass
class Records:
    """Answers of records that are normal about the mode: exact, but for what is added.

    ``excess`` is a mean gradient that is beyond the tight bound, of which the final sum
    leaves what its bound says; it is lost if ``is_lost``.
    """

    noise: float = 1.0
    excess: float = 0.0
    final: float = FINAL
    is_lost: bool = False

    def answer(self, ask: Ask) -> Answer:
        at = ask.public.at
        unit = at.metric * at.typical / RECORDS
        near, excess = MODE - at.frame.centre, np.full(SIZE, self.excess)
        if ask.is_final:
            bound = ask.public.bound / at.typical
            left = np.interp(bound, [one.bound for one in CHOICES], LEFT)
            values = (near + (1 - left) * excess) / unit / bound
            if self.is_lost:
                return Answer(np.zeros(0), np.inf)
            return Answer(values, self.final)
        parts = ask.public.parts
        hessian = -np.array([1.0, 0.0, 1.0]) * RECORDS / SIZE
        kept = np.array([1.0, 1.0, 0.0]) * RECORDS / np.sqrt(3) * np.sqrt(2)
        rows = near / unit / TIGHT, excess / unit / (WIDE - TIGHT), hessian, kept
        total = np.concatenate([p * r for p, r in zip(parts, rows, strict=True)])
        return Answer(total, self.noise / np.sqrt(ask.fraction))


def asked(
    records: Records, choices: Sequence[Choice] = CHOICES
) -> tuple[list[Ask], Arrival, Sums]:
    """All that is asked of them, where it ended, and what was found."""
    paid = PAID, records.final
    asking = ask_sums(arrival(), BOUNDS, FRACTIONS, choices, paid, QUESTION)
    asks, reply = [next(asking)], None
    while True:
        try:
            reply = records.answer(asks[-1])
            asks.append(asking.send(reply))
        except StopIteration as ended:
            return asks, *ended.value


def unit_of(ended: Arrival) -> np.ndarray:
    """Mean gradients, for a sum of 1 in typical lengths."""
    return ended.place.metric * ended.place.typical / RECORDS


def test_each_sum_is_asked_where_those_before_lead() -> None:
    """Two parts of the first, and the final one, which is paid apart."""
    asks, ended, found = asked(Records())
    fractions = [ask.fraction for ask in asks]
    assert fractions == pytest.approx([PAID * 0.4, PAID * 0.6, 0])
    assert [ask.is_final for ask in asks] == [False, False, True]
    assert [type(ask.question) for ask in asks] == [LastAnswer, LastAnswer, FinalAnswer]
    first, second, final = (np.asarray(ask.public.at.frame.centre) for ask in asks)
    np.testing.assert_array_equal(first, 0)
    np.testing.assert_allclose(second, MODE, atol=0.05)
    np.testing.assert_allclose(final, MODE, atol=0.005)
    np.testing.assert_array_equal(final, ended.place.point)
    np.testing.assert_allclose(found.gradient, MODE - final, atol=1e-3)


def test_what_is_known_of_the_gradient_moves_along() -> None:
    """It was nothing but its mean at the start, zero; a step leaves its negative."""
    _, ended, _ = asked(Records())
    np.testing.assert_allclose(ended.known.mean, -ended.place.point, rtol=0.01)
    assert np.all(np.diag(ended.known.covariance) >= 1)


@pytest.mark.parametrize(("excess", "bound"), [(0.0, TIGHT), (0.5, WIDE)])
def test_the_final_bound_is_tight_unless_the_excess_is_large(
    excess: float, bound: float
) -> None:
    """A right model's is near zero; one that is clear is left to no part."""
    asks, ended, _ = asked(Records(excess=excess))
    assert asks[-1].public.bound / ended.place.typical == pytest.approx(bound)
    assert asks[-1].public.is_tight


@pytest.mark.parametrize("final", [0.1, 0.5, 1.2, 3.0])
@pytest.mark.parametrize("excess", [0.0, 1e-5, 5e-5, 1e-4, 2e-4, 0.5])
def test_no_other_choice_has_a_smaller_expected_error(
    excess: float, final: float
) -> None:
    """That of each is what is said of the gradient if there is no other choice."""
    records = Records(excess=excess, final=final)
    asks, ended, found = asked(records)
    alone = [asked(records, [choice])[2] for choice in CHOICES]
    errors = [float(np.sum(sums.variance)) for sums in alone]
    best = CHOICES[int(np.argmin(errors))]
    assert asks[-1].public.bound / ended.place.typical == pytest.approx(best.bound)
    assert np.sum(found.variance) == pytest.approx(min(errors))


def test_the_choice_depends_on_the_excess_and_on_the_noise() -> None:
    """Neither all tight nor all wide: the less the noise, the wider."""

    def bound(excess: float, final: float) -> float:
        asks, ended, _ = asked(Records(excess=excess, final=final))
        return float(asks[-1].public.bound / ended.place.typical)

    by_noise = [bound(5e-5, final) for final in (0.1, 0.5, 1.2, 3.0)]
    assert by_noise == sorted(by_noise, reverse=True)
    assert len(set(by_noise)) > 2
    by_excess = [bound(excess, 1.2) for excess in (0.0, 1e-4, 0.5)]
    assert by_excess == sorted(by_excess)
    assert len(set(by_excess)) > 1


@pytest.mark.parametrize("excess", [0.0, 1e-4, 0.5])
def test_at_the_widest_bound_nothing_is_unknown_but_noise(excess: float) -> None:
    _, ended, found = asked(Records(excess=excess), [Choice(WIDE)])
    noise = FINAL * WIDE * unit_of(ended)
    np.testing.assert_allclose(found.variance, noise**2, rtol=1e-12)
    expected = MODE + excess - ended.place.point
    np.testing.assert_allclose(found.gradient, expected, atol=1e-9)


@pytest.mark.parametrize("excess", [0.0, 0.5])
def test_noise_is_at_most_that_of_the_wide_bound(excess: float) -> None:
    """Much less where there is no excess; what is not known of it counts, too."""
    _, ended, found = asked(Records(excess=excess))
    ratios = np.sqrt(found.variance) / (FINAL * WIDE * unit_of(ended))
    assert np.all(ratios < (1 + 1e-9 if excess else 0.85))


def test_a_part_of_the_excess_that_is_clear_is_given_back() -> None:
    """Where a bound leaves some: as much of what the first sum has found."""
    choice = CHOICES[2]
    assert 0.4 < choice.left < 0.5
    _, ended, found = asked(Records(excess=0.5), [choice])
    expected = MODE + 0.5 - ended.place.point
    np.testing.assert_allclose(found.gradient, expected, atol=1e-3)


def test_without_the_final_sum_the_first_is_all_that_is_known() -> None:
    """It was lost: where it was asked is the same, and noise is larger."""
    asks, ended, found = asked(Records(is_lost=True, excess=0.5))
    others, place, more = asked(Records(excess=0.5))
    np.testing.assert_array_equal(ended.place.point, place.place.point)
    assert len(asks) == len(others)
    assert np.all(found.variance > more.variance)
    np.testing.assert_allclose(found.gradient, more.gradient, atol=1e-3)


# How the final sum is put together with the first.


def reading(*, is_tight: bool) -> _LastSums:
    return _LastSums(arrival(), BOUNDS._replace(is_tight=is_tight), FRACTIONS, QUESTION)


def found_of(gradient: np.ndarray, variance: np.ndarray, sizes: Sizes | None) -> _Found:
    """What a first sum might say, with an excess that is the same."""
    curvature = Curvature(np.eye(SIZE), np.zeros((SIZE, SIZE)))
    sums = Sums(gradient, variance, curvature, is_flat=False, extreme=0.0)
    return _Found(sums, (gradient, variance, variance / 2), sizes, 0.0)


def test_without_tight_gradients_both_sums_count_by_their_precision() -> None:
    """They measure one gradient: a weighted mean, by coordinate."""
    found = found_of(np.array([2.0, -1.0]), np.array([1.0, 3.0]), None)
    final = np.array([10.0, 1.0]), np.array([0.5, 1.0])
    both = reading(is_tight=False).with_final(found, *final, Choice(WIDE))
    np.testing.assert_allclose(both.gradient, [22 / 3, 0.5])
    np.testing.assert_allclose(both.variance, [1 / 3, 0.75])
    assert both.curvature is found.sums.curvature


def test_with_tight_gradients_the_final_sum_has_what_its_bound_keeps() -> None:
    """At the widest bound it is all that is believed."""
    sizes = Sizes(np.array([[0.4, 0.8]]), np.ones(1))
    found = found_of(np.array([2.0, -1.0]), np.array([1.0, 3.0]), sizes)
    final = np.array([10.0, 1.0]), np.array([0.5, 1.0])
    both = reading(is_tight=True).with_final(found, *final, Choice(WIDE))
    np.testing.assert_array_equal(both.gradient, final[0])
    np.testing.assert_array_equal(both.variance, final[1])


def test_what_a_bound_leaves_is_not_known() -> None:
    """By the part that points one way, and by the part of usual squares that does not;
    none at the widest bound, nor where all gradients are in one part."""
    sizes = Sizes(np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([0.25, 0.75]))
    found = found_of(np.zeros(2), np.array([1.0, 3.0]), sizes)
    choice = Choice(3.0, 0.5, 0.2)
    expected = 0.25 * np.array([0.5, 1.5]) + 0.2 * np.array([2.5, 5.0])
    np.testing.assert_allclose(found.not_known(choice), expected)
    np.testing.assert_array_equal(found.not_known(Choice(WIDE)), 0)
    np.testing.assert_array_equal(found._replace(sizes=None).not_known(choice), 0)


def test_the_excess_counts_as_much_larger_as_lengths_say() -> None:
    """The first sum sees a half of it: it is twice as large, and so is its noise."""
    rows = [np.zeros(SIZE), np.ones(SIZE), np.zeros(3), np.zeros(3)]
    parts = [_Part(row, 1.0) for row in rows]
    there = reading(is_tight=True)
    once = there.read(parts).excess
    wider = replace(there, bounds=BOUNDS._replace(whole=2.0))
    twice = wider.read(parts).excess
    np.testing.assert_allclose(twice[0], 2 * once[0])
    np.testing.assert_allclose(twice[1], 4 * once[1])


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
