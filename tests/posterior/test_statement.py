# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The privacy statement: data with words as a view, that never understates, as JSON."""

import json
import math
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as some
from posteriors import NOT_PRIVATE, STATEMENT

from dpmcmc import Statement
from dpmcmc.posterior.statement import StageSummary, Verdict, round_up

BARE = replace(STATEMENT, stages=(), verdict=None, prepared=())


def test_a_private_statement_holds_what_an_auditor_asks() -> None:
    statement = replace(STATEMENT, epsilon=0.99991)
    assert statement.is_private
    assert statement.label == "(ε = 1, δ = 1e-06)-private"
    text = "\n".join(statement.lines)
    for part in [
        "ε = 1, δ = 1e-06",
        "100,000 records",
        "substitution",
        "number of records is public",
        statement.accountant,
        "ChaCha20",
        *(f"Stage {stage.name}: {stage.sentence}" for stage in statement.stages),
        *statement.prepared,
        str(statement.verdict),
    ]:
        assert part in text
    assert "NOT PRIVATE" not in statement.label + text


def test_a_statement_without_privacy_says_so_and_says_why() -> None:
    statement = replace(NOT_PRIVATE, not_private_because=("one reason", "another"))
    assert not statement.is_private
    assert statement.label == "NOT PRIVATE"
    first, *_ = statement.lines
    assert first.startswith("NOT PRIVATE")
    assert "one reason; another" in first
    text = "\n".join(statement.lines)
    for claim in ["ε =", "δ =", "proven", "Protected"]:
        assert claim not in text


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"not_private_because": ("a seed",)}, id="a reason"),
        pytest.param({"epsilon": math.inf}, id="an infinite ε"),
        pytest.param({"epsilon": math.nan}, id="an ε that is no number"),
    ],
)
def test_any_doubt_makes_a_statement_not_private(change: dict) -> None:
    doubtful = replace(STATEMENT, **change)
    assert not doubtful.is_private
    assert doubtful.label == "NOT PRIVATE"
    assert doubtful.lines[0].startswith("NOT PRIVATE: ")
    assert len(doubtful.lines[0]) > len("NOT PRIVATE: .")


@pytest.mark.parametrize("statement", [STATEMENT, NOT_PRIVATE])
def test_notes_come_last_one_a_line(statement: Statement) -> None:
    noted = replace(statement, notes=("take care", "and rest"))
    assert noted.lines[:-2] == statement.lines
    assert noted.lines[-2:] == ["Note: take care", "Note: and rest"]


def test_the_view_as_text_is_wrapped_and_loses_nothing() -> None:
    text = str(STATEMENT)
    assert max(map(len, text.splitlines())) <= 88
    assert text.split() == " ".join(STATEMENT.lines).split()


def test_the_view_as_html_is_escaped() -> None:
    noted = replace(STATEMENT, notes=("<script>",))
    html = noted._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert html.count("<p>") == len(noted.lines)
    assert "<b>Privacy</b>: ε = " in html


@pytest.mark.parametrize(
    "usability", ["usable", "usable with wide intervals", "not usable"]
)
def test_a_verdict_stands_below_the_guarantee(usability: str) -> None:
    verdict = Verdict(usability, "for a reason.")
    lines = replace(STATEMENT, verdict=verdict, notes=("a note",)).lines
    assert usability in lines[1].lower()
    assert lines[1].endswith("for a reason.")
    assert not any("erdict" in line for line in replace(STATEMENT, verdict=None).lines)


def test_tempering_is_said_where_there_is_any() -> None:
    tempered = replace(STATEMENT, tempered=1000.0)
    assert tempered.is_tempered
    assert not STATEMENT.is_tempered
    (line,) = set(tempered.lines) - set(STATEMENT.lines)
    assert "N₀ = 1000" in line


def test_a_statement_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        STATEMENT.epsilon = 0.1  # type: ignore[misc]


# JSON.


def test_json_names_every_field() -> None:
    content = json.loads(STATEMENT.to_json())
    assert set(content) == {one.name for one in fields(Statement)}
    for stage in content["stages"]:
        assert set(stage) == {one.name for one in fields(StageSummary)}


def test_json_has_no_infinity() -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"JSON holds {name}")

    numbers = {"bad": math.nan, "wide": math.inf, "count": 3}
    odd = replace(NOT_PRIVATE, stages=(StageSummary("one", "", numbers=numbers),))
    content = json.loads(odd.to_json(), parse_constant=refuse)
    assert content["epsilon"] is None
    (again,) = Statement.from_json(odd.to_json()).stages
    assert math.isnan(again.numbers["bad"])
    assert again.numbers["wide"] == math.inf
    assert isinstance(again.numbers["count"], int)


def test_numbers_of_numpy_can_be_saved() -> None:
    """A statement that cannot be saved would be found out after all was spent."""
    numbers = {"a": np.float32(0.5), "b": np.int64(3), "c": np.float64(0.25)}
    odd = replace(STATEMENT, stages=(StageSummary("one", "", numbers=numbers),))
    (again,) = Statement.from_json(odd.to_json()).stages
    assert again.numbers == {"a": 0.5, "b": 3, "c": 0.25}


texts = some.lists(some.text(), max_size=2).map(tuple)
costs = some.floats(min_value=0.0, allow_nan=False)  # infinity included
stages = some.builds(
    StageSummary,
    name=some.text(),
    sentence=some.text(),
    fraction=some.floats(0, 1),
    numbers=some.dictionaries(some.text(), some.floats(allow_nan=False), max_size=3),
)


@given(
    some.builds(
        Statement,
        epsilon=costs,
        delta=some.floats(0.0, 1.0),
        records=some.integers(1, 2**42),
        stages=some.lists(stages, max_size=3).map(tuple),
        accountant=some.text(),
        tempered=some.floats(1e-3, 1e9),
        prepared=texts,
        not_private_because=texts,
        verdict=some.none()
        | some.builds(Verdict, some.just("not usable"), some.text()),
        notes=texts,
        version=some.text(),
    )
)
@example(STATEMENT)
@example(NOT_PRIVATE)
@example(BARE)
def test_json_round_trip(statement: Statement) -> None:
    again = Statement.from_json(statement.to_json())
    assert again == statement
    assert again.is_private == statement.is_private
    assert [type(value) for value in vars(again).values()] == [
        type(value) for value in vars(statement).values()
    ]


# Costs are shown rounded up.


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
