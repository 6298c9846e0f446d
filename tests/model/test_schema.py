# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Schemas: what is known of a table, what it makes of a value, and what is refused."""

import datetime as dt
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmcmc import InputError, Schema, models
from dpmcmc.model.preparation import Clamp, Log, OneHot, Preparation, Stack
from dpmcmc.model.schema import DeclaredColumn, as_schema

FULL = Schema(
    {
        "age": {"type": "number", "bounds": [0, 120], "measured_in": "years"},
        "ward": {"type": "integer", "bounds": ["0", "9"]},
        "ill": {"type": "boolean"},
        "region": {"levels": ["north", "south"]},
        "since": {"origin": "2000-01-01", "bounds": ["2000-01-01", "2020-01-01"]},
    },
    unit="person",
    most=5,
)


def test_plain_values_hold_all_of_it() -> None:
    plain = FULL.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert as_schema(plain) == FULL
    assert plain["columns"]["since"]["bounds"] == ["2000-01-01", "2020-01-01"]
    assert as_schema(None) == Schema()


def test_words_say_types_bounds_and_units_of_measurement() -> None:
    assert FULL.describe() == (
        "age: number in years, clamped to [0, 120]",
        "ward: integer, clamped to [0, 9]",
        "ill: boolean",
        "region: one of north, south",
        "since: days since 2000-01-01, clamped to [0, 7305]",
    )
    many = DeclaredColumn(levels=tuple("abcdefghij"))
    assert many.describe() == "one of a, b, c, d, e, f, g, h and 2 more"


def test_words_say_once_what_a_preparation_begins_with() -> None:
    """As that of a formula does, which is made of the same bounds and levels."""
    then = Preparation(
        {
            "age": [Clamp(0, 120), Log()],
            "ill": Clamp(0, 1),
            "region": [Clamp(0, 1)],
            "ward": [Clamp(0, 5)],
            "other": Clamp(0, 3),
        }
    )
    assert FULL.describe(then) == (
        "age: number in years, clamped to [0, 120], then its logarithm taken",
        "ward: integer, clamped to [0, 9], then clamped to [0, 5]",
        "ill: boolean",
        "region: one of north, south",
        "since: days since 2000-01-01, clamped to [0, 7305]",
        "other clamped to [0, 3]",
    )
    assert Schema().describe(then) == then.describe()


def test_what_is_left_empty_is_not_declared() -> None:
    """As in a template that nobody filled in."""
    empty = {"type": "number", "bounds": "", "levels": None, "measured_in": ""}
    schema = as_schema({"unit": "", "most": "", "columns": {"x": empty}})
    assert schema == Schema({"x": {"type": "number"}})


WRONG: list[dict[str, Any]] = [
    {},
    {"type": ""},
    {"type": "float"},
    {"type": "text"},
    {"type": "date"},
    {"type": "number", "levels": ["a", "b"]},
    {"type": "text", "levels": ["a", "b"], "bounds": [0, 1]},
    {"type": "boolean", "bounds": [0, 1]},
    {"type": "number", "origin": "2000-01-01"},
    {"levels": "ab"},
    {"levels": ["a"]},
    {"levels": ["a", "a"]},
    {"levels": [1, 2]},
    {"origin": "first of May"},
    {"origin": "2000-13-01"},
    {"origin": "2000-01-01", "bounds": [0, 1]},
    {"origin": "2000-01-01", "bounds": ["2001-01-01", "2000-01-01"]},
    {"type": "number", "bounds": [1]},
    {"type": "number", "bounds": [1, 0]},
    {"type": "number", "bounds": [0, "inf"]},
    {"type": "number", "bounds": [False, True]},
    {"type": "number", "bounds": "01"},
    {"type": "number", "measured_in": 3},
    {"type": "number", "unit": "years"},
]


@pytest.mark.parametrize("declared", WRONG, ids=str)
def test_what_cannot_be_declared_is_named(declared: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="'weight'"):
        Schema({"weight": declared})


@pytest.mark.parametrize(
    "given",
    [
        {"columns": ["age"]},
        {"columns": {"age": "number"}},
        {"columns": {3: {"type": "number"}}},
        {"unit": "person"},
        {"most": 3},
        {"unit": "person", "most": 0},
        {"unit": "person", "most": "many"},
        {"unit": 3, "most": 2},
        {"colums": {}},
        ["age"],
        "schema.yaml",
    ],
    ids=str,
)
def test_what_is_no_schema(given: Any) -> None:
    with pytest.raises(InputError):
        as_schema(given)


@pytest.mark.parametrize(
    ("value", "days"),
    [
        (dt.date(2000, 1, 2), 1.0),
        (dt.datetime(2000, 1, 2, 12), 1.5),
        (dt.datetime(2000, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))), 0.0),
        (pd.Timestamp("1999-12-31", tz="UTC"), -1.0),
        (" 2000-02-01 ", 31.0),
        (b"2001-01-01", 366.0),
        ("2000-02-31", None),
        ("0001-01-01T00:00+14:00", None),
        ("soon", None),
        (pd.NaT, None),
        (None, None),
        (36_525, None),
        (float("nan"), None),
        ([], None),
    ],
    ids=str,
)
def test_days_since_an_origin(value: Any, days: float | None) -> None:
    assert FULL.columns["since"].number_of(value) == days


@given(
    value=st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.binary(max_size=12)
    | st.datetimes(timezones=st.none() | st.timezones())
    | st.dates()
    | st.lists(st.none())
)
def test_no_value_raises_an_error(value: Any) -> None:
    for name in ("ill", "region", "since"):
        found = FULL.columns[name].number_of(value)
        assert found is None or np.isfinite(found)


def test_a_model_is_completed_by_bounds_and_texts() -> None:
    columns = Preparation({"region": OneHot(2), "x": Stack(["age", "region"])})
    model = models.linear_regression(3, norm=200.0, bounds=(0, 1), before=columns)
    made = FULL.of(["age", "region"]).applied_to(model)
    assert list(made.coords["predictor"]) == ["age", "region=north", "region=south"]
    raw = {"age": 999.0, "region": 1, "y": 0.5}
    assert made.preparation(raw)["x"].tolist() == [120.0, 0.0, 1.0]


def test_what_is_said_last_holds() -> None:
    other = Schema({"age": {"type": "integer"}}, unit="house", most=2)
    both = FULL.joined(other)
    assert (both.unit, both.most) == ("house", 2)
    assert both.columns["age"].type == "integer"
    assert both.columns["ill"] == FULL.columns["ill"]
    assert FULL.joined(Schema()) == FULL
    assert "house" not in Schema(both.columns, "age", 1).columns
    assert "age" not in Schema(both.columns, "age", 1).columns


def test_a_column_of_ids_needs_no_levels() -> None:
    """As the template has it: ids are texts that nobody can list."""
    schema = as_schema(
        {"unit": "who", "most": 3, "columns": {"who": {"type": "text", "levels": None}}}
    )
    assert not schema.columns
    with pytest.raises(InputError, match="leave a column of ids out"):
        as_schema({"columns": {"who": {"type": "text"}}})
