# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The promise to one person: what is said of (ε, δ) is true, and never too good."""

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from posteriors import NOT_PRIVATE, STATEMENT

from dpmcmc.report.promise import (
    in_a_sentence,
    odds_factor,
    of_a_group,
    one_in,
    promise,
    sure,
)

EPSILONS = st.floats(0, 20)
PROBABILITIES = st.floats(1e-6, 1 - 1e-6)


@given(guess=PROBABILITIES, epsilon=EPSILONS)
def test_odds_grow_by_the_exponential_of_epsilon(guess: float, epsilon: float) -> None:
    """The bound is attained: by randomized response about the guess."""
    truth, lie = math.exp(epsilon), 1.0
    attained = guess * truth / (guess * truth + (1 - guess) * lie)
    assert sure(guess, epsilon) == pytest.approx(attained, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_a_guess_is_right_no_more_often_than_the_promise_says(
    epsilon: float, delta: float
) -> None:
    """Success at a fair guess is at most (exp(ε) + δ) / (exp(ε) + 1) under (ε, δ).

    That is (1 + TV) / 2 at the largest total variation; and it is what the page says:
    all is known with probability δ, and else as sure as Bayes' rule allows.
    """
    variation = (math.expm1(epsilon) + 2 * delta) / (math.exp(epsilon) + 1)
    said = delta + (1 - delta) * sure(0.5, epsilon)
    assert said == pytest.approx((1 + variation) / 2, rel=1e-12)


@given(epsilon=st.floats(0, 13.9))
def test_factors_are_rounded_up(epsilon: float) -> None:
    shown = float(odds_factor(epsilon).replace(",", ""))
    assert math.exp(epsilon) * (1 - 1e-12) <= shown <= 1.01 * math.exp(epsilon)


@given(delta=st.floats(1e-15, 0.099))
def test_probabilities_are_rounded_up(delta: float) -> None:
    words = one_in(delta)
    assert words.startswith("one in ")
    shown = 1 / float(words.removeprefix("one in ").replace(",", ""))
    assert delta * (1 - 1e-11) <= shown <= 1.1 * delta


@pytest.mark.parametrize(
    ("delta", "words"),
    [
        (1e-6, "one in 1,000,000"),
        (1e-12, "one in 1,000,000,000,000"),
        (3.1e-5, "one in 32,250"),
        (0.05, "one in 20"),
        (0.5, "0.5"),
        (0.0, "0"),
    ],
)
def test_probabilities_in_words(delta: float, words: str) -> None:
    assert one_in(delta) == words


@given(
    count=st.integers(1, 20),
    epsilon=st.floats(1e-3, 3),
    delta=st.floats(1e-12, 1e-3),
)
def test_groups_get_no_more_than_the_composition_of_substitutions(
    count: int, epsilon: float, delta: float
) -> None:
    """One substitution after another: δ adds up as the sum of exp(iε) δ."""
    together, wider = of_a_group(count, epsilon, delta)
    assert together == pytest.approx(count * epsilon)
    exact = sum(math.exp(i * epsilon) * delta for i in range(count))
    assert wider >= min(exact, 1.0) * (1 - 1e-12)


@pytest.mark.parametrize(
    ("epsilon", "percent"), [(0.1, "52.5%"), (1.0, "73.2%"), (4.0, "98.3%")]
)
def test_the_sentence_has_the_odds(epsilon: float, percent: str) -> None:
    sentence = in_a_sentence(replace(STATEMENT, epsilon=epsilon))
    assert percent in sentence
    assert one_in(STATEMENT.delta) in sentence
    assert ("weakly" in sentence) == (epsilon > 3)


def test_an_enormous_epsilon_promises_nothing() -> None:
    statement = replace(STATEMENT, epsilon=2e4)
    assert "nearly 100%" in in_a_sentence(statement)
    words = promise(statement)
    assert words.count("no promise") == 3
    assert "e to the power of" in words


def test_percentages_are_rounded_up() -> None:
    words = promise(replace(STATEMENT, epsilon=1.0))
    cells = re.findall(r"<td>([\d.]+)%</td>", words)[:4]
    exact = [100 * sure(guess, 1.0) for guess in (0.01, 0.1, 0.5, 0.9)]
    for shown, value in zip(map(float, cells), exact, strict=True):
        assert value <= shown < value + 0.1


def test_nothing_is_promised_where_nothing_is_private() -> None:
    words = promise(NOT_PRIVATE)
    assert "NOT PRIVATE" in words
    assert NOT_PRIVATE.not_private_because[0] in words
    assert "What is protected" not in words
    assert "NOT PRIVATE" in in_a_sentence(NOT_PRIVATE)


def test_notes_stand_with_the_promise() -> None:
    note = "δ = 1e-05 is not below 1/N; <choose> a smaller one."
    for statement in (STATEMENT, NOT_PRIVATE):
        words = promise(replace(statement, notes=(note,)))
        assert "<li>δ = 1e-05 is not below 1/N; &lt;choose&gt; a smaller" in words
