# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The privacy statement: what it says, that it never understates, and its JSON."""

import json
import math
from dataclasses import FrozenInstanceError, fields, replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from dpmcmc import Statement
from dpmcmc.posterior.statement import round_up

PRIVATE = Statement(
    epsilon=0.99991,
    delta=1e-6,
    records=1_234_567,
    chains=4,
    steps=389,
    clip=0.006,
    decided="decided on all records, with each ratio clipped to ±0.006",
    tempered=float(1_234_567),
    accountant="blocks",
    not_private_because=(),
    notes=(),
    version="0.1.0",
)

NOT_PRIVATE = replace(
    PRIVATE,
    epsilon=math.inf,
    delta=1.0,
    clip=None,
    accountant="none",
    not_private_because=("a first reason", "a second reason"),
)


def test_a_private_statement_holds_what_an_auditor_asks() -> None:
    assert PRIVATE.is_private
    assert PRIVATE.label == "(ε = 1, δ = 1e-06)-private"
    for part in [
        "ε = 1, δ = 1e-06",
        "1,234,567 records",
        "substitution",
        "number of records is public",
        "1,556 accept-or-reject bits",
        "4 chains of 389 steps",
        "clipped to ±0.006",
        "Accountant: blocks",
        "ChaCha20",
    ]:
        assert part in PRIVATE.text
    assert "NOT PRIVATE" not in PRIVATE.label + PRIVATE.text


def test_numbers_of_one_are_singular() -> None:
    assert "(1 chain of 1 step)" in replace(PRIVATE, chains=1, steps=1).text


def test_a_statement_without_privacy_says_so_and_says_why() -> None:
    assert not NOT_PRIVATE.is_private
    assert NOT_PRIVATE.label == "NOT PRIVATE"
    assert NOT_PRIVATE.text.startswith("NOT PRIVATE: a first reason; a second reason.")
    assert "Do not release it" in NOT_PRIVATE.text
    for claim in ["ε =", "δ =", "proven", "Protected"]:
        assert claim not in NOT_PRIVATE.text


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"not_private_because": ("a seed",)}, id="a reason"),
        pytest.param({"epsilon": math.inf}, id="an infinite ε"),
        pytest.param({"epsilon": math.nan}, id="an ε that is no number"),
    ],
)
def test_any_doubt_makes_a_statement_not_private(change: dict) -> None:
    doubtful = replace(PRIVATE, **change)
    assert not doubtful.is_private
    assert doubtful.label == "NOT PRIVATE"
    assert doubtful.text.startswith("NOT PRIVATE")


@pytest.mark.parametrize("statement", [PRIVATE, NOT_PRIVATE])
def test_notes_come_last_one_a_line(statement: Statement) -> None:
    noted = replace(statement, notes=("take care", "and rest"))
    assert noted.text.splitlines()[-2:] == ["Note: take care", "Note: and rest"]


def test_a_statement_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        PRIVATE.epsilon = 0.1  # type: ignore[misc]


def test_json_names_every_field() -> None:
    assert set(json.loads(PRIVATE.to_json())) == {one.name for one in fields(Statement)}


texts = some.tuples() | some.tuples(some.text()) | some.tuples(some.text(), some.text())
costs = some.floats(min_value=0.0, allow_nan=False)  # infinity included


@given(
    some.builds(
        Statement,
        epsilon=costs,
        delta=some.floats(0.0, 1.0),
        records=some.integers(1, 2**42),
        chains=some.integers(1, 10**6),
        steps=some.integers(1, 10**9),
        clip=some.none() | some.floats(1e-30, 1e30),
        decided=some.text(),
        tempered=some.floats(1e-3, 1e9),
        accountant=some.text(),
        not_private_because=texts,
        notes=texts,
        version=some.text(),
    )
)
@example(PRIVATE)
@example(NOT_PRIVATE)
def test_json_round_trip(statement: Statement) -> None:
    again = Statement.from_json(statement.to_json())
    assert again == statement
    assert again.is_private == statement.is_private
    assert [type(value) for value in vars(again).values()] == [
        type(value) for value in vars(statement).values()
    ]


@given(costs, some.integers(1, 8))
@example(math.nextafter(1.0, 2.0), 4)
@example(16380.000000000002, 4)
@example(5e-324, 4)
@example(1.7976931348623157e308, 4)
@example(0.0, 4)
@example(math.inf, 4)
def test_shown_costs_never_understate(value: float, digits: int) -> None:
    assert float(round_up(value, digits)) >= value


@given(some.integers(1000, 9999), some.integers(-30, 30), some.booleans())
def test_shown_costs_are_close(digits: int, power: int, above: bool) -> None:
    """Four digits are shown as they are; a hair more is shown one unit up."""
    value = float(f"{digits}e{power}")
    if above:
        value = math.nextafter(value, math.inf)
    shown = float(round_up(value))
    assert value <= shown <= float(f"{digits + 1}e{power}")


def test_a_cost_of_few_digits_is_shown_as_it_is() -> None:
    shown = [round_up(value) for value in (1.0, 0.5, 1e-6, 12.34, 0.0, 3e-9)]
    assert shown == ["1", "0.5", "1e-06", "12.34", "0", "3e-09"]
